"""Speeds in CSV, `.npz` and HDF5, as programs really write them; each read against the numbers."""

import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from small_traffic import IDS, START, speeds_of, times_of, write_csv

from gaancore.data.traffic.layouts.pandas_h5 import read_pandas_h5
from gaancore.data.traffic.layouts.speeds import read_speeds_csv, read_speeds_npz
from gaancore.errors import DataError

SPEEDS = speeds_of(20)
BYTES = np.array(IDS, "S3")
STAMPS = [str(t).replace("T", " ") for t in times_of(20)]
HEADERS = {
    "ids": list(IDS),
    "names": ["a", "b", "c", "d"],
    "numbers from 0": ["0", "1", "2", "3"],
    "none": None,
}
INDEXES = {"none": None, "row numbers": list(range(20)), "timestamps": STAMPS}


@pytest.mark.parametrize("index", INDEXES)
@pytest.mark.parametrize("header", HEADERS)
@pytest.mark.parametrize("corner", ["", "timestamp", "Unnamed: 0", "t"])
def test_a_table_is_read_with_any_header_and_index(tmp_path, header, index, corner):
    names = HEADERS[header]
    line = names if names is None or INDEXES[index] is None else [corner, *names]
    found = read_speeds_csv(write_csv(tmp_path / "s.csv", SPEEDS, line, INDEXES[index]))
    assert_array_equal(found.speeds, SPEEDS.round(2))
    assert found.sensor_ids == (None if names is None else tuple(names))
    if index == "timestamps":
        assert_array_equal(found.times, times_of(20))
    else:
        assert found.times is None


@pytest.mark.parametrize("index", INDEXES)
@pytest.mark.parametrize("header", HEADERS)
@pytest.mark.parametrize(("separator", "word"), [(";", "semicolons"), ("\t", "tabs")])
def test_semicolons_or_tabs_may_stand_between_cells(tmp_path, header, index, separator, word):
    speeds = SPEEDS.copy()
    speeds[3, 1] = speeds[4, 0] = np.nan
    names = HEADERS[header]
    line = names if names is None or INDEXES[index] is None else ["", *names]
    path = write_csv(tmp_path / "s.csv", speeds, line, INDEXES[index])
    expected = read_speeds_csv(path)
    path.write_text(path.read_text().replace(",", separator))
    found = read_speeds_csv(path)
    assert_array_equal(found.speeds, expected.speeds)
    assert_array_equal(found.times, expected.times)
    assert found.sensor_ids == expected.sensor_ids
    assert found.notes == (expected.notes[0], f"s.csv: {word} between cells", *expected.notes[1:])


@pytest.mark.parametrize(
    "text",
    [
        "a;b\n61,5;60\n61;60,25\n",
        "time;a;b\n2012-03-01 00:00;61,5;60\n2012-03-01 00:05;61;60,25\n",
        "a\tb\n61,5\t60\n61\t60,25\n",
        "61,5;60,0\n61,0;60,25\n",
        "61.5;60\n61;60.25\n",
        'a,b\n"61,5",60\n61,"60,25"\n',
    ],
)
def test_decimal_commas_are_read_and_not_taken_for_names_or_cells(tmp_path, text):
    path = tmp_path / "s.csv"
    path.write_text(text)
    found = read_speeds_csv(path)
    assert_array_equal(found.speeds, [[61.5, 60], [61, 60.25]])
    assert ("s.csv: decimal commas, read as points" in found.notes) == ("61,5" in text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a;b\n61.5;60\n61,5;60\n", r"line 3, column 1: '61,5': '61\.5' in line 2 has a point"),
        ("a;b\n61,5;60\n61;60.5\n", r"line 2, column 1: '61,5': '60\.5' in line 3 has a point"),
        ("a;b\n1,234;60\n2;1,500\n", "line 2, column 1: '1,234': a comma with three digits"),
        ("a;b\n1,2,3;60\n", "column 1: '1,2,3' is not a number; write decimals with a point"),
    ],
)
def test_commas_that_may_mean_something_else_are_refused(tmp_path, text, why):
    path = tmp_path / "s.csv"
    path.write_text(text)
    with pytest.raises(DataError, match=why):
        read_speeds_csv(path)


def test_commas_with_tabs_or_quoted_semicolons_about_them_are_still_commas(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text('"a;b",\tc\n1.5,\t2.5\n')
    found = read_speeds_csv(path)
    assert (found.sensor_ids, found.notes) == (("a;b", "c"), ("speeds: s.csv",))
    assert_array_equal(found.speeds, [[1.5, 2.5]])


def test_a_row_of_readings_in_the_header_line_is_a_row_again(tmp_path):
    # pandas reads the first row as names, and writes repeated ones with .1, .2 behind them
    rows = np.array([[64.5, 64.5, 0.0, 64.5, 0.0], [1.5, 2.5, 3.5, 4.5, 5.5]])
    path = tmp_path / "s.csv"
    path.write_text("64.5,64.5.1,0.0,64.5.2,0.0.1\n1.5,2.5,3.5,4.5,5.5\n")
    found = read_speeds_csv(path)
    assert_array_equal(found.speeds, rows)
    assert found.sensor_ids is None
    assert "the header line holds readings: taken as the first row" in found.notes
    path.write_text(",64.5,64.5.1,0.0,64.5.2,0.0.1\n0,1.5,2.5,3.5,4.5,5.5\n")  # with its index
    found = read_speeds_csv(path)
    assert_array_equal(found.speeds, rows)
    assert (found.sensor_ids, found.times) == (None, None)


def test_a_missing_first_reading_is_not_the_header_of_an_index(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text(",61.5,60.5\n50.5,51.5,52.5\n,53.5,54.5\n")
    expected = [[np.nan, 61.5, 60.5], [50.5, 51.5, 52.5], [np.nan, 53.5, 54.5]]
    assert_array_equal(read_speeds_csv(path).speeds, expected)


def test_integer_ids_over_an_index_are_a_header_even_if_one_repeats(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text("timestamp,7,7\n2012-03-01 00:00,50,51\n")
    assert read_speeds_csv(path).sensor_ids == ("7", "7")


def test_a_first_row_that_repeats_an_integer_is_no_header(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text("60,61,60\n50,51,52\n")
    assert_array_equal(read_speeds_csv(path).speeds, [[60, 61, 60], [50, 51, 52]])


def test_integers_that_could_be_ids_or_readings_are_asked_about(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text("60,62,61\n70,51,52\n")
    with pytest.raises(
        DataError, match=r"s\.csv: the first line could be a header of sensor ids or a row"
    ):
        read_speeds_csv(path)


@pytest.mark.parametrize("empty", ["", "nan", "NaN", "NA", "null"])
def test_an_empty_cell_is_a_missing_reading(tmp_path, empty):
    path = tmp_path / "s.csv"
    path.write_text(f"a,b\n1.5,{empty}\n{empty},2.5\n")
    assert_array_equal(read_speeds_csv(path).speeds, [[1.5, np.nan], [np.nan, 2.5]])


def test_a_byte_order_mark_blank_lines_and_quotes_change_nothing(tmp_path):
    path = tmp_path / "s.csv"
    path.write_bytes(b'\xef\xbb\xbf"101","102"\r\n\r\n1.5, 2.5\r\n\r\n"3.5",4.5\r\n')
    found = read_speeds_csv(path)
    assert found.sensor_ids == ("101", "102")
    assert_array_equal(found.speeds, [[1.5, 2.5], [3.5, 4.5]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1.5,x\n", "line 2, column 2: 'x' is not a number"),
        ("a,b\n1.5,2.5\n1.5\n", "line 3 has 1 cells where the first has 2"),
        ("a;b\n1.5;2.5\n1.5\n", "line 3 has 1 cells .* with semicolons between them"),
        ("a;b\n1.5,2.5\n", "line 2 has 1 cells where the first has 2"),
        ("a;b\tc\n1.5;2.5\t3.5\n", "line 2, column 1: '1.5;2.5.t3.5' is not a number"),
        (
            "time,a\n2012-03-01 00:00,1.5\n2012-03-01 oops,2.5\n",
            "row 1: timestamp '2012-03-01 oops'",
        ),
        ("time,a\n2012-03-01T00:00Z,1.5\n", "row 0: timestamp 2012-03-01T00:00Z has a time zone"),
        ("", "empty file"),
        ("\n\n", "only blank lines"),
        ("time\n2012-03-01\n", "one column and no numbers"),
    ],
)
def test_a_bad_table_is_refused_by_line_and_column(tmp_path, text, message):
    path = tmp_path / "s.csv"
    path.write_text(text)
    with pytest.raises(DataError, match=message) as caught:
        read_speeds_csv(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [b"\xff\xfe1.5\n", b"a,b\n1.5,\x00\n", b"<html>\n<p>"])
def test_a_file_that_is_no_table_is_refused(tmp_path, content):
    path = tmp_path / "s.csv"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"s\.csv"):
        read_speeds_csv(path)


def test_one_archive_says_ids_start_and_step(tmp_path):
    path = tmp_path / "s.npz"
    start = np.array("2012-03-01T00:00")
    np.savez(path, speed=SPEEDS, sensor_ids=np.array(IDS), start=start, step_minutes=np.array(5))
    found = read_speeds_npz(path)
    assert_array_equal(found.speeds, SPEEDS)
    assert_array_equal(found.times, times_of(20))
    assert found.sensor_ids == IDS


@pytest.mark.parametrize("ids", [np.array(IDS), BYTES, np.array(IDS).astype(int)])
@pytest.mark.parametrize("times", [times_of(20), times_of(20).astype("M8[ns]"), np.array(STAMPS)])
def test_an_archives_ids_and_times_may_be_of_any_type(tmp_path, ids, times):
    np.savez(tmp_path / "s.npz", data=SPEEDS[..., None].repeat(2, 2), times=times, sensor_ids=ids)
    found = read_speeds_npz(tmp_path / "s.npz")
    assert_array_equal(found.speeds, SPEEDS)
    assert_array_equal(found.times, times_of(20))
    assert found.sensor_ids == IDS


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"flow": SPEEDS}, "expected one array of speeds named speed or speeds or data; .* flow"),
        ({"speed": SPEEDS, "data": SPEEDS}, "expected one array of speeds"),
        ({"speed": SPEEDS[0]}, r"speed: expected numbers in shape \(steps, sensors\)"),
        ({"speed": SPEEDS[:0]}, r"speed: expected numbers in shape \(steps, sensors\)"),
        ({"speed": np.array([["a"]])}, "speed: expected numbers"),
        ({"speed": SPEEDS, "sensor_ids": np.array(IDS[:3])}, "sensor_ids: expected 4 of them"),
        ({"speed": SPEEDS, "times": times_of(19)}, "times: expected 20 of them"),
        ({"speed": SPEEDS, "times": np.full(20, "NaT", "M8[s]")}, "row 0 has no timestamp"),
        ({"speed": SPEEDS, "times": np.arange(20)}, "row 0: timestamp '0' is not like"),
        ({"speed": SPEEDS, "start": np.array("May")}, "timestamp 'May' is not like"),
        ({"speed": SPEEDS, "start": np.array([], "U5")}, "start: expected one time.* got 0"),
        ({"speed": SPEEDS, "start": np.array(["2012-03-01"] * 2)}, "start: expected one time"),
        ({"speed": SPEEDS, "start": np.zeros(1, [("a", "i4")])}, r"start: row 0: timestamp '\("),
        ({"speed": np.zeros((20, 4), [("a", "f4")])}, "speed: expected numbers in shape"),
        ({"speed": SPEEDS, "sensor_ids": np.zeros(4, [("a", "i4")])}, "ids: expected text or num"),
        ({"speed": SPEEDS, "times": np.zeros((20, 1))}, "times: expected 20 of them"),
        ({"speed": SPEEDS, "times": np.zeros(20, [("a", "i4")])}, r"row 0: timestamp '\("),
        ({"speed": SPEEDS, "step_minutes": np.zeros(1, [("a", "i4")])}, "step_minutes: expected"),
        ({"speed": SPEEDS, "step_minutes": np.array(np.nan)}, "step_minutes: expected one number"),
        ({"speed": SPEEDS, "step_minutes": np.array([5, 5])}, "step_minutes: expected one number"),
        ({"speed": SPEEDS, "step_minutes": np.array(0)}, "step_minutes: expected one number"),
    ],
)
def test_a_bad_archive_is_refused(tmp_path, arrays, message):
    np.savez(tmp_path / "s.npz", **arrays)
    with pytest.raises(DataError, match=message) as caught:
        read_speeds_npz(tmp_path / "s.npz")
    assert "\n" not in str(caught.value)


def test_arrays_that_nobody_needs_are_not_unpacked(tmp_path):
    path = tmp_path / "s.npz"
    np.savez(path, speed=SPEEDS, sensor_ids=np.array(IDS), times=times_of(20))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("weather.npy", b"damaged")
    assert_array_equal(read_speeds_npz(path).speeds, SPEEDS)


def write_h5(
    path: Path,
    columns: Any = BYTES,
    key: str = "df",
    kind: bytes = b"datetime64",
    index: Any = None,
    **attributes: Any,
) -> Path:
    """The file that pandas 0.2x wrote (checked against files of pandas itself)."""
    with h5py.File(path, "w") as file:
        group = file.create_group(key)
        group.attrs.update(pandas_type=np.bytes_(b"frame"), nblocks=1)
        group["axis0"], group["block0_items"], group["block0_values"] = columns, columns, SPEEDS
        group["axis1"] = times_of(20).astype("M8[ns]").astype(int) if index is None else index
        group["axis1"].attrs.update({"kind": np.bytes_(kind)} | attributes)
    return path


@pytest.mark.parametrize("columns", [BYTES, np.array(IDS).astype(int)])
@pytest.mark.parametrize("key", ["df", "speed/la"])
def test_pandas_tables_are_read_without_pandas(tmp_path, columns, key):
    found = read_pandas_h5(write_h5(tmp_path / "a.h5", columns, key))
    assert_array_equal(found.speeds, SPEEDS)
    assert_array_equal(found.times, times_of(20))
    assert found.sensor_ids == IDS


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_pandas_units_of_time_are_those_of_the_file(tmp_path, unit):
    index = times_of(20).astype(f"M8[{unit}]").astype(int)
    kind = f"datetime64[{unit}]".encode()
    assert_array_equal(
        read_pandas_h5(write_h5(tmp_path / "a.h5", kind=kind, index=index)).times, times_of(20)
    )


def test_a_table_without_datetimes_has_no_times(tmp_path):
    path = write_h5(tmp_path / "a.h5", kind=b"integer", index=np.arange(20))
    assert read_pandas_h5(path).times is None


def test_a_time_zone_is_said(tmp_path):
    found = read_pandas_h5(write_h5(tmp_path / "a.h5", tz=np.bytes_(b"America/Los_Angeles")))
    assert found.times[0] == START
    assert any("America/Los_Angeles" in note for note in found.notes)


def test_columns_of_several_types_come_together_in_the_tables_order(tmp_path):
    path = write_h5(tmp_path / "a.h5")
    with h5py.File(path, "a") as file:
        group = file["df"]
        for name in ("block0_items", "block0_values"):
            del group[name]
        group["block0_items"], group["block0_values"] = (
            BYTES[[3, 1]],
            SPEEDS[:, [3, 1]],
        )
        whole = SPEEDS[:, [0, 2]].round().astype(int)
        group.attrs["nblocks"] = 2
        group["block1_items"], group["block1_values"] = BYTES[[0, 2]], whole
    expected = SPEEDS.copy()
    expected[:, [0, 2]] = whole
    assert_array_equal(read_pandas_h5(path).speeds, expected)


def huge(path: Path, name: str, shape: tuple[int, ...], **options: Any) -> None:
    """Puts an array in the place of `name` that takes memory when it is read, and no file."""
    with h5py.File(path, "a") as file:
        kind = dict(file[f"df/{name}"].attrs)
        del file[f"df/{name}"]
        file["df"].create_dataset(name, shape, "i8", **options).attrs.update(kind)


@pytest.mark.parametrize("name", ["axis0", "axis1", "block0_items", "block0_values"])
@pytest.mark.parametrize("options", [{}, {"chunks": (1000,)}, {"compression": "gzip"}])
def test_an_array_in_hdf5_that_the_file_does_not_hold_is_refused(tmp_path, name, options):
    path = write_h5(tmp_path / "a.h5")
    huge(path, name, (100_000_000,), **options)
    assert path.stat().st_size < 50_000
    tracemalloc.start()
    with pytest.raises(DataError, match=rf"{name} is 800,000,000 bytes .* was not written whole"):
        read_pandas_h5(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20_000_000


@pytest.mark.parametrize("options", [{"compression": "gzip"}, {"compression": "lzf"}])
def test_compressed_tables_are_read(tmp_path, options):
    path = write_h5(tmp_path / "a.h5")
    with h5py.File(path, "a") as file:
        del file["df/block0_values"], file["df/axis1"]
        file["df"].create_dataset("block0_values", data=SPEEDS * 0 + 50, **options)
        index = times_of(20).astype("M8[ns]").astype(int)
        file["df"].create_dataset("axis1", data=index, **options)
        file["df/axis1"].attrs["kind"] = np.bytes_(b"datetime64")
    assert_array_equal(read_pandas_h5(path).speeds, SPEEDS * 0 + 50)


def without_blocks(path: Path) -> None:
    with h5py.File(path, "a") as file:
        file["df"].attrs["nblocks"] = 0


def one_row_for_all(path: Path) -> None:
    with h5py.File(path, "a") as file:
        del file["df/block0_values"]
        file["df/block0_values"] = SPEEDS[:1]


def objects(path: Path) -> None:
    with h5py.File(path, "a") as file:
        del file["df/block0_values"]
        file["df"].create_dataset("block0_values", (1,), h5py.vlen_dtype(np.uint8))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (without_blocks, r"4 of 4 columns have no values in it \(101, 102, 103, 104\)"),
        (one_row_for_all, r"block0_values: expected numbers in shape \(20, 4\), got .*\(1, 4\)"),
        (objects, "block0_values holds Python objects"),
    ],
)
def test_a_table_without_its_values_says_why(tmp_path, damage, message):
    path = write_h5(tmp_path / "a.h5")
    damage(path)
    with pytest.raises(DataError, match=message) as caught:
        read_pandas_h5(path)
    assert "\n" not in str(caught.value)
    assert "fetch it again" not in str(caught.value)


def test_tables_of_others_are_read_or_refused_for_the_true_cause(shared_data):
    cases = shared_data / "cases"
    assert read_pandas_h5(cases / "h5" / "strindex" / "s.h5").times is not None
    with pytest.raises(DataError, match="compressed by blosc, which is not read here"):
        read_pandas_h5(cases / "h5" / "blosc" / "s.h5")
    with pytest.raises(DataError, match="holds Python objects"):
        read_pandas_h5(cases / "h5" / "object" / "s.h5")
    with pytest.raises(DataError, match="axis1 is 800,000,000 bytes"):
        read_pandas_h5(cases / "hostile" / "h5_axis1_1e8_unallocated.h5")


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:900])


def drop_values(path: Path) -> None:
    with h5py.File(path, "a") as file:
        del file["df/block0_values"]


def drop_index(path: Path) -> None:
    with h5py.File(path, "a") as file:
        del file["df/axis1"]


def second_table(path: Path) -> None:
    with h5py.File(path, "a") as file:
        file.copy("df", "df2")


def as_table_layout(path: Path) -> None:
    with h5py.File(path, "a") as file:
        file["df"].attrs["pandas_type"] = np.bytes_(b"frame_table")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (cut, "not a readable HDF5 table"),
        (lambda path: path.write_bytes(b"x" * 100), "not a readable HDF5 table"),
        (lambda path: path.write_bytes(b""), "empty file"),
        (lambda path: path.unlink(), "No such file"),
        (drop_values, "not a readable HDF5 table: .*block0_values"),
        (drop_index, "not a readable HDF5 table"),
        (second_table, "2 tables in pandas' fixed layout"),
        (as_table_layout, 'pandas\' `table` layout; .* format="fixed"'),
    ],
)
def test_a_bad_hdf5_file_is_refused_in_one_line(tmp_path, damage, message):
    path = write_h5(tmp_path / "a.h5")
    damage(path)
    with pytest.raises(DataError, match=message) as caught:
        read_pandas_h5(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
