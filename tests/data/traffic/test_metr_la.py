"""Files to a traffic dataset: what is found in a folder, joined by id, noted, and refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from small_traffic import (
    ARCS,
    IDS,
    START,
    UNDIRECTED,
    arcs_of,
    small_traffic,
    speeds_of,
    times_of,
    write_csv,
    write_pickle,
)

from gaancore.data import load_metr_la, split_windows
from gaancore.data.traffic.layouts.road_matrix import read_adjacency_pickle
from gaancore.errors import DataError, SettingsError

SPEEDS = speeds_of(30)


def write_folder(folder: Path, speeds: np.ndarray = SPEEDS, ids: tuple[str, ...] = IDS) -> Path:
    write_csv(folder / "speeds.csv", speeds, ["", *ids], times_of(len(speeds)).tolist())
    write_pickle(folder)
    return folder


def test_a_folder_of_speeds_and_a_graph(tmp_path):
    data = load_metr_la(write_folder(tmp_path))
    assert_array_equal(data.speeds, SPEEDS.round(2).astype(np.float32))
    assert data.speeds.dtype == np.float32
    assert data.valid.all()
    assert arcs_of(data.graph) == UNDIRECTED
    assert data.sensor_ids == IDS
    assert_array_equal(data.times, times_of(30))
    assert_allclose(data.time_of_day, np.arange(30) * 300 / 86400, rtol=1e-6)
    assert_array_equal(data.day_of_week, np.full(30, 3))
    assert data.step == 300
    assert_array_equal(data.stretches, [0, 30])
    assert "graph: 3 directed arcs, 6 after making it undirected; weights are ignored" in data.notes


@pytest.mark.parametrize(
    ("kind", "loops", "arcs"),
    [
        ("directed", "drop", ARCS),
        ("directed", "keep", ARCS | {(n, n) for n in range(4)}),
        ("undirected", "keep", UNDIRECTED | {(n, n) for n in range(4)}),
        ("undirected", "add", UNDIRECTED | {(n, n) for n in range(4)}),
    ],
)
def test_direction_and_self_loops_are_options(tmp_path, kind, loops, arcs):
    data = load_metr_la(write_folder(tmp_path), graph_kind=kind, self_loops=loops)
    assert arcs_of(data.graph) == arcs


def test_columns_and_graph_are_joined_by_id_and_not_by_position(tmp_path):
    order = [2, 0, 3, 1]
    ids = tuple(IDS[n] for n in order)
    data = load_metr_la(write_folder(tmp_path, SPEEDS[:, order], ids), graph_kind="directed")
    assert data.sensor_ids == ids
    named = {(data.sensor_ids[a], data.sensor_ids[b]) for a, b in arcs_of(data.graph)}
    assert named == {(IDS[a], IDS[b]) for a, b in ARCS}
    assert "graph: sensors put in the order of the speeds' columns" in data.notes


def test_sensors_of_the_graph_without_speeds_are_left_out_and_named(tmp_path):
    data = load_metr_la(write_folder(tmp_path, SPEEDS[:, :2], IDS[:2]))
    assert arcs_of(data.graph) == {(0, 1), (1, 0)}
    assert "graph: 2 sensors (103, 104) without speeds left out" in data.notes


def test_columns_without_ids_are_taken_in_the_graphs_order_and_that_is_said(tmp_path):
    write_csv(tmp_path / "speeds.csv", SPEEDS)
    write_pickle(tmp_path)
    data = load_metr_la(tmp_path / "speeds.csv")
    assert data.sensor_ids == IDS
    assert (
        "no sensor ids in speeds.csv: joined by position: column 0 is sensor 101, column 1 is "
        "sensor 102, column 2 is sensor 103, ..." in data.notes
    )
    assert (data.times, data.time_of_day, data.day_of_week) == (None, None, None)
    assert "no timestamps: steps of 5 minutes assumed" in data.notes


def test_ids_of_the_columns_can_come_from_a_file(tmp_path):
    write_csv(tmp_path / "speeds.csv", SPEEDS[:, :2])
    write_pickle(tmp_path)
    (tmp_path / "columns.txt").write_text("103,\n102\n")
    data = load_metr_la(tmp_path / "speeds.csv", sensor_ids=tmp_path / "columns.txt")
    assert data.sensor_ids == ("103", "102")
    assert arcs_of(data.graph) == {(0, 1), (1, 0)}


def test_a_start_gives_times_to_files_that_have_none(tmp_path):
    write_csv(tmp_path / "speeds.csv", SPEEDS, list(IDS))
    write_pickle(tmp_path)
    data = load_metr_la(tmp_path, start="2012-03-01")
    assert_array_equal(data.times, times_of(30))
    assert "times: steps of 5 minutes from 2012-03-01 on" in data.notes


def test_a_graph_without_a_threshold_is_warned_of(tmp_path):
    weights = np.random.default_rng(0).uniform(0.01, 1, (20, 20))
    np.savetxt(tmp_path / "adj.csv", weights, delimiter=",")
    write_csv(tmp_path / "speeds.csv", speeds_of(30, 20))
    notes = load_metr_la(tmp_path).notes
    assert any(n.startswith("warning: graph: 100% of all pairs of sensors are") for n in notes)


def test_places_are_read_by_sensor_id(tmp_path):
    write_folder(tmp_path)
    rows = [f"{n},{name},{34 + n},{-118 - n}" for n, name in enumerate(reversed(IDS))]
    places = tmp_path / "graph_sensor_locations.csv"
    places.write_text("\n".join(["index,sensor_id,latitude,longitude", *rows]))
    assert_array_equal(load_metr_la(tmp_path).coordinates[:2], [[37, -121], [36, -120]])
    places.write_text("\n".join(["index,sensor_id,latitude,longitude", *rows[:3]]))
    data = load_metr_la(tmp_path)
    assert data.coordinates is None
    assert "coordinates not used: 1 sensor (101) without any" in data.notes
    places.write_text("sensor_id,latitude,longitude\n101,x,0\n")
    with pytest.raises(DataError, match=r"locations\.csv: line 2: no sensor_id, latitude and"):
        load_metr_la(tmp_path)


def test_the_graph_is_looked_for_where_dcrnn_keeps_it(tmp_path):
    write_folder(tmp_path)
    (tmp_path / "sensor_graph").mkdir()
    (tmp_path / "adj_mx.pkl").rename(tmp_path / "sensor_graph" / "adj_mx.pkl")
    assert arcs_of(load_metr_la(tmp_path).graph) == UNDIRECTED


def test_distances_are_read_with_the_ids_beside_them(tmp_path):
    write_csv(tmp_path / "speeds.csv", SPEEDS, list(IDS))
    (tmp_path / "graph_sensor_ids.txt").write_text(",".join(IDS))
    roads = [f"{IDS[a]},{IDS[b]},{100.0 + a}" for a, b in sorted(ARCS)]
    far = "101,104,9000.0"
    (tmp_path / "distances_la.csv").write_text("\n".join(["from,to,cost", *roads, far]))
    assert arcs_of(load_metr_la(tmp_path, graph_kind="directed").graph) == ARCS


def write_tables(folder: Path) -> list[Path]:
    """A folder of text files alone."""
    tables = {
        "distances_la.csv": ["from,to,cost", *(f"{IDS[a]},{IDS[b]},100.5" for a, b in ARCS)],
        "graph_sensor_ids.txt": [",".join(IDS)],
        "graph_sensor_locations.csv": [
            "sensor_id,latitude,longitude",
            *(f"{name},3.5,4" for name in IDS),
        ],
    }
    for name, lines in tables.items():
        (folder / name).write_text("\n".join(lines))
    write_csv(folder / "speeds.csv", SPEEDS, ["", *IDS], times_of(30).tolist())
    return sorted(folder.iterdir())


@pytest.mark.parametrize(
    "content", [b"", b"\n\n", b"  \n", b",\n", b"\xef\xbb\xbf\n", b"\xff", b'"']
)
@pytest.mark.parametrize("number", range(4))
def test_a_table_with_nothing_in_it_is_refused_by_name(tmp_path, number, content):
    path = write_tables(tmp_path)[number]
    path.write_bytes(content)
    with pytest.raises(DataError) as refusal:
        load_metr_la(tmp_path)
    assert path.name in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("separator", [";", "\t"])
def test_all_tables_of_a_folder_may_have_semicolons_or_tabs(tmp_path, separator):
    paths = write_tables(tmp_path)
    expected = load_metr_la(tmp_path)
    for path in paths:
        path.write_text(path.read_text().replace(",", separator))
    found = load_metr_la(tmp_path)
    assert arcs_of(found.graph) == arcs_of(expected.graph) == UNDIRECTED
    assert found.sensor_ids == expected.sensor_ids
    for name in ("speeds", "times", "coordinates"):
        assert_array_equal(getattr(found, name), getattr(expected, name))


# ------------------------------------------------------------------ missing and bad readings


@pytest.mark.parametrize("mark", [0.0, np.nan])
def test_zero_and_empty_readings_are_missing(mark):
    speeds = SPEEDS.copy()
    speeds[3, 1] = speeds[7, 2] = mark
    data = small_traffic(speeds)
    assert_array_equal(np.argwhere(~data.valid), [[3, 1], [7, 2]])
    assert data.speeds[3, 1] == data.speeds[7, 2] == 0
    assert "1.67% of the readings are missing (0 or empty)" in data.notes


def test_another_reading_or_none_can_mean_missing(tmp_path):
    speeds = SPEEDS.copy()
    speeds[3, 1], speeds[4, 1], speeds[5, 1] = 0, -1, np.nan
    folder = write_folder(tmp_path, speeds)
    assert_array_equal(np.argwhere(~load_metr_la(folder, null_value=-1).valid), [[4, 1], [5, 1]])
    assert_array_equal(np.argwhere(~load_metr_la(folder, null_value=None).valid), [[5, 1]])


def test_a_reading_that_means_missing_is_found_in_float32_too(tmp_path):
    write_pickle(tmp_path)
    speeds = SPEEDS.astype(np.float32)
    speeds[3, 1] = -99.9
    np.savez(tmp_path / "speeds.npz", speed=speeds, sensor_ids=IDS, times=times_of(30))
    assert_array_equal(np.argwhere(~load_metr_la(tmp_path, null_value=-99.9).valid), [[3, 1]])


def test_negative_speeds_are_warned_of(tmp_path):
    speeds = SPEEDS.copy()
    speeds[3, 1] = -4
    data = small_traffic(speeds)
    assert data.valid.all()
    assert any(
        n.startswith("warning: negative speeds: 1, first -4 at row 3, sensor 102;")
        for n in data.notes
    )


def with_value(value: float, rows: Any, column: int = 1) -> np.ndarray:
    speeds = SPEEDS.copy()
    speeds[rows, column] = value
    return speeds


@pytest.mark.parametrize(
    ("speeds", "message"),
    [
        (with_value(np.inf, 4), "speeds that are not finite: 1, first inf at row 4, sensor 102"),
        (with_value(1e300, 4), r"speeds that are not finite: 1, first 1e\+300 at row 4"),
        (with_value(1e19, 4), r"speeds beyond 1e\+09: 1, first 1e\+19 at row 4, sensor 102"),
        (with_value(-1e19, 4), r"speeds beyond 1e\+09: 1, first -1e\+19 at row 4, sensor 102"),
    ],
)
def test_readings_that_cannot_be_trained_on_are_refused(speeds, message):
    with pytest.raises(DataError, match=f"^speeds.csv: {message}") as caught:
        small_traffic(speeds)
    assert "\n" not in str(caught.value)


# ------------------------------------------------------------------ times


def shifted(row: int, seconds: int) -> np.ndarray:
    times = times_of(30)
    times[row:] += np.timedelta64(seconds, "s")
    return times


def swapped() -> np.ndarray:
    times = times_of(30)
    times[[7, 8]] = times[[8, 7]]
    return times


def test_duplicate_timestamps_are_refused():
    with pytest.raises(DataError, match="rows 6 and 7 are both at 2012-03-01 00:30:00; keep one"):
        small_traffic(SPEEDS, times=shifted(7, -300))


def test_unsorted_timestamps_are_refused():
    with pytest.raises(DataError, match=r"row 8 \(2012-03-01 00:35:00\) is earlier than the one"):
        small_traffic(SPEEDS, times=swapped())


def test_a_gap_in_the_timestamps_ends_a_stretch():
    data = small_traffic(SPEEDS, times=shifted(10, 7200))
    assert_array_equal(data.stretches, [0, 10, 30])
    assert data.step == 300
    assert "gaps in the timestamps: 1, the longest 2:05:00; no window crosses one" in data.notes


def test_a_timestamp_between_two_steps_ends_a_stretch_too():
    data = small_traffic(SPEEDS, times=shifted(10, -60))
    assert_array_equal(data.stretches, [0, 10, 30])
    assert "gaps in the timestamps: 1, the longest 0:04:00; no window crosses one" in data.notes


def test_days_of_the_week_start_on_monday():
    times = START + np.arange(8) * np.timedelta64(1, "D")
    data = small_traffic(SPEEDS[:8], times=times)
    assert data.day_of_week.tolist() == [3, 4, 5, 6, 0, 1, 2, 3]
    assert not data.time_of_day.any()


def test_a_dataset_goes_on_without_readings_for_a_forecast():
    data = small_traffic(SPEEDS, times=shifted(10, 7200)).continued(12)
    assert data.num_steps == 42
    assert not data.valid[30:].any()
    assert data.valid[:30].all()
    assert_array_equal(data.stretches, [0, 10, 42])
    assert_array_equal(np.diff(data.times[29:]).astype(int), 300)
    assert_allclose(data.time_of_day[30:] * 24, 2 + (30 + np.arange(12)) / 12, rtol=1e-6)


def test_a_time_of_day_without_dates_goes_on_past_midnight():
    day = ((np.arange(30) * 300 / 86400 + 0.9) % 1).astype(np.float32)
    data = small_traffic(SPEEDS, times=None, time_of_day=day, step=300).continued(12)
    assert_allclose(data.time_of_day, (np.arange(42) * 300 / 86400 + 0.9) % 1, atol=1e-6)


# ------------------------------------------------------------------ what is refused


def rename_column(folder: Path) -> None:
    write_folder(folder, ids=("101", "102", "103", "999"))


def repeat_column(folder: Path) -> None:
    write_folder(folder, ids=("101", "102", "103", "101"))


def transpose(folder: Path) -> None:
    write_csv(folder / "speeds.csv", SPEEDS.T)


def columns_too_many(folder: Path) -> None:
    write_csv(folder / "speeds.csv", speeds_of(30, 5))


def second_speeds(folder: Path) -> None:
    write_csv(folder / "more.csv", SPEEDS)


def second_graph(folder: Path) -> None:
    (folder / "adj_mx_2.pkl").write_bytes(b"")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (rename_column, r"1 sensor \(999\) not in the graph .*adj_mx\.pkl; add them to the graph"),
        (repeat_column, "sensor 101 appears twice; every sensor needs its own id"),
        (transpose, "30 columns, but 4 sensors in .*; the table looks transposed; give the ids"),
        (columns_too_many, "5 columns, but 4 sensors in .*, and no sensor ids to match them by;"),
        (second_speeds, r"several files of speeds \(more\.csv, speeds\.csv\); give the one to use"),
        (second_graph, r"several files of a graph \(adj_mx\.pkl, adj_mx_2\.pkl\)"),
        (
            lambda folder: (folder / "adj_mx.pkl").unlink(),
            "no graph of the roads found: looked for",
        ),
        (lambda folder: (folder / "speeds.csv").unlink(), "no speeds found: looked for"),
        (lambda folder: (folder / "adj_mx.pkl").write_bytes(b"x"), r"adj_mx\.pkl: not a readable"),
    ],
)
def test_a_folder_that_does_not_fit_together_is_refused_in_one_line(tmp_path, damage, message):
    damage(write_folder(tmp_path))
    with pytest.raises(DataError, match=message) as caught:
        load_metr_la(tmp_path)
    assert str(tmp_path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_path_that_is_nothing_is_refused(tmp_path):
    with pytest.raises(DataError, match="No such file"):
        load_metr_la(tmp_path / "nowhere.csv")
    with pytest.raises(DataError, match="No such file"):
        load_metr_la(tmp_path / "nowhere")
    (tmp_path / "speeds.xls").write_text("x")
    with pytest.raises(DataError, match=r"speeds are read from \.h5, \.hdf5, \.npz, \.csv"):
        load_metr_la(tmp_path / "speeds.xls")


def test_options_that_do_not_fit_the_files_are_refused(tmp_path):
    write_folder(tmp_path)
    with pytest.raises(DataError, match="has its own timestamps"):
        load_metr_la(tmp_path, start="2012-03-01")
    (tmp_path / "ids.txt").write_text("101,102,103,105")
    with pytest.raises(DataError, match=r"ids\.txt: these are not the sensor ids of "):
        load_metr_la(tmp_path, sensor_ids=tmp_path / "ids.txt")
    with pytest.raises(SettingsError, match="graph_kind: expected one of undirected, directed"):
        load_metr_la(tmp_path, graph_kind="both")
    write_csv(tmp_path / "speeds.csv", SPEEDS)
    with pytest.raises(DataError, match="timestamp 'noon' is not like"):
        load_metr_la(tmp_path, start="noon")
    (tmp_path / "ids.txt").write_text("101,102,103")
    with pytest.raises(DataError, match=r"ids\.txt: 3 sensor ids for 4 columns of"):
        load_metr_la(tmp_path, sensor_ids=tmp_path / "ids.txt")


# ------------------------------------------------------------------ the public files


def test_the_official_week(shared_data):
    data = load_metr_la(shared_data / "metr-la", start="2012-03-01")
    assert data.speeds.shape == (2016, 207)
    assert data.graph.num_edges == 2626
    assert data.valid.all()
    assert data.coordinates.shape == (207, 2)
    assert data.times[-1] == np.datetime64("2012-03-07T23:55")
    assert "graph: 1,515 directed arcs, 2,626 after making it undirected; weights are ignored" in (
        data.notes
    )
    assert "graph: 1 sensor (717804) without a neighbour" in data.notes


def test_the_official_raw_steps_whose_first_row_stands_in_the_header(shared_data):
    folder = shared_data / "metr-la"
    raw = load_metr_la(folder / "raw_first_1026_steps" / "METR-LA.csv", graph=folder / "adj_mx.pkl")
    week = load_metr_la(folder)
    assert raw.speeds.shape == (1026, 207)
    assert 0.02 < (~raw.valid).mean() < 0.04
    # the week's file is the same one with missing readings filled in
    same = np.isclose(raw.speeds, week.speeds[:1026], atol=1e-4)
    assert same[raw.valid].mean() > 0.999
    assert not same[~raw.valid].any()


def test_another_number_of_arcs_than_the_official_graphs_is_said(shared_data):
    folder = shared_data / "metr-la"
    note = "graph: METR-LA's official one has 1,515 directed arcs, this one 2,626"
    assert note in load_metr_la(folder, graph=folder / "los_adj.csv").notes
    assert not any("official" in n for n in load_metr_la(folder).notes)


def test_four_months_as_windows_and_as_a_series_are_the_same(shared_data, tmp_path):
    folder = shared_data / "metr-la-10sensors"
    graph = shared_data / "metr-la" / "adj_mx.pkl"
    series = load_metr_la(folder / "metr_la_10sensors_34272.npz", graph=graph)
    (tmp_path / "ids.txt").write_text(",".join(series.sensor_ids))
    windows = load_metr_la(folder, graph=graph, sensor_ids=tmp_path / "ids.txt", start="2012-03-01")
    assert_array_equal(windows.speeds, series.speeds)
    assert_array_equal(windows.valid, series.valid)
    assert_array_equal(windows.times, series.times)
    assert arcs_of(windows.graph) == arcs_of(series.graph)
    own, cut = split_windows(windows), split_windows(series)
    for part in ("train", "val", "test"):
        assert_array_equal(getattr(own, part), getattr(cut, part))
    with pytest.raises(DataError, match=r"its first row is 0\.00 hours into the day"):
        load_metr_la(folder, graph=graph, sensor_ids=tmp_path / "ids.txt", start="2012-03-01 06:00")


def test_hostile_files_of_others_are_refused_in_one_line(shared_data, tmp_path):
    hostile = shared_data / "cases" / "hostile"
    for folder, message in (
        ("speeds_start_two", "start: expected one time, that of the first row, got 0"),
        ("adj_id_10e6000", r"adj_mx\.pkl: an id of .* digits"),
        ("nan_latitude", r"graph_sensor_locations\.csv: line 3: sensor 102 is at nan"),
    ):
        with pytest.raises(DataError, match=message) as caught:
            load_metr_la(hostile / folder)
        assert "\n" not in str(caught.value)
    write_csv(tmp_path / "speeds.csv", SPEEDS, list(IDS))
    for name in ("adj_bytearray8_4GB.pkl", "adj_content_int.pkl"):
        with pytest.raises(DataError, match=f"{name}: (not a readable pickle|refused)"):
            load_metr_la(tmp_path, graph=hostile / name)


def test_a_pickle_whose_lines_a_text_program_ended_is_read(shared_data):
    path = shared_data / "cases" / "graphs" / "adj_mx_protocol0_crlf.pkl"
    assert read_adjacency_pickle(path, None).sensor_ids == ("700", "701")
