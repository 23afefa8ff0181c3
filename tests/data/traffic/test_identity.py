"""Which column is which sensor: by id, or by a position that is proven and said, never by chance.

Also which first line is a header, which the ids of the graph decide.
"""

import math
import pickle
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from small_traffic import ARCS, IDS, UNDIRECTED, arcs_of, matrix, speeds_of, write_csv, write_pickle

from gaancore.data import load_metr_la, look
from gaancore.data.traffic.layouts.road_matrix import read_adjacency_npz
from gaancore.errors import DataError

CHAIN = {(n, n + 1) for n in range(7)}
MENTIONED = ["5,6", "3,4", "6,7", "0,1", "4,5", "2,3", "1,2"]  # 5 first, 0 late
SPEEDS = speeds_of(40, 8)
JOINED = "joined by position: column 0 is sensor 0, column 1 is sensor 1, column 2 is sensor 2, ..."


def write_lines(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines) + "\n")
    return path


def write_npz(folder: Path) -> None:
    np.savez(folder / "PEMS08.npz", data=SPEEDS[..., None].repeat(3, 2))


def write_table(folder: Path) -> None:
    write_csv(folder / "speeds.csv", SPEEDS)


def write_windows(folder: Path) -> None:
    windows = np.stack([SPEEDS[n : n + 4, :, None] for n in range(37)])
    for name, part in (("train", windows[:20]), ("val", windows[20:28]), ("test", windows[28:])):
        np.savez(folder / f"{name}.npz", x=part[:, :2], y=part[:, 2:])


WITHOUT_IDS = [write_npz, write_table, write_windows]


@pytest.mark.parametrize("write", WITHOUT_IDS)
@pytest.mark.parametrize("name", ["edges.csv", "distance.csv", "Roads.CSV"])
def test_sensors_numbered_from_0_are_the_columns_whatever_road_comes_first(tmp_path, write, name):
    write(tmp_path)
    write_lines(tmp_path / name, "from,to", *MENTIONED)
    assert look(tmp_path) == "traffic"
    data = load_metr_la(tmp_path, graph_kind="directed")
    assert arcs_of(data.graph) == CHAIN
    assert data.sensor_ids == tuple("01234567")
    assert_allclose(data.speeds[:3], SPEEDS[:3], rtol=1e-6)
    assert any(note.endswith(JOINED) for note in data.notes)


@pytest.mark.parametrize("write", WITHOUT_IDS)
@pytest.mark.parametrize("shift", [1, 700])
def test_other_numbers_are_ids_and_never_joined_by_position(tmp_path, write, shift):
    write(tmp_path)
    roads = [",".join(str(int(end) + shift) for end in road.split(",")) for road in MENTIONED]
    write_lines(tmp_path / "edges.csv", "from,to", *roads)
    with pytest.raises(DataError, match=r"not numbered 0 to 7; give the ids of .*\(sensor_ids\)"):
        load_metr_la(tmp_path)
    ids = write_lines(tmp_path / "mine.txt", *(str(n + shift) for n in range(8)))
    data = load_metr_la(tmp_path, graph_kind="directed", sensor_ids=ids)
    assert arcs_of(data.graph) == CHAIN


def test_a_list_of_ids_beside_the_roads_is_an_order_and_the_pairs_are_said(tmp_path):
    write_table(tmp_path)
    roads = [",".join(f"70{end}" for end in road.split(",")) for road in MENTIONED]
    write_lines(tmp_path / "edges.csv", "from,to", *roads)
    write_lines(tmp_path / "PEMS03.txt", *(f"70{n}" for n in range(8)))
    data = load_metr_la(tmp_path, graph_kind="directed")
    assert arcs_of(data.graph) == CHAIN
    assert (
        "no sensor ids in speeds.csv: joined by position: column 0 is sensor 700, column 1 is "
        "sensor 701, column 2 is sensor 702, ..." in data.notes
    )


def test_roads_between_positions_beside_a_list_of_other_ids_are_refused(tmp_path):
    write_table(tmp_path)
    write_lines(tmp_path / "edges.csv", "from,to", *MENTIONED)
    write_lines(tmp_path / "graph_sensor_ids.txt", *(f"70{n}" for n in range(8)))
    with pytest.raises(DataError, match=r"edges\.csv: none of its roads names a sensor .*700, 701"):
        load_metr_la(tmp_path)


def write_bare_matrix(folder: Path, kind: str) -> Path:
    """The arcs of `small_traffic`, in a matrix whose rows nothing names."""
    if kind == "csv":
        np.savetxt(folder / "adj.csv", matrix(), delimiter=",")
    elif kind == "whole csv":
        np.savetxt(folder / "adj.csv", matrix() != 0, fmt="%d", delimiter=",")
    elif kind == "npy":
        np.save(folder / "adj.npy", matrix())
    elif kind == "npz":
        np.savez(folder / "adj.npz", adj=matrix())
    else:
        sparse.save_npz(folder / "adj.npz", sparse.csr_array(matrix()).asformat(kind))
    return folder


KINDS = ["csv", "whole csv", "npy", "npz", "csr", "csc", "coo"]


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_a_bare_matrix_are_the_columns_in_order_and_the_pairs_are_said(tmp_path, kind):
    write_csv(write_bare_matrix(tmp_path, kind) / "speeds.csv", speeds_of(20), list(IDS))
    assert look(tmp_path) == "traffic"
    data = load_metr_la(tmp_path, graph_kind="directed")
    assert arcs_of(data.graph) == ARCS
    assert data.sensor_ids == IDS
    assert any("sensor 101 is row 0, sensor 102 is row 1" in note for note in data.notes)


@pytest.mark.parametrize("kind", KINDS)
def test_columns_that_are_named_by_position_find_their_rows(tmp_path, kind):
    order = [2, 0, 3, 1]
    header = [str(n) for n in order]
    write_csv(write_bare_matrix(tmp_path, kind) / "speeds.csv", speeds_of(20), header)
    data = load_metr_la(tmp_path, graph_kind="directed")
    assert {(order[a], order[b]) for a, b in arcs_of(data.graph)} == ARCS
    assert any("sensor 2 is row 2, sensor 0 is row 0" in note for note in data.notes)


def test_columns_without_ids_find_the_rows_that_are_named_by_position(tmp_path):
    write_pickle(tmp_path, ("2", "0", "3", "1"))
    write_csv(tmp_path / "speeds.csv", speeds_of(20))
    data = load_metr_la(tmp_path, graph_kind="directed")
    order = [2, 0, 3, 1]
    assert arcs_of(data.graph) == {(order[a], order[b]) for a, b in ARCS}
    assert data.sensor_ids == ("0", "1", "2", "3")


def test_a_list_beside_a_bare_matrix_is_said_whether_it_fits_or_not(tmp_path):
    write_csv(write_bare_matrix(tmp_path, "npy") / "speeds.csv", speeds_of(20), list(IDS))
    write_lines(tmp_path / "graph_sensor_ids.txt", *reversed(IDS))
    data = load_metr_la(tmp_path, graph_kind="directed")
    assert {(3 - a, 3 - b) for a, b in arcs_of(data.graph)} == ARCS
    assert any("row 0 is sensor 104, row 1 is sensor 103" in note for note in data.notes)
    write_lines(tmp_path / "graph_sensor_ids.txt", "101")
    notes = load_metr_la(tmp_path).notes
    assert any("1 sensor ids in the list beside it, but 4 rows: the list is" in n for n in notes)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"a": np.eye(4), "b": np.eye(4)}, r"one square array; the file has a, b"),
        ({"adj": np.eye(4)[:3]}, "expected a square matrix of numbers"),
        (
            {
                "format": np.array(b"csr"),
                "shape": [10**9, 10**9],
                "data": [1.0],
                "indices": [0],
                "indptr": [0, 1],
            },
            "1,000,000,000 rows in a file of fewer bytes",
        ),
        (
            {
                "format": np.array(b"csr"),
                "shape": [2, 2],
                "data": [1.0],
                "indices": [7],
                "indptr": [0, 1, 1],
            },
            "not a readable sparse matrix",
        ),
        ({"format": np.array(b"bsr"), "shape": [2, 2], "data": [1.0]}, "save it as csr, csc or"),
    ],
)
def test_an_archive_that_is_no_graph_is_refused_in_one_line(tmp_path, arrays, message):
    np.savez(tmp_path / "adj.npz", **arrays)
    write_csv(tmp_path / "speeds.csv", speeds_of(20), list(IDS))
    with pytest.raises(DataError, match=message) as caught:
        load_metr_la(tmp_path)
    assert "\n" not in str(caught.value)


def test_columns_that_are_only_numbered_need_the_ids_of_the_graph(tmp_path):
    write_pickle(tmp_path)
    write_csv(tmp_path / "speeds.csv", speeds_of(20), ["", "1", "0", "3", "2"], list(range(20)))
    with pytest.raises(DataError, match=r"the columns are only numbered: give their ids"):
        load_metr_la(tmp_path)
    ids = write_lines(tmp_path / "mine.txt", "101", "102", "103", "104")
    data = load_metr_la(tmp_path, sensor_ids=ids)
    assert data.sensor_ids == ("102", "101", "104", "103")
    note = "mine.txt: joined by position: column 0 is sensor 102, column 1 is sensor 101"
    assert any(n.startswith(note) for n in data.notes)


# ------------------------------------------------------------------ ids that became floats


def write_float_ids(folder: Path) -> Path:
    """Every file has 101.0 where others have 101."""
    floats = [f"{name}.0" for name in IDS]
    write_csv(folder / "speeds.csv", speeds_of(20), floats)
    write_lines(
        folder / "edges.csv", "from,to", *(f"{floats[a]},{floats[b]}" for a, b in sorted(ARCS))
    )
    write_lines(folder / "graph_sensor_ids.txt", *floats)
    places = [f"{name},{n}.5,3" for n, name in enumerate(floats)]
    write_lines(folder / "graph_sensor_locations.csv", "sensor_id,latitude,longitude", *places)
    return folder


@pytest.mark.parametrize("plain", [None, "speeds.csv", "edges.csv", "graph_sensor_ids.txt"])
def test_a_header_of_float_ids_is_what_the_graph_has(tmp_path, plain):
    write_float_ids(tmp_path)
    if plain:
        text = (tmp_path / plain).read_text()
        for name in IDS:
            text = text.replace(f"{name}.0", name)
        (tmp_path / plain).write_text(text)
    data = load_metr_la(tmp_path)
    assert data.sensor_ids == IDS
    assert data.num_steps == 20
    assert arcs_of(data.graph) == UNDIRECTED
    assert_array_equal(data.coordinates[:, 0], [0.5, 1.5, 2.5, 3.5])
    assert any("the first line is taken as a header of ids (101" in note for note in data.notes)


def test_float_ids_in_an_archive_and_in_a_matrix_are_whole(tmp_path):
    floats = np.array(IDS, float)
    np.savez(tmp_path / "speeds.npz", speed=speeds_of(20), sensor_ids=floats)
    rows = ["," + ",".join(map(str, floats))]
    rows += [f"{n}," + ",".join(map(str, row)) for n, row in zip(floats, matrix(), strict=True)]
    write_lines(tmp_path / "adj.csv", *rows)
    data = load_metr_la(tmp_path)
    assert (data.sensor_ids, arcs_of(data.graph)) == (IDS, UNDIRECTED)


def test_ids_with_a_fraction_stay_as_they_are(tmp_path):
    write_csv(tmp_path / "speeds.csv", speeds_of(20, 2), ["1.0", "1.5"])
    write_lines(tmp_path / "edges.csv", "from,to", "1.0,1.5")
    assert load_metr_la(tmp_path).sensor_ids == ("1.0", "1.5")


def test_readings_are_no_header_when_the_graph_has_other_ids(tmp_path):
    write_pickle(tmp_path)
    write_lines(tmp_path / "speeds.csv", "60,62,61,59", *("70,51,52,53" for _ in range(9)))
    data = load_metr_la(tmp_path)
    assert data.speeds[0].tolist() == [60, 62, 61, 59]
    assert "speeds.csv: no header: the first line is taken as the first row" in data.notes


def test_numbers_that_are_sensors_and_could_be_readings_are_asked_about(tmp_path):
    lines = ["from,to", *(f"{n},{n + 1}" for n in range(50, 70))]
    write_lines(tmp_path / "edges.csv", *lines)
    write_lines(tmp_path / "speeds.csv", "60.0,62.0,61.0", *("70,51,52" for _ in range(9)))
    with pytest.raises(DataError, match="could be a header of sensor ids, which the graph has"):
        load_metr_la(tmp_path)


def test_a_header_of_float_ids_that_nothing_knows_is_asked_about(tmp_path):
    write_bare_matrix(tmp_path, "npy")
    write_csv(tmp_path / "speeds.csv", speeds_of(20), ["717.0", "718.0", "719.0", "720.0"])
    with pytest.raises(DataError, match="could be a header of sensor ids or a row of readings"):
        load_metr_la(tmp_path)


# ------------------------------------------------------------------ ids and places that are none


def test_an_id_of_thousands_of_digits_is_refused_in_one_line(tmp_path):
    write_csv(tmp_path / "speeds.csv", speeds_of(20), list(IDS))
    ids = [10**6000, 2, 3, 4]
    value = [ids, {name: row for row, name in enumerate(ids)}, matrix()]
    (tmp_path / "adj_mx.pkl").write_bytes(pickle.dumps(value, 2))
    with pytest.raises(DataError, match=r"adj_mx\.pkl: an id of 6,\d+ digits"):
        load_metr_la(tmp_path)


def test_a_header_of_ids_of_thousands_of_digits_is_no_traceback(tmp_path):
    write_pickle(tmp_path)
    digits = ["1" * 5000, "2" * 5000, "3" * 5000, "4" * 5000]
    write_csv(tmp_path / "speeds.csv", speeds_of(20), digits)
    with pytest.raises(DataError, match=r"not in the graph|could be a header"):
        load_metr_la(tmp_path)


@pytest.mark.parametrize("bad", ["nan", "inf", "-inf"])
@pytest.mark.parametrize("column", [1, 2])
def test_places_that_are_not_finite_are_refused_by_line(tmp_path, bad, column):
    write_csv(write_bare_matrix(tmp_path, "npy") / "speeds.csv", speeds_of(20), list(IDS))
    rows = [[name, "34.0", "-118.0"] for name in IDS]
    rows[1][column] = bad
    path = tmp_path / "graph_sensor_locations.csv"
    write_lines(path, "sensor_id,latitude,longitude", *map(",".join, rows))
    with pytest.raises(DataError, match=r"locations\.csv: line 3: sensor 102 is at .*is no place"):
        load_metr_la(tmp_path)
    rows[1] = ["101", "34.5", "-118.0"]
    write_lines(path, "sensor_id,latitude,longitude", *map(",".join, rows))
    with pytest.raises(DataError, match=r"line 3: sensor 101 is elsewhere above"):
        load_metr_la(tmp_path)


# ------------------------------------------------------------------ files as people send them


def test_files_of_others_that_lost_the_sensors_keep_them(shared_data):
    cases = shared_data / "cases"
    for name in ("pems_npz_without_ids", "pems_headerless_csv"):
        found = load_metr_la(cases / name, graph_kind="directed", self_loops="drop")
        assert arcs_of(found.graph) == CHAIN
    found = load_metr_la(cases / "header_of_float_ids")
    assert (found.sensor_ids, found.num_steps) == (("717", "718", "719"), 60)


def test_the_public_roads_of_170_sensors_are_theirs(shared_data, tmp_path):
    roads = (shared_data / "cases" / "pems08_roads" / "distance.csv").read_text()
    (tmp_path / "distance.csv").write_text(roads)
    np.savez(tmp_path / "PEMS08.npz", data=speeds_of(20, 170)[..., None].repeat(3, 2))
    data = load_metr_la(tmp_path, graph_kind="directed")
    listed = [line.split(",") for line in roads.splitlines()[1:]]
    costs = {(int(a), int(b)): float(cost) for a, b, cost in listed}
    mean = sum(costs.values()) / len(costs)
    variance = sum((cost - mean) ** 2 for cost in costs.values()) / len(costs)
    near = {road for road, cost in costs.items() if math.exp(-(cost**2) / variance) >= 0.1}
    assert len(near) > 100
    assert arcs_of(data.graph) == near


def test_a_sparse_matrix_of_another_project_is_read(shared_data):
    path = shared_data / "cases" / "graphs" / "stgcn_adj.npz"
    graph = read_adjacency_npz(path, None).graph
    expected = sparse.load_npz(path).toarray()
    assert arcs_of(graph) == set(zip(*map(np.ndarray.tolist, np.nonzero(expected)), strict=True))
