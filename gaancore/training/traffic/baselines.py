"""What a forecast must beat to have learned anything: the last value, and the usual one.

Both are functions of a dataset that give a forecaster: first rows (B,) of windows -> predictions
(horizon, B * N) float32, in the data's units.
"""

import numpy as np

from gaancore.data.traffic.batches import Scaler
from gaancore.data.traffic.dataset import TrafficDataset, Windows
from gaancore.errors import DataError
from gaancore.training.traffic.metrics import Forecaster


def last_value(dataset: TrafficDataset, windows: Windows) -> Forecaster:
    """Each sensor's last reading in the window, for every step ahead; where the window has none,
    the sensor's mean over the training rows.
    """
    usual = _usual_speeds(dataset, windows)

    def predict(starts: np.ndarray) -> np.ndarray:
        last = np.broadcast_to(usual, (len(starts), dataset.num_sensors))
        for step in range(windows.history):
            rows = starts + step
            last = np.where(dataset.valid[rows], dataset.speeds[rows], last)
        return np.tile(last.reshape(-1), (windows.horizon, 1)).astype(np.float32)

    return predict


def historical_average(dataset: TrafficDataset, windows: Windows) -> Forecaster:
    """The mean of a sensor's readings at the same time of the same day of the week, over the
    training rows.

    Where there is none (a week not seen whole), the mean at that time of any day, then the
    sensor's mean. Without dates the day of the week is left out.
    Raises DataError if the time of day is not known.
    """
    if dataset.time_of_day is None:
        raise DataError(
            f"{dataset.where}: the historical average needs the time of day; say when the first "
            "row was (start)"
        )
    slots = max(1, round(86400 / dataset.step))
    slot = np.rint(dataset.time_of_day * slots).astype(np.int64) % slots
    usual = np.broadcast_to(_usual_speeds(dataset, windows), (slots, dataset.num_sensors))
    table = _means(dataset, windows, slot, usual)
    if dataset.day_of_week is not None:
        slot = dataset.day_of_week * slots + slot
        table = _means(dataset, windows, slot, np.tile(table, (7, 1)))

    def predict(starts: np.ndarray) -> np.ndarray:
        ahead = np.arange(windows.history, windows.span)[:, None]
        return table[slot[starts + ahead]].reshape(windows.horizon, -1).astype(np.float32)

    return predict


def _usual_speeds(dataset: TrafficDataset, windows: Windows) -> np.ndarray:
    return Scaler.fit(dataset, windows, "per-sensor").mean


def _means(
    dataset: TrafficDataset, windows: Windows, group: np.ndarray, fallback: np.ndarray
) -> np.ndarray:
    """Mean reading of each group of training rows; `fallback` (groups, N) where it has none."""
    seen = windows.training_rows(dataset.num_steps)
    sums, counts = np.zeros(fallback.shape), np.zeros(fallback.shape)
    np.add.at(sums, group[seen], dataset.speeds[seen])  # missing speeds are 0
    np.add.at(counts, group[seen], dataset.valid[seen])
    return np.where(counts > 0, sums / np.maximum(counts, 1), fallback)
