"""From settings to a model."""

from gaancore.models.node_classifier import FeedForward, NodeClassifier
from gaancore.seeding import generator
from gaancore.train.settings import Settings

Model = NodeClassifier | FeedForward


def build_model(settings: Settings, num_features: int, num_classes: int) -> Model:
    """The model that `settings` describe, initialised from the run seed."""
    rng = generator(settings.seed, "init")
    if settings.model == "fnn":
        return FeedForward(num_features, num_classes, hidden_dim=settings.hidden_dim, rng=rng)
    return NodeClassifier(
        num_features,
        num_classes,
        model=settings.model,
        variant=settings.variant,
        embed_dim=settings.embed_dim,
        out_dim=settings.out_dim,
        num_heads=settings.heads,
        key_dim=settings.key_dim,
        value_dims=settings.value_dims,
        gate_dim=settings.gate_dim,
        dropout=settings.dropout,
        attention_dropout=settings.attention_dropout,
        rng=rng,
    )
