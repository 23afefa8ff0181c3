import numpy as np
import pytest

from gaancore.data import (
    TEST,
    TRAIN,
    VALIDATION,
    Features,
    NodeDataset,
    feature_statistics,
    synthetic_ppi,
)
from gaancore.errors import SettingsError


@pytest.fixture(scope="module")
def dataset() -> NodeDataset:
    return synthetic_ppi()


def neighbours(dataset: NodeDataset, node: int) -> np.ndarray:
    graph = dataset.graph
    return graph.indices[graph.indptr[node] : graph.indptr[node + 1]]


def neighbour_means(dataset: NodeDataset, only_matching: bool) -> np.ndarray:
    """The mean feature row of each node's neighbours, or of those of its own family only."""
    x = dataset.features.astype(np.float64)
    means = np.zeros_like(x)
    for node in range(dataset.num_nodes):
        rows = x[neighbours(dataset, node)]
        if only_matching:
            rows = rows[(rows[:, :3] == x[node, :3]).all(axis=1)]
        if len(rows):
            means[node] = rows.mean(axis=0)
    return means


def micro_f1(predicted: np.ndarray, labels: np.ndarray) -> float:
    return 2 * np.count_nonzero(predicted & labels) / (predicted.sum() + labels.sum())


def least_squares_f1(dataset: NodeDataset, inputs: np.ndarray) -> float:
    """Test micro-F1 of one linear fit per label; its cut gives the label its training frequency."""
    train, test = dataset.nodes(TRAIN), dataset.nodes(TEST)
    design = np.hstack([inputs, np.ones((len(inputs), 1))])
    labels = dataset.labels.astype(bool)
    weights, *_ = np.linalg.lstsq(design[train], labels[train].astype(float), rcond=None)
    scores = design @ weights
    frequency = labels[train].mean(axis=0)
    cuts = [np.quantile(scores[train, c], 1 - f) for c, f in enumerate(frequency)]
    return micro_f1(scores[test] > cuts, labels[test])


def test_the_synthetic_graphs_look_like_ppi(dataset: NodeDataset) -> None:
    assert (dataset.name, dataset.kind, dataset.path) == ("synthetic-ppi", "synthetic", None)
    assert (dataset.num_nodes, dataset.num_features, dataset.num_classes) == (2400, 50, 121)
    assert [dataset.nodes(s).size for s in (TRAIN, VALIDATION, TEST)] == [1800, 300, 300]
    assert dataset.graph.is_symmetric()
    assert dataset.graph.num_self_loops == 0
    degrees = np.diff(dataset.graph.indptr)
    assert 12 < degrees.mean() < 16
    assert np.median(degrees) < 0.75 * degrees.mean()  # a heavy tail
    assert degrees.max() > 5 * degrees.mean()
    assert set(np.unique(dataset.features)) == {0.0, 1.0}
    frequencies = dataset.labels.mean(axis=0)
    assert 0.25 < frequencies.mean() < 0.40
    assert frequencies.min() < 0.15
    assert frequencies.max() > 0.6


def test_no_edge_joins_two_of_the_graphs(dataset: NodeDataset) -> None:
    src, dst = dataset.graph.edges()
    assert (dataset.graph_ids[src] == dataset.graph_ids[dst]).all()
    assert np.bincount(dataset.graph_ids).tolist() == [300] * 8
    for graph_id in range(8):
        assert np.unique(dataset.split[dataset.graph_ids == graph_id]).size == 1


def test_the_same_seed_gives_the_same_bits_and_another_seed_another_draw(
    dataset: NodeDataset,
) -> None:
    again, other = synthetic_ppi(0), synthetic_ppi(1)
    for field in ("features", "labels", "split"):
        assert getattr(again, field).tobytes() == getattr(dataset, field).tobytes()
    assert again.graph.indices.tobytes() == dataset.graph.indices.tobytes()
    assert again.ceiling == dataset.ceiling
    assert other.labels.tobytes() != dataset.labels.tobytes()
    assert other.graph.num_edges != dataset.graph.num_edges


def test_the_truth_needs_the_neighbours_and_their_relation_to_the_node(
    dataset: NodeDataset,
) -> None:
    own = dataset.features.astype(np.float64)
    alone = least_squares_f1(dataset, own)
    averaged = least_squares_f1(dataset, np.hstack([own, neighbour_means(dataset, False)]))
    matched = least_squares_f1(dataset, np.hstack([own, neighbour_means(dataset, True)]))
    assert dataset.ceiling is not None
    assert alone < 0.65
    assert alone + 0.04 < averaged < 0.72
    assert 0.85 < matched < dataset.ceiling


def test_two_nodes_with_equal_signals_and_matching_means_differ_by_flips_only() -> None:
    dataset = synthetic_ppi(3, nodes_per_graph=600)
    inputs = np.hstack([dataset.features[:, 3:11], neighbour_means(dataset, True)[:, 3:11]])
    _, group, size = np.unique(inputs.round(9), axis=0, return_inverse=True, return_counts=True)
    different = [
        (dataset.labels[members[0]] != dataset.labels[members[1]]).mean()
        for g in np.flatnonzero(size > 1)
        for members in [np.flatnonzero(group == g)]
    ]
    assert len(different) > 30
    assert np.mean(different) == pytest.approx(2 * 0.02 * 0.98, rel=0.15)


def test_the_ceiling_is_what_a_flip_rate_of_2_percent_allows(dataset: NodeDataset) -> None:
    """With q true labels of which 2 % are lost, and 2 % of the rest gained, F1 is as below."""
    noisy = dataset.labels[dataset.nodes(TEST)].mean()
    true = (noisy - 0.02) / 0.96
    assert dataset.ceiling == pytest.approx(2 * 0.98 * true / (true + noisy), abs=0.005)


def test_synthetic_features_may_be_normalised(dataset: NodeDataset) -> None:
    standard = Features(dataset.features, *feature_statistics(dataset, "standard"))
    assert np.isfinite(standard[np.arange(dataset.num_nodes)]).all()


def test_the_number_of_graphs_and_nodes_may_be_chosen() -> None:
    dataset = synthetic_ppi(5, num_graphs=3, nodes_per_graph=20)
    assert dataset.split.tolist() == [0] * 20 + [1] * 20 + [2] * 20
    assert "synthetic data: its scores say nothing about PPI" in dataset.notes


@pytest.mark.parametrize("sizes", [{"num_graphs": 2}, {"nodes_per_graph": 19}])
def test_a_dataset_too_small_to_split_is_refused(sizes: dict[str, int]) -> None:
    with pytest.raises(SettingsError, match="at least 3 graphs of 20 nodes"):
        synthetic_ppi(**sizes)
