"""From settings to a traffic model."""

from gaancore.models.traffic_forecaster import FlatForecaster, TrafficForecaster
from gaancore.nn.aggregators import AggregatorSpec
from gaancore.seeding import generator
from gaancore.training.traffic.settings import ForecastSettings

ForecastModel = TrafficForecaster | FlatForecaster


def build_forecaster(
    settings: ForecastSettings, num_inputs: int, edge_dim: int = 0
) -> ForecastModel:
    """The model that `settings` describe, for `num_inputs` channels a step and `edge_dim` features
    of a road, initialised from the run seed.
    """
    s, rng = settings, generator(settings.seed, "init")
    if s.model == "fnn":
        return FlatForecaster(
            num_inputs, history=s.history, horizon=s.horizon, hidden_dim=s.fnn_dim, rng=rng
        )
    spec = AggregatorSpec(
        s.model,
        s.variant,
        num_heads=s.num_heads,
        key_dim=s.keys_per_head,
        value_dim=s.values_per_head,
        gate_dim=s.gate_dim,
        mean_in_gate=False,  # max pooling alone is in the gate (section 5.3)
        edge_dim=edge_dim,
    )
    return TrafficForecaster(
        num_inputs, spec=spec, hidden_dim=s.hidden_dim, num_layers=s.num_layers, rng=rng
    )
