"""Windows of a series as arrays for a model: scaled inputs, raw targets, time and place."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, get_args

import numpy as np

from gaancore.choices import WIDTHS, Missing, ScalerKind, ScalerMissing
from gaancore.data.traffic.dataset import TrafficDataset, Windows, count_sensors
from gaancore.errors import DataError, expect_choice


@dataclass(frozen=True)
class Scaler:
    """z = (speed - mean) / scale; mean and scale are (N,) float64, one number per sensor.
    other_mean and other_scale are (C,): one for each other quantity, whatever the sensor.

    Fitted on training rows and stored with a model, to scale other data by the same numbers.

    >>> from gaancore.data import Scaler, split_windows, synthetic_traffic
    >>> data = synthetic_traffic(num_days=2)
    >>> scaler = Scaler.fit(data, split_windows(data), "global")
    >>> scaler.transform(data.speeds).dtype
    dtype('float32')
    """

    mean: np.ndarray
    scale: np.ndarray
    other_mean: np.ndarray = field(default_factory=lambda: np.zeros(0))
    other_scale: np.ndarray = field(default_factory=lambda: np.zeros(0))

    @classmethod
    def fit(
        cls,
        dataset: TrafficDataset,
        windows: Windows,
        how: ScalerKind,
        missing: ScalerMissing = "leave-out",
    ) -> "Scaler":
        """Mean and population standard deviation of the readings in training windows.

        Where all readings are equal, the scale is 1.
        how     : `per-sensor` gives each sensor its own, where it has any reading there; `global`
                  one for all.
        missing : `leave-out` does not count missing readings; `zero` counts each as a speed of 0,
                  as DCRNN does.
        Raises DataError for a sensor without any reading in the whole series, and if the training
        windows hold no reading; SettingsError for another `how` or `missing`.
        """
        expect_choice("scaler", how, get_args(ScalerKind))
        expect_choice("scaler_missing", missing, get_args(ScalerMissing))
        silent = [dataset.sensor_ids[n] for n in np.flatnonzero(~dataset.valid.any(axis=0))]
        if silent:
            raise DataError(
                f"{dataset.where}: {count_sensors(silent)} without a single reading; remove them "
                "from the speeds"
            )
        seen = windows.training_rows(dataset.num_steps)
        speeds, valid = dataset.speeds[seen].astype(np.float64), dataset.valid[seen]
        if not valid.any():
            raise DataError(f"{dataset.where}: no reading at all in the training windows")
        if missing == "zero":  # which is what stands in `speeds`
            valid = np.ones_like(valid)
        everything = speeds[valid]
        mean = np.full(dataset.num_sensors, everything.mean())
        scale = np.full(dataset.num_sensors, everything.std())
        if how == "per-sensor":
            counts = valid.sum(axis=0)
            any_seen = counts > 0
            own_mean = speeds.sum(axis=0) / np.maximum(counts, 1)  # missing speeds are 0
            mean[any_seen] = own_mean[any_seen]
            squares = np.where(valid, speeds - mean, 0.0) ** 2
            own_scale = np.sqrt(squares.sum(axis=0) / np.maximum(counts, 1))
            scale[any_seen] = own_scale[any_seen]
        scale[scale == 0] = 1.0
        return cls(mean, scale, *_spread_of_others(dataset, seen))

    def transform(self, speeds: np.ndarray) -> np.ndarray:
        """Speeds (..., N) as float32 z, computed in float64."""
        return ((speeds - self.mean) / self.scale).astype(np.float32)

    def others(self, dataset: TrafficDataset) -> np.ndarray:
        """Other quantities of a dataset (T, N, C) as float32 z, 0 where one is missing.

        Raises DataError if there are not as many as in training.
        """
        found, count = dataset.others, self.other_mean.size
        have = 0 if found is None else found.shape[2]
        if have != count:
            raise DataError(
                f"{dataset.where}: {have} other quantities beside the readings, but training had "
                f"{count} (inputs); give the same"
            )
        if found is None:
            return np.empty((*dataset.speeds.shape, 0), np.float32)
        scaled = (found - self.other_mean) / self.other_scale
        return np.where(np.isnan(scaled), 0, scaled).astype(np.float32)

    def tiled(self, copies: int) -> tuple[np.ndarray, np.ndarray]:
        """mean and scale, float32, of `copies` sequences side by side: (copies * N,) each.

        speed = z * scale + mean brings a model's outputs (..., copies * N) back to speeds.
        """
        mean, scale = np.tile(self.mean, copies), np.tile(self.scale, copies)
        return mean.astype(np.float32), scale.astype(np.float32)

    def foreign_units(self, dataset: TrafficDataset) -> str | None:
        """A warning if the data's mean is over a training deviation away: other units, perhaps."""
        if not dataset.valid.any():
            return None
        mean = float(dataset.speeds[dataset.valid].mean(dtype=np.float64))
        usual, spread = float(self.mean.mean()), float(self.scale.mean())
        if abs(mean - usual) <= spread:
            return None
        return (
            f"{dataset.where}: mean speed {mean:.1f}, but {usual:.1f} in training; other units? "
            "(1 mile per hour is 1.609 km/h)"
        )


class TrafficBatch(NamedTuple):
    """B windows at once: sequence b's sensor n is column b * N + n, step t is row t.

    inputs  : (history, B * N, F) float32; channel 0 the scaled speed, then the features, then
              other quantities, which in `future` are 0: nobody knows them.
    targets : (horizon, B * N) float32, speeds in the data's units; 0 where there is none.
    mask    : (horizon, B * N) bool, True where there is a target.
    future  : (horizon, B * N, F) float32, the inputs of the steps to predict. Channel 0 is the
              truth: for teacher forcing alone.
    """

    inputs: np.ndarray
    targets: np.ndarray
    mask: np.ndarray
    future: np.ndarray


class WindowBatches:
    """Cuts windows out of a series on demand; nothing is copied before.

    features : any of `time_of_day` (1 channel in [0, 1)), `day_of_week` (7, one-hot, Monday
               first) and `coordinates` (2, scaled to mean 0 and standard deviation 1 over the
               sensors), in this order.
    missing  : what a missing reading is in the inputs: `zero`, a speed of 0 as in DCRNN; `nan`, no
               speed: 0 after scaling, which is the mean; `interpolate`, on the line between the
               readings around it in the same part of the window, or the nearest one.
    Raises DataError if the data lack what a feature needs, SettingsError for an unknown choice.

    >>> from gaancore.data import Scaler, WindowBatches, split_windows, synthetic_traffic
    >>> data = synthetic_traffic(num_days=2)
    >>> windows = split_windows(data)
    >>> batches = WindowBatches(data, Scaler.fit(data, windows, "global"))
    >>> batch = batches.cut(windows.train[:8])
    >>> batch.inputs.shape, batch.targets.shape  # 8 windows of 40 sensors
    ((12, 320, 2), (12, 320))
    """

    def __init__(
        self,
        dataset: TrafficDataset,
        scaler: Scaler,
        *,
        history: int = 12,
        horizon: int = 12,
        features: Sequence[str] = ("time_of_day",),
        missing: Missing = "zero",
    ) -> None:
        expect_choice("missing", missing, get_args(Missing))
        for feature in features:
            expect_choice("features", feature, tuple(WIDTHS))
        self.dataset = dataset
        self.scaler = scaler
        self.history, self.horizon = history, horizon
        self.missing = missing
        self.by_step = _by_step(dataset, features)
        self.by_sensor = _by_sensor(dataset, features)
        self.others = scaler.others(dataset)

    @property
    def num_inputs(self) -> int:
        """F: the scaled speed, the features' channels, and other quantities."""
        return 1 + self.by_step.shape[1] + self.by_sensor.shape[1] + self.others.shape[2]

    def cut(self, starts: np.ndarray) -> TrafficBatch:
        """The windows whose first rows are `starts` (B,) int64."""
        steps = np.arange(self.history + self.horizon)
        rows = np.asarray(starts) + steps[:, None]  # (history + horizon, B)
        seen, ahead = rows[: self.history], rows[self.history :]
        return TrafficBatch(
            inputs=self._inputs(seen, known=True),
            targets=self.dataset.speeds[ahead].reshape(self.horizon, -1),
            mask=self.dataset.valid[ahead].reshape(self.horizon, -1),
            future=self._inputs(ahead, known=False),
        )

    def _inputs(self, rows: np.ndarray, *, known: bool) -> np.ndarray:
        """known: whether these rows have been read, so that other quantities are there."""
        speeds, valid = self.dataset.speeds[rows], self.dataset.valid[rows]
        if self.missing == "interpolate":
            speeds, valid = _interpolated(speeds, valid)
        inputs = np.empty((*speeds.shape, self.num_inputs), np.float32)
        inputs[..., 0] = self.scaler.transform(speeds)
        if self.missing != "zero":
            inputs[..., 0][~valid] = 0
        own = 1 + self.by_step.shape[1]
        inputs[..., 1:own] = self.by_step[rows][:, :, None]
        others = inputs.shape[-1] - self.others.shape[2]
        inputs[..., own:others] = self.by_sensor
        inputs[..., others:] = self.others[rows] if known else 0
        return inputs.reshape(len(rows), -1, self.num_inputs)


def readings_seen(dataset: TrafficDataset, starts: np.ndarray, history: int) -> np.ndarray:
    """(W, N) int64: how many readings of each sensor the windows that start at `starts` (W,) see,
    of `history`.
    """
    until = np.zeros((dataset.num_steps + 1, dataset.num_sensors), np.int64)
    np.cumsum(dataset.valid, axis=0, out=until[1:])
    return until[starts + history] - until[starts]


def _by_step(dataset: TrafficDataset, features: Sequence[str]) -> np.ndarray:
    """The channels that are the same for all sensors: (T, .) float32."""
    channels = [np.empty((dataset.num_steps, 0), np.float32)]
    if "time_of_day" in features:
        channels.append(_known(dataset, "time_of_day", dataset.time_of_day)[:, None])
    if "day_of_week" in features:
        days = _known(dataset, "day_of_week", dataset.day_of_week)
        channels.append((days[:, None] == np.arange(7)).astype(np.float32))
    return np.hstack(channels)


def _by_sensor(dataset: TrafficDataset, features: Sequence[str]) -> np.ndarray:
    """The channels that are the same for all steps: (N, .) float32."""
    if "coordinates" not in features:
        return np.empty((dataset.num_sensors, 0), np.float32)
    places = _known(dataset, "coordinates", dataset.coordinates)
    spread = places.std(axis=0)
    spread[spread == 0] = 1
    return ((places - places.mean(axis=0)) / spread).astype(np.float32)


def _spread_of_others(dataset: TrafficDataset, seen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation (C,) of each other quantity in the rows `seen`, float64; 0 and 1
    of one that is never there or always the same.
    """
    if dataset.others is None:
        return np.zeros(0), np.zeros(0)
    values = dataset.others[seen].astype(np.float64)
    there = ~np.isnan(values)
    count = np.maximum(there.sum(axis=(0, 1)), 1)
    mean = np.where(there, values, 0).sum(axis=(0, 1)) / count
    scale = np.sqrt((np.where(there, values - mean, 0) ** 2).sum(axis=(0, 1)) / count)
    scale[scale == 0] = 1.0
    return mean, scale


def _known(dataset: TrafficDataset, feature: str, values: np.ndarray | None) -> np.ndarray:
    if values is None:
        times = "add a column of times, or give the time of the first row (start)"
        remedy = {
            "time_of_day": times,
            "day_of_week": times,
            "coordinates": "add a file with sensor_id, latitude and longitude",
        }[feature]
        raise DataError(
            f"{dataset.where}: the files do not say the {feature}; {remedy}, or train "
            "without this feature"
        )
    return values


def _interpolated(speeds: np.ndarray, valid: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gaps along axis 0 filled linearly, at the ends with the nearest reading: (L, B, N) each.

    A column without any reading stays invalid.
    """
    length = len(speeds)
    steps = np.arange(length).reshape(-1, 1, 1)
    before = np.maximum.accumulate(np.where(valid, steps, -1), axis=0)
    after = np.minimum.accumulate(np.where(valid, steps, length)[::-1], axis=0)[::-1]
    low = np.where(before < 0, after, before)
    high = np.where(after == length, before, after)
    some = valid.any(axis=0)
    low, high = np.where(some, low, 0), np.where(some, high, 0)
    left, right = (np.take_along_axis(speeds, place, axis=0) for place in (low, high))
    weight = (steps - low) / np.maximum(high - low, 1)
    filled = (left + weight * (right - left)).astype(np.float32)
    return np.where(valid, speeds, filled), np.broadcast_to(some, valid.shape)
