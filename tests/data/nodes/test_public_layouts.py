"""Graphs as people have them: each layout written small here, and read as it was meant."""

import gzip
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.io import savemat
from small_public import (
    NAMES_OF_ATTRIBUTED,
    PLANETOID_CLASSES,
    X,
    attributed,
    write_groups,
    write_gz,
    write_networkx,
    write_ogb,
    write_people,
    write_planetoid,
)

import gaancore
from gaancore.data import NodeDataset, Reading, load_nodes, look
from gaancore.data.files import arrays
from gaancore.data.nodes.layouts.find import read_layout
from gaancore.errors import DataError, SettingsError

SHARES = (50, 25, 25)


def load(path: Path, **options: Any) -> NodeDataset:
    return load_nodes(path, name="mine", split_shares=SHARES, unflagged="context", **options)


def arcs(dataset: NodeDataset) -> set[tuple[str, str]]:
    """Both ways of each edge, by the ids of its ends."""
    src, dst = dataset.graph.edges()
    ids = [str(node) for node in dataset.node_ids]
    return {(ids[a], ids[b]) for a, b in zip(src, dst, strict=True)}


def both_ways(*edges: tuple[str, str]) -> set[tuple[str, str]]:
    return {pair for a, b in edges for pair in ((a, b), (b, a))}


def by_name(dataset: NodeDataset) -> list[str]:
    names = dataset.class_names or tuple(map(str, range(dataset.num_classes)))
    return [names[label] for label in dataset.labels]


@pytest.fixture
def planetoid(tmp_path) -> Path:
    return write_planetoid(tmp_path)


def test_planetoids_pieces_are_put_in_the_order_of_the_nodes(planetoid):
    for path in (planetoid, planetoid / "ind.toy"):
        assert look(path) == "nodes"
        dataset = load(path)
        assert dataset.split.tolist() == [0, 0, 1, 1, 1, -1, 2, -1, 2]
        known = [0, 1, 2, 3, 4, 6, 8]
        assert dataset.features[known].tolist() == [X[row] for row in known]
        assert not dataset.features[[5, 7]].any()
        assert dataset.labels[known].tolist() == [PLANETOID_CLASSES[row] for row in known]
        assert arcs(dataset) == both_ways(("0", "1"), ("0", "8"), ("5", "7")) | {("6", "6")}
        assert any(
            note.startswith("2 nodes that the files have only numbers of (5, 7)")
            for note in dataset.notes
        )


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("test.index", b"8\nsix\n", "line 2: 'six' is not the number of a node"),
        ("test.index", b"8\n8\n", "a node is named twice"),
        ("test.index", b"8\n\xe9\n", "line 2: not UTF-8 text"),
        ("test.index", b"8\n", "2 rows, but 1 numbers in test.index"),
        ("test.index", b"8\n2\n", "test nodes are numbered behind the 5 rows of allx"),
        ("test.index", b"8\n99999999\n", "node 99,999,999, where the files have features of 7"),
        ("graph", pickle.dumps([1, 2]), "expected a dictionary of node: list"),
        ("graph", pickle.dumps({0: ["a"]}), "the neighbours of 0 are not all numbers"),
        ("graph", pickle.dumps({0: [77]}), "77"),
        ("graph", pickle.dumps(print), "the pickle asks for (__builtin__|builtins).print"),
        ("allx", pickle.dumps(np.zeros((5, 2))), "4 columns, but allx has 2"),
        ("y", pickle.dumps("text"), "expected a matrix of numbers, got str"),
    ],
)
def test_planetoids_files_that_do_not_fit_are_refused(planetoid, name, content, words):
    (planetoid / f"ind.toy.{name}").write_bytes(content)
    with pytest.raises(DataError, match=words) as refusal:
        load(planetoid)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("prefixes", [("adj_matrix.", "attr_matrix."), ("adj_", "attr_")])
def test_a_graph_of_two_matrices_in_one_npz_is_read(prefixes, tmp_path):
    np.savez(tmp_path / "g.npz", **attributed(prefixes, **NAMES_OF_ATTRIBUTED))
    dataset = load(tmp_path / "g.npz")
    assert look(tmp_path / "g.npz") == "nodes"
    assert dataset.node_ids.tolist() == ["a", "b", "c", "d"]
    assert arcs(dataset) == both_ways(("a", "b"), ("b", "c")) | {("d", "d")}
    assert dataset.features.tolist() == [[0, 1.5], [2, 0], [0, 0], [1, 1]]
    assert (dataset.feature_names, by_name(dataset)) == (("p", "q"), ["y", "x", "y", "x"])
    assert "arrays not used: metadata" in dataset.notes
    assert "values of the adjacency are not used: an entry is an edge" in dataset.notes


def test_names_that_are_python_objects_are_left_out_but_damaged_ones_are_refused(tmp_path):
    path = tmp_path / "g.npz"
    objects = {name: array.astype(object) for name, array in NAMES_OF_ATTRIBUTED.items()}
    for names, called in ((NAMES_OF_ATTRIBUTED, ["a", "b", "c", "d"]), (objects, [0, 1, 2, 3])):
        np.savez(path, **attributed(("adj_", "attr_"), **names))
        assert load(path).node_ids.tolist() == called
        content = path.read_bytes()
        for name in (*names, "labels", "adj_data", "attr_indices"):
            start = content.index(b"\x93NUMPY", content.index(f"{name}.npy".encode()))
            at = content.index(b"\n", start) + 1  # the first byte behind the header
            path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
            with pytest.raises(DataError, match=rf"{name}.npy: Bad CRC-32"):
                load(path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"adj_indices": np.array([1, 9, 3], np.int32)}, "no sound CSR matrix"),
        ({"adj_shape": None}, "no array adj_shape"),
        ({"adj_shape": np.array([4, 5])}, "square"),
        ({"attr_shape": np.array([3, 2])}, "no sound CSR matrix"),
        ({"labels": np.array([1, 0])}, "labels: expected 4 rows"),
        ({"labels": None}, "no labels"),
    ],
)
def test_matrices_that_do_not_fit_are_refused(change, words, tmp_path):
    np.savez(tmp_path / "g.npz", **attributed(("adj_", "attr_"), **change))
    with pytest.raises(DataError, match=words):
        load(tmp_path / "g.npz")


def test_content_and_cites_are_joined_by_ids(tmp_path):
    (tmp_path / "toy.content").write_text("p1\t0\t1\tred\np 2,0,1,blue\n".replace("p 2", "p2")
                                          + "p3\t1\t1\tred\np4\t1\t0\tblue\n")  # fmt: skip
    (tmp_path / "toy.cites").write_text("p2\tp1\np1 p3\np3\tp3\n")
    for path in (tmp_path, tmp_path / "toy.content"):
        dataset = load(path)
        assert dataset.features.tolist() == [[0, 1], [0, 1], [1, 1], [1, 0]]
        assert by_name(dataset) == ["red", "blue", "red", "blue"]
        assert arcs(dataset) == both_ways(("p1", "p2"), ("p1", "p3")) | {("p3", "p3")}
    (tmp_path / "toy.cites").write_text("p2\tp1\np1\tp9\n")
    with pytest.raises(DataError, match=r"line 2: 1 of 2 edges name 1 ids that no node of"):
        load(tmp_path)
    dropped = load(tmp_path, reading=Reading(unknown_edges="drop"))
    assert arcs(dropped) == both_ways(("p1", "p2"))
    assert any("1 of 2 edges name 1 ids" in note for note in dropped.notes)
    (tmp_path / "toy.content").write_text("p1\t0\t1\tred\np2\t0\tblue\n")
    with pytest.raises(DataError, match=r"content: line 2 has 3 cells, the first 4"):
        load(tmp_path)


EDGES = "# Undirected: toy\n% another comment\n10 7\n7\t3\n3,10\n5 5\n"


@pytest.mark.parametrize("name", ["toy.edgelist", "toy.txt", "toy.edges", "toy.txt.gz"])
def test_a_list_of_edges_with_labels_beside_it_is_read(name, tmp_path):
    path = tmp_path / name
    path.write_bytes(gzip.compress(EDGES.encode()) if name.endswith(".gz") else EDGES.encode())
    (tmp_path / "toy-labels.txt").write_text("node label\n3 b\n7 a\n10 b\n4 a\n")
    for given in (tmp_path, path):
        with pytest.raises(DataError, match="no features of the nodes; choose degree, ones or spe"):
            load(given)
        dataset = load(given, reading=Reading(features="degree"))
        assert dataset.node_ids.tolist() == ["3", "7", "10", "4", "5"]
        assert arcs(dataset) == both_ways(("10", "7"), ("7", "3"), ("3", "10")) | {("5", "5")}
        assert by_name(dataset)[:4] == ["b", "a", "b", "a"]
        assert dataset.split[4] == -1
        np.testing.assert_allclose(dataset.features[:, 0], np.log1p([2, 2, 2, 0, 0]), rtol=1e-6)
        assert f"1 nodes of {name} are not in toy-labels.txt" in dataset.notes


def test_several_labels_of_a_node_stand_in_one_line(tmp_path):
    (tmp_path / "toy.edgelist").write_text("1 2\n2 3 {'weight': 3}\n3 4 1.5\n")
    (tmp_path / "toy.labels").write_text("1 10 2\n2 2\n3 10\n4 2 10\n")
    dataset = load(tmp_path, reading=Reading(features="ones"))
    assert dataset.class_names == ("2", "10")
    assert dataset.labels.tolist() == [[1, 1], [1, 0], [0, 1], [1, 1]]
    assert "toy.edgelist: what follows the two ids of a line is not used" in dataset.notes
    (tmp_path / "toy.labels").write_text(f"1 10 2\n2 2\n3 {'9' * 5000}\n4 2 10\n")
    assert load(tmp_path, reading=Reading(features="ones")).class_names == ("2", "10", "9" * 5000)
    (tmp_path / "toy.labels").write_text("1 10 2\n1 2\n")
    with pytest.raises(DataError, match="line 2: the id '1' for the second time"):
        load(tmp_path)
    (tmp_path / "toy.edgelist").write_text("1 2\n2\n")
    (tmp_path / "toy.labels").write_text("1 10\n2 2\n")
    with pytest.raises(DataError, match="line 2: one id, '2', where an edge has two"):
        load(tmp_path)


@pytest.fixture
def ogb(tmp_path) -> Path:
    return write_ogb(tmp_path)


def test_ogbs_packed_columns_are_read(ogb):
    for path in (ogb, ogb / "raw"):
        assert look(path) == "nodes"
        dataset = load(path)
        assert dataset.features.tolist() == [[1, 2], [3, 4], [5, 6], [7, 8]]
        assert dataset.labels[:3].tolist() == [1, 0, 1]
        assert dataset.split.tolist() == [0, 2, 1, -1]
        assert arcs(dataset) == both_ways(("0", "1"), ("1", "2")) | {("3", "3")}
        assert "not used: node_year.csv.gz" in dataset.notes
        assert any("have no label and are taken out of it: 1 test" in n for n in dataset.notes)
    (ogb / "raw" / "node-feat.csv.gz").unlink()
    assert load(ogb, reading=Reading(features="ones")).features.tolist() == [[1]] * 4


def test_one_of_ogbs_splits_is_chosen_by_name(ogb):
    for part, nodes in {"train": "3\n", "valid": "1\n", "test": "0\n2\n"}.items():
        write_gz(ogb / "split" / "sales" / f"{part}.csv.gz", nodes)
    with pytest.raises(
        DataError, match=r"several splits: sales, time; choose one \(split_column\)"
    ):
        load(ogb)
    assert read_layout(ogb, Reading(split_column="sales")).split.tolist() == [2, 1, 2, 0]
    with pytest.raises(DataError, match="has no split 'x', but sales, time"):
        load(ogb, reading=Reading(split_column="x"))
    with pytest.raises(SettingsError, match=r"label: the files at .* leave nothing to choose"):
        load(ogb, reading=Reading(label="y"))


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("raw/edge", "0,1\n2,x\n", "edge.csv.gz: line 2, column 2: 'x' is not a number"),
        ("raw/edge", "0,1\n2,4\n", "edge.csv.gz: "),
        ("raw/edge", "0,1\n2\n", "line 2 has 1 cells, the first 2"),
        ("raw/edge", "0,1,2\n", "edge.csv.gz: 3 columns; expected 2, numbers of nodes"),
        *(
            (name, text.format(number), f"row 2, column 1: {number} is not the number of a node")
            for name, text in (("raw/edge", "0,1\n{},1\n"), ("split/time/test", "1\n{}\n"))
            for number in ("1.5", "nan", "inf", "-inf", "-0.25", "1e-09")
        ),
        ("raw/num-node-list", "inf\n", "inf is no number of nodes"),
        ("raw/num-node-list", "1e300\n", r"1e\+300 is no number of nodes"),
        ("raw/node-feat", "1,2\n3,4\n", "node-feat.csv.gz: features: expected 4 rows"),
        ("raw/num-node-list", "4\n3\n", "2 graphs; expected one"),
        ("raw/num-node-list", "nan\n", "nan is no number of nodes"),
        ("raw/num-node-list", "99999999999\n", "99,999,999,999 nodes, but the files hold but 4"),
        ("split/time/test", "1\n9\n", "test_idx: 9 at place 1"),
        ("split/time/test", "1\n2\n", "node 2 is in both valid_idx and test_idx"),
    ],
)
def test_ogbs_columns_that_do_not_fit_are_refused(ogb, name, text, words):
    write_gz(ogb / f"{name}.csv.gz", text)
    with pytest.raises(DataError, match=words):
        load(ogb)


def test_a_packed_line_takes_no_more_memory_than_a_line_may(ogb, monkeypatch):
    monkeypatch.setattr(arrays, "MOST_UNPACKED", 1000)
    write_gz(ogb / "raw" / "edge.csv.gz", "0,1\n" + "1" * 2000 + ",2\n")
    with pytest.raises(DataError, match=r"edge.csv.gz: line 2 has over 1,000 characters"):
        load(ogb)


def test_a_packed_file_that_is_cut_off_is_refused(ogb):
    path = ogb / "raw" / "node-feat.csv.gz"
    path.write_bytes(gzip.compress(bytes(range(48, 58)) * 5000)[:-9])
    with pytest.raises(DataError, match=r"node-feat.csv.gz: "):
        load(ogb)
    path.write_bytes(gzip.compress(b"1,\xe9\n" * 5000)[:-9] + bytes(8))
    with pytest.raises(DataError, match=r"line 1: not UTF-8 text|not a readable .gz file"):
        load(ogb)
    path.write_bytes(b"not gzip")
    with pytest.raises(DataError, match=r"not a readable .gz file"):
        load(ogb)


def test_the_groups_of_node2vec_are_several_labels(tmp_path):
    write_groups(tmp_path)
    with pytest.raises(
        DataError, match="no features of the nodes; choose degree, ones or spectral"
    ):
        load(tmp_path / "toy.mat")
    dataset = load(tmp_path / "toy.mat", reading=Reading(features="degree"))
    assert dataset.labels.tolist() == [[1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 1, 1]]
    assert "matrices not used: year" in dataset.notes
    assert arcs(dataset) == both_ways(("0", "1"), ("1", "2"))


def test_a_matrix_of_far_more_rows_than_columns_takes_no_memory_for_them(tmp_path):
    network = sparse.csc_array(([1.0], ([0], [1])), shape=(2**31 - 2, 4))
    savemat(tmp_path / "toy.mat", {"network": network, "group": np.eye(4)})
    with pytest.raises(DataError, match=r"network: expected a square matrix, got shape \(2147"):
        load(tmp_path / "toy.mat")


def test_a_column_of_local_info_is_chosen_as_the_label(tmp_path):
    write_people(tmp_path)
    with pytest.raises(DataError, match=r"status, gender, major, .*; choose one \(label\)"):
        load(tmp_path / "toy.mat")
    with pytest.raises(DataError, match="local_info has no column 'age'"):
        load(tmp_path / "toy.mat", reading=Reading(label="age"))
    dataset = load(tmp_path / "toy.mat", reading=Reading(label="gender"))
    assert [by_name(dataset)[row] for row in (0, 1, 3, 4)] == ["1", "2", "2", "1"]
    assert dataset.split[2] == -1  # 0 means unknown
    names = ("status=1", "status=2", "major=5", "major=7", "second_major=3")
    assert dataset.feature_names == (*names, "year=2004", "year=2005", "high_school=9")
    assert dataset.features[0].tolist() == [1, 0, 1, 0, 0, 1, 0, 1]


@pytest.mark.parametrize("kind", ["graphml", "gml", "gexf"])
def test_files_of_networkx_are_read_by_attributes(kind, tmp_path):
    pytest.importorskip("networkx")
    write_networkx(tmp_path, kind)
    for path in (tmp_path, tmp_path / f"toy.{kind}"):
        dataset = load(path, reading=Reading(label="club"))
        ids = [f"n{row}" for row in range(4)]
        assert dataset.node_ids.tolist() == ids
        assert by_name(dataset) == ["red", "blue", "red", "blue"]
        assert (dataset.feature_names, dataset.features[:, 0].tolist()) == (
            ("x",),
            [0.5, 1.5, 2.5, 3.5],
        )
        assert dataset.split.tolist() == [0, 1, 2, 2]
        assert arcs(dataset) == both_ways((ids[0], ids[1]))
        assert any(note.startswith("attributes of edges not used:") for note in dataset.notes)
    (tmp_path / f"toy.{kind}").write_text("graph [ node <")
    with pytest.raises(DataError, match=f"not a readable .{kind} file"):
        load(tmp_path)


@pytest.mark.parametrize("lines", [0, 2])
def test_one_node_of_gml_without_its_name_does_not_rename_the_others(tmp_path, lines):
    pytest.importorskip("networkx")
    path = write_networkx(tmp_path, "gml")
    path.write_text(path.read_text().replace('    label "n1"\n', '    label "n1"\n' * lines))
    with pytest.raises(
        DataError, match="node 1 has no label, or several; those of the others all differ"
    ):
        load(path, reading=Reading(label="club"))


@pytest.mark.parametrize("was", ['id="n2"', 'source="n0"'])
@pytest.mark.parametrize("kind", ["graphml", "gexf"])
def test_a_node_without_an_id_is_not_called_none(tmp_path, kind, was):
    pytest.importorskip("networkx")
    path = write_networkx(tmp_path, kind)
    path.write_text(path.read_text().replace(was, was.replace("=", "e=")))
    with pytest.raises(DataError, match=r"has no id|not a \.gexf file"):
        load(path, reading=Reading(label="club"))


def test_a_node_with_two_classes_is_refused(tmp_path):
    pytest.importorskip("networkx")
    path = write_networkx(tmp_path, "gml")
    path.write_text(path.read_text().replace('    club "blue"\n', '    club "blue"\n' * 2, 1))
    with pytest.raises(DataError, match="node 'n1' has several values of club; a class is one"):
        load(path, reading=Reading(label="club"))


def test_links_of_graphsage_to_ids_that_are_not_there_can_be_dropped(tmp_path):
    from small_files import write_graphsage

    ids = list("fabced")
    write_graphsage(tmp_path, ids=ids, ends=ids)
    graph = tmp_path / "toy-G.json"
    graph.write_text(graph.read_text().replace('"target": "a"', '"target": "z"'))
    with pytest.raises(DataError, match="choose unknown_edges: drop"):
        load(tmp_path)
    dataset = load(tmp_path, reading=Reading(unknown_edges="drop"))
    assert arcs(dataset) == both_ways(("a", "b"), ("d", "e")) | {("b", "b")}
    assert "toy-G.json: 1 of 4 links name ids that no node has; these edges are dropped" in (
        dataset.notes
    )


def test_the_door_reads_them_too(ogb):
    dataset = gaancore.load(ogb, features="degree")
    assert dataset.feature_names == ("degree",)
    assert "2 features of the files are not used" in dataset.notes


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("planetoid", (2708, 10556, 1433, 7, [140, 500, 1000])),
        ("cora_ml.npz", (2995, 16316, 2879, 7, [1498, 748, 749])),
        ("BlogCatalog.mat", (5196, 343486, 8189, 6, [2598, 1299, 1299])),
    ],
)
def test_the_public_graphs_have_the_counts_of_their_papers(shared_data, name, counts):
    """Cora as in Planetoid; Cora-ML 2,995 papers and 8,158 edges; BlogCatalog 171,743 edges."""
    dataset = load(shared_data / "single-label" / name)
    facts = dataset.counts()
    names = ("num_nodes", "num_edges", "num_features", "num_classes", "nodes_per_split")
    assert tuple(facts[name] for name in names) == counts


@pytest.mark.parametrize("kind", ["graphml", "gml", "gexf"])
def test_what_a_file_of_networkx_has_and_nobody_reads_is_named(kind, tmp_path):
    networkx = pytest.importorskip("networkx")
    graph = networkx.DiGraph(name="mine", source="a crawl")
    for row in range(4):
        facts = {"club": "ab"[row % 2], "size": row + 0.5}
        if kind == "gexf":
            facts["viz"] = {"color": {"r": row, "g": 0, "b": 0, "a": 1}}
        if kind == "gml":
            facts["graphics"] = {"x": float(row), "fill": "red"}
        graph.add_node(f"n{row}", **facts)
    graph.add_edge("n0", "n1", weight=2.0)
    path = tmp_path / f"g.{kind}"
    getattr(networkx, f"write_{kind}")(graph, path)
    dataset = load_nodes(path, name="g", split_shares=(50, 25, 25), reading=Reading(label="club"))
    assert dataset.feature_names == ("size",)
    assert dataset.num_edges == 2
    told = "\n".join(dataset.notes)
    assert "directions of edges not used: each counts both ways" in told
    assert "attributes of edges not used:" in told
    assert "attributes of the graph not used: name" in told
    assert ("source" in told) == (kind != "gexf")  # which GEXF cannot hold
    nested = {"gexf": "viz", "gml": "graphics"}
    if kind in nested:
        assert f"attributes of nodes not used: {nested[kind]}" in told
