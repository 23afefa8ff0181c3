"""A graph in nodes.csv and edges.csv: joined by id, whatever wrote the tables; refused by line."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_files import NAMES, write_csv, write_npz

from gaancore.data import NodeDataset, load_nodes, load_ppi, load_reddit
from gaancore.data.files.number_table import parse_numbers
from gaancore.data.nodes.inputs import read_inputs
from gaancore.data.nodes.layouts.find import read_layout
from gaancore.errors import DataError, SettingsError

# id, two features, class, split; no edge at "007"
NODES = [
    ["n7", "1.5", "-2", "cat", "train"],
    ["n2", "0.25", "3e2", "dog", "test"],
    ["007", "4", "5", "cat", "validation"],
    ["7", "6", "7", "ant", "train"],
]
EDGES = [["n7", "n2"], ["7", "n7"], ["n2", "n7"], ["7", "7"]]
HEADER, ENDS = ["id", "f0", "f1", "label", "split"], ["src", "dst"]


def write_tables(
    folder: Path,
    nodes: list[list[str]] = NODES,
    edges: list[list[str]] = EDGES,
    header: list[str] = HEADER,
    ends: list[str] = ENDS,
) -> Path:
    for name, rows in (("nodes", [header, *nodes]), ("edges", [ends, *edges])):
        text = "".join(",".join(row) + "\n" for row in rows)
        (folder / f"{name}.csv").write_text(text, encoding="utf-8")
    return folder


def edges_by_id(dataset: NodeDataset) -> set[tuple[str, str]]:
    src, dst = dataset.graph.edges()
    ids = dataset.node_ids.tolist()
    return {(ids[a], ids[b]) for a, b in zip(src, dst, strict=True)}


def expect_the_graph(dataset: NodeDataset) -> None:
    """NODES and EDGES, worked out by hand."""
    assert dataset.node_ids.tolist() == ["n7", "n2", "007", "7"]
    assert edges_by_id(dataset) == {
        ("n7", "n2"), ("n2", "n7"), ("n7", "7"), ("7", "n7"), ("7", "7"),
    }  # fmt: skip
    assert dataset.features.tolist() == [[1.5, -2], [0.25, 300], [4, 5], [6, 7]]
    assert dataset.class_names == ("ant", "cat", "dog")
    assert dataset.feature_names == ("f0", "f1")
    assert dataset.labels.tolist() == [1, 2, 1, 0]
    assert dataset.split.tolist() == [0, 2, 1, 0]
    assert dataset.graph_ids is None


def refusal_of(folder: Path, load: Any = load_reddit, **options: Any) -> str:
    """The one line, without the folder."""
    with pytest.raises(DataError) as refusal:
        load(folder, **options)
    line = str(refusal.value)
    assert "\n" not in line
    assert line.startswith(str(folder))
    return line.removeprefix(str(folder)).removeprefix("/")


def edited(folder: Path, name: str, old: str, new: str) -> Path:
    path = folder / name
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    return folder


def test_nodes_edges_classes_and_split_are_joined_by_id(tmp_path):
    dataset = load_reddit(write_tables(tmp_path))
    expect_the_graph(dataset)
    assert dataset.notes[:3] == (
        "layout: nodes.csv and edges.csv",
        "nodes.csv: 2 features: f0, f1",
        "nodes.csv: 3 classes: ant, cat, dog",
    )
    assert "1 self-loops kept" in dataset.notes


def test_the_order_of_nodes_edges_and_columns_does_not_matter(tmp_path):
    order = [4, 2, 0, 3, 1]
    nodes = [[row[at] for at in order] for row in NODES[::-1]]
    header = [HEADER[at] for at in order]
    ends = [["9", b, a] for a, b in EDGES[::-1]]
    write_tables(tmp_path, nodes, ends, header, ["weight", "To", "FROM"])
    mixed = load_reddit(tmp_path)
    place = [mixed.node_ids.tolist().index(node) for node, *_ in NODES]
    assert mixed.feature_names == ("f1", "f0")
    assert mixed.features[place][:, ::-1].tolist() == [[1.5, -2], [0.25, 300], [4, 5], [6, 7]]
    assert mixed.labels[place].tolist() == [1, 2, 1, 0]
    assert mixed.split[place].tolist() == [0, 2, 1, 0]
    (tmp_path / "plain").mkdir()
    assert edges_by_id(mixed) == edges_by_id(load_reddit(write_tables(tmp_path / "plain")))
    assert "edges.csv: column(s) weight ignored" in mixed.notes


@pytest.mark.parametrize("name", ["id", "node_id", "Node", "ID"])
@pytest.mark.parametrize("ends", [["src", "dst"], ["Source", "Target"], ["from", "to"]])
def test_columns_have_any_of_their_names(tmp_path, name, ends):
    expect_the_graph(load_reddit(write_tables(tmp_path, header=[name, *HEADER[1:]], ends=ends)))


def rewritten(change: Any) -> Any:
    """Both files with their text changed."""

    def write(folder: Path) -> None:
        for name in ("nodes.csv", "edges.csv"):
            path = write_tables(folder) / name if name == "nodes.csv" else folder / name
            path.write_bytes(change(path.read_text(encoding="utf-8")))

    return write


def quoted(text: str) -> bytes:
    rows = (",".join(f'"{cell}"' for cell in line.split(",")) for line in text.splitlines())
    return "\n".join(rows).encode()


WRITTEN = {
    "CRLF": lambda text: text.replace("\n", "\r\n").encode(),
    "old Mac": lambda text: text.replace("\n", "\r").encode(),
    "BOM": lambda text: text.encode("utf-8-sig"),
    "quotes": quoted,
    "quotes and semicolons": lambda text: quoted(text).replace(b",", b";"),
    "semicolons": lambda text: text.replace(",", ";").encode(),
    "tabs": lambda text: text.replace(",", "\t").encode(),
    "blank lines": lambda text: (text.replace("\n", "\n\n") + "  \n\n").encode(),
    "empty rows of a spreadsheet": lambda text: (text + ",,,,\n,,,,\n").encode(),
    "no last newline": lambda text: text.rstrip("\n").encode(),
    "space around cells": lambda text: text.replace(",", " , ").encode(),
}


@pytest.mark.parametrize("way", WRITTEN)
def test_tables_may_be_written_in_many_ways(tmp_path, way):
    rewritten(WRITTEN[way])(tmp_path)
    dataset = load_reddit(tmp_path)
    expect_the_graph(dataset)
    separator = "semicolons" if "semicolons" in way else way
    noted = [note for note in dataset.notes if note.endswith("between cells")]
    assert noted == (
        [f"{name}.csv: {separator} between cells" for name in ("nodes", "edges")]
        if separator in ("semicolons", "tabs")
        else []
    )


def test_ids_and_class_names_are_any_text(tmp_path):
    nodes = [["Zürich, 1", "1", "ja;nein", "train"], ["蛋白質", "2", 'a "b"', "val"]]
    text = "id,x,label,split\n" + "".join(
        ",".join('"' + cell.replace('"', '""') + '"' for cell in row) + "\n" for row in nodes
    )
    (tmp_path / "nodes.csv").write_text(text, encoding="utf-8")
    (tmp_path / "edges.csv").write_text('src,dst\n"Zürich, 1",蛋白質\n', encoding="utf-8")
    dataset = load_reddit(tmp_path)
    assert dataset.node_ids.tolist() == ["Zürich, 1", "蛋白質"]
    assert dataset.class_names == ('a "b"', "ja;nein")
    assert edges_by_id(dataset) == {("Zürich, 1", "蛋白質"), ("蛋白質", "Zürich, 1")}


def test_a_repeated_edge_is_merged_and_counted_as_in_the_other_layouts(tmp_path):
    twice = [*EDGES, ["n7", "n2"], ["7", "7"]]
    expect_the_graph(load_reddit(write_tables(tmp_path, edges=twice)))
    assert "2 repeated arcs merged" in load_reddit(tmp_path).notes


@pytest.mark.parametrize(
    ("classes", "names"),
    [
        (["10", "9", "9", "2"], ("2", "9", "10")),
        (["1.5", "-3", "x", "1.5"], ("-3", "1.5", "x")),
        (["b", "a", "B", "a"], ("B", "a", "b")),
    ],
)
def test_classes_are_sorted_as_numbers_or_as_text(tmp_path, classes, names):
    nodes = [[*row[:3], label, row[4]] for row, label in zip(NODES, classes, strict=True)]
    dataset = load_reddit(write_tables(tmp_path, nodes))
    assert dataset.class_names == names
    assert [names[label] for label in dataset.labels] == classes
    assert dataset.num_classes == len(names)


@pytest.mark.parametrize("unflagged", ["drop", "context"])
@pytest.mark.parametrize("alone", ["ant", "dog", "cow"])  # the first, the last, between the others
def test_a_class_that_only_nodes_in_no_split_have_takes_no_name_from_another(
    tmp_path, alone, unflagged
):
    others = [row for row in NODES if row[3] != alone]
    dataset = load_reddit(
        write_tables(tmp_path, [["n9", "8", "9", alone, ""], *others], [["n7", "n9"]]),
        unflagged=unflagged,
    )
    names = dataset.class_names
    assert names is not None
    assert len(names) == dataset.num_classes
    scored = dataset.split >= 0
    assert [names[label] for label in dataset.labels[scored]] == [row[3] for row in others]


def test_several_labels_are_columns_of_0_and_1(tmp_path):
    dataset = load_ppi(write_csv(tmp_path))
    assert dataset.class_names == ("x", "y", "z")
    assert dataset.feature_names == ("f 0", "f1")
    assert dataset.node_ids.tolist() == NAMES
    edited(tmp_path, "nodes.csv", "1,0.0,train,0,", "True,0.0,train,FALSE,")
    assert load_ppi(tmp_path).labels.tolist() == dataset.labels.tolist()


def test_the_wrong_kind_of_labels_is_refused_as_in_an_npz(tmp_path):
    for kind, load, labels in (
        ("classes", load_ppi, np.array([1, 2, 1, 0, 1, 1])),
        ("several", load_reddit, None),
    ):
        (tmp_path / kind).mkdir()
        path = write_npz(tmp_path / kind, **({} if labels is None else {"y": labels}))
        with pytest.raises(DataError) as of_npz:
            load(path)
        tables = write_tables if kind == "classes" else write_csv
        line = refusal_of(tables(tmp_path / kind), load)
        expected = str(of_npz.value).removeprefix(f"{path}: ").replace("id 0", f"id {NAMES[0]}")
        assert line == f"nodes.csv: {expected}"


def test_nodes_in_no_split_are_those_of_no_split_elsewhere(tmp_path):
    write_tables(tmp_path, [[*NODES[0][:4], ""], *NODES[1:]])
    assert load_reddit(tmp_path, unflagged="drop").node_ids.tolist() == ["n2", "007", "7"]
    assert load_reddit(tmp_path, unflagged="train").split.tolist() == [0, 2, 1, 0]
    assert load_reddit(tmp_path, unflagged="context").split.tolist() == [-1, 2, 1, 0]
    assert "1 of 4 nodes are in no split, first node id n7" in refusal_of(tmp_path)
    at = HEADER.index("label")
    unknown = [*NODES[0][:4], ""]
    unknown[at] = ""  # neither split nor label
    write_tables(tmp_path, [unknown, *NODES[1:]])
    assert load_reddit(tmp_path, unflagged="context").num_nodes == 4
    write_tables(tmp_path, [[*row[:4], ""] for row in NODES])
    assert "the files name no split; split_shares: per cent" in refusal_of(tmp_path)


def test_graph_ids_are_taken_if_there_are_any(tmp_path):
    nodes = [[*row, str(graph)] for row, graph in zip(NODES, [5, 5, -1, 5], strict=True)]
    dataset = load_reddit(write_tables(tmp_path, nodes, header=[*HEADER, "graph_id"]))
    assert dataset.graph_ids is not None
    assert dataset.graph_ids.tolist() == [5, 5, -1, 5]


@pytest.mark.parametrize("empty", ["", "NaN", "n/a", "null"])
def test_a_feature_that_is_not_there_is_nan(tmp_path, empty):
    write_tables(tmp_path)
    edited(tmp_path, "nodes.csv", "007,4,", f"007,{empty},")
    assert refusal_of(tmp_path) == (
        "nodes.csv: features: 1 values are not finite in float32, first nan at row 2, column 0 "
        "(node id 007); correct them; nan: zero or mean fills those that are NaN"
    )
    assert load_reddit(tmp_path, nan="zero").features[2].tolist() == [0, 5]
    assert load_reddit(tmp_path, nan="mean").features[2].tolist() == [(1.5 + 6) / 2, 5]


def test_features_and_edges_alone_are_enough_to_predict_on(tmp_path):
    write_tables(tmp_path, [row[:3] for row in NODES], header=HEADER[:3])
    inputs = read_inputs(tmp_path)
    assert inputs.node_ids.tolist() == ["n7", "n2", "007", "7"]
    assert inputs.features.tolist() == [[1.5, -2], [0.25, 300], [4, 5], [6, 7]]
    assert inputs.graph.num_nodes == 4
    assert "no labels, which training and scores need" in refusal_of(tmp_path)


def test_a_class_that_is_not_there_is_refused_where_classes_are_needed(tmp_path):
    write_tables(tmp_path)
    edited(tmp_path, "nodes.csv", "dog", "")
    assert refusal_of(tmp_path) == (
        "nodes.csv: labels: nodes without any: 1, first row 1 (node id n2), as NaN, NA, -1 and "
        "-100 mean none; label them, or take them out of the split and choose unflagged: context"
    )
    assert read_inputs(tmp_path).node_ids.size == 4
    write_tables(tmp_path, [[*row[:3], "", row[4]] for row in NODES])
    assert "no labels, which training and scores need" in refusal_of(tmp_path)


def test_unknown_ids_are_counted_and_five_are_named(tmp_path):
    lost = [["n7", "n2"], ["n7", "7.0"], ["8", "9"], ["7", "n7"], *([["a", "b"]] * 3), ["c", "d"]]
    write_tables(tmp_path, edges=lost)
    assert refusal_of(tmp_path) == (
        "edges.csv: line 3: 6 of 8 edges name 7 ids that no node of nodes.csv has: '7.0', '8', "
        "'9', 'a', 'b', ...; ids are compared as they are written: correct them, add the nodes, or "
        "choose unknown_edges: drop"
    )


def test_edges_of_unknown_ids_are_dropped_where_that_is_chosen(tmp_path):
    write_tables(tmp_path, edges=[*EDGES, ["n7", "7.0"], ["8", "n2"]])
    for dataset in (
        load_reddit(tmp_path, unknown_edges="drop"),
        load_nodes(tmp_path, name="mine", unknown_edges="drop"),
    ):
        expect_the_graph(dataset)
        assert (
            "edges.csv: 2 of 6 edges name 2 ids that no node of nodes.csv has: '7.0', '8'; these "
            "edges are dropped"
        ) in dataset.notes
    assert read_inputs(tmp_path, unknown_edges="drop").graph.num_edges == 5
    with pytest.raises(SettingsError, match="unknown_edges: expected one of error, drop"):
        load_reddit(tmp_path, unknown_edges="keep")


BAD = {
    "an id twice": ("nodes.csv", "\n7,", "\nn7,", "lines 2 and 5 have the same id 'n7'"),
    "no id": ("nodes.csv", "\n007,", "\n ,", "line 4: no id"),
    "text as a feature": (
        "nodes.csv",
        "0.25",
        "high",
        "line 3, column f0: 'high' is not a number; leave out columns of text: all but id, label,",
    ),
    "a decimal comma": ("nodes.csv", "0.25", '"0,25"', "'0,25' is not a number; write decimals wi"),
    "a number with _": ("nodes.csv", "0.25", "2_5", "line 3, column f0: '2_5' is not a number"),
    "a cell too few": ("nodes.csv", "0.25,", "", "line 3 has 4 cells where the header has 5"),
    "a cell too many": ("nodes.csv", "0.25,", "0,25,", "line 3 has 6 cells where the header has 5"),
    "a split of another name": ("nodes.csv", "test", "dev", "line 3: split 'dev'; expected train"),
    "an open quote": (
        "nodes.csv",
        "dog",
        '"dog',
        "line 3: unexpected end of data; is a quote open",
    ),
    "text after a quote": (
        "nodes.csv",
        "dog",
        '"d"og',
        "line 3: ',' expected after '\"'; is a quote open",
    ),
    "an infinite feature": (
        "nodes.csv",
        "0.25",
        "inf",
        "first inf at row 1, column 0 (node id n2)",
    ),
    "no id column": (
        "nodes.csv",
        "id,",
        "name,",
        "expected a header with the column(s) id or node_id or node, between commas, semicolons or "
        "tabs; the first line is 'name,f0,f1,label,split'",
    ),
    "two id columns": ("nodes.csv", "f0", "node", "the header has id and node; keep one of them"),
    "a column twice": ("nodes.csv", "f1", "F0", "the header has the column f0 twice"),
    "an index of pandas": ("nodes.csv", "f0", "", "column 2 of the header has no name"),
    "an index of pandas again": ("nodes.csv", "f0", "Unnamed: 0", "column 2 of the header has no"),
    "one column of 0 and 1": ("nodes.csv", ",label,", ",label:a,", "expected one column label (a"),
    "labels of two kinds": ("nodes.csv", ",f1,", ",label:a,", "expected one column label (a class"),
    "a label without a name": ("nodes.csv", ",f1,", ",label:,", "column label:: expected label:NA"),
    "a label or a feature": (
        "nodes.csv",
        ",f1,",
        ",Labels,",
        "column Labels: a label is named lab",
    ),
    "no end columns": ("edges.csv", "src", "a", "expected a header with the column(s) from,to or"),
    "an edge without an end": ("edges.csv", "n7,n2", "n7,", "line 2: 1 of 4 edges name 1 ids th"),
    "an edge cut off": ("edges.csv", "7,7", "7", "line 5 has 1 cells where the header has 2"),
    "a graph id that is text": ("nodes.csv", "f0", "graph_id", "line 2: graph_id '1.5' is not an"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_table_is_refused_in_one_line_with_file_and_line(tmp_path, case):
    name, old, new, expected = BAD[case]
    line = refusal_of(edited(write_tables(tmp_path), name, old, new))
    assert line.startswith(f"{name}: ")
    assert expected in line


@pytest.mark.parametrize("name", ["nodes.csv", "edges.csv"])
@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (None, "No such file or directory"),
        (b"", "empty file (0 bytes)"),
        (b"\n\n", "no table in it: only blank lines"),
        (b"id,src,dst,x\n", "a header and no rows"),
        (b"id,src,dst,x\n\n,,,\n", "a header and no rows"),
        (b"id,src,dst,x\n1,1,1,1\n1,\xe9,1,1\n", "line 3: not UTF-8 text; save the file as UTF-8"),
        ("id,src,dst,x\n1,1,1,1\n".encode("utf-16"), "line 1: not UTF-8 text"),
        (b"<html>\n<body>\n", "expected a header with the column(s)"),
        (b"id,src,dst,x\n" + b'"' + b"x" * 200_000, "line 2: field larger than field limit"),
    ],
)
def test_a_file_that_is_no_table_is_refused(tmp_path, name, content, expected):
    path = write_tables(tmp_path) / name
    path.unlink() if content is None else path.write_bytes(content)
    line = refusal_of(tmp_path)
    assert line.startswith(f"{name}: ")
    assert expected in line


def test_nodes_without_features_are_refused(tmp_path):
    write_tables(tmp_path, [[row[0], *row[3:]] for row in NODES], header=["id", "label", "split"])
    assert refusal_of(tmp_path).startswith("nodes.csv: no feature columns")


def test_a_long_header_is_shown_in_part(tmp_path):
    write_tables(tmp_path, header=["node id", *(f"gene{i}" for i in range(500))])
    line = refusal_of(tmp_path)
    assert line.endswith("...'")
    assert len(line) < 300


def test_numbers_are_read_as_python_reads_them(tmp_path):
    cells = ["1", "-2.5", "+3e-2", ".5", "1e400", "NaN", ""]
    found = parse_numbers(tmp_path, 1, cells, range(len(cells)))
    np.testing.assert_array_equal(found, [1, -2.5, 0.03, 0.5, np.inf, np.nan, np.nan])


def test_a_large_table_is_read_whole(tmp_path):
    rng = np.random.default_rng(0)
    num_nodes, num_edges = 3000, 20_000
    ids = [f"node {i}" for i in rng.permutation(num_nodes)]
    x = rng.standard_normal((num_nodes, 4))
    src, dst = rng.integers(num_nodes, size=(2, num_edges))
    nodes = [[name, *map(repr, row.tolist())] for name, row in zip(ids, x, strict=True)]
    edges = [[ids[a], ids[b]] for a, b in zip(src, dst, strict=True)]
    write_tables(tmp_path, nodes, edges, ["id", *"abcd"])
    raw = read_layout(tmp_path)
    np.testing.assert_array_equal(raw.features, x)
    assert raw.node_ids.tolist() == ids
    (found,) = raw.graph.edge_chunks()
    np.testing.assert_array_equal(found, (src, dst))


def test_a_name_of_several_lines_takes_one_line_of_a_note(tmp_path):
    write_tables(tmp_path, header=["id", '"f\n0"', "f1", "label", "split"])
    notes = load_reddit(tmp_path).notes
    assert "nodes.csv: 2 features: f\\n0, f1" in notes
    assert not any("\n" in note for note in notes)
