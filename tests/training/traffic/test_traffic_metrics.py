"""Masked errors against the few lines of NumPy that everybody writes, and numbers by hand."""

from dataclasses import astuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from strategies import seeds

from gaancore.data import load_metr_la, split_windows, synthetic_traffic
from gaancore.errors import ShapeError, TrainingError
from gaancore.training.traffic.scores.baselines import last_value
from gaancore.training.traffic.scores.metrics import (
    DEFINITION,
    Errors,
    ForecastErrors,
    mean_errors,
    reported_steps,
    score,
)


def in_numpy(predictions: np.ndarray, targets: np.ndarray, mask: np.ndarray) -> tuple[float, ...]:
    p, y = (a.astype(np.float64)[mask] for a in (predictions, targets))
    error = np.abs(p - y)
    percent = 100 * (error[y != 0] / np.abs(y[y != 0])).mean()
    return error.mean(), np.sqrt((error**2).mean()), percent


def drawn(seed: int, horizon: int = 3, width: int = 40) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    predictions, targets = rng.uniform(1, 70, (2, horizon, width)).astype(np.float32)
    return predictions, targets, rng.random((horizon, width)) < 0.8


@given(seed=seeds(), cuts=st.lists(st.integers(1, 39), max_size=4))
def test_sums_over_any_batches_are_the_errors_of_all_readings_together(seed, cuts):
    arrays = drawn(seed)
    errors = ForecastErrors(3)
    for batch in zip(*(np.split(a, sorted(cuts), axis=1) for a in arrays), strict=True):
        errors.add(*batch)
    for step in range(3):
        found = errors.at(step + 1)
        expected = in_numpy(*(a[step] for a in arrays))
        assert_allclose((found.mae, found.rmse, found.mape), expected, rtol=1e-12)
        assert found.count == arrays[2][step].sum()
    pooled = errors.pooled()
    assert_allclose((pooled.mae, pooled.rmse, pooled.mape), in_numpy(*arrays), rtol=1e-12)


def test_two_steps_worked_by_hand():
    errors = ForecastErrors(2)
    errors.add(
        np.array([[10.0, 20, 99], [5, 5, 5]]),
        np.array([[8.0, 24, 7], [4, 0, 2]]),
        np.array([[True, True, False], [True, True, False]]),
    )
    assert errors.at(1) == Errors(
        mae=3,
        rmse=10**0.5,
        mape=100 * (2 / 8 + 4 / 24) / 2,
        count=2,
        mape_count=2,
        target=16,
        wape=100 * (2 + 4) / (8 + 24),
    )
    # a label of 0 that is a reading counts, but no share of it can be wrong
    assert errors.at(2) == Errors(
        3, 13**0.5, 25, count=2, mape_count=1, target=2, wape=150, zeros=1
    )
    assert errors.pooled().mae == 3
    average = mean_errors([errors.at(1), errors.at(2)])
    assert average.rmse == (10**0.5 + 13**0.5) / 2
    assert average.count == 4


def test_a_step_without_a_label_has_no_errors_and_is_not_averaged():
    errors = ForecastErrors(2)
    mask = np.array([[True, True], [False, False]])
    errors.add(np.full((2, 2), 3.0), np.ones((2, 2)), mask)
    assert astuple(errors.at(2)) == (None, None, None, 0, 0, None, None, 0)
    assert mean_errors([errors.at(1), errors.at(2)]) == errors.at(1)
    assert astuple(mean_errors([errors.at(2)])) == (None, None, None, 0, 0, None, None, 0)
    assert astuple(ForecastErrors(1).pooled()) == (None, None, None, 0, 0, None, None, 0)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_prediction_that_is_not_finite_is_an_error_even_where_masked(bad):
    predictions, targets, mask = drawn(0)
    predictions[1, 5], mask[1, 5] = bad, False
    with pytest.raises(TrainingError, match=f"^prediction 5 of step 2 ahead is {bad}: the model"):
        ForecastErrors(3).add(predictions, targets, mask)


@pytest.mark.parametrize("which", range(3))
def test_arrays_of_other_shapes_are_refused(which):
    arrays = list(drawn(0))
    arrays[which] = arrays[which][:, 1:]
    with pytest.raises(ShapeError, match="expected predictions, targets and mask of 3 steps"):
        ForecastErrors(3).add(*arrays)
    with pytest.raises(ShapeError, match="of 4 steps"):
        ForecastErrors(4).add(*drawn(0))


def test_a_reading_below_the_least_for_mape_counts_in_the_other_errors_alone():
    arrays = [np.array([[10.0, 3, 6, -4]]), np.array([[8.0, 2, 5, -5]]), np.ones((1, 4), bool)]
    expected = {0: (8, 2, 5, 5), 5: (8, 5, 5), 5.1: (8,), 9: ()}
    for least, counted in expected.items():
        errors = ForecastErrors(1, mape_min=least)
        errors.add(*arrays)
        wrong = {8: 2 / 8, 2: 1 / 2, 5: 1 / 5}
        shares = [wrong[target] for target in counted]
        found = errors.at(1)
        assert (found.mape_count, found.count, found.mae) == (len(counted), 4, 1.25)
        assert found.mape == (pytest.approx(100 * np.mean(shares)) if shares else None)
        assert found.target == 2.5


def test_the_minutes_of_the_paper_that_a_horizon_holds_are_reported_and_its_last_step():
    assert reported_steps(300, 12) == {15: 3, 30: 6, 60: 12}
    assert reported_steps(300, 3) == {15: 3}
    assert reported_steps(900, 12) == {15: 1, 30: 2, 60: 4, 180: 12}
    assert reported_steps(420, 12) == {84: 12}
    assert reported_steps(7200, 3) == {360: 3}
    assert reported_steps(300, 24) == {15: 3, 30: 6, 60: 12, 120: 24}
    assert reported_steps(600, 5) == {30: 3, 50: 5}
    assert reported_steps(1, 3) == {0.05: 3}
    assert reported_steps(450, 3) == {15: 2, 22.5: 3}


def test_the_definition_names_every_error():
    assert all(name in DEFINITION for name in ("MAE", "RMSE", "MAPE"))


@pytest.mark.parametrize("batch_size", [1, 7, 64, 1000])
def test_a_score_does_not_depend_on_the_batch_size(batch_size):
    data = synthetic_traffic(num_roads=2, sensors_per_road=3, num_days=2)
    windows = split_windows(data)
    whole, cut = (
        score(last_value(data, windows), data, windows, windows.test, size)
        for size in (10**6, batch_size)
    )
    assert_allclose(
        [astuple(cut.at(s)) for s in range(1, 13)],
        [astuple(whole.at(s)) for s in range(1, 13)],
        rtol=1e-12,
    )


def test_four_months_score_as_a_few_lines_of_numpy_say(shared_data):
    folder = shared_data / "metr-la-10sensors"
    data = load_metr_la(
        folder / "metr_la_10sensors_34272.npz", graph=shared_data / "metr-la" / "adj_mx.pkl"
    )
    windows = split_windows(data)
    assert [p.size for p in (windows.train, windows.val, windows.test)] == [23974, 3425, 6850]
    errors = score(last_value(data, windows), data, windows, windows.test)
    with np.load(folder / "test.npz") as arrays:
        seen, truth = arrays["x"][..., 0], arrays["y"][..., 0]
    predictions = np.zeros(truth.shape[::2])
    usual = [
        row[row != 0].mean()
        for row in np.load(folder / "metr_la_10sensors_34272.npz")["speed"][: 23974 + 23].T
    ]
    for window, history in enumerate(seen):
        for sensor in range(10):
            readings = history[history[:, sensor] != 0, sensor]
            predictions[window, sensor] = readings[-1] if readings.size else usual[sensor]
    for step in range(12):
        label = truth[:, step]
        there = label != 0
        error = np.abs(predictions - label)[there]
        expected = (error.mean(), np.sqrt((error**2).mean()), 100 * (error / label[there]).mean())
        found = errors.at(step + 1)
        # speeds are kept in float32, whose rounding is the tolerance here
        assert_allclose((found.mae, found.rmse, found.mape), expected, rtol=1e-6)
        assert found.count == there.sum()


def test_four_months_of_random_forecasts_agree_with_numpy_to_a_billionth(shared_data):
    data = load_metr_la(
        shared_data / "metr-la-10sensors" / "metr_la_10sensors_34272.npz",
        graph=shared_data / "metr-la" / "adj_mx.pkl",
    )
    windows = split_windows(data)
    noise = np.random.default_rng(0).normal(0, 5, (data.num_steps + 12, 10)).astype(np.float32)
    ahead = np.arange(12, 24)[:, None]

    def predict(starts: np.ndarray) -> np.ndarray:
        return (55 + noise[starts + ahead]).reshape(12, -1)

    errors = score(predict, data, windows, windows.test)
    rows = windows.test + ahead
    with np.load(shared_data / "metr-la-10sensors" / "metr_la_10sensors_34272.npz") as arrays:
        labels = arrays["speed"].astype(np.float32)[rows]
    for step in range(12):
        p, y = 55 + noise[rows[step]], labels[step]
        found = errors.at(step + 1)
        assert_allclose(
            (found.mae, found.rmse, found.mape), in_numpy(p, y, y != 0), rtol=0, atol=1e-9
        )
