"""A traffic model with all that stands between it and speeds: scaling, windows, copies of roads."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gaancore.array import Array, resolve_device, to_device, to_numpy
from gaancore.choices import AUTO, NONE, Missing
from gaancore.data.files.columns import chosen_columns
from gaancore.data.traffic.batches import Scaler, TrafficBatch, WindowBatches
from gaancore.data.traffic.dataset import TrafficDataset
from gaancore.errors import DataError
from gaancore.graph import CSRGraph
from gaancore.graph.copies import GraphCopies
from gaancore.ops import masked_absolute_error
from gaancore.tensor import Tensor, no_grad
from gaancore.training.checkpoint import belongs_to_the_run, load_checkpoint
from gaancore.training.pieces import pieces, share_pieces
from gaancore.training.run_folder import RunFolder
from gaancore.training.traffic.build import ForecastModel, build_forecaster
from gaancore.training.traffic.settings import ForecastSettings


class SpeedForecaster:
    """Forecasts in the data's units.

    The scaler is that of the training rows, whatever the data. Data stay on the host; pieces of a
    batch are sent to `device`, where the model is (see to_device). Raises DataError if the data
    lack what a feature of the settings needs.
    """

    def __init__(
        self,
        settings: ForecastSettings,
        dataset: TrafficDataset,
        scaler: Scaler,
        device: str = "cpu",
    ) -> None:
        self.settings, self.dataset, self.scaler = settings, dataset, scaler
        self.device = device
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
        graph = roads(dataset, settings.edge_features)
        self.copies = GraphCopies(graph, device)
        model = build_forecaster(settings, self.windows.num_inputs, graph.edge_dim)
        self.model: ForecastModel = model.to(device)

    def speeds(
        self, model: ForecastModel, batch: TrafficBatch, part: slice, truth: Sequence[bool] = ()
    ) -> Tensor:
        """Speeds (B * N, horizon) of the sequences `part` of a batch; truth as in the model."""
        columns = self.columns(part)
        inputs, future = (self._there(x[:, columns]) for x in (batch.inputs, batch.future))
        scaled = model(inputs, future, self.copies, truth)
        tiled = self.scaler.tiled(part.stop - part.start)
        mean, scale = (self._there(x[:, None]) for x in tiled)
        return scaled * scale + mean

    def loss(self, speeds: Tensor, batch: TrafficBatch, part: slice, count: int) -> Tensor:
        """What the sequences `part` add to the mean error over `count` targets of a batch."""
        columns = self.columns(part)
        targets, mask = (self._there(x[:, columns].T) for x in (batch.targets, batch.mask))
        return masked_absolute_error(speeds, targets, mask, count=count)

    def _there(self, x: np.ndarray) -> Array:
        return to_device(x, self.device)

    def columns(self, part: slice) -> slice:
        """Where the sequences `part` stand in the arrays of a batch."""
        return slice(part.start * self.num_sensors, part.stop * self.num_sensors)

    def predict(self, starts: np.ndarray) -> np.ndarray:
        """Speeds (horizon, B * N) float32 for the windows whose first rows are `starts` (B,).

        The truth of the steps to predict is not looked at.
        """
        batch = self.windows.cut(starts)
        parts = pieces(len(starts), self.num_sensors, self.device)
        out = np.empty(batch.targets.shape, np.float32)

        def run(start: int, stop: int) -> None:
            with no_grad():
                for part in parts[start:stop]:
                    speeds = self.speeds(self.model, batch, part).data
                    out[:, self.columns(part)] = to_numpy(speeds).T

        share_pieces(run, len(parts), self.device)
        return out

    def latest(self, missing: Missing | None = None) -> np.ndarray:
        """Speeds (horizon, N) of the steps right after the last row of the data.

        missing : what stands in for readings that are missing (see WindowBatches); None for what
                  did so in training.
        Raises DataError if fewer rows than a forecast sees follow each other at the end.
        """
        history, data = self.windows.history, self.dataset
        rows = int(data.stretches[-1] - data.stretches[-2])
        if rows < history:
            raise DataError(
                f"{data.where}: its last {rows} rows follow a gap, and a forecast sees {history}; "
                "give more rows"
            )
        continued = data.continued(self.windows.horizon)
        settings = replace(self.settings, missing=missing or self.settings.missing)
        ahead = SpeedForecaster(settings, continued, self.scaler, self.device)
        ahead.model = self.model
        return ahead.predict(np.array([data.num_steps - history]))


def load_forecaster(
    folder: RunFolder, settings: ForecastSettings, dataset: TrafficDataset, device: str = "cpu"
) -> SpeedForecaster:
    """The best weights of a run, to forecast on data of the sensors it was trained on, in their
    order (see `joined`).

    settings : what the run's settings.json says of the run.
    Raises DataError if there are no such weights, or if the data lack what a feature needs.
    """
    groups, _ = load_checkpoint(folder.best)
    with belongs_to_the_run(folder.best):
        scaler = Scaler(**groups["scaler"])
        forecaster = SpeedForecaster(settings, dataset, scaler, resolve_device(device))
        forecaster.model.load_state(groups["model"])
    return forecaster


def roads(dataset: TrafficDataset, edge_features: str) -> CSRGraph:
    """The graph whose arcs have the features that are named, standardised over its arcs.

    They belong to the graph, which is one and the same in training and in tests.
    Raises DataError for one that the graph's file does not give.
    """
    names = chosen_columns(f"{dataset.where}: roads", dataset.edge_names, edge_features)
    if not names:
        return dataset.graph.with_edge_attr(None)
    chosen = [dataset.edge_names.index(name) for name in names]
    rows = dataset.graph.edge_attr[:, chosen].astype(np.float64)
    if len(rows):
        deviation = rows.std(axis=0)
        rows = (rows - rows.mean(axis=0)) / np.where(deviation > 1e-12, deviation, 1)
    return dataset.graph.with_edge_attr(rows.astype(np.float32))


def with_known_features(settings: ForecastSettings, dataset: TrafficDataset) -> ForecastSettings:
    """`auto` among the features as what the data know: the time of day and, for the released
    variant, where the sensors are; and among those of roads, what the graph's file gives.
    """
    if settings.edge_features == AUTO:
        settings = replace(settings, edge_features=",".join(dataset.edge_names) or NONE)
    if settings.features != ("auto",):
        return settings
    known = ["time_of_day"] if dataset.time_of_day is not None else []
    if settings.variant == "released" and dataset.coordinates is not None:
        known.append("coordinates")
    return replace(settings, features=tuple(known) or ("none",))
