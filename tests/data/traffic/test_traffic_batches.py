"""Scaling and batches, against plain loops over windows, sensors and steps."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from small_traffic import small_traffic, speeds_of, times_of
from strategies import seeds

from gaancore.data import Scaler, WindowBatches, Windows, split_windows
from gaancore.data.traffic.batches import readings_seen
from gaancore.data.traffic.dataset import TrafficDataset
from gaancore.errors import DataError, SettingsError

NONE = np.zeros(0, np.int64)


def with_missing(share: float = 0.2, num_steps: int = 60, seed: int = 0) -> TrafficDataset:
    speeds = speeds_of(num_steps, 4, seed)
    speeds[np.random.default_rng(seed).random(speeds.shape) < share] = 0
    return small_traffic(speeds)


def identity(data: TrafficDataset) -> Scaler:
    return Scaler(np.zeros(data.num_sensors), np.ones(data.num_sensors))


# ------------------------------------------------------------------ the scaler


@pytest.mark.parametrize("how", ["global", "per-sensor"])
def test_statistics_are_those_of_the_training_readings_alone(how):
    data = with_missing()
    windows = Windows(3, 2, np.arange(20), np.arange(20, 25), np.arange(25, 56))
    scaler = Scaler.fit(data, windows, how)
    seen = [[], [], [], []]
    for row in range(20 + 4):
        for sensor in range(4):
            if data.valid[row, sensor]:
                seen[sensor].append(float(data.speeds[row, sensor]))
    if how == "global":
        seen = [[x for readings in seen for x in readings]] * 4
    assert_allclose(scaler.mean, [np.mean(x) for x in seen], rtol=1e-12)
    assert_allclose(scaler.scale, [np.std(x) for x in seen], rtol=1e-9)


@pytest.mark.parametrize("how", ["global", "per-sensor"])
def test_what_comes_after_training_changes_no_statistic(how):
    data = with_missing()
    windows = Windows(3, 2, np.arange(20), NONE, np.arange(30, 50))
    later = data.speeds.copy()
    later[24:] = 1e6
    before, after = (Scaler.fit(d, windows, how) for d in (data, replace(data, speeds=later)))
    assert_array_equal(before.mean, after.mean)
    assert_array_equal(before.scale, after.scale)


@pytest.mark.parametrize("value", [7.0, 0.1, 3e5])
def test_a_constant_sensor_is_centred_and_keeps_its_scale(value):
    speeds = speeds_of(60)
    speeds[:, 1] = value
    data = small_traffic(speeds)
    windows = split_windows(data)
    scaler = Scaler.fit(data, windows, "per-sensor")
    assert scaler.scale[1] == 1
    assert_array_equal(scaler.transform(data.speeds)[:, 1], np.zeros(60, np.float32))


def test_a_sensor_without_training_readings_takes_everybodys_statistics():
    speeds = speeds_of(60)
    speeds[:40, 2] = 0
    data = small_traffic(speeds)
    windows = Windows(12, 12, np.arange(10), NONE, np.arange(20, 30))
    alone = Scaler.fit(data, windows, "per-sensor")
    together = Scaler.fit(data, windows, "global")
    assert (alone.mean[2], alone.scale[2]) == (together.mean[2], together.scale[2])


@pytest.mark.parametrize("mark", [0.0, np.nan])
def test_a_sensor_without_a_single_reading_is_refused(mark):
    speeds = speeds_of(60)
    speeds[:, [1, 3]] = mark
    data = small_traffic(speeds)
    message = r"^speeds\.csv: 2 sensors \(102, 104\) without a single reading; remove them"
    with pytest.raises(DataError, match=message):
        Scaler.fit(data, split_windows(data), "global")


def test_no_training_reading_at_all_is_refused():
    speeds = speeds_of(60)
    speeds[:40] = 0
    windows = Windows(12, 12, np.arange(10), NONE, NONE)
    with pytest.raises(DataError, match="no reading at all in the training windows"):
        Scaler.fit(small_traffic(speeds), windows, "global")


@pytest.mark.parametrize("how", ["global", "per-sensor"])
def test_missing_readings_can_count_as_zeros_in_the_scale_as_in_dcrnn(how):
    data = with_missing()
    windows = Windows(3, 2, np.arange(20), NONE, np.arange(30, 50))
    scaler = Scaler.fit(data, windows, how, "zero")
    seen = data.speeds[:24].astype(np.float64)  # missing ones are 0
    if how == "global":
        assert_allclose(scaler.mean, [seen.mean()] * 4, rtol=1e-12)
        assert_allclose(scaler.scale, [seen.std()] * 4, rtol=1e-9)
    else:
        assert_allclose(scaler.mean, seen.mean(axis=0), rtol=1e-12)
        assert_allclose(scaler.scale, seen.std(axis=0), rtol=1e-9)
    assert scaler.mean[0] < Scaler.fit(data, windows, how).mean[0]


def test_what_windows_see_is_counted_as_a_loop_counts_it():
    data = with_missing(0.5)
    starts = np.array([0, 7, 50])
    seen = readings_seen(data, starts, 9)
    assert seen.tolist() == [
        [sum(bool(data.valid[start + step, n]) for step in range(9)) for n in range(4)]
        for start in starts
    ]


def test_outputs_side_by_side_are_brought_back_to_speeds():
    data = with_missing()
    scaler = Scaler.fit(data, split_windows(data), "per-sensor")
    mean, scale = scaler.tiled(3)
    z = scaler.transform(data.speeds[:3]).reshape(-1)  # three sequences of one step
    assert z.dtype == mean.dtype == scale.dtype == np.float32
    assert_allclose(z * scale + mean, data.speeds[:3].reshape(-1), atol=1e-4)


@pytest.mark.parametrize(
    ("factor", "warned"), [(1.0, False), (1.1, False), (1.609, True), (0.447, True)]
)
def test_other_units_are_warned_of(factor, warned):
    data = small_traffic(np.random.default_rng(0).normal(58, 13, (60, 4)))
    scaler = Scaler.fit(data, split_windows(data), "per-sensor")
    warning = scaler.foreign_units(replace(data, speeds=data.speeds * np.float32(factor)))
    assert bool(warning) == warned
    assert scaler.foreign_units(replace(data, valid=np.zeros_like(data.valid))) is None


# ------------------------------------------------------------------ batches


@given(seed=seeds(), size=st.integers(1, 5))
def test_a_batch_is_what_a_loop_over_windows_steps_and_sensors_cuts(seed, size):
    data = with_missing()
    scaler = Scaler(np.array([50.0, 40, 30, 20]), np.array([10.0, 5, 2, 1]))
    batches = WindowBatches(
        data, scaler, history=4, horizon=3, features=("time_of_day", "day_of_week")
    )
    starts = np.random.default_rng(seed).integers(0, 60 - 7 + 1, size)
    batch = batches.cut(starts)
    assert batches.num_inputs == 9
    assert batch.inputs.shape == (4, size * 4, 9)
    assert batch.future.shape == (3, size * 4, 9)
    assert batch.targets.shape == batch.mask.shape == (3, size * 4)
    for array in (batch.inputs, batch.future, batch.targets):
        assert array.dtype == np.float32
        assert array.flags.c_contiguous
    for b, start in enumerate(starts):
        for step in range(7):
            for n in range(4):
                row, column = start + step, b * 4 + n
                speed = float(data.speeds[row, n])
                here = batch.inputs[step] if step < 4 else batch.future[step - 4]
                assert_allclose(here[column, 0], (speed - scaler.mean[n]) / scaler.scale[n], 1e-6)
                assert_allclose(here[column, 1], row * 300 / 86400, 1e-6)
                assert here[column, 2:].tolist() == [0, 0, 0, 1, 0, 0, 0]
                if step >= 4:
                    assert batch.targets[step - 4, column] == data.speeds[row, n]
                    assert batch.mask[step - 4, column] == (speed != 0)


def test_the_mask_is_that_of_the_raw_readings_whatever_the_scaler():
    # with many statistics a scaled zero does not scale back to 0 exactly
    data = with_missing()
    for mean in np.linspace(40, 65, 50):
        scaler = Scaler(np.full(4, mean), np.full(4, mean / 3.1))
        batch = WindowBatches(data, scaler).cut(np.arange(30))
        assert (~batch.mask).sum() == (batch.targets == 0).sum() > 0


def interpolated_by_numpy(speeds: np.ndarray, valid: np.ndarray) -> np.ndarray:
    filled = np.zeros_like(speeds)
    for n in range(speeds.shape[1]):
        known = np.flatnonzero(valid[:, n])
        if known.size:
            filled[:, n] = np.interp(np.arange(len(speeds)), known, speeds[known, n])
    return filled


@given(seed=seeds(), share=st.sampled_from([0.1, 0.5, 0.9]))
def test_missing_readings_are_interpolated_within_what_the_window_sees(seed, share):
    data = with_missing(share, seed=seed)
    batch = WindowBatches(
        data, identity(data), history=6, horizon=4, features=(), missing="interpolate"
    ).cut(np.array([5]))
    seen, ahead = slice(5, 11), slice(11, 15)
    expected = interpolated_by_numpy(data.speeds[seen], data.valid[seen])
    assert_allclose(batch.inputs[..., 0], expected, rtol=1e-5)
    expected = interpolated_by_numpy(data.speeds[ahead], data.valid[ahead])
    assert_allclose(batch.future[..., 0], expected, rtol=1e-5)


@pytest.mark.parametrize("missing", ["zero", "nan", "interpolate"])
def test_inputs_know_nothing_of_the_future(missing):
    data = with_missing()
    later = replace(data, speeds=data.speeds.copy(), valid=data.valid.copy())
    later.speeds[20:], later.valid[20:] = 99, ~data.valid[20:]
    options = {"history": 12, "horizon": 3, "missing": missing}
    one, other = (
        WindowBatches(d, identity(data), **options).cut(np.arange(9)) for d in (data, later)
    )
    assert_array_equal(one.inputs, other.inputs)


def test_missing_inputs_are_a_speed_of_0_or_the_mean():
    data = with_missing()
    scaler = Scaler.fit(data, split_windows(data), "per-sensor")
    starts, gone = np.array([3]), ~data.valid[3:15]
    zero = WindowBatches(data, scaler).cut(starts).inputs[..., 0]
    mean = WindowBatches(data, scaler, missing="nan").cut(starts).inputs[..., 0]
    assert_allclose(
        zero[gone], np.broadcast_to(-scaler.mean / scaler.scale, gone.shape)[gone], 1e-6
    )
    assert not mean[gone].any()
    assert_array_equal(zero[~gone], mean[~gone])


def test_coordinates_are_scaled_over_the_sensors():
    places = np.array([[34.0, -118], [34.2, -118], [34.4, -118], [34.6, -118]])
    data = replace(with_missing(), coordinates=places)
    batches = WindowBatches(data, identity(data), features=("coordinates",))
    inputs = batches.cut(np.array([0, 7])).inputs
    expected = (places[:, 0] - 34.3) / np.std([0.3, 0.1, 0.1, 0.3, -0.3, -0.1, -0.1, -0.3])
    assert_allclose(inputs[5, :4, 1], expected, rtol=1e-5)
    assert_array_equal(inputs[5, :4, 1], inputs[11, 4:, 1])
    assert not inputs[..., 2].any()  # all on one longitude


def test_the_last_rows_and_their_future_make_the_window_of_a_forecast():
    data = with_missing()
    batches = WindowBatches(data.continued(12), identity(data))
    batch = batches.cut(np.array([60 - 12]))
    assert_array_equal(batch.inputs[..., 0], data.speeds[48:])
    assert_allclose(batch.future[:, 0, 1] * 24, (60 + np.arange(12)) / 12, rtol=1e-6)
    assert not batch.mask.any()


@pytest.mark.parametrize(
    ("feature", "message"),
    [
        (
            "time_of_day",
            r"do not say the time_of_day; add a column of times, or give the time .*art\)",
        ),
        ("day_of_week", "the files do not say the day_of_week"),
        ("coordinates", "the files do not say the coordinates; add a file with sensor_id"),
    ],
)
def test_features_that_the_files_lack_are_refused(feature, message):
    data = small_traffic(speeds_of(60), times=None)
    with pytest.raises(DataError, match=message):
        WindowBatches(data, identity(data), features=(feature,))


def test_unknown_words_are_refused():
    data = with_missing()
    with pytest.raises(SettingsError, match="missing: expected one of zero, nan, interpolate"):
        WindowBatches(data, identity(data), missing="mean")
    with pytest.raises(SettingsError, match="features: expected one of time_of_day, day_of_week"):
        WindowBatches(data, identity(data), features=("weather",))


def test_times_at_any_hour_are_parts_of_the_day():
    data = small_traffic(speeds_of(4), times=times_of(4) + np.timedelta64(86100, "s"))
    assert_allclose(data.time_of_day, [86100 / 86400, 0, 300 / 86400, 600 / 86400], rtol=1e-6)
