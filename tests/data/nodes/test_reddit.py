"""Graphs whose nodes have one class each: DGL's Reddit, MATLAB files, drawn splits, the counts."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_files import (
    ARCS,
    CLASSES,
    FEATURES,
    LABELS,
    SPLIT,
    write_graphsaint,
    write_json,
    write_matlab,
    write_npz,
    write_reddit,
)

from gaancore.data import NodeDataset, load_ppi, load_reddit, open_store, synthetic_ppi
from gaancore.data.nodes import reddit
from gaancore.data.nodes.layouts.find import read_layout
from gaancore.data.nodes.make import RawDataset
from gaancore.data.nodes.split import with_random_split
from gaancore.data.nodes.store.convert import write_store
from gaancore.errors import DataError, SettingsError
from gaancore.graph import ArcList


def arcs(dataset: NodeDataset) -> set[tuple[int, int]]:
    src, dst = dataset.graph.edges()
    return set(zip(dst.tolist(), src.tolist(), strict=True))


def test_dgls_reddit_is_read(tmp_path: Path) -> None:
    dataset = load_reddit(write_reddit(tmp_path))
    assert arcs(dataset) == ARCS
    assert dataset.features.tolist() == FEATURES
    assert dataset.features.dtype == np.float32
    assert dataset.labels.tolist() == CLASSES
    assert dataset.labels.dtype == np.int64
    assert dataset.split.tolist() == SPLIT
    assert dataset.node_ids.tolist() == [50, 51, 52, 53, 54, 55]
    assert (dataset.name, dataset.num_classes, dataset.multi_label) == ("reddit", 3, False)
    assert dataset.notes[:2] == ("layout: DGL Reddit", "1 self-loops kept")


def test_names_of_nodes_move_no_arc_and_no_row(tmp_path: Path) -> None:
    dataset = load_reddit(write_reddit(tmp_path, data={"node_ids": np.arange(6)[::-1]}))
    assert dataset.node_ids.tolist() == [5, 4, 3, 2, 1, 0]
    assert (arcs(dataset), dataset.features.tolist()) == (ARCS, FEATURES)


@pytest.mark.parametrize("write", [write_graphsaint, write_npz])
def test_classes_are_taken_from_the_other_layouts_too(
    write: Callable[[Path], Path], tmp_path: Path
) -> None:
    path = write(tmp_path) if write is write_graphsaint else write_npz(tmp_path, y=CLASSES)
    if write is write_graphsaint:
        write_json(tmp_path / "class_map.json", {str(i): c + 3 for i, c in enumerate(CLASSES)})
    dataset = load_reddit(path)
    assert dataset.labels.tolist() == CLASSES
    renumbered = write is write_graphsaint
    assert ("classes 3 to 5 renumbered 0 to 2" in dataset.notes) == renumbered
    assert dataset.class_names == (("3", "4", "5") if renumbered else None)


def test_arcs_one_way_are_given_both_directions(tmp_path: Path) -> None:
    one_way = {"row": np.array([1, 2, 2, 5]), "col": np.array([0, 1, 2, 4])}
    assert arcs(load_reddit(write_reddit(tmp_path, graph=one_way))) == ARCS


def test_a_node_of_no_type_is_in_no_split_and_needs_a_choice(tmp_path: Path) -> None:
    write_reddit(tmp_path, data={"node_types": np.array([1, 0, 1, 2, 3, 3])})
    with pytest.raises(DataError, match=r"1 of 6 nodes .* first node id 51; unflagged: drop"):
        load_reddit(tmp_path)
    assert load_reddit(tmp_path, unflagged="drop").node_ids.tolist() == [50, 52, 53, 54, 55]
    assert load_reddit(tmp_path, unflagged="train").split.tolist() == SPLIT


BAD_REDDIT: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"node_types": None}, {}, "reddit_data.npz: the files name no split"),
    ({"node_types": np.array([1, 1, 1, 2, 3, 4])}, {}, "node_types: 4 at row 5; expected 1 train"),
    ({"node_types": np.ones(6)}, {}, "node_types: expected integers in shape (6,), got float64"),
    (
        {"node_ids": np.array([8, 7, 9, 9, 7, 7])},
        {},
        "node_ids: rows 1 and 4 have the same id 7; results are listed by id: ids must differ",
    ),
    ({"node_ids": np.array(list("abcdef")) == "a"}, {}, "node_ids: expected integers or text in"),
    ({"node_ids": np.array(list("abcdeb"))}, {}, "node_ids: rows 1 and 5 have the same id b;"),
    ({"node_ids": np.arange(5)}, {}, "node_ids: expected integers or text in shape (6,)"),
    ({"feature": np.full((6, 2), np.nan)}, {}, "12 values are not finite in float32, first nan"),
    ({"feature": np.zeros((5, 2))}, {}, "a matrix of shape [6, 6], but reddit_data.npz has 5 rows"),
    ({"label": np.arange(5)}, {}, "labels: expected 6 rows (one per node), got 5"),
    (
        {"label": np.array(LABELS)},
        {},
        "row 0 (node id 50) has 2 labels; multi_label: True",
    ),
    ({"label": np.array([None] * 6)}, {}, "Object arrays cannot be loaded"),
    ({}, {"row": None}, "reddit_graph.npz: no array row"),
    ({}, {"row": np.full(7, 6)}, "reddit_graph.npz: ArcList: edge 0"),
    ({}, {"row": np.zeros(3, int)}, "reddit_graph.npz: ArcList: src has 7 entries, dst has 3"),
    ({}, {"shape": np.array([7, 7])}, "a matrix of shape [7, 7]"),
]


@pytest.mark.parametrize(("data", "graph", "expected"), BAD_REDDIT)
def test_a_bad_reddit_file_is_refused_in_one_line(
    data: dict[str, Any], graph: dict[str, Any], expected: str, tmp_path: Path
) -> None:
    with pytest.raises(DataError) as refusal:
        load_reddit(write_reddit(tmp_path, data, graph))
    assert expected in str(refusal.value)
    assert str(tmp_path) in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("name", ["reddit_data.npz", "reddit_graph.npz"])
def test_half_a_reddit_file_or_none_is_refused(name: str, tmp_path: Path) -> None:
    path = write_reddit(tmp_path) / name
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(DataError, match=f"{name}: not a readable .npz archive"):
        load_reddit(tmp_path)
    path.unlink()
    with pytest.raises(DataError, match=f"{name}: No such file"):
        load_reddit(tmp_path)


def test_a_graph_that_is_reddit_in_part_is_told_from_the_papers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_reddit(tmp_path)
    assert not any("not the paper's" in note for note in load_reddit(folder).notes)
    monkeypatch.setattr(reddit, "COUNTS", {**reddit.COUNTS, "features": 2})
    assert load_reddit(folder).notes[-1] == (
        "not the paper's Reddit: 6 nodes (232,965), 6 arcs (114,615,892), 3 classes (41)"
    )


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ((3, 1, 2), "split: the paper's, as DGL and PyTorch Geometric have it"),
        ((2, 2, 2), "split: GraphSAINT's and Cluster-GCN's, where all open nodes train"),
        ((1, 1, 4), "split: none of the public ones of Reddit"),
    ],
)
def test_the_public_splits_are_told_apart(
    sizes: tuple[int, ...], expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the counts of a small graph in place of Reddit's."""
    small = {"nodes": 6, "arcs": 6, "features": 2, "classes": 3}
    monkeypatch.setattr(reddit, "COUNTS", small)
    public = [(3, 1, 2), (2, 2, 2), (1, 2, 3)]
    monkeypatch.setattr(reddit, "SPLITS", dict(zip(public, reddit.SPLITS.values(), strict=True)))
    split = np.repeat([1, 2, 3], sizes)
    notes = load_reddit(write_reddit(tmp_path, data={"node_types": split})).notes
    assert notes[-1] == expected
    assert not any("not the paper's" in note for note in notes)


def test_the_counts_of_reddit_are_those_of_the_paper_and_add_up() -> None:
    assert reddit.COUNTS == {"nodes": 232_965, "arcs": 114_615_892, "features": 602, "classes": 41}
    totals = [sum(sizes) for sizes in reddit.SPLITS]
    assert totals == [232_965, 232_965, 231_443]


def test_the_label_kind_of_data_and_task_must_agree(tmp_path: Path) -> None:
    classes, several = write_reddit(tmp_path), synthetic_ppi(num_graphs=3, nodes_per_graph=20)
    with pytest.raises(DataError, match=r"one class per node, .* multi_label: False takes classes"):
        load_ppi(classes)
    write_store(read_layout(classes), tmp_path / "classes", name="c")
    with pytest.raises(DataError, match="the store has one class per node; multi_label: False"):
        load_ppi(tmp_path / "classes")
    write_store(read_layout(write_npz(tmp_path)), tmp_path / "several", name="s")
    with pytest.raises(DataError, match="the store has several labels per node; multi_label: True"):
        load_reddit(tmp_path / "several")
    assert several.multi_label


def test_rows_with_exactly_one_label_are_stored_as_classes_and_said(tmp_path: Path) -> None:
    one_hot = np.eye(3, dtype=int)[CLASSES]
    write_store(read_layout(write_npz(tmp_path, y=one_hot)), tmp_path / "store", name="one hot")
    opened = open_store(tmp_path / "store")
    assert opened.labels.tolist() == CLASSES
    assert any("exactly one 1: taken as one class per node" in note for note in opened.notes)


def test_a_matlab_file_is_read_with_a_drawn_split(tmp_path: Path) -> None:
    path = write_matlab(tmp_path)
    raw = with_random_split(read_layout(path), (50, 17, 33), seed=4)
    write_store(raw, tmp_path / "store", name="toy")
    opened = load_reddit(tmp_path / "store")
    ids = opened.node_ids
    assert sorted(ids.tolist()) == [0, 1, 2, 3, 4, 5]
    assert opened.features.tolist() == [FEATURES[i] for i in ids]
    assert opened.labels.tolist() == [CLASSES[i] for i in ids]
    assert {(int(ids[a]), int(ids[b])) for a, b in arcs(opened)} == ARCS
    assert opened.split.tolist() == [0, 0, 0, 1, 2, 2]
    assert opened.notes[:2] == (
        "layout: MATLAB",
        "no split in the files: 50/17/33 drawn with seed 4: 3 training, 1 validation and 2 test "
        "nodes",
    )
    assert "classes 1 to 3 renumbered 0 to 2" in opened.notes
    assert opened.class_names == ("1", "2", "3")


def test_dense_matrices_of_a_matlab_file_are_taken_too(tmp_path: Path) -> None:
    network = np.zeros((6, 6))
    for row, column in ARCS:
        network[row, column] = 1
    raw = read_layout(write_matlab(tmp_path, Network=network, Attributes=np.array(FEATURES)))
    assert raw.graph.num_edges == len(ARCS)
    assert raw.features.tolist() == FEATURES


def test_a_matlab_file_without_a_split_cannot_be_trained_on_as_it_is(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"toy.mat: the files name no split; split_shares: per"):
        load_reddit(write_matlab(tmp_path))


BAD_MATLAB: list[tuple[dict[str, Any], str]] = [
    ({"Network": None}, "Network: expected a matrix of numbers, found none"),
    ({"Label": np.array(["a", "b"], object)}, "Label: expected a matrix of numbers, got object"),
    ({"Attributes": {"a": 1}}, "Attributes: expected a matrix of numbers, got"),
    ({"Network": np.zeros((6, 5))}, "Network: expected a square matrix"),
]


@pytest.mark.parametrize(("changes", "expected"), BAD_MATLAB)
def test_a_bad_matlab_file_is_refused_in_one_line(
    changes: dict[str, Any], expected: str, tmp_path: Path
) -> None:
    with pytest.raises(DataError) as refusal:
        read_layout(write_matlab(tmp_path, **changes))
    assert expected in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("size", [0, 50, 140, 400])
def test_a_matlab_file_that_is_cut_is_refused(size: int, tmp_path: Path) -> None:
    path = write_matlab(tmp_path)
    path.write_bytes(path.read_bytes()[:size])
    expected = r"toy.mat: (not a readable MATLAB file|empty file|\w+: expected a matrix)"
    with pytest.raises(DataError, match=expected):
        read_layout(path)


def test_a_drawn_split_has_the_shares_asked_for_and_follows_its_seed(tmp_path: Path) -> None:
    many = np.zeros((500, 1))
    path = write_matlab(
        tmp_path, Network=np.zeros((500, 500)), Attributes=many + 1, Label=many.astype(int)
    )
    raw = read_layout(path)
    drawn = with_random_split(raw, (60, 15, 25), seed=1).split
    assert drawn is not None
    assert np.bincount(drawn).tolist() == [300, 75, 125]
    again, other = (with_random_split(raw, (60, 15, 25), seed=s).split for s in (1, 2))
    np.testing.assert_array_equal(drawn, again)
    assert (drawn != other).any()
    means = [np.flatnonzero(drawn == part).mean() for part in range(3)]
    assert all(200 < mean < 300 for mean in means)  # not in runs


@pytest.mark.parametrize("width", [None, 3])
def test_a_split_is_drawn_among_the_nodes_that_have_a_label(width: int | None) -> None:
    shape = (100,) if width is None else (100, width)
    labels = np.zeros(shape)
    labels[::4] = np.nan
    raw = RawDataset(
        path="drawn",
        graph=ArcList(np.zeros(0, np.int64), np.zeros(0, np.int64), 100),
        features=np.ones((100, 1)),
        labels=labels,
        split=None,
        node_ids=np.arange(100),
        sources={},
    )
    drawn = with_random_split(raw, (60, 20, 20), seed=0)
    assert drawn.split is not None
    assert (drawn.split[::4] == -1).all()
    assert np.bincount(drawn.split + 1).tolist() == [25, 45, 15, 15]
    assert "45 training, 15 validation and 15 test nodes" in drawn.notes[-1]


@pytest.mark.parametrize(
    "shares", [(60, float("nan"), 40), (60, 20), (60, 20, 21), (100, 0, 0), (120, -10, -10)]
)
def test_shares_that_are_no_split_are_refused(shares: tuple[int, ...], tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="split_shares: expected per cent of training"):
        with_random_split(read_layout(write_matlab(tmp_path)), shares, seed=0)


def test_a_split_is_not_drawn_over_one_that_is_there_or_too_small(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="has a split of its own; leave them out"):
        with_random_split(read_layout(write_npz(tmp_path)), (60, 20, 20), seed=0)
    with pytest.raises(SettingsError, match="a part of 6 labelled nodes would be empty"):
        with_random_split(read_layout(write_matlab(tmp_path)), (98, 1, 1), seed=0)


@pytest.mark.parametrize(
    ("name", "nodes", "edges", "features", "classes"),
    [
        ("BlogCatalog", 5196, 171_743, 8189, 6),
        ("Flickr", 7575, 239_738, 12_047, 9),
    ],
)
def test_public_single_label_graphs_have_their_known_counts(
    name: str, nodes: int, edges: int, features: int, classes: int, shared_data: Path,
    tmp_path: Path,
) -> None:  # fmt: skip
    raw = read_layout(shared_data / "single-label" / f"{name}.mat")
    write_store(with_random_split(raw, (60, 20, 20), seed=0), tmp_path / "store", name=name)
    dataset = load_reddit(tmp_path / "store")
    assert (dataset.num_nodes, dataset.num_edges) == (nodes, 2 * edges)
    assert (dataset.num_features, dataset.num_classes) == (features, classes)
    assert set(np.unique(dataset.labels)) == set(range(classes))
    assert dataset.graph.is_symmetric()
