"""Readings and roads as public projects give them out; series with outages or changed clocks."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from small_traffic import ARCS, IDS, UNDIRECTED, arcs_of, matrix, speeds_of, times_of, write_csv

from gaancore.choices import RoadChoices
from gaancore.data import load_metr_la, split_windows, synthetic_traffic
from gaancore.data.traffic.layouts.long_table import is_long_table, read_long_table
from gaancore.errors import DataError

SPEEDS = speeds_of(40)


def write_lines(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_pems_bay_has_neither_headers_over_its_distances_nor_over_its_places(tmp_path):
    write_csv(tmp_path / "speeds.csv", SPEEDS, list(IDS))
    lines = [f"{name},{name},0.0" for name in IDS]
    lines += [f"{IDS[a]},{IDS[b]},{100 + a}.5" for a, b in sorted(ARCS)]
    lines += [f"{IDS[0]},{IDS[3]},9000.0", f"{IDS[2]},999,70.0"]
    write_lines(tmp_path / "distances_bay_2017.csv", *lines)
    places = [f"{name},37.{n}64085,-121.9011{n}" for n, name in enumerate(IDS)]
    write_lines(tmp_path / "graph_sensor_locations_bay.csv", *places)
    data = load_metr_la(tmp_path)
    assert data.sensor_ids == IDS
    assert arcs_of(data.graph) == UNDIRECTED
    assert_allclose(data.coordinates[2], [37.264085, -121.90112])
    note = "distances_bay_2017.csv: no header: its columns are taken as from, to, distance"
    assert note in data.notes


def test_stgcns_velocities_and_its_sparse_matrix(tmp_path):
    write_csv(tmp_path / "vel.csv", SPEEDS, list("0123"))
    sparse.save_npz(tmp_path / "adj.npz", sparse.csc_matrix(matrix()))
    data = load_metr_la(tmp_path)
    assert arcs_of(data.graph) == UNDIRECTED
    assert_allclose(data.speeds, SPEEDS, rtol=1e-3)
    assert "no timestamps: steps of 5 minutes assumed" in data.notes


@pytest.mark.parametrize("prefix", ["", "PeMSD7_"])
def test_pemsd7s_matrix_of_distances_is_made_weights_of(tmp_path, prefix):
    rng = np.random.default_rng(0)
    at = rng.uniform(0, 20_000, (25, 2)).round()
    metres = np.sqrt(((at[:, None] - at) ** 2).sum(axis=2)).round(1)
    write_csv(tmp_path / f"{prefix}V_25.csv", speeds_of(30, 25))
    write_csv(tmp_path / f"{prefix}W_25.csv", metres)
    near = np.exp(-((metres / 10000) ** 2) / 0.1) >= 0.5  # as STGCN's paper has it
    np.fill_diagonal(near, False)
    data = load_metr_la(tmp_path, roads=RoadChoices(kernel="stgcn"))
    assert arcs_of(data.graph) == set(zip(*map(np.ndarray.tolist, np.nonzero(near)), strict=True))
    assert any("holds distances" in note and "not weights" in note for note in data.notes)
    near = np.exp(-((metres / metres.std()) ** 2)) >= 0.1
    np.fill_diagonal(near, False)
    assert near.mean() > 0.25  # so that DCRNN's kernel is refused, not trained on
    with pytest.raises(DataError, match="of all pairs of sensors would be neighbours"):
        load_metr_la(tmp_path)
    data = load_metr_la(tmp_path, roads=RoadChoices(max_pairs=1))
    assert data.graph.num_edges == near.sum()
    everything = load_metr_la(tmp_path, roads=RoadChoices(kernel="none"))
    assert everything.graph.num_edges == 25 * 24
    assert any("warning: graph: 100% of all pairs" in note for note in everything.notes)


@pytest.mark.parametrize(
    "weights",
    [
        matrix(),  # 1 to itself
        np.where(np.eye(4) > 0, 0, 0.4),  # at most 1
        np.triu(np.full((4, 4), 7.0), 1) * (np.arange(4) < 2),  # most are nothing
        -np.where(np.eye(4) > 0, 0, 7.0),
    ],
)
def test_a_matrix_of_weights_is_not_taken_for_distances(tmp_path, weights):
    write_csv(tmp_path / "speeds.csv", SPEEDS)
    np.save(tmp_path / "adj.npy", weights)
    data = load_metr_la(tmp_path, graph_kind="directed", self_loops="keep")
    assert data.graph.num_edges == np.count_nonzero(weights)
    assert not any("distances" in note for note in data.notes)


@pytest.mark.parametrize("at", range(4))
def test_a_damaged_matrix_of_distances_is_not_read_otherwise(tmp_path, at):
    metres = np.abs(np.subtract.outer([0, 900, 2100, 5000], [0, 900, 2100, 5000])).astype(float)
    write_csv(tmp_path / "speeds.csv", SPEEDS)
    write_csv(tmp_path / "W_4.csv", np.insert(metres, at, metres[at], axis=0))
    stgcn = RoadChoices(kernel="stgcn", max_pairs=1)
    with pytest.raises(DataError, match="5 rows of 4 numbers; if a row is there twice, remove it"):
        load_metr_la(tmp_path, roads=stgcn)
    for column, number in ((at, 7.0), ((at + 1) % 4, -7.0)):
        wrong = metres.copy()
        wrong[at, column] = number
        write_csv(tmp_path / "W_4.csv", wrong)
        with pytest.raises(DataError, match=f"row {at}, column {column}: {number:g} is no distan"):
            load_metr_la(tmp_path, roads=stgcn)
        assert load_metr_la(tmp_path, roads=RoadChoices(kernel="none")).graph.num_edges == 12


@pytest.mark.parametrize("cell", ["O1.83", "\x151.83", "1,83x"])
def test_a_damaged_first_row_is_not_taken_for_names(tmp_path, cell):
    path = write_csv(tmp_path / "speeds.csv", SPEEDS)
    np.save(tmp_path / "adj.npy", matrix())
    path.write_text(f'"{cell}"' + path.read_text()[5:])
    with pytest.raises(DataError, match="the first line has numbers with fractions, as readings"):
        load_metr_la(tmp_path)


def test_one_array_may_hold_several_channels(tmp_path):
    values = np.stack([SPEEDS, SPEEDS * 2, SPEEDS * 3], axis=2)
    np.save(tmp_path / "flow.npy", values)
    np.save(tmp_path / "adj.npy", matrix())
    assert_allclose(load_metr_la(tmp_path).speeds, SPEEDS, rtol=1e-6)
    data = load_metr_la(tmp_path, channel="1")
    assert_allclose(data.speeds, SPEEDS * 2, rtol=1e-6)
    assert "the array: channel 1 of 3 is taken" in data.notes
    with pytest.raises(DataError, match=r"3 channels without names, numbered 0 to 2, .* 'speed'"):
        load_metr_la(tmp_path, channel="speed")
    np.save(tmp_path / "flow.npy", SPEEDS)
    assert_allclose(load_metr_la(tmp_path, channel="0").speeds, SPEEDS, rtol=1e-6)
    with pytest.raises(DataError, match=r"one channel alone, and no '1'; leave it out \(channel\)"):
        load_metr_la(tmp_path, channel="1")


def test_an_archive_may_name_its_channels(tmp_path):
    np.savez(tmp_path / "a.npz", flow=SPEEDS * 2, occupancy=SPEEDS * 3, sensor_ids=IDS)
    np.save(tmp_path / "adj.npy", matrix())
    assert_allclose(load_metr_la(tmp_path / "a.npz", channel="flow").speeds, SPEEDS * 2, rtol=1e-6)
    with pytest.raises(DataError, match=r"has flow, occupancy, sensor_ids; name the one to read"):
        load_metr_la(tmp_path / "a.npz")


# ------------------------------------------------------------------ a row for each reading


def long_lines(order: np.ndarray | None = None, missing: int = 7) -> list[str]:
    cells = [
        f"{time},{name},{SPEEDS[row, n]:.2f},{row}"
        for row, time in enumerate(times_of(len(SPEEDS)))
        for n, name in enumerate(IDS)
        if row * 4 + n != missing
    ]
    kept = cells if order is None else [cells[place] for place in order if place < len(cells)]
    return ["timestamp,sensor,speed,count", *kept]


def test_a_row_for_each_reading_makes_the_same_table_in_any_order(tmp_path):
    header, *rows = long_lines()
    path = write_lines(tmp_path / "readings.csv", header, *rows)
    write_csv(tmp_path / "edges.csv", np.zeros((0, 0)), ["from", "to"])
    expected = SPEEDS.round(2).copy()
    expected.flat[7] = np.nan
    found = read_long_table(path, "speed")
    assert found.sensor_ids == IDS
    assert_array_equal(found.times, times_of(40))
    assert_array_equal(found.speeds, expected)
    assert "readings.csv: 1 readings have no row: they are missing" in found.notes
    order = np.random.default_rng(0).permutation(160)
    turned = read_long_table(write_lines(path, *long_lines(order)), "0")
    column = [turned.sensor_ids.index(name) for name in IDS]
    assert_array_equal(turned.speeds[:, column], expected)
    counts = read_long_table(path, "count").speeds[:, column]
    assert_array_equal(np.nan_to_num(counts, nan=1), np.arange(40.0)[:, None].repeat(4, 1))


def test_a_long_table_is_told_by_its_header(tmp_path):
    path = tmp_path / "a.csv"
    for header, long in [
        ("timestamp,sensor_id,value", True), ("Date;Station;Flow", True), ("time,101,102", False),
        ("sensor,value", False), ("time,value", False), (",101,102", False),
    ]:  # fmt: skip
        assert is_long_table(write_lines(path, header, "1,2,3")) == long


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            ["2012-03-01,a,1", "2012-03-02,a,1", "2012-03-01,a,2"],
            "lines 2 and 4 are both of sensor",
        ),
        (["2012-03-01,a,1", "2012-03-02,a,x"], "line 3, column 3: 'x' is not a number"),
        (["2012-03-01,a,1", "2012-03-02,,1"], "line 3: a reading without a time or a sensor"),
        (["2012-03-01,a,1", "noon,a,1"], "timestamp 'noon' is not like"),
    ],
)
def test_a_bad_long_table_is_refused_by_line(tmp_path, lines, message):
    path = write_lines(tmp_path / "a.csv", "time,sensor,value", *lines)
    with pytest.raises(DataError, match=message):
        read_long_table(path)


def test_which_column_is_meant_is_asked(tmp_path):
    path = write_lines(tmp_path / "a.csv", *long_lines())
    with pytest.raises(DataError, match=r"readings are speed, count; choose one .* \(channel\)"):
        read_long_table(path)
    with pytest.raises(DataError, match=r"readings are speed, count, and no 'flow'; choose one"):
        read_long_table(path, "flow")


def test_american_dates_and_decimal_commas_come_together(tmp_path):
    lines = ["Date;Sensor;Value", *(f"03/{day}/2012 12:00 AM;a;6{day},5" for day in range(1, 29))]
    found = read_long_table(write_lines(tmp_path / "a.csv", *lines))
    assert str(found.times[12]) == "2012-03-13T00:00:00"
    assert_array_equal(found.speeds[:2, 0], [61.5, 62.5])
    assert "a.csv: decimal commas, read as points" in found.notes


# ------------------------------------------------------------------ outages and changed clocks

MINUTES = np.timedelta64(60, "s")
DAY = 288  # steps


def series() -> tuple[np.ndarray, np.ndarray]:
    """Two days of the built-in series: times around the night of March 13, 2016, and speeds."""
    data = synthetic_traffic(num_roads=2, sensors_per_road=2, num_days=2)
    start = np.datetime64("2016-03-12T12:00:00")
    return start + np.arange(data.num_steps) * 5 * MINUTES, np.where(data.valid, data.speeds, 0)


def rows_out(times, speeds):
    return np.delete(times, slice(100, 130)), np.delete(speeds, slice(100, 130), axis=0)


def zeros_out(times, speeds):
    speeds[100:130] = 0
    return times, speeds


def empty_out(times, speeds):
    speeds[100:130] = np.nan
    return times, speeds


def one_out(times, speeds):
    speeds[100:, 2] = 0
    return times, speeds


def always_out(times, speeds):
    speeds[:, 2] = np.nan
    return times, speeds


def minus_one_out(times, speeds):
    speeds[100:130] = -1
    return times, speeds


def one_row_out(times, speeds):
    return np.delete(times, 77), np.delete(speeds, 77, axis=0)


def scattered_out(times, speeds):
    kept = np.random.default_rng(0).random(len(times)) > 0.05
    return times[kept], speeds[kept]


def spring(times, speeds):
    """Clocks skip from 2:00 to 3:00."""
    return np.where(times >= np.datetime64("2016-03-13T02:00"), times + 60 * MINUTES, times), speeds


def autumn(times, speeds):
    """Clocks go back from 2:00 to 1:00."""
    return np.where(times >= np.datetime64("2016-03-13T02:00"), times - 60 * MINUTES, times), speeds


def autumn_without_the_hour(times, speeds):
    times, speeds = autumn(times, speeds)
    again = np.append(True, np.maximum.accumulate(times)[:-1] < times[1:])
    return times[again], speeds[again]


def coarser_later(times, speeds):
    """Every 5 minutes, then every 15."""
    kept = np.append(np.arange(400), np.arange(400, len(times), 3))
    return times[kept], speeds[kept]


def coarser_first(times, speeds):
    kept = np.append(np.arange(0, 401, 3), np.arange(400, len(times)))
    kept = np.unique(kept)
    return times[kept], speeds[kept]


def half_a_step_later(times, speeds):
    return np.where(np.arange(len(times)) >= 300, times + 150 * (MINUTES // 60), times), speeds


def seconds_of_jitter(times, speeds):
    late = np.random.default_rng(0).integers(0, 20, len(times))
    return times + late * np.timedelta64(1, "s"), speeds


def a_row_twice(times, speeds):
    return np.insert(times, 50, times[50]), np.insert(speeds, 50, speeds[50], axis=0)


def two_rows_exchanged(times, speeds):
    order = np.arange(len(times))
    order[[50, 51]] = [51, 50]
    return times[order], speeds


def backwards(times, speeds):
    return times[::-1], speeds[::-1]


def a_day_out(times, speeds):
    return np.delete(times, slice(100, 388)), np.delete(speeds, slice(100, 388), axis=0)


def infinite(times, speeds):
    speeds[7, 1] = np.inf
    return times, speeds


GAPS = "gaps in the timestamps: {}, the longest {}; no window crosses one"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (rows_out, GAPS.format(1, "2:35:00")),
        (zeros_out, "% of the readings are missing (0 or empty)"),
        (empty_out, "% of the readings are missing (0 or empty)"),
        (one_out, "% of the readings are missing (0 or empty)"),
        (always_out, "% of the readings are missing (0 or empty)"),
        (minus_one_out, "warning: negative speeds: 120, first -1 at row 100"),
        (one_row_out, GAPS.format(1, "0:10:00")),
        (scattered_out, "gaps in the timestamps: "),
        (spring, GAPS.format(1, "1:05:00")),
        (autumn, "error: row 168 (2016-03-13 01:00:00) is earlier than the one before; sort them, "
         "or, if clocks were set back there, write the times without summer time"),
        (autumn_without_the_hour, None),
        (coarser_later, "warning: the step changes: 57 rows are 0:15:00 apart, not 0:05:00"),
        (coarser_first, "warning: the step changes: 132 rows are 0:15:00 apart, not 0:05:00"),
        (half_a_step_later, GAPS.format(1, "0:07:30")),
        (seconds_of_jitter, "off steps of 300 s"),
        (a_row_twice, "error: rows 50 and 51 are both at"),
        (two_rows_exchanged, "error: row 51"),
        (backwards, "error: row 1"),
        (a_day_out, GAPS.format(1, "1 day, 0:05:00")),
        (infinite, "error: speeds that are not finite: 1, first inf at row 7"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)  # fmt: skip
def test_what_is_odd_in_a_series_is_told_or_refused_and_no_window_crosses_it(
    tmp_path, change, told
):
    times, speeds = change(*series())
    write_csv(tmp_path / "speeds.csv", speeds, ["time", *IDS], [str(time) for time in times])
    write_lines(tmp_path / "edges.csv", "from,to", "101,102", "103,104")
    if told is not None and told.startswith("error: "):
        with pytest.raises(DataError) as caught:
            load_metr_la(tmp_path)
        assert told.removeprefix("error: ") in str(caught.value)
        return
    data = load_metr_la(tmp_path)
    assert told is None or any(told in note for note in data.notes), data.notes
    windows = split_windows(data, history=4, horizon=3)
    for start in np.concatenate([windows.train, windows.val, windows.test]):
        ahead = np.diff(times[start : start + windows.span]) / MINUTES
        assert (np.abs(ahead - 5) <= 0.5).all()
    given = np.nan_to_num(speeds)
    assert_array_equal(data.valid, given != 0)
    changed = any("the step changes" in note for note in data.notes)
    assert changed == (change in (coarser_later, coarser_first))
