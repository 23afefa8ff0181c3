"""A traffic model with all that stands between it and speeds: scaling, windows, copies of roads."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gaancore import threads
from gaancore.data.traffic import TrafficDataset
from gaancore.data.traffic_batches import Scaler, TrafficBatch, WindowBatches
from gaancore.graph.copies import GraphCopies
from gaancore.ops import add, multiply
from gaancore.tensor import Tensor, no_grad
from gaancore.train.build import ForecastModel, build_forecaster
from gaancore.train.forecast_settings import ForecastSettings
from gaancore.train.pieces import pieces


class SpeedForecaster:
    """Forecasts in the data's units.

    The scaler is that of the training rows, whatever the data. Raises DataError if the data lack
    what a feature of the settings needs.
    """

    def __init__(self, settings: ForecastSettings, dataset: TrafficDataset, scaler: Scaler) -> None:
        features = () if settings.features == ("none",) else settings.features
        self.windows = WindowBatches(
            dataset,
            scaler,
            history=settings.history,
            horizon=settings.horizon,
            features=features,
            missing=settings.missing,
        )
        self.num_sensors = dataset.num_sensors
        self.copies = GraphCopies(dataset.graph)
        self.model: ForecastModel = build_forecaster(settings, self.windows.num_inputs)

    def speeds(
        self, model: ForecastModel, batch: TrafficBatch, part: slice, truth: Sequence[bool] = ()
    ) -> Tensor:
        """Speeds (B * N, horizon) of the sequences `part` of a batch; truth as in the model."""
        columns = self.columns(part)
        inputs, future = batch.inputs[:, columns], batch.future[:, columns]
        scaled = model(inputs, future, self.copies, truth)
        mean, scale = self.windows.scaler.tiled(part.stop - part.start)
        return add(multiply(scaled, scale[:, None]), mean[:, None])

    def columns(self, part: slice) -> slice:
        """Where the sequences `part` stand in the arrays of a batch."""
        return slice(part.start * self.num_sensors, part.stop * self.num_sensors)

    def predict(self, starts: np.ndarray) -> np.ndarray:
        """Speeds (horizon, B * N) float32 for the windows whose first rows are `starts` (B,).

        The truth of the steps to predict is not looked at.
        """
        batch = self.windows.cut(starts)
        parts = pieces(len(starts), self.num_sensors)
        out = np.empty(batch.targets.shape, np.float32)

        def run(start: int, stop: int) -> None:
            with no_grad():
                for part in parts[start:stop]:
                    out[:, self.columns(part)] = self.speeds(self.model, batch, part).data.T

        threads.run_ranges(run, threads.split_evenly(len(parts)))
        return out


def with_known_features(settings: ForecastSettings, dataset: TrafficDataset) -> ForecastSettings:
    """`auto` among the features as what the data know: the time of day and, for the released
    variant, where the sensors are.
    """
    if settings.features != ("auto",):
        return settings
    known = ["time_of_day"] if dataset.time_of_day is not None else []
    if settings.variant == "released" and dataset.coordinates is not None:
        known.append("coordinates")
    return replace(settings, features=tuple(known) or ("none",))
