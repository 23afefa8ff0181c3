"""Windows: every one that crosses no gap, split as DCRNN and as GaAN split them."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from small_traffic import small_traffic, speeds_of, times_of

from gaancore.data import Windows, split_windows
from gaancore.data.traffic.dataset import TrafficDataset
from gaancore.errors import DataError, SettingsError


def series(lengths: list[int]) -> TrafficDataset:
    """Stretches of the given lengths, a day between them."""
    times = times_of(sum(lengths))
    for end in np.cumsum(lengths)[:-1]:
        times[end:] += np.timedelta64(1, "D")
    return small_traffic(speeds_of(sum(lengths), 1), times=times)


def parts(windows: Windows) -> list[list[int]]:
    return [windows.train.tolist(), windows.val.tolist(), windows.test.tolist()]


def test_the_full_series_gives_dcrnns_counts():
    windows = split_windows(series([34272]))
    assert [len(part) for part in parts(windows)] == [23974, 3425, 6850]
    assert_array_equal(np.concatenate(parts(windows)), np.arange(34249))


def test_the_full_series_split_by_rows_gives_gaans_counts():
    windows = split_windows(series([34272]), split="rows")
    ends = np.cumsum([23991, 3427, 6854])
    for part, first, end in zip(parts(windows), (0, *ends[:-1]), ends, strict=True):
        assert part == list(range(first, end - 23))
    assert len(windows.test) == 6831


@given(
    lengths=st.lists(st.integers(1, 12), min_size=1, max_size=5),
    history=st.integers(1, 4),
    horizon=st.integers(1, 3),
)
def test_windows_are_all_runs_of_consecutive_rows(lengths, history, horizon):
    data = series(lengths)
    step = np.timedelta64(data.step, "s")
    span = history + horizon
    expected = [
        s
        for s in range(data.num_steps - span + 1)
        if all(data.times[r + 1] - data.times[r] == step for r in range(s, s + span - 1))
    ]
    assume(expected and data.step == 300)  # mostly lone rows are a series of longer steps
    whole = (1.0, 0.0, 0.0)
    windows = split_windows(data, history=history, horizon=horizon, fractions=whole)
    assert parts(windows) == [expected, [], []]
    rows = split_windows(data, history=history, horizon=horizon, fractions=whole, split="rows")
    assert parts(rows) == [expected, [], []]


@given(length=st.integers(40, 90), split=st.sampled_from(["windows", "rows"]))
def test_parts_follow_each_other_and_by_rows_share_none(length, split):
    windows = split_windows(series([length]), history=3, horizon=2, split=split)
    train, val, test = parts(windows)
    assert train[-1] < val[0]
    assert val[-1] < test[0]
    if split == "rows":
        assert train[-1] + 5 <= val[0]
        assert val[-1] + 5 <= test[0]


@pytest.mark.parametrize("split", ["windows", "rows"])
def test_a_part_of_0_is_empty(split):
    windows = split_windows(series([99]), horizon=3, split=split, fractions=(0.8, 0.0, 0.2))
    assert not windows.val.size
    assert windows.train.size + windows.test.size in (85, 85 - 14)


def test_training_rows_are_those_of_training_windows():
    windows = Windows(2, 1, np.array([0, 5]), np.array([6]), np.array([9]))
    assert np.flatnonzero(windows.training_rows(12)).tolist() == [0, 1, 2, 5, 6, 7]


def test_windows_that_come_split_keep_their_split():
    own = Windows(12, 12, np.array([0, 1]), np.array([5]), np.array([3]))
    data = replace(series([40]), windows=own)
    assert split_windows(data) is own
    with pytest.raises(SettingsError, match="already cut and split: 12 steps in, 12 out"):
        split_windows(data, horizon=3)
    with pytest.raises(SettingsError, match=r"split by rows$"):
        split_windows(data, split="rows")


@pytest.mark.parametrize(
    ("lengths", "options", "message"),
    [
        ([23], {}, "23 rows, fewer than one window of 24"),
        ([20, 21, 9], {}, "50 rows, at most 21 without a gap, fewer than one window of 24"),
        ([25], {}, "no test window: 25 rows hold 2 windows of 24 rows"),
        ([60], {"split": "rows"}, "no validation window: 60 rows hold 37 windows"),
    ],
)
def test_too_few_rows_are_refused(lengths, options, message):
    with pytest.raises(DataError, match=f"^speeds.csv: {message}"):
        split_windows(series(lengths), **options)


@pytest.mark.parametrize(
    "options",
    [
        {"split": "days"},
        {"history": 0},
        {"history": 12, "horizon": -1},
        {"fractions": (0.7, 0.1, 0.1)},
        {"fractions": (0.7, np.nan, 0.3)},
        {"fractions": (0.0, 0.5, 0.5)},
        {"fractions": (1.2, -0.1, -0.1)},
    ],
)
def test_impossible_settings_are_refused(options: dict[str, Any]):
    with pytest.raises(SettingsError, match=f"^{next(iter(options))}"):
        split_windows(series([60]), **options)
