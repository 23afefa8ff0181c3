"""Intervals hold the share of errors that they name: by hand, by loops, and on data to come."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from small_traffic import small_traffic

from gaancore.errors import DataError, SettingsError
from gaancore.tasks import open_run
from gaancore.training.traffic.scores.intervals import coverage, validation_intervals
from gaancore.training.traffic.scores.scorer import ForecastScorer
from gaancore.training.traffic.settings import ForecastSettings

HORIZON = 3
SETTINGS = ForecastSettings(history=2, horizon=HORIZON, batch_size=7, fractions=(0.2, 0.4, 0.4))


def noise(num_steps: int, seed: int = 0, sensors: int = 3) -> np.ndarray:
    """Readings whose spread differs from sensor to sensor, with no memory."""
    rng = np.random.default_rng(seed)
    return 50 + rng.standard_normal((num_steps, sensors)) * np.array([1, 4, 9])[:sensors]


def always_fifty(starts: np.ndarray) -> np.ndarray:
    return np.full((HORIZON, len(starts) * 3), 50, np.float32)


def ends_by_loops(scorer: ForecastScorer, level: float) -> tuple[np.ndarray, np.ndarray]:
    low, high = np.zeros((2, HORIZON, 3))
    data = scorer.dataset
    for step in range(HORIZON):
        for sensor in range(3):
            rows = scorer.windows.val + 2 + step
            found = sorted(
                float(data.speeds[row, sensor]) - 50 for row in rows if data.valid[row, sensor]
            )
            ahead = step + 1
            tail = int((len(found) + ahead) * (1 - level) / 2 - (ahead - 1) / 2 + 1e-9)
            low[step, sensor], high[step, sensor] = found[tail - 1], found[-tail]
    return low, high


@pytest.mark.parametrize("level", [0.5, 0.9])
def test_the_ends_are_order_statistics_of_the_errors_of_validation(level):
    speeds = noise(400)
    speeds[::5, 1] = np.nan
    scorer = ForecastScorer(small_traffic(speeds), SETTINGS)
    found = validation_intervals(scorer, always_fifty, level)
    low, high = ends_by_loops(scorer, level)
    assert_allclose(found.low, low, rtol=1e-6)
    assert_allclose(found.high, high, rtol=1e-6)
    assert found.shared == 0
    ahead = np.full((HORIZON, 3), 50, np.float32)
    assert_allclose(found.around(ahead)[0], 50 + low, rtol=1e-6)
    assert_array_equal(found.around(ahead[:, None])[1], found.around(ahead)[1][:, None])


def test_errors_to_come_that_are_drawn_alike_lie_within():
    scorer = ForecastScorer(small_traffic(noise(6000)), SETTINGS)
    found = validation_intervals(scorer, always_fifty, 0.9)
    rows = scorer.rows_ahead("test")
    low, high = found.around(np.full((*rows.shape, 3), 50, np.float32))
    truth, mask = scorer.dataset.speeds[rows], scorer.dataset.valid[rows]
    held = coverage(low, high, truth, mask)
    assert held.min() > 0.88
    assert held.max() < 0.92
    width = (found.high - found.low)[0]
    assert width[0] < width[1] / 3 < width[2] / 6  # each sensor's own


def test_a_sensor_with_few_readings_takes_the_ends_of_all_and_that_is_said():
    speeds = noise(400)
    scorer = ForecastScorer(small_traffic(speeds), SETTINGS)
    first = scorer.windows.val[0]
    speeds[first + 10 : first + 160, 2] = np.nan
    scorer = ForecastScorer(small_traffic(speeds), SETTINGS)
    found = validation_intervals(scorer, always_fifty, 0.9)
    assert found.shared == 1
    rows = scorer.rows_ahead("validation")[0]
    errors = np.sort((scorer.dataset.speeds - 50)[rows][scorer.dataset.valid[rows]])
    tail = int((len(errors) + 1) * 0.05)
    assert_allclose((found.low[0, 2], found.high[0, 2]), (errors[tail - 1], errors[-tail]))


def test_too_few_readings_and_levels_that_cannot_be_are_refused():
    scorer = ForecastScorer(small_traffic(noise(40)), SETTINGS)
    with pytest.raises(
        DataError, match=r"too few readings 1 steps ahead .* lower level \(interval"
    ):
        validation_intervals(scorer, always_fifty, 0.999)
    for level in (0, 1, -0.5, float("nan")):
        with pytest.raises(SettingsError, match="interval: expected a level above 0 and below 1"):
            validation_intervals(scorer, always_fifty, level)


def test_coverage_counts_readings_that_are_there():
    truth = np.array([[[1.0, 5], [9, 0]], [[0, 0], [0, 0]]])
    mask = np.array([[[True, True], [True, False]], [[False] * 2] * 2])
    low, high = np.full((2, 2, 2), 1.0), np.full((2, 2, 2), 5.0)
    assert_allclose(coverage(low, high, truth, mask), [2 / 3, np.nan])


def test_the_latest_forecast_and_all_of_the_test_part_have_the_same_intervals(a_run):
    run, _ = a_run
    latest, found = run.forecast(interval=0.8), run.forecast_all(interval=0.8)
    assert_array_equal(latest.speeds, run.forecast().speeds)  # nothing else changes
    assert_allclose((latest.high - latest.low), (found.high - found.low)[:, 0], rtol=0, atol=1e-4)
    own = run.intervals(0.8)
    assert_array_equal(latest.low, latest.speeds + own.low)
    assert run.forecast().low is None


def test_all_forecasts_stand_beside_truth_mask_and_time(a_run):
    run, data = a_run
    found = run.forecast_all()
    scorer = ForecastScorer(data, run.settings)
    starts, history = scorer.windows.test, run.settings.history
    assert found.speeds.shape == (run.settings.horizon, starts.size, data.num_sensors)
    for window in (0, 7, starts.size - 1):
        last = starts[window] + history - 1
        assert (found.rows[window], found.made[window]) == (last, data.times[last])
        for step in range(run.settings.horizon):
            row = last + 1 + step
            assert found.times[step, window] == data.times[row]
            assert_array_equal(found.truth[step, window], data.speeds[row])
            assert_array_equal(found.mask[step, window], data.valid[row])
    errors = np.abs(found.speeds.astype(np.float64) - found.truth)[found.mask]
    assert_allclose(run.evaluate(["test"])["test"]["all steps"]["mae"], errors.mean(), rtol=1e-9)


@pytest.fixture(scope="module")
def a_run(tmp_path_factory):
    from small_traffic_run import small_roads, started

    folder, data = tmp_path_factory.mktemp("run"), small_roads()
    started(folder, data, epochs=1).train()
    return open_run(folder, data=data), replace(data)
