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
    apply_normalization,
    load_ppi,
    normalize,
)
from gaancore.data.raw import RawDataset, make_dataset
from gaancore.errors import DataError, SettingsError, ShapeError
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
    assert (dataset.num_classes, part.num_classes) == (5, 5)
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
        (np.array([0, -1, 1]), "1 values are not 0, 1, 2, ..., first -1 at row 1 (node id 101)"),
        (np.array([0, 0.5, 1]), "first 0.5 at row 1"),
        (np.array([0, np.nan, 1]), "first nan at row 1"),
        (np.array([0, np.inf, 1]), "first inf at row 1"),
        (np.array([0, 2**64 - 1, 1], np.uint64), "first 18446744073709551615 at row 1"),
        (np.array(["a", "b", "c"]), "labels: expected numbers"),
        (np.array([[1, 0], [1, 1], [0, 1]]), "one class per node, but row 1 (node id 101) has 2"),
        (np.array([[1, 0], [0, 0], [0, 1]]), "one class per node, but row 1 (node id 101) has 0"),
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


def with_features(features: np.ndarray, split: list[int]) -> NodeDataset:
    return dataset_of([], np.array(split), features, np.ones((len(split), 2), int))


def test_standard_features_worked_by_hand() -> None:
    dataset = with_features(np.array([[1.0, 7.0], [3.0, 7.0], [9.0, 8.0]]), [0, 0, 2])
    scaled, (mean, scale) = normalize(dataset, "standard")
    assert mean.tolist() == [2.0, 7.0]
    assert scale.tolist() == [1.0, 1.0]  # the second column is constant in training: only centred
    assert scaled.features.tolist() == [[-1.0, 0.0], [1.0, 0.0], [7.0, 1.0]]
    assert scaled.features.dtype == np.float32
    assert mean.dtype == scale.dtype == np.float64


def test_an_outlier_outside_the_training_nodes_changes_no_statistic() -> None:
    rng = np.random.default_rng(0)
    features = rng.standard_normal((30, 4))
    split = [0] * 20 + [1] * 5 + [2] * 5
    _, before = normalize(with_features(features, split), "standard")
    features[20:] = 1e6
    _, after = normalize(with_features(features, split), "standard")
    for a, b in zip(before, after, strict=True):
        np.testing.assert_array_equal(a, b)


@given(seed=seeds(), shift=st.sampled_from([0.0, 1.0, 1e4]))
def test_standard_training_features_have_mean_0_and_deviation_1(seed: int, shift: float) -> None:
    features = np.random.default_rng(seed).standard_normal((50, 3)) * [0.1, 1, 9] + shift
    dataset, (mean, scale) = normalize(with_features(features, [0] * 40 + [2] * 10), "standard")
    seen = dataset.features[:40].astype(np.float64)
    np.testing.assert_allclose(seen.mean(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(seen.std(axis=0), 1, rtol=1e-6)
    stored = features.astype(np.float32).astype(np.float64)
    np.testing.assert_allclose(dataset.features, (stored - mean) / scale, rtol=1e-6)


@pytest.mark.parametrize("value", [0.0, 0.1, -3e5, 1e-20])
def test_a_constant_column_is_centred_and_never_divided_by_zero(value: float) -> None:
    features = np.full((7, 1), value)
    dataset, (_, scale) = normalize(with_features(features, [0] * 7), "standard")
    assert scale.tolist() == [1.0]
    np.testing.assert_allclose(dataset.features, 0, atol=1e-9)


def test_features_are_left_alone_on_request() -> None:
    features = np.array([[1.0, 7.0], [3.0, 7.0]])
    dataset, (mean, scale) = normalize(with_features(features, [0, 0]), "none")
    np.testing.assert_array_equal(dataset.features, features)
    np.testing.assert_array_equal(apply_normalization(features, mean, scale), features)
    with pytest.raises(SettingsError, match="normalize: expected one of none, standard"):
        normalize(dataset, "minmax")


def test_statistics_of_other_features_are_refused() -> None:
    with pytest.raises(ShapeError, match=r"expected \(N, 3\), got \(4, 2\)"):
        apply_normalization(np.zeros((4, 2)), np.zeros(3), np.ones(3))
