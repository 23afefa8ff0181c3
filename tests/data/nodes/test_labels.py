"""What is a label, what is none, and which classes there are: the same in every layout."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_files import (
    NAMES,
    SPLIT,
    write_csv,
    write_graphsage,
    write_graphsaint,
    write_json,
    write_matlab,
    write_npz,
    write_reddit,
)

import gaancore
from gaancore.data import NodeDataset, load_nodes, open_store
from gaancore.data.nodes.labels import check_labels, code_classes
from gaancore.data.nodes.layouts.find import read_layout
from gaancore.data.nodes.split import with_drawn_validation
from gaancore.data.nodes.store.convert import write_store
from gaancore.errors import DataError

SHARES = (60, 20, 20)


def csv_of(folder: Path, labels: list[Any], *, split: bool = True) -> Path:
    words = ["train", "val", "test"]
    lines = [f"id,x,label{',split' if split else ''}"]
    for row, (name, label) in enumerate(zip(NAMES, labels, strict=True)):
        text = "" if label is None else label
        lines.append(f"{name},{row},{text}{',' + words[SPLIT[row]] if split else ''}")
    (folder / "nodes.csv").write_text("\n".join(lines))
    (folder / "edges.csv").write_text(f"src,dst\n{NAMES[0]},{NAMES[1]}\n")
    return folder


def numbers(labels: list[Any]) -> np.ndarray:
    return np.array([np.nan if label is None else label for label in labels])


def graphsaint_of(folder: Path, labels: list[Any]) -> Path:
    write_graphsaint(folder)
    write_json(folder / "class_map.json", dict(zip(map(str, range(6)), labels, strict=True)))
    return folder


def graphsage_of(folder: Path, labels: list[Any]) -> Path:
    write_graphsage(folder, ids=list("fabced"))
    write_json(folder / "toy-class_map.json", dict(zip("fabced", labels, strict=True)))
    return folder


LAYOUTS: dict[str, Callable[[Path, list[Any]], Path]] = {
    "csv": csv_of,
    "npz": lambda f, labels: write_npz(f, y=numbers(labels)),
    "npz, a column": lambda f, labels: write_npz(f, y=numbers(labels)[:, None]),
    "dgl reddit": lambda f, labels: write_reddit(f, {"label": numbers(labels)}),
    "graphsaint": graphsaint_of,
    "graphsage": graphsage_of,
    "matlab": lambda f, labels: write_matlab(f, Label=numbers(labels)[:, None]),
}


def load(path: Path, **options: Any) -> NodeDataset:
    return load_nodes(path, name="mine", split_shares=SHARES, unflagged="context", **options)


def by_name(dataset: NodeDataset) -> list[str]:
    names = dataset.class_names or tuple(map(str, range(dataset.num_classes)))
    return [names[label] for label in dataset.labels]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_gaps_between_numbers_make_no_class(layout, tmp_path):
    classes = [9, 3, 5, 3, 9, 5]
    path = LAYOUTS[layout](tmp_path, classes)
    dataset = load(path)
    assert (dataset.num_classes, dataset.class_names) == (3, ("3", "5", "9"))
    assert by_name(dataset) == list(map(str, classes))
    if layout != "csv":  # where classes are names
        note = "classes 3, 5, 9 (no node of the split has another) renumbered 0 to 2"
        assert note in dataset.notes


@pytest.mark.parametrize("none", [None, -1, -100])
@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name != "matlab"])
def test_a_label_that_means_none_is_no_class(layout, none, tmp_path):
    path = LAYOUTS[layout](tmp_path, [1, 0, none, 1, 0, 0])
    dataset = load(path)
    assert dataset.split.tolist() == [0, 0, -1, 1, 2, 2]
    assert [by_name(dataset)[row] for row in (0, 1, 3, 4, 5)] == ["1", "0", "1", "0", "0"]
    assert dataset.num_classes == 2
    told = "1 nodes of the split have no label and are taken out of it: 1 training "
    assert sum(note.startswith(told) for note in dataset.notes) == 1
    with pytest.raises(DataError, match=r"labels: nodes without any: 1, first row 2 "):
        load_nodes(path, name="mine")


@pytest.mark.parametrize("none", [None, -1, -100])
def test_a_split_is_drawn_among_those_that_have_a_label(none, tmp_path):
    labels = [2, 1, none, 1, 2, 1]
    for number, write in enumerate(
        (
            lambda f: csv_of(f, labels, split=False),
            lambda f: write_npz(f, y=numbers(labels), split=None),
            lambda f: write_matlab(f, Label=numbers(labels)[:, None]),
        )
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        dataset = load(write(folder))
        assert dataset.split[2] == -1
        assert (dataset.split >= 0).sum() == 5
        assert (dataset.num_classes, dataset.class_names) == (2, ("1", "2"))
        assert "1 of 6 nodes have no label" in dataset.notes


@pytest.mark.parametrize(
    "word", ["NA", "NaN", "nan", "None", "NULL", "null", "<NA>", "n/a", "-1", "-1.0", "-100", ""]
)
def test_words_mean_none_wherever_a_label_is_text(word, tmp_path):
    names = ["red", "blue", word, "red", "blue", "red"]
    for number, path in enumerate(("csv", "npz", "graphsage")):
        folder = tmp_path / path
        folder.mkdir()
        if number == 0:
            csv_of(folder, names, split=False)
        elif number == 1:
            write_npz(folder, y=np.array(names), split=None)
        else:
            graphsage_of(folder, names)
            graph = folder / "toy-G.json"
            third = '{"id": "b", "val": false, "test": false}'
            assert third in graph.read_text()
            graph.write_text(graph.read_text().replace(third, '{"id": "b"}'))
        dataset = load(folder)
        assert dataset.class_names == ("blue", "red")
        assert dataset.split[2] == -1
        assert [by_name(dataset)[row] for row in (0, 1, 3, 4, 5)] == names[:2] + names[3:]
        assert "1 of 6 nodes have no label" in dataset.notes
        assert any(f"labels {word!r} (1) mean none" in n for n in dataset.notes) == bool(word)


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (["1", "1.0", "2"], "classes '1' and '1.0' differ only in how they are written"),
        (["Red", "red", "RED"], "taken as 3 classes"),
        (["a b", "a  b", "c"], "classes 'a  b' and 'a b' differ only"),
        (["1", "2", "10"], None),
        (["1_0", "10", "x"], None),
    ],
)
def test_two_spellings_of_a_class_are_told_and_stay_two(names, told, tmp_path):
    for write in (csv_of, lambda f, y: write_npz(f, y=np.array(y)), graphsage_of):
        folder = tmp_path / f"{write.__name__}{write is csv_of}"
        folder.mkdir()
        dataset = load(write(folder, [*names, *names]))
        assert dataset.num_classes == 3
        assert by_name(dataset) == [*names, *names]
        said = [note for note in dataset.notes if "differ only" in note]
        assert len(said) == (told is not None)
        assert told is None or told in said[0]


def test_a_class_that_only_a_node_in_no_split_has_is_left_out_and_named(tmp_path):
    csv_of(tmp_path, ["cat", "ant", "dog", "cat", "dog", "cat"])
    path = tmp_path / "nodes.csv"
    path.write_text(path.read_text().replace("ant,train", "ant,"))
    dataset = load(tmp_path)
    assert dataset.class_names == ("cat", "dog")
    assert "classes that no node of the split has, left out: ant" in dataset.notes


def test_one_hot_columns_without_a_node_are_no_classes(tmp_path):
    rows = np.eye(10, dtype=int)[[9, 3, 5, 3, 9, 5]]
    dataset = load(write_npz(tmp_path, y=rows))
    assert dataset.class_names == ("3", "5", "9")
    assert dataset.labels.tolist() == [2, 0, 1, 0, 2, 1]


def test_several_labels_keep_a_label_that_nobody_has(tmp_path):
    rows = np.array([[1, 0, 1], [1, 0, 1], [0, 0, 1], [1, 0, 0], [0, 0, 1], [1, 0, 1]])
    dataset = load(write_npz(tmp_path, y=rows))
    assert (dataset.multi_label, dataset.num_classes) == (True, 3)


def test_a_store_keeps_the_classes_that_it_was_written_with(tmp_path):
    path = write_npz(tmp_path, y=np.array([9, 3, 5, 3, 9, 5]))
    write_store(read_layout(path), tmp_path / "store", name="mine")
    opened = open_store(tmp_path / "store")
    assert opened.class_names == ("3", "5", "9")
    train, _ = opened.view(0)
    assert (train.num_classes, train.class_names) == (3, ("3", "5", "9"))


@pytest.mark.parametrize("layout", ["csv", "npz"])
def test_minus_one_and_one_are_not_taken_for_one_class(layout, tmp_path):
    labels = [1, -1, 1, -1, 1, 1]
    if layout == "csv":
        csv_of(tmp_path, labels, split=False)
    else:
        write_npz(tmp_path, y=np.array(labels), split=None)
    with pytest.raises(DataError, match=r"every node has class 1 or none, .* write 0 and 1"):
        load(tmp_path)


def test_a_single_class_and_one_hot_rows_for_several_labels_are_warned_of(tmp_path):
    one = load(write_npz(tmp_path, y=np.full(6, 4)))
    assert "all nodes of the split have one class, 4: there is nothing to tell" in one.notes
    hot = load(write_npz(tmp_path, y=np.eye(2, dtype=int)[[0, 1, 0, 1, 0, 1]]), multi_label=True)
    assert any("exactly one 1: is it not one class per node?" in note for note in hot.notes)
    assert not any("exactly one" in note for note in load(write_csv(tmp_path)).notes)


def test_a_split_without_validation_nodes_is_told(tmp_path):
    path = write_npz(tmp_path, split=np.array([0, 0, 0, 0, 2, 2]))
    told = [
        note
        for note in load_nodes(path, name="mine").notes
        if note.startswith("no validation nodes, by which")
    ]
    assert len(told) == 1
    write_store(read_layout(path), tmp_path / "store", name="mine")
    assert told[0] in open_store(tmp_path / "store").notes


@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name != "matlab"])
def test_validation_nodes_are_drawn_where_the_split_has_none(layout, tmp_path):
    """Of four training nodes one has no label; 20 in 80 of the other three is one."""
    path = LAYOUTS[layout](tmp_path, [0, 1, -1, 1, 0, 1])
    raw = read_layout(path)
    raw = replace(raw, split=np.array([0, 0, 0, 0, 2, -1]))
    drawn = with_drawn_validation(raw, SHARES, seed=3)
    assert np.bincount(drawn.split + 1).tolist() == [1, 3, 1, 1]
    assert drawn.split[[2, 4, 5]].tolist() == [0, 2, -1]
    assert drawn.notes[-1] == (
        "no validation nodes in the split: 1 of 3 labelled training nodes drawn with seed 3, to "
        "choose the weights by"
    )
    again = with_drawn_validation(raw, SHARES, seed=3)
    assert again.split.tolist() == drawn.split.tolist()
    assert with_drawn_validation(drawn, SHARES, seed=4) is drawn


def test_where_too_few_nodes_are_there_to_draw_from_it_is_said(tmp_path):
    path = write_npz(tmp_path, split=np.array([0, 2, 2, 2, 2, 2]))
    told = load(path)
    assert told.split.tolist() == [0, 2, 2, 2, 2, 2]
    assert any(note.startswith("no validation nodes, by which") for note in told.notes)


def test_validation_nodes_are_drawn_from_memory_too():
    split = ["train"] * 8 + ["test"] * 4
    data = gaancore.from_scipy(np.eye(12), np.eye(12), ["a", "b"] * 6, split)
    assert np.bincount(data.split).tolist() == [6, 2, 4]
    assert any(note.startswith("no validation nodes in the split: 2 of 8") for note in data.notes)


@given(st.lists(st.integers(0, 30), min_size=1, max_size=20))
def test_every_class_is_had_by_a_node_and_comes_back_by_number(classes):
    found = check_labels("drawn", np.array(classes), np.arange(len(classes)), False)
    numbers = found.numbers or range(found.num_classes)
    assert [numbers[place] for place in found.values] == classes
    assert sorted(set(found.values.tolist())) == list(range(found.num_classes))


@given(st.lists(st.sampled_from(["a", "A", "7", "7.0", "-1", "", "NA", "none"]), max_size=12))
def test_names_come_back_and_nothing_stays_nothing(texts):
    coded = code_classes(texts)
    for text, place in zip(texts, coded.places, strict=True):
        if np.isnan(place):
            assert text in ("-1", "", "NA", "none")
        else:
            assert coded.names[int(place)] == text
