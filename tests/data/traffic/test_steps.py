"""Steps and gaps, worked by hand; and what happens to a column of times in every file of speeds."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from small_traffic import IDS, matrix, small_traffic, speeds_of, times_of, write_csv, write_pickle

from gaancore.data import load_metr_la
from gaancore.data.traffic.steps import check_times, times_from
from gaancore.errors import DataError
from gaancore.training.traffic.scores.metrics import reported_steps

SPEEDS = speeds_of(400)
MICRO = np.timedelta64(1, "us")


def hours_with_a_hole() -> list[datetime]:
    """400 hours, of which days 10 to 12 are missing: 216 and 184 rows."""
    hours = [datetime(2012, 3, 1) + timedelta(hours=n) for n in range(472)]
    return hours[:216] + hours[288:]


EPOCH = datetime(1970, 1, 1)
COLUMNS = {
    "iso": str,
    "epoch s": lambda t: str(round((t - EPOCH).total_seconds())),
    "epoch ms": lambda t: str(round((t - EPOCH).total_seconds()) * 1000),
    "compact": lambda t: t.strftime("%Y%m%d%H%M"),
    "weekday": lambda t: t.strftime("%a %d %b %Y %H:%M"),
    "US": lambda t: t.strftime("%m/%d/%Y %H:%M"),
    "spreadsheet": lambda t: repr((t - datetime(1899, 12, 30)) / timedelta(days=1)),
}


@pytest.mark.parametrize("form", COLUMNS)
@pytest.mark.parametrize("name", ["timestamp", "time", "Date", "", "unnamed: 0"])
def test_a_hole_in_hours_is_seen_however_the_times_are_written(tmp_path, form, name):
    texts = list(map(COLUMNS[form], hours_with_a_hole()))
    write_csv(tmp_path / "speeds.csv", SPEEDS, [name, *IDS], texts)
    write_pickle(tmp_path)
    data = load_metr_la(tmp_path)
    assert data.step == 3600
    assert_array_equal(data.stretches, [0, 216, 400])
    assert_array_equal(data.times, np.array(hours_with_a_hole(), "M8[s]"))


@pytest.mark.parametrize("form", ["iso", "epoch s", "compact"])
@pytest.mark.parametrize("header", [True, False])
def test_times_are_found_in_a_first_column_that_nothing_names(tmp_path, form, header):
    texts = list(map(COLUMNS[form], hours_with_a_hole()))
    write_csv(tmp_path / "speeds.csv", SPEEDS, ["when", *IDS] if header else None, texts)
    write_pickle(tmp_path)
    data = load_metr_la(tmp_path)
    assert (data.sensor_ids, data.step) == (IDS, 3600)
    assert_array_equal(data.stretches, [0, 216, 400])


@pytest.mark.parametrize("form", COLUMNS)
def test_an_archives_times_may_be_written_in_any_form(tmp_path, form):
    texts = np.array(list(map(COLUMNS[form], hours_with_a_hole())))
    if form in ("epoch s", "epoch ms", "compact"):
        texts = texts.astype(np.int64)
    write_pickle(tmp_path)
    np.savez(tmp_path / "speeds.npz", speed=SPEEDS, sensor_ids=IDS, times=texts)
    data = load_metr_la(tmp_path)
    assert data.step == 3600
    assert_array_equal(data.times, np.array(hours_with_a_hole(), "M8[s]"))


@pytest.mark.parametrize(
    "rows",
    [["a", "b", "c"], ["5", "7", "6"], ["0", "300", "600"], ["Mon", "Tue", "Wed"]],
)
@pytest.mark.parametrize("name", ["time", "", "index"])
def test_an_index_that_is_neither_times_nor_a_count_is_refused_by_name(tmp_path, rows, name):
    write_csv(tmp_path / "speeds.csv", SPEEDS[:3], [name, *IDS], rows)
    write_pickle(tmp_path)
    with pytest.raises(DataError, match=r"speeds\.csv: the first column.*: row 0: timestamp"):
        load_metr_la(tmp_path)


def test_a_count_of_the_rows_is_left_out_and_said(tmp_path):
    for name in ("", "index", "time"):
        write_csv(tmp_path / "speeds.csv", SPEEDS[:9], [name, *IDS], list(range(9)))
        write_pickle(tmp_path)
        data = load_metr_la(tmp_path)
        assert data.times is None
        assert any("counts the rows: left out" in note for note in data.notes)
        assert "no timestamps: steps of 5 minutes assumed" in data.notes


# ------------------------------------------------------------------ steps


def steps_of(times: Any, **given: Any) -> tuple[float, list[int], list[str]]:
    times = np.asarray(times)
    given = {"step": None, "stretches": None} | given
    step, stretches, notes = check_times("t.csv", times, len(times), **given)
    return step, stretches.tolist(), notes


def test_half_seconds_are_a_step():
    times = np.datetime64("2020-01-01", "us") + np.arange(50) * 500_000 * MICRO
    data = small_traffic(SPEEDS[:50], times=times)
    assert data.step == 0.5
    assert_array_equal(data.stretches, [0, 50])
    more = data.continued(3)
    assert_array_equal(np.diff(more.times).astype("m8[us]").astype(int), 500_000)
    assert_allclose(more.time_of_day * 86400, np.arange(53) * 0.5, atol=0.01)


def test_a_step_of_half_seconds_may_be_said_by_an_archive(tmp_path):
    write_pickle(tmp_path)
    np.savez(
        tmp_path / "speeds.npz",
        speed=SPEEDS[:30],
        sensor_ids=IDS,
        start=np.array("2020-01-01"),
        step_minutes=np.array(0.5 / 60),
    )
    data = load_metr_la(tmp_path)
    assert data.step == 0.5
    assert_array_equal(data.stretches, [0, 30])


def test_whole_seconds_stay_integers():
    assert type(steps_of(times_of(5))[0]) is int
    assert times_from(times_of(1), 300, 4).dtype == "M8[s]"
    assert_array_equal(times_from(times_of(1), None, 4), times_of(4))


def test_rows_a_little_early_or_late_are_in_step_and_that_is_said():
    late = np.array([0, 4, -7, 0, 12, 3, 0, -29])
    times = times_of(8) + late.astype("m8[s]")
    step, stretches, notes = steps_of(times)
    assert (step, stretches) == (300, [0, 8])
    assert len(notes) == 1
    assert "s off steps of 300 s" in notes[0]
    assert "taken as in step" in notes[0]


def test_rows_that_are_never_on_the_second_have_their_mean_as_a_step():
    rng = np.random.default_rng(0)
    late = rng.integers(0, 900_000, 200)
    times = times_of(200).astype("M8[us]") + late.astype("m8[us]")
    step, stretches, _ = steps_of(times)
    assert (step, stretches) == (300, [0, 200])


def test_more_than_a_tenth_is_a_gap():
    late = np.array([0, 0, 0, 0, 31, 31, 31, 31])
    step, stretches, notes = steps_of(times_of(8) + late.astype("m8[s]"))
    assert (step, stretches) == (300, [0, 4, 8])
    assert notes == ["gaps in the timestamps: 1, the longest 0:05:31; no window crosses one"]


@pytest.mark.parametrize(
    ("days", "word"),
    [
        (["2018-01-01", "2018-02-01", "2018-03-01", "2018-04-01"], "months"),
        (["2018-01-31", "2018-02-28", "2018-03-31", "2018-04-30"], "months"),
        (["2018-01-01", "2018-04-01", "2018-07-01", "2018-10-01"], "months"),
        (["2017-01-01", "2018-01-01", "2020-01-01", "2021-01-01"], "years"),
    ],
)
def test_months_and_years_are_no_fixed_step(days, word):
    with pytest.raises(DataError, match=f"the rows are {word} apart, which is no fixed step"):
        steps_of(np.array(days, "M8[s]"))


def test_four_weeks_are_a_fixed_step():
    days = np.datetime64("2018-01-01", "s") + np.arange(9) * np.timedelta64(28, "D")
    assert steps_of(days)[:2] == (28 * 86400, [0, 9])


def test_a_step_that_the_times_contradict_is_refused():
    with pytest.raises(DataError, match="said to be 3600 seconds, but the rows are 300 apart"):
        steps_of(times_of(9), step=3600)


def test_steps_of_any_length_are_reported_in_whole_rows():
    assert reported_steps(300, 12) == {15: 3, 30: 6, 60: 12}
    assert reported_steps(7.5, 480) == {15: 120, 30: 240, 60: 480}


def write_windows(folder: Path, step: float, dtype: Any = np.float64) -> Path:
    day = (np.arange(60) * step / 86400 % 1)[:, None, None].repeat(4, 1)
    series = np.concatenate([speeds_of(60)[..., None], day], axis=2).astype(dtype)
    windows = np.stack([series[n : n + 4] for n in range(57)])
    for name, part in (("train", windows[:40]), ("val", windows[40:48]), ("test", windows[48:])):
        np.savez(folder / f"{name}.npz", x=part[:, :2], y=part[:, 2:], later=np.array("unused"))
    np.save(folder / "adj.npy", matrix())
    return folder


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("step", [0.5, 20, 300, 3600, 7200])
def test_windows_tell_their_step_by_their_time_of_day(tmp_path, step, dtype):
    assert load_metr_la(write_windows(tmp_path, step, dtype)).step == step


def test_windows_of_whole_days_say_nothing_of_their_step_and_that_is_said(tmp_path):
    data = load_metr_la(write_windows(tmp_path, 86400))
    assert "no timestamps: steps of 5 minutes assumed" in data.notes


# ------------------------------------------------------------------ HDF5


def write_h5(path: Path, index: np.ndarray, **attributes: Any) -> Path:
    with h5py.File(path, "w") as file:
        group = file.create_group("df")
        group.attrs.update(pandas_type=np.bytes_(b"frame"), nblocks=1)
        names = np.array(IDS, "S3")
        group["axis0"], group["block0_items"] = names, names
        group["axis1"], group["block0_values"] = index, SPEEDS
        group["axis1"].attrs.update({k: np.bytes_(v) for k, v in attributes.items()})
    return path


def test_an_index_of_text_or_numbers_in_hdf5_is_read(tmp_path):
    write_pickle(tmp_path)
    hours = hours_with_a_hole()
    for index, kind in (
        (np.array([str(t) for t in hours], "S"), "string"),
        (np.array([COLUMNS["epoch s"](t) for t in hours], np.int64), "integer"),
        (np.array([COLUMNS["compact"](t) for t in hours], np.int64), "integer"),
        (np.array([COLUMNS["spreadsheet"](t) for t in hours], float), "float"),
    ):
        write_h5(tmp_path / "speeds.h5", index, kind=kind)
        data = load_metr_la(tmp_path)
        assert data.step == 3600
        assert_array_equal(data.stretches, [0, 216, 400])


def test_an_index_of_periods_or_of_anything_else_in_hdf5_is_refused_by_name(tmp_path):
    write_pickle(tmp_path)
    write_h5(tmp_path / "s.h5", np.arange(400) + 369_000, kind="integer", index_class="period")
    with pytest.raises(DataError, match=r"periods of pandas.*to_timestamp"):
        load_metr_la(tmp_path)
    write_h5(tmp_path / "s.h5", np.arange(400) * 300, kind="timedelta64")
    with pytest.raises(DataError, match="named by timedelta64, which is not read as times"):
        load_metr_la(tmp_path)
    write_h5(tmp_path / "s.h5", np.array(["x"] * 400, "S1"), kind="string")
    with pytest.raises(DataError, match="row 0: timestamp 'x' is not like"):
        load_metr_la(tmp_path)


# ------------------------------------------------------------------ files as people send them


def test_times_that_were_dropped_are_read_in_files_of_others(shared_data):
    for name in ("epoch_s", "compact", "weekday", "iso"):
        data = load_metr_la(shared_data / "cases" / "times" / name)
        assert (data.step, len(data.stretches) - 1) == (3600, 2), name
    assert load_metr_la(shared_data / "cases" / "steps" / "ms500").step == 0.5
    with pytest.raises(DataError, match="months apart, which is no fixed step"):
        load_metr_la(shared_data / "cases" / "steps" / "monthly")
