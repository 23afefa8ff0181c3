"""From settings to a node classifier."""

from gaancore.models.node_classifier import FeedForward, NodeClassifier
from gaancore.nn.aggregators import AggregatorSpec
from gaancore.seeding import generator
from gaancore.training.nodes.settings import NodeSettings

Model = NodeClassifier | FeedForward


def build_model(
    settings: NodeSettings,
    num_features: int,
    num_classes: int,
    edge_dim: int = 0,
    *,
    learned: bool = False,
) -> Model:
    """The model that `settings` describe, initialised from the run seed.

    edge_dim : how many features of an edge it reads; a model that sees no graph reads none.
    learned  : whether features are learned for each of `num_features` nodes.
    """
    s, rng = settings, generator(settings.seed, "init")
    if s.model == "fnn":
        return FeedForward(
            num_features,
            num_classes,
            hidden_dim=s.hidden_dim,
            input_dropout=s.input_dropout,
            rng=rng,
        )
    layers = [
        AggregatorSpec(
            s.model,
            s.variant,
            num_heads=heads,
            key_dim=s.key_dim,
            value_dim=value_dim,
            gate_dim=s.gate_dim,
            attention_dropout=s.attention_dropout,
            edge_dim=edge_dim,
        )
        for heads, value_dim in zip(s.heads, s.value_dims, strict=True)
    ]
    return NodeClassifier(
        num_features,
        num_classes,
        layers=layers,
        embed_dim=s.embed_dim,
        out_dim=s.out_dim,
        dropout=s.dropout,
        input_dropout=s.input_dropout,
        learned=learned,
        rng=rng,
    )
