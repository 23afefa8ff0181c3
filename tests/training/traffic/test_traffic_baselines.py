"""The baselines against plain loops over a window's readings and the training rows."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gaancore.data import TrafficDataset, Windows, load_metr_la, split_windows, synthetic_traffic
from gaancore.errors import DataError
from gaancore.training.traffic.scores.baselines import historical_average, last_value
from gaancore.training.traffic.scores.metrics import score

WINDOWS = Windows(6, 4, np.arange(0, 2000), np.arange(2000, 2100), np.arange(2100, 2290))
TRAINING_ROWS = 2009


@pytest.fixture(scope="module")
def data() -> TrafficDataset:
    """Eight days, of which training sees the first seven but for a few rows."""
    return synthetic_traffic(num_roads=2, sensors_per_road=2, num_days=8)


def training_mean(data: TrafficDataset, sensor: int, rows: list[int]) -> float | None:
    readings = [float(data.speeds[r, sensor]) for r in rows if data.valid[r, sensor]]
    return sum(readings) / len(readings) if readings else None


def test_the_last_value_is_each_sensors_last_reading_in_the_window(data):
    everything = list(range(TRAINING_ROWS))
    starts = np.array([0, 700, 2101])
    silent = replace(data, speeds=data.speeds.copy(), valid=data.valid.copy())
    silent.speeds[700:706, 1], silent.valid[700:706, 1] = 0, False
    found = last_value(silent, WINDOWS)(starts)
    assert found.shape == (4, 12)
    assert found.dtype == np.float32
    for b, start in enumerate(starts):
        for n in range(4):
            expected = training_mean(silent, n, everything)
            for row in range(start, start + 6):
                if silent.valid[row, n]:
                    expected = silent.speeds[row, n]
            assert_allclose(found[:, b * 4 + n], expected, rtol=1e-6)


@pytest.mark.parametrize("dated", [True, False])
def test_the_historical_average_is_over_the_same_time_of_the_same_day(data, dated):
    known = data if dated else replace(data, times=None)
    starts = np.array([30, 1000, 2101, 2280])
    found = historical_average(known, WINDOWS)(starts)
    assert found.dtype == np.float32
    for b, start in enumerate(starts):
        for step in range(4):
            row = start + 6 + step
            same_time = [r for r in range(TRAINING_ROWS) if r % 288 == row % 288]
            same_day = [r for r in same_time if r // 288 % 7 == row // 288 % 7]
            for n in range(4):
                expected = training_mean(data, n, same_day) if dated else None
                if expected is None:
                    expected = training_mean(data, n, same_time)
                assert expected is not None
                assert_allclose(found[step, b * 4 + n], expected, rtol=1e-6)


def test_a_time_that_training_never_saw_gets_the_sensors_mean(data):
    short = Windows(6, 4, np.arange(50), np.arange(60, 70), np.arange(100, 110))
    found = historical_average(data, short)(np.array([100]))
    expected = [training_mean(data, n, list(range(59))) for n in range(4)]
    assert_allclose(found, np.tile(expected, (4, 1)), rtol=1e-6)


@pytest.mark.parametrize("baseline", [last_value, historical_average])
def test_no_baseline_learns_from_what_comes_after_training(data, baseline):
    later = replace(data, speeds=data.speeds.copy())
    later.speeds[TRAINING_ROWS:] = 7
    starts = np.arange(0, 1900, 50)
    assert_allclose(baseline(later, WINDOWS)(starts), baseline(data, WINDOWS)(starts), rtol=0)


def test_the_historical_average_needs_the_time_of_day(data):
    with pytest.raises(DataError, match="the historical average needs the time of day"):
        historical_average(replace(data, times=None, time_of_day=None), WINDOWS)


def test_the_official_week_in_the_public_protocol_gives_the_known_last_value(shared_data):
    # 80/20 by rows, 12 steps in, 3 out, errors over all three: 3.16 and 5.54 are published
    data = load_metr_la(shared_data / "metr-la")
    windows = split_windows(data, horizon=3, split="rows", fractions=(0.8, 0.0, 0.2))
    errors = score(last_value(data, windows), data, windows, windows.test).pooled()
    assert_allclose((errors.mae, errors.rmse), (3.16, 5.54), atol=0.006)
