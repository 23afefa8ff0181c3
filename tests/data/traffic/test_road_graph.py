"""The road graph from a pickle, a matrix, distances and edges: always the same arcs."""

import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from small_traffic import ARCS, IDS, arcs_of, matrix, write_pickle

from gaancore.choices import RoadChoices
from gaancore.data.traffic.layouts.road_edges import read_road_edges
from gaancore.data.traffic.layouts.road_matrix import read_adjacency_csv, read_adjacency_pickle
from gaancore.data.traffic.roads import road_weights
from gaancore.errors import DataError

LOOPS = {(n, n) for n in range(4)}


def write_lines(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def matrix_lines(header: bool = False, index: bool = False) -> list[str]:
    rows = [",".join(f"{x:g}" for x in row) for row in matrix()]
    if index:
        rows = [f"{name},{row}" for name, row in zip(IDS, rows, strict=True)]
    return [("," if index else "") + ",".join(IDS), *rows] if header else rows


@pytest.mark.parametrize("protocol", range(6))
def test_the_pickle_gives_ids_and_arcs_from_row_to_column(tmp_path, protocol):
    road = read_adjacency_pickle(write_pickle(tmp_path, protocol=protocol), None)
    assert road.sensor_ids == IDS
    assert arcs_of(road.graph) == ARCS | LOOPS


@pytest.mark.parametrize("ids", [IDS, IDS[:3], None])
def test_a_matrix_alone_has_the_ids_given_if_they_fit(tmp_path, ids):
    path = tmp_path / "adj.pkl"
    path.write_bytes(pickle.dumps(matrix()))
    road = read_adjacency_pickle(path, ids)
    assert road.sensor_ids == (IDS if ids == IDS else None)
    assert arcs_of(road.graph) == ARCS | LOOPS


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([1, 2], r"expected \[ids, id -> row, matrix\] or a matrix alone"),
        ({"a": 1}, r"expected \[ids, id -> row, matrix\] or a matrix alone"),
        ([list(IDS), {}, matrix()], "list of ids and its table id -> row disagree"),
        ([list(IDS[:3]), {i: n for n, i in enumerate(IDS)}, matrix()], "3 ids for a matrix"),
        ([[[1]], {}, matrix()], "its first item is not a list of ids"),
        (matrix()[:3], "expected a square matrix of numbers"),
        (np.array([["a"]]), "expected a square matrix of numbers"),
        (np.array([[1, np.nan], [0, 1]]), "row 0, column 1 is not a finite number"),
    ],
)
def test_a_pickle_of_anything_else_is_refused(tmp_path, value, message):
    path = tmp_path / "adj.pkl"
    path.write_bytes(pickle.dumps(value))
    with pytest.raises(DataError, match=message):
        read_adjacency_pickle(path, None)


@pytest.mark.parametrize(("header", "index"), [(False, False), (True, False), (True, True)])
def test_a_matrix_in_csv_may_have_its_ids_around_it(tmp_path, header, index):
    path = write_lines(tmp_path / "adj.csv", *matrix_lines(header, index))
    road = read_adjacency_csv(path, None)
    assert road.sensor_ids == (IDS if header else None)
    assert arcs_of(road.graph) == ARCS | LOOPS


@pytest.mark.parametrize("lines", [slice(4), slice(3), slice(2)])
def test_a_header_of_ids_over_missing_rows_is_not_a_row_of_weights(tmp_path, lines):
    path = write_lines(tmp_path / "adj.csv", *matrix_lines(header=True)[lines])
    with pytest.raises(DataError, match=r"adj\.csv: expected a square matrix"):
        read_adjacency_csv(path, None)


def test_a_first_row_of_whole_numbers_is_no_header_where_the_rest_is_as_large(tmp_path):
    path = write_lines(tmp_path / "adj.csv", "0,3,5", "3,0,4", "5,4,0")
    road = read_adjacency_csv(path, None, RoadChoices(kernel="none"))  # as weights
    assert arcs_of(road.graph) == {(a, b) for a in range(3) for b in range(3) if a != b}


@pytest.mark.parametrize(("separator", "word"), [(";", "semicolons"), ("\t", "tabs")])
def test_semicolons_or_tabs_may_stand_between_cells(tmp_path, separator, word):
    lines = [line.replace(",", separator) for line in matrix_lines(header=True, index=True)]
    road = read_adjacency_csv(write_lines(tmp_path / "adj.csv", *lines), None)
    assert (road.sensor_ids, arcs_of(road.graph)) == (IDS, ARCS | LOOPS)
    assert road.notes == ("graph: matrix adj.csv", f"adj.csv: {word} between cells")
    lines = [line.replace(",", separator) for line in ["from,to,cost", *(f"{e},7" for e in EDGES)]]
    road = read_road_edges(write_lines(tmp_path / "edges.csv", *lines), IDS, None)
    assert (road.sensor_ids, arcs_of(road.graph)) == (IDS, ARCS)
    assert road.notes[:2] == ("graph: edges edges.csv", f"edges.csv: {word} between cells")


def test_decimal_commas_are_read(tmp_path):
    path = write_lines(tmp_path / "adj.csv", ";a;b", "a;1;0,5", "b;0,0;1")
    road = read_adjacency_csv(path, None)
    assert arcs_of(road.graph) == {(0, 0), (0, 1), (1, 1)}
    assert "adj.csv: decimal commas, read as points" in road.notes
    path = write_lines(tmp_path / "edges.csv", "from;to;cost", "a;b;0,5", "b;c;0,5", "c;a;9,25")
    road = read_road_edges(path, None, None)
    assert arcs_of(road.graph) == {(0, 1), (1, 2)}  # s = 4.125
    assert "edges.csv: decimal commas, read as points" in road.notes


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["1,0.5", "0.5,1", "0,1"], "expected a square matrix of numbers"),
        (["1,0.5", "0.5,"], "row 1, column 1 is not a finite number"),
        (["1,0.5", "x,1"], "line 2, column 1: 'x' is not a number"),
        ([",a,b", "b,1,0", "a,0,1"], "the ids of rows and columns differ"),
    ],
)
def test_a_bad_matrix_is_refused(tmp_path, lines, message):
    with pytest.raises(DataError, match=message):
        read_adjacency_csv(write_lines(tmp_path / "adj.csv", *lines), None)


EDGES = [f"{IDS[a]},{IDS[b]}" for a, b in sorted(ARCS)]


@pytest.mark.parametrize("header", ["from,to", "source,target", "src,dst", "From,To", "to,from"])
@pytest.mark.parametrize("more", ["", ",0.5"])
def test_edges_lead_from_one_column_to_the_other(tmp_path, header, more):
    lines = [edge + more for edge in EDGES]
    if header == "to,from":
        lines = [",".join(edge.split(",")[::-1]) + more for edge in EDGES]
    path = write_lines(tmp_path / "edges.csv", header + (",weight" if more else ""), *lines)
    road = read_road_edges(path, IDS, None)
    assert road.sensor_ids == IDS
    assert arcs_of(road.graph) == ARCS


def test_without_a_list_of_sensors_those_that_the_edges_name_are_the_graph(tmp_path):
    path = write_lines(tmp_path / "edges.csv", "from,to", *EDGES, "104,999", "998,999")
    assert read_road_edges(path, None, None).sensor_ids == (*IDS, "999", "998")
    wanted = read_road_edges(path, None, ("104", "102", "101", "105"))
    assert wanted.sensor_ids == ("101", "102", "104")
    assert arcs_of(wanted.graph) == {(0, 1), (2, 1)}
    assert "graph: 3 edges to other sensors left out" in wanted.notes


def test_a_sensor_of_the_list_without_an_edge_is_in_the_graph(tmp_path):
    path = write_lines(tmp_path / "edges.csv", "from,to", EDGES[0])
    road = read_road_edges(path, IDS, None)
    assert (road.sensor_ids, arcs_of(road.graph)) == (IDS, {(0, 1)})


def near_by_loops(roads: dict[tuple[int, int], float]) -> set[tuple[int, int]]:
    """The kernel of DCRNN's README, written out: sigma over the listed distances, 0.1 at least."""
    mean = sum(roads.values()) / len(roads)
    sigma = math.sqrt(sum((d - mean) ** 2 for d in roads.values()) / len(roads))
    return {road for road, d in roads.items() if math.exp(-(d * d) / (sigma * sigma)) >= 0.1}


def test_distances_become_edges_where_the_kernel_is_at_least_a_tenth(tmp_path):
    rng = np.random.default_rng(1)
    roads = {(a, b): float(rng.integers(0, 9000)) for a in range(4) for b in range(4)}
    lines = [f"{IDS[a]},{IDS[b]},{d}" for (a, b), d in roads.items()]
    others = ["101,999,50000.0", "999,101,90000.0"]  # not among the sensors: no part of sigma
    path = write_lines(tmp_path / "distances.csv", "from,to,cost", *lines, *others)
    road = read_road_edges(path, IDS, None)
    expected = near_by_loops(roads)
    assert 0 < len(expected) < len(roads)
    assert arcs_of(road.graph) == expected
    assert f"graph: {len(expected)} of 16 roads are near (weight >= 0.1)" in road.notes


def test_distances_so_alike_that_no_road_is_near_are_warned_of(tmp_path):
    lines = [f"{IDS[0]},{IDS[1]},900", f"{IDS[1]},{IDS[2]},1000", f"{IDS[2]},{IDS[0]},1100"]
    road = read_road_edges(write_lines(tmp_path / "edges.csv", "from,to,cost", *lines), IDS, None)
    assert arcs_of(road.graph) == set()
    assert "warning: graph: 0 of 3 roads are near (weight >= 0.1)" in road.notes


def test_the_kernel_by_hand():
    # lengths 0 and 2: s = 1, so weights exp(0) and exp(-4) = 0.018 < 0.1
    assert_allclose(road_weights(np.array([0.0, 2.0])), [1, 0])
    # 1, 2, 3: s^2 = 2/3, weights exp(-1.5) and two below 0.1
    assert_allclose(road_weights(np.array([1.0, 2.0, 3.0])), [math.exp(-1.5), 0, 0])
    assert_allclose(road_weights(np.array([5.0, 5.0])), [1, 1])
    assert road_weights(np.zeros(0)).size == 0


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["101,102"], "line 2 has 2 cells where the header has 3"),
        (["101,102,far"], "line 2: length 'far' is not a number from 0 to 1e.12"),
        (["101,102,-1"], "line 2: length '-1' is not a number from 0 to 1e.12"),
        (["101,102,nan"], "line 2: length 'nan' is not a number from 0 to 1e.12"),
        (["101,102,5", "102,103,1e308"], "line 3: length '1e308' is not a number from 0 to 1e.12"),
        (["101,102,5", "101,102,6"], "line 3: the road 101 -> 102 has another length above"),
    ],
)
def test_bad_distances_are_refused_by_line(tmp_path, lines, message):
    path = write_lines(tmp_path / "distances.csv", "from,to,cost", *lines)
    with pytest.raises(DataError, match=message):
        read_road_edges(path, None, None)


def test_a_road_listed_twice_alike_is_one(tmp_path):
    path = write_lines(tmp_path / "d.csv", "from,to,cost", "101,102,5", "101,102,5.0")
    assert arcs_of(read_road_edges(path, None, None).graph) == {(0, 1)}


def test_the_official_graph_has_the_papers_1515_arcs(shared_data: Any):
    road = read_adjacency_pickle(shared_data / "metr-la" / "adj_mx.pkl", None)
    assert road.graph.num_nodes == 207
    assert road.graph.num_self_loops == 207
    assert road.graph.num_edges - 207 == 1515
    assert road.graph.undirected().self_loops("drop").num_edges == 2626
    ids = (shared_data / "metr-la" / "graph_sensor_ids.txt").read_text().strip().split(",")
    assert road.sensor_ids == tuple(ids)


def test_another_projects_undirected_matrix_agrees_with_the_official_graph(shared_data: Any):
    official = read_adjacency_pickle(shared_data / "metr-la" / "adj_mx.pkl", None).graph
    other = read_adjacency_csv(shared_data / "metr-la" / "los_adj.csv", None).graph
    assert arcs_of(official.undirected()) == arcs_of(other)
