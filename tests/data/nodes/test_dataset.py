from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_files import write_npz
from strategies import edge_lists, seeds

from gaancore.data import (
    TEST,
    TRAIN,
    VALIDATION,
    NodeDataset,
    load_ppi,
)
from gaancore.data.nodes.make import RawDataset, make_dataset
from gaancore.errors import DataError
from gaancore.graph import CSRGraph


def dataset_of(
    edges: list[tuple[int, int]], split: np.ndarray, features: np.ndarray, labels: np.ndarray
) -> NodeDataset:
    src, dst = np.array(edges, np.int64).reshape(-1, 2).T
    num_nodes = len(split)
    raw = RawDataset(
        path=None,
        graph=CSRGraph.from_edges(src, dst, num_nodes, duplicates="keep"),
        features=features,
        labels=labels,
        split=split,
        node_ids=np.arange(num_nodes) + 100,
        graph_ids=np.arange(num_nodes) % 3,
        sources=dict.fromkeys(("features", "labels", "split", "graph_ids"), "drawn"),
    )
    return make_dataset(raw, name="drawn", multi_label=labels.ndim == 2)


def dense(graph: CSRGraph) -> np.ndarray:
    matrix = np.zeros((graph.num_nodes, graph.num_nodes), int)
    for i in range(graph.num_nodes):
        for j in graph.indices[graph.indptr[i] : graph.indptr[i + 1]]:
            matrix[i, j] += 1
    return matrix


@st.composite
def datasets(draw: st.DrawFn) -> tuple[list[tuple[int, int]], NodeDataset]:
    edges, num_nodes = draw(edge_lists().filter(lambda drawn: drawn[1] > 0))
    others = draw(st.lists(st.sampled_from([0, 1, 2]), min_size=num_nodes - 1, max_size=num_nodes))
    split = np.array([TRAIN, *others][:num_nodes])
    rng = np.random.default_rng(draw(seeds()))
    labels = rng.integers(2, size=(num_nodes, 3))
    labels[0] = 1
    return edges, dataset_of(edges, split, rng.standard_normal((num_nodes, 2)), labels)


@given(drawn=datasets())
def test_the_graph_is_the_undirected_simple_one(
    drawn: tuple[list[tuple[int, int]], NodeDataset],
) -> None:
    edges, dataset = drawn
    expected = np.zeros((dataset.num_nodes, dataset.num_nodes), int)
    for src, dst in edges:
        expected[src, dst] = expected[dst, src] = 1
    np.testing.assert_array_equal(dense(dataset.graph), expected)
    assert dataset.num_edges == expected.sum()
    repeats = len(edges) - len(set(edges))
    assert any("repeated arcs" in note for note in dataset.notes) == (repeats > 0)


@given(drawn=datasets(), split=st.sampled_from([TRAIN, VALIDATION, TEST]))
def test_a_view_is_the_part_on_the_nodes_up_to_its_split(
    drawn: tuple[list[tuple[int, int]], NodeDataset], split: int
) -> None:
    _, dataset = drawn
    part, ids = dataset.view(split)
    assert ids.dtype == np.int64
    assert ids.tolist() == [i for i in range(dataset.num_nodes) if dataset.split[i] <= split]
    np.testing.assert_array_equal(dense(part.graph), dense(dataset.graph)[np.ix_(ids, ids)])
    for field in ("features", "labels", "split", "graph_ids", "node_ids"):
        np.testing.assert_array_equal(getattr(part, field), getattr(dataset, field)[ids])
    assert (part.num_classes, part.num_nodes) == (dataset.num_classes, ids.size)
    np.testing.assert_array_equal(ids[part.nodes(split)], dataset.nodes(split))


@pytest.mark.parametrize(("seen", "hidden"), [(TRAIN, [3, 4, 5]), (VALIDATION, [4, 5])])
def test_nothing_about_a_hidden_node_changes_what_a_split_sees(
    seen: int, hidden: list[int], tmp_path: Path
) -> None:
    before, ids = load_ppi(write_npz(tmp_path)).view(seen)
    x = np.arange(12.0).reshape(6, 2)
    y = np.ones((6, 3), int)
    x[ids], y[ids] = before.features, before.labels
    src = np.concatenate([[0, 1, 1, 2, 2], hidden, hidden, [0, 1, 2][: len(hidden)]])
    dst = np.concatenate([[1, 0, 2, 1, 2], hidden[::-1], [0] * len(hidden), hidden])
    after, _ = load_ppi(write_npz(tmp_path, x=x, y=y, src=src, dst=dst)).view(seen)
    np.testing.assert_array_equal(after.graph.indptr, before.graph.indptr)
    np.testing.assert_array_equal(after.graph.indices, before.graph.indices)
    np.testing.assert_array_equal(after.features, before.features)
    np.testing.assert_array_equal(after.labels, before.labels)


def test_a_view_keeps_the_number_of_classes_it_does_not_see() -> None:
    dataset = dataset_of([], np.array([0, 0, 2]), np.eye(3), np.array([0, 1, 4]))
    part, _ = dataset.view(TRAIN)
    assert (dataset.num_classes, part.num_classes) == (3, 3)
    assert dataset.class_names == part.class_names == ("0", "1", "4")
    assert not dataset.multi_label
    assert part.labels.dtype == np.int64


@pytest.mark.parametrize(
    "labels",
    [
        np.array([2, 0, 1]),
        np.array([2.0, 0.0, 1.0], ">f8"),
        np.array([[2], [0], [1]], np.uint8),
        np.array([[0, 0, 1], [1, 0, 0], [0, 1, 0]], bool),
    ],
)
def test_single_labels_may_be_numbers_a_column_or_one_hot_rows(labels: np.ndarray) -> None:
    raw = dataset_of([], np.zeros(3, int), np.eye(3), np.array([0, 0, 0]))
    dataset = make_dataset(_with_labels(raw, labels), name="single", multi_label=False)
    assert dataset.labels.tolist() == [2, 0, 1]
    assert dataset.labels.dtype == np.int64
    assert dataset.num_classes == 3


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (np.array([0, -2, 1]), "1 values are not 0, 1, 2, ..., first -2 at row 1 (node id 101)"),
        (np.array([0, -1, 1]), "nodes without any: 1, first row 1 (node id 101), as NaN, NA, -1"),
        (np.array([0, 0.5, 1]), "first 0.5 at row 1"),
        (np.array([0, np.nan, 1]), "nodes without any: 1, first row 1"),
        (np.array([0, np.inf, 1]), "first inf at row 1"),
        (np.array([0, 2**64 - 1, 1], np.uint64), "first 18446744073709551615 at row 1"),
        (np.array(["a", "b", "c"]), "labels: expected numbers"),
        (
            np.array([[1, 0], [1, 1], [0, 1]]),
            "is expected, but row 1 (node id 101) has 2 labels; mul",
        ),
        (
            np.array([[1, 0], [0, 0], [0, 1]]),
            "is expected, but row 1 (node id 101) has 0 labels; mul",
        ),
    ],
)
def test_labels_that_are_no_classes_are_refused(labels: np.ndarray, words: str) -> None:
    raw = dataset_of([], np.zeros(3, int), np.eye(3), np.array([0, 0, 0]))
    with pytest.raises(DataError) as refusal:
        make_dataset(_with_labels(raw, labels), name="single", multi_label=False)
    assert words in str(refusal.value)


def _with_labels(dataset: NodeDataset, labels: np.ndarray) -> RawDataset:
    return RawDataset(
        path=None,
        graph=dataset.graph,
        features=dataset.features,
        labels=labels,
        split=dataset.split,
        node_ids=dataset.node_ids,
        sources=dict.fromkeys(("features", "labels", "split", "graph_ids"), "drawn"),
    )
