"""From settings to a model."""

from gaancore.models.node_classifier import FeedForward, NodeClassifier
from gaancore.models.traffic_forecaster import FlatForecaster, TrafficForecaster
from gaancore.seeding import generator
from gaancore.train.nodes.settings import NodeSettings
from gaancore.train.traffic.settings import ForecastSettings

Model = NodeClassifier | FeedForward
ForecastModel = TrafficForecaster | FlatForecaster


def build_model(settings: NodeSettings, num_features: int, num_classes: int) -> Model:
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


def build_forecaster(settings: ForecastSettings, num_inputs: int) -> ForecastModel:
    """The same for forecasts from `num_inputs` channels a step."""
    s, rng = settings, generator(settings.seed, "init")
    if s.model == "fnn":
        return FlatForecaster(
            num_inputs, history=s.history, horizon=s.horizon, hidden_dim=s.fnn_dim, rng=rng
        )
    return TrafficForecaster(
        num_inputs,
        model=s.model,
        variant=s.variant,
        hidden_dim=s.hidden_dim,
        num_layers=s.num_layers,
        num_heads=s.num_heads,
        key_dim=s.keys_per_head,
        value_dim=s.values_per_head,
        gate_dim=s.gate_dim,
        rng=rng,
    )
