"""Columns of nodes.csv that are chosen, and what a column holds: numbers, text, vectors."""

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_files import SPLIT, write_npz

import gaancore
from gaancore.data import NodeDataset, Reading, load_nodes
from gaancore.errors import DataError, SettingsError

EDGES = "src,dst\na,b\nc,d\n"
ROWS = ["a,1.5,red,[1 2],x", "b,2,,[3 -4.5],y", "c,,green,[0 1e2],x", "d,4,red,[7 8],y"]


def write_tables(folder: Path, header: str, rows: list[str], *, packed: bool = False) -> Path:
    for name, text in (("nodes.csv", "\n".join([header, *rows])), ("edges.csv", EDGES)):
        if packed:
            (folder / f"{name}.gz").write_bytes(gzip.compress(text.encode()))
        else:
            (folder / name).write_text(text, encoding="utf-8")
    return folder


def load(path: Path, **options: Any) -> NodeDataset:
    return load_nodes(path, name="mine", split_shares=(50, 25, 25), unflagged="context", **options)


@pytest.mark.parametrize("packed", [False, True])
def test_text_becomes_categories_and_vectors_become_numbers(packed, tmp_path):
    path = write_tables(tmp_path, "id,n,color,v,label", ROWS, packed=packed)
    dataset = load(path, nan="zero")
    assert dataset.feature_names == ("n", "color=green", "color=red", "v[0]", "v[1]")
    assert dataset.features.tolist() == [
        [1.5, 0, 1, 1, 2], [2, 0, 0, 3, -4.5], [0, 1, 0, 0, 100], [4, 0, 1, 7, 8]
    ]  # fmt: skip
    name = "nodes.csv.gz" if packed else "nodes.csv"
    said = "column color is text: 2 categories, a feature each: green, red"
    assert f"{name}: {said}" in dataset.notes
    assert f"{name}: column v holds 2 numbers a cell" in dataset.notes


@pytest.mark.parametrize(
    "cells", [["1 2", "3 4"], ['"[1, 2]"', '"(3, 4)"'], ["1;2", "3;4"], ["[1\t2]", "[3 4]"]]
)
def test_vectors_are_read_as_programs_write_them(cells, tmp_path):
    rows = [f"{node},{cell},x" for node, cell in zip("abcd", cells * 2, strict=True)]
    dataset = load(write_tables(tmp_path, "id,v,label", rows))
    assert dataset.features.tolist() == [[1, 2], [3, 4]] * 2


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("[3 -4.5]", "[3]"), "line 3, column v: 1 numbers where others have 2"),
        (("[3 -4.5]", "[3 x]"), "line 3, column v: 'x' is not a number"),
        (("b,2,", "b,2x,"), "line 3, column n: '2x' is not a number; all columns but id"),
        (("green", "7"), "line 4, column color: '7' is a number among text"),
        (("green", "1,5"), "line 4"),
        (("b,2,,", "b,2,blue,"), "column color: 3 different texts in 4 rows, such as 'red', are"),
    ],
)
def test_a_column_must_hold_one_thing(change, words, tmp_path):
    path = write_tables(tmp_path, "id,n,color,v,label", [row.replace(*change) for row in ROWS])
    with pytest.raises(DataError, match=words):
        load(path, nan="zero")


def test_the_columns_of_the_label_and_the_split_can_be_chosen(tmp_path):
    header = "id,label,Kind,split_1,split_2,f"
    rows = ["a,9,x,train,test,1", "b,9,y,val,train,2", "c,8,x,test,val,3", "d,8,y,,train,4"]
    path = write_tables(tmp_path, header, rows)
    with pytest.raises(DataError, match=r"column split_1: one of several splits; choose one"):
        load(path)
    dataset = load(path, reading=Reading(label="kind", split_column="split_2"))
    assert (dataset.class_names, dataset.labels.tolist()) == (("x", "y"), [0, 1, 0, 1])
    assert (dataset.feature_names, dataset.split.tolist()) == (("f",), [2, 0, 1, 0])
    assert "nodes.csv: column(s) label, split_1 not used: others were chosen" in dataset.notes
    with pytest.raises(DataError, match=r"label: .* has no column 'sort'; there are id, label"):
        load(path, reading=Reading(label="sort"))
    assert gaancore.load(path, label="kind", split_column="split_1").split.tolist() == [0, 1, 2, -1]


def test_one_of_several_splits_of_an_npz_is_chosen_by_number(tmp_path):
    other = np.roll(SPLIT, 1)
    both = np.column_stack([SPLIT, other])
    masks = {
        name: both == part for part, name in enumerate(["train_mask", "val_mask", "test_mask"])
    }
    for arrays in ({"split": both}, {"split": None, **masks}):
        path = write_npz(tmp_path, **arrays)
        for number, expected in enumerate((SPLIT, other.tolist())):
            reading = Reading(split_column=str(number))
            assert load(path, reading=reading).split.tolist() == list(expected)
        for wrong in ("", "2", "-1", "x"):
            with pytest.raises(DataError, match=r"2 splits; choose one by its number, 0 to 1"):
                load(path, reading=Reading(split_column=wrong))
    masks["test_mask"] = masks["test_mask"][:, 0]  # WikiCS has one mask for the test
    path = write_npz(tmp_path, split=None, **masks)
    assert load(path, reading=Reading(split_column="0")).split.tolist() == SPLIT
    with pytest.raises(SettingsError, match=r"label: the files at .* leave nothing to choose"):
        load(path, reading=Reading(label="x"))


SIZES = {"embed_dim": 4, "out_dim": 6, "num_heads": 2, "key_dim": 3, "value_dim": 4, "gate_dim": 3}


def test_a_new_graph_may_have_other_categories(tmp_path):
    def tables(name: str, colors: list[str]) -> Path:
        (tmp_path / name).mkdir()
        rows = [f"{node},{color},{kind}" for node, color, kind in
                zip("abcdefgh", colors, "xyxyxyxy", strict=True)]  # fmt: skip
        return write_tables(tmp_path / name, "id,color,label", rows)

    data = tables("train", ["red", "blue", "red", "blue", "green", "green", "red", "blue"])
    run = gaancore.train(data, out=tmp_path / "run", epochs=2, verbose=False, **SIZES)
    fewer = tables("fewer", ["red", "blue"] * 4)
    found = run.predictions(fewer)
    assert "categories that no node here has: color=green" in found.notes
    named = tables("named", ["red", "blue"] * 3 + ["violet", "green"])
    told = "warning: categories that the run has not seen, left out, of 1 nodes: color=violet"
    inputs = run.inputs(named)
    assert told in inputs.notes
    assert inputs.feature_names == ("color=blue", "color=green", "color=red")
    assert inputs.features[6:].tolist() == [[0, 0, 0], [0, 1, 0]]
    assert told in run.evaluate(data=named).notes
    assert "categories" not in " ".join(run.evaluate().notes)
    other = tables("other", ["red", "blue"] * 4)
    (other / "nodes.csv").write_text((other / "nodes.csv").read_text().replace("color", "paint"))
    with pytest.raises(DataError, match="features: "):
        run.predictions(other)


def test_a_column_that_was_chosen_as_the_label_is_no_feature_of_a_new_graph(tmp_path):
    rows = [f"{node},{row},{'xy'[row % 2]}" for row, node in enumerate("abcdefgh")]
    data = write_tables(tmp_path, "id,f,kind", rows)
    options = {"label": "kind", "epochs": 2, "verbose": False, **SIZES}
    run = gaancore.train(data, out=tmp_path / "run", **options)
    for name, header, cut in (("with", "id,f,kind", None), ("without", "id,f", -2)):
        (tmp_path / name).mkdir()
        new = write_tables(tmp_path / name, header, [row[:cut] for row in rows])
        assert run.inputs(new).feature_names == ("f",)
        assert run.predict(new).tolist() == run.predict().tolist()
    scores = run.evaluate(data=write_tables(tmp_path / "with", "id,f,kind", rows[:6]))
    assert set(scores) == {"all"}
    with pytest.raises(DataError, match="no labels to score by"):
        run.evaluate(data=tmp_path / "without")


def test_eigenvectors_of_another_graph_are_warned_of(tmp_path):
    letters = "abcdefghijklmnopqrst"
    rows = [f"{node},{row},{'xy'[row % 2]}" for row, node in enumerate(letters)]
    data = write_tables(tmp_path, "id,f,label", rows)
    options = {"features": "spectral", "epochs": 2, "verbose": False, **SIZES}
    run = gaancore.train(data, out=tmp_path / "run", **options)
    assert not any(note.startswith("warning: ") for note in run.evaluate(data=data).notes)
    (tmp_path / "other").mkdir()
    other = write_tables(tmp_path / "other", "id,f,label", [*rows, "u,3,x"])
    for notes in (run.predictions(other).notes, run.evaluate(data=other).notes):
        assert any(note.startswith("warning: eigenvectors of one graph") for note in notes)


@pytest.mark.parametrize("name", ["friends.edgelist", "edges.txt", "a.edges.gz"])
def test_a_list_of_edges_may_stand_beside_nodes_csv(name, tmp_path):
    write_tables(tmp_path, "id,f,label", ["a,1,x", "b,2,y", "c,3,x", "d,4,y"])
    (tmp_path / "edges.csv").unlink()
    text = b"# comment\na b\nc\td\n"
    (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    dataset = load(tmp_path)
    assert dataset.graph.indices.tolist() == [1, 0, 3, 2]
    assert f"layout: nodes.csv and {name}" in dataset.notes
    lost = text + b"a e\n"
    (tmp_path / name).write_bytes(gzip.compress(lost) if name.endswith(".gz") else lost)
    with pytest.raises(DataError, match="line 4: 1 of 3 edges name 1 ids that no node of nodes"):
        load(tmp_path)
    assert load(tmp_path, reading=Reading("drop")).num_edges == 4


def test_a_table_without_a_label_says_which_columns_could_be_one(tmp_path):
    path = write_tables(tmp_path, "id,f,kind", ["a,1,x", "b,2,y", "c,3,x", "d,4,y"])
    with pytest.raises(DataError, match=r"if one of f, kind is one, choose it"):
        load(path)
