"""Cutting a series into windows, and the windows into training, validation and test."""

from typing import get_args

import numpy as np

from gaancore.choices import WindowSplit
from gaancore.data.traffic.dataset import TrafficDataset, Windows
from gaancore.errors import DataError, SettingsError, expect_choice

PARTS = ("training", "validation", "test")


def split_windows(
    dataset: TrafficDataset,
    *,
    history: int = 12,
    horizon: int = 12,
    split: WindowSplit = "windows",
    fractions: tuple[float, float, float] = (0.7, 0.1, 0.2),
) -> Windows:
    """All windows of the series, one step apart, none across a gap, split in order of time.

    `windows` (DCRNN's way): W windows are cut first; round(0.7 W) are for training, round(0.2 W)
    for test, the rest for validation. 34,272 steps give 23,974 / 3,425 / 6,850. Neighbouring
    windows share rows, so the last ones of a part overlap the first of the next.
    `rows` (GaAN's way): the rows are split, round(0.1 T) for validation, round(0.2 T) for test, the
    rest for training, and each part is cut into windows on its own.
    A fraction of 0 leaves its part empty. Files that come as windows keep the split they have.

    Raises DataError if there are fewer rows than a window or none for a part, SettingsError for
    a split, lengths or fractions that cannot be.

    >>> from gaancore.data import split_windows, synthetic_traffic
    >>> windows = split_windows(synthetic_traffic(num_days=2))
    >>> windows.train.size, windows.val.size, windows.test.size
    (387, 55, 111)
    """
    expect_choice("split", split, get_args(WindowSplit))
    if history < 1 or horizon < 1:
        raise SettingsError(f"history and horizon: expected 1 or more, got {history}, {horizon}")
    if min(fractions) < 0 or not fractions[0] or not abs(sum(fractions) - 1) <= 1e-9:
        raise SettingsError(
            f"fractions: expected training, validation and test parts that add up to 1, "
            f"training not 0; got {', '.join(map(str, fractions))}"
        )
    if dataset.windows is not None:
        return _own_windows(dataset, dataset.windows, history, horizon, split)
    starts = window_starts(dataset, history + horizon)
    if split == "windows":
        num_test = round(fractions[2] * starts.size)
        num_train = round(fractions[0] * starts.size)
        if not fractions[1]:
            num_train = starts.size - num_test
        train, val, test = np.split(starts, [num_train, starts.size - num_test])
    else:
        num_val, num_test = (round(f * dataset.num_steps) for f in fractions[1:])
        ends = np.cumsum([dataset.num_steps - num_val - num_test, num_val, num_test])
        part = np.searchsorted(ends, starts, side="right")
        whole = part == np.searchsorted(ends, starts + history + horizon - 1, side="right")
        train, val, test = (starts[whole & (part == number)] for number in range(3))
    windows = Windows(history, horizon, train, val, test)
    for what, fraction, cut in zip(PARTS, fractions, (train, val, test), strict=True):
        if fraction and not cut.size:
            raise DataError(
                f"{dataset.where}: no {what} window: {dataset.num_steps:,} rows hold "
                f"{starts.size:,} windows of {windows.span} rows; give more rows or shorter windows"
            )
    return windows


def window_starts(dataset: TrafficDataset, span: int) -> np.ndarray:
    """The first rows of all windows of `span` rows that cross no gap: (W,) int64, ascending.

    Raises DataError if there is none.
    """
    firsts, ends = dataset.stretches[:-1], dataset.stretches[1:]
    starts = [np.arange(a, b - span + 1) for a, b in zip(firsts, ends, strict=True)]
    found = np.concatenate(starts)
    if not found.size:
        within = "" if len(firsts) == 1 else f", at most {(ends - firsts).max():,} without a gap"
        raise DataError(
            f"{dataset.where}: {dataset.num_steps:,} rows{within}, fewer than one window of "
            f"{span}; give more rows or shorter windows"
        )
    return found


def _own_windows(
    dataset: TrafficDataset, windows: Windows, history: int, horizon: int, split: str
) -> Windows:
    if split != "windows" or (history, horizon) != (windows.history, windows.horizon):
        raise SettingsError(
            f"{dataset.where}: its windows are already cut and split: {windows.history} steps in, "
            f"{windows.horizon} out, split by windows; asked for {history} in, {horizon} out, "
            f"split by {split}"
        )
    return windows
