"""What a forecast must beat to have learned anything: the last value, and the usual one.

Both are functions of a dataset that give a forecaster: first rows (B,) of windows -> predictions
(horizon, B * N) float32, in the data's units. `learned` are the data and windows whose training
rows they learn from, if these are not those that are forecast: the same sensors, in one order.
"""

import numpy as np

from gaancore.data.traffic.batches import Scaler
from gaancore.data.traffic.dataset import TrafficDataset, Windows
from gaancore.errors import DataError
from gaancore.training.traffic.scores.metrics import Forecaster

Learned = tuple[TrafficDataset, Windows]


def last_value(
    dataset: TrafficDataset, windows: Windows, learned: Learned | None = None
) -> Forecaster:
    """Each sensor's last reading in the window, for every step ahead; where the window has none,
    the sensor's mean over the training rows.
    """
    usual = _usual_speeds(*(learned or (dataset, windows)))

    def predict(starts: np.ndarray) -> np.ndarray:
        last = np.broadcast_to(usual, (len(starts), dataset.num_sensors))
        for step in range(windows.history):
            rows = starts + step
            last = np.where(dataset.valid[rows], dataset.speeds[rows], last)
        return np.tile(last.reshape(-1), (windows.horizon, 1)).astype(np.float32)

    return predict


def historical_average(
    dataset: TrafficDataset, windows: Windows, learned: Learned | None = None
) -> Forecaster:
    """The mean of a sensor's readings at the same time of the same day of the week, over the
    training rows.

    Where there is none (a week not seen whole), the mean at that time of any day, then the
    sensor's mean. Without dates the day of the week is left out.
    Raises DataError if the time of day is not known.
    """
    source, seen = learned or (dataset, windows)
    for data in (source, dataset):
        if data.time_of_day is None:
            raise DataError(
                f"{data.where}: the historical average needs the time of day; say when the first "
                "row was (start)"
            )
    slots = max(1, round(86400 / dataset.step))
    usual = np.broadcast_to(_usual_speeds(source, seen), (slots, dataset.num_sensors))
    table = _means(source, seen, _slot(source, slots, dated=False), usual)
    dated = source.day_of_week is not None and dataset.day_of_week is not None
    if dated:
        table = _means(source, seen, _slot(source, slots, dated), np.tile(table, (7, 1)))
    slot = _slot(dataset, slots, dated)

    def predict(starts: np.ndarray) -> np.ndarray:
        ahead = np.arange(windows.history, windows.span)[:, None]
        return table[slot[starts + ahead]].reshape(windows.horizon, -1).astype(np.float32)

    return predict


def _slot(dataset: TrafficDataset, slots: int, dated: bool) -> np.ndarray:
    """(T,) int64: which of the `slots` of a day each row is in, of a week if `dated`."""
    assert dataset.time_of_day is not None
    slot = np.rint(dataset.time_of_day * slots).astype(np.int64) % slots
    if dated:
        assert dataset.day_of_week is not None
        slot = dataset.day_of_week * slots + slot
    return slot


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
