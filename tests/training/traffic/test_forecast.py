"""Forecasting runs: learning in pieces, scheduled sampling, resuming, and forecasts afterwards."""

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from small_run import contents
from small_traffic_run import forecast_run, run_until, small_roads, started

from gaancore.data import Scaler
from gaancore.errors import DataError, SettingsError
from gaancore.system import threads
from gaancore.tasks import open_run
from gaancore.training import pieces
from gaancore.training.traffic.forecaster import SpeedForecaster
from gaancore.training.traffic.settings import ForecastSettings


def gradients(run) -> dict[str, np.ndarray]:
    """Of the first step."""
    run.model.zero_grad()
    with run.fetch() as batches:
        run._step(batches)
    return {name: p.grad for name, p in run.model.named_parameters()}


def forecaster_of(folder, dataset) -> SpeedForecaster:
    """The best weights of a run, on some data."""
    return open_run(folder)._forecaster(dataset)


def without(dataset, rows: slice):
    """The dataset with all readings of some rows missing."""
    speeds, valid = dataset.speeds.copy(), dataset.valid.copy()
    speeds[rows], valid[rows] = 0, False
    return replace(dataset, speeds=speeds, valid=valid)


@pytest.mark.parametrize("changes", [
    {}, {"variant": "released"}, {"model": "fnn"}, {"model": "max-pool", "scaler": "per-sensor"},
])  # fmt: skip
def test_a_run_that_is_interrupted_and_resumed_ends_with_the_same_bits(tmp_path, changes):
    record = started(tmp_path / "straight", **changes).train()
    run_until(started(tmp_path / "parts", **changes), 1)
    for step in (2, record["steps"] - 1):
        again = forecast_run(tmp_path / "parts", **changes)
        again.resume()
        run_until(again, step)
    again = forecast_run(tmp_path / "parts", **changes)
    again.resume()
    again.train()
    assert contents(tmp_path / "parts") == contents(tmp_path / "straight")


def test_the_same_bits_for_any_number_of_threads(tmp_path, monkeypatch, any_threads):
    monkeypatch.setattr(pieces, "ROWS", 6 * 13)
    for count in (1, 3):
        threads.set_num_threads(count)
        started(tmp_path / str(count), epochs=1).train()
    assert contents(tmp_path / "3") == contents(tmp_path / "1")


def test_the_gradient_of_a_batch_is_the_sum_of_its_pieces(tmp_path, monkeypatch):
    expected = gradients(forecast_run(tmp_path))
    monkeypatch.setattr(pieces, "ROWS", 6 * 7)
    for name, grad in gradients(forecast_run(tmp_path)).items():
        assert_allclose(grad, expected[name], rtol=1e-4, atol=1e-5, err_msg=name)


def test_pieces_are_whole_sequences_in_order():
    assert pieces.pieces(5, pieces.ROWS // 2) == [slice(0, 2), slice(2, 4), slice(4, 5)]
    assert pieces.pieces(5, pieces.ROWS * 2) == [slice(i, i + 1) for i in range(5)]


def test_the_probability_of_truth_falls_as_an_inverse_sigmoid_and_never_overflows(tmp_path):
    run = forecast_run(tmp_path, teacher_decay=3000.0)
    found = []
    for step in (0, 3000, round(3000 * math.log(3000)), 10**9):
        run.progress.step = step
        found.append(run.teacher_probability())
    assert_allclose(found, [3000 / 3001, 3000 / (3000 + math.e), 0.5, 0], rtol=1e-4)
    assert forecast_run(tmp_path, teacher_decay=0.0).teacher_probability() == 0


def test_batches_without_any_target_teach_nothing_and_are_counted(tmp_path):
    """Most training rows are missing: with batches of one window many have no target at all."""
    data = without(small_roads(), slice(20, 380))
    run = forecast_run(tmp_path, data, batch_size=1)
    run.start()
    run_until(run, 30)
    assert 15 < run.progress.empty_steps < 30
    assert set(run.optimizer.steps.values()) == {30 - run.progress.empty_steps}
    again = forecast_run(tmp_path, data, batch_size=1)
    again.resume()
    assert again.optimizer.steps == run.optimizer.steps


def test_a_part_without_windows_is_refused(tmp_path):
    with pytest.raises(DataError, match="no validation windows; give that part a share"):
        forecast_run(tmp_path, fractions=(0.8, 0.0, 0.2))


def test_forecasts_of_a_checkpoint_reproduce_the_recorded_errors(tmp_path):
    run = started(tmp_path)
    record = run.train()
    forecaster = forecaster_of(tmp_path, small_roads())
    data, starts = small_roads(), run.scorer.windows.test
    predicted = np.concatenate(
        [forecaster.predict(starts[a : a + 100]).reshape(3, -1, 6)
         for a in range(0, len(starts), 100)], axis=1,
    )  # fmt: skip
    rows = starts + np.arange(3, 6)[:, None]
    there = data.speeds[rows] != 0
    error = (predicted.astype(np.float64) - data.speeds[rows])[there]
    pooled = record["test"]["all steps"]
    assert_allclose(pooled["mae"], np.abs(error).mean(), rtol=1e-9)
    assert_allclose(pooled["rmse"], np.sqrt((error**2).mean()), rtol=1e-9)
    assert_allclose(pooled["mape"], 100 * np.abs(error / data.speeds[rows][there]).mean())
    run.load_best()
    assert run.scorer.score(run.forecaster.predict, "test") == record["test"]
    assert set(record["baselines"]) == {"last value", "historical average"}


def test_the_latest_forecast_is_that_of_the_last_window(tmp_path):
    run = started(tmp_path, epochs=1)
    run.train()
    data = small_roads()
    shorter = replace(
        data, speeds=data.speeds[:-3], valid=data.valid[:-3], times=data.times[:-3],
        time_of_day=data.time_of_day[:-3], stretches=np.array([0, data.num_steps - 3]),
    )  # fmt: skip
    latest = forecaster_of(tmp_path, shorter).latest()
    assert latest.shape == (3, 6)
    whole = forecaster_of(tmp_path, data)
    expected = whole.predict(np.array([data.num_steps - 6]))
    assert_allclose(latest, expected, rtol=1e-5)  # the time of day ahead is reckoned


def test_a_forecast_needs_as_many_rows_after_a_gap_as_a_window_sees(tmp_path):
    run = started(tmp_path, epochs=1)
    run.train()
    gap = replace(small_roads(), stretches=np.array([0, 574, 576]))
    with pytest.raises(DataError, match="last 2 rows follow a gap, and a forecast sees 3"):
        forecaster_of(tmp_path, gap).latest()


def test_other_data_meet_the_scale_of_training(tmp_path):
    run = started(tmp_path, epochs=1)
    run.train()
    faster = replace(small_roads(), speeds=small_roads().speeds * 2)
    forecaster = forecaster_of(tmp_path, faster)
    assert_array_equal(forecaster.scaler.mean, run.scaler.mean)
    own = Scaler.fit(faster, run.scorer.windows, "global")
    assert abs(own.mean[0] - run.scaler.mean[0]) > 10


def test_other_sensors_are_refused_by_name(tmp_path):
    run = started(tmp_path, epochs=1)
    run.train()
    ids = ("elsewhere", *small_roads().sensor_ids[1:])
    message = r"not the 6 that the run was trained on: 1 sensor \(elsewhere\) it does not know, 1 "
    with pytest.raises(DataError, match=message):
        open_run(tmp_path).forecast(replace(small_roads(), sensor_ids=ids))


def test_the_log_says_how_likely_the_truth_is_and_what_could_not_teach(tmp_path):
    run = started(tmp_path, epochs=1)
    run.train()
    (line,) = run.folder.read_log()
    assert 0.99 < line["teacher_probability"] < 1
    assert line["empty_steps"] == 0
    assert set(line["validation"]) == {"15 min", "mean", "all steps"}


def test_features_are_what_the_data_know_and_the_variant_asks_for(tmp_path):
    data = small_roads()
    assert forecast_run(tmp_path, data).settings.features == ("time_of_day",)
    released = forecast_run(tmp_path, data, variant="released").settings.features
    assert released == ("time_of_day", "coordinates")
    timeless = replace(data, times=None, time_of_day=None)
    assert forecast_run(tmp_path, timeless).settings.features == ("none",)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": "gat"}, "model: expected one of gaan"),
        ({"fractions": (0.7, 0.3)}, "fractions: expected three numbers"),
        ({"features": ("weather",)}, "features: expected any of auto, none, time_of_day"),
        ({"horizon": 0}, "horizon: expected 1 or more"),
        ({"teacher_decay": -1.0}, "teacher_decay: expected 0 or more"),
        ({"scaler": "robust"}, "scaler: expected one of global, per-sensor"),
        ({"null_value": "nan"}, "null_value: expected a number such as 0 or -1, or none"),
        ({"null_value": "zero"}, "null_value: expected a number such as 0 or -1, or none"),
        ({"lr": 0.0}, "lr: expected 0 < lr_floor <= lr"),
    ],
)
def test_settings_that_cannot_be_are_refused(changes, message):
    with pytest.raises(SettingsError, match=message):
        ForecastSettings(**changes)
