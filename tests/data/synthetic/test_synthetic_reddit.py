import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from gaancore.data import (
    TEST,
    TRAIN,
    VALIDATION,
    NodeDataset,
    check_store,
    open_store,
    synthetic_reddit,
)
from gaancore.data.synthetic.reddit import write_synthetic_reddit
from gaancore.errors import DataError, SettingsError


@pytest.fixture(scope="module")
def dataset() -> NodeDataset:
    return synthetic_reddit()


def test_the_look_alike_has_the_shape_of_reddit(dataset: NodeDataset) -> None:
    assert (dataset.name, dataset.kind, dataset.path) == ("synthetic-reddit", "synthetic", None)
    assert (dataset.num_features, dataset.num_classes, dataset.multi_label) == (602, 41, False)
    assert [dataset.nodes(s).size for s in (TRAIN, VALIDATION, TEST)] == [3069, 476, 1114]
    assert dataset.notes == ("synthetic data: its scores say nothing about Reddit",)
    assert dataset.features.dtype == np.float32
    assert np.isfinite(dataset.features).all()
    assert dataset.graph.is_symmetric()
    assert (dataset.graph.num_self_loops, dataset.graph.num_repeats) == (0, 0)
    degrees = dataset.graph.degrees
    assert degrees.mean() == pytest.approx(492 * 0.02**0.5, rel=0.2)
    assert np.median(degrees) < 0.7 * degrees.mean()  # a heavy tail
    assert degrees.max() > 10 * degrees.mean()
    sizes = np.bincount(dataset.labels, minlength=41)
    assert sizes.min() > 10
    assert sizes[0] > 5 * sizes[40]


def test_the_same_seed_gives_the_same_bytes_and_another_one_another_draw(tmp_path: Path) -> None:
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        write_synthetic_reddit(tmp_path / name, seed, scale=0.002)
    for path in sorted((tmp_path / "a").iterdir()):
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()
        if path.name != "split.npy":
            assert path.read_bytes() != (tmp_path / "c" / path.name).read_bytes()


def test_the_store_holds_the_look_alike_in_memory(tmp_path: Path) -> None:
    told: list[float] = []
    write_synthetic_reddit(tmp_path / "store", 7, scale=0.003, progress=told.append)
    opened, drawn = check_store(tmp_path / "store"), synthetic_reddit(7, scale=0.003)
    for field in ("features", "labels", "split", "node_ids"):
        np.testing.assert_array_equal(getattr(opened, field), getattr(drawn, field))
    np.testing.assert_array_equal(opened.graph.indptr, drawn.graph.indptr)
    np.testing.assert_array_equal(opened.graph.indices, drawn.graph.indices)
    assert opened.ceiling == drawn.ceiling
    assert (opened.kind, opened.num_classes) == ("synthetic", 41)
    assert told == sorted(told)
    assert told[-1] == 1.0


def least_squares_accuracy(dataset: NodeDataset, inputs: np.ndarray) -> float:
    """Test accuracy of one ridge regression on the classes."""
    train, test = dataset.nodes(TRAIN), dataset.nodes(TEST)
    scaled = (inputs - inputs[train].mean(axis=0)) / inputs[train].std(axis=0)
    targets = np.eye(41)[dataset.labels[train]]
    square = scaled[train].T @ scaled[train] + 300 * np.eye(scaled.shape[1])
    weights = np.linalg.solve(square, scaled[train].T @ (targets - targets.mean(axis=0)))
    scores = scaled[test] @ weights + targets.mean(axis=0)
    return float(np.mean(scores.argmax(axis=1) == dataset.labels[test]))


def test_the_truth_needs_the_neighbours_and_theirs(dataset: NodeDataset) -> None:
    own = dataset.features[:, :200].astype(np.float64)
    graph = dataset.graph
    shape = (dataset.num_nodes, dataset.num_nodes)
    adjacent = sparse.csr_array((np.ones(graph.num_edges), graph.indices, graph.indptr), shape)
    counts = np.maximum(graph.degrees, 1)[:, None]
    means = adjacent @ own / counts
    alone = least_squares_accuracy(dataset, own)
    one_step = least_squares_accuracy(dataset, np.hstack([own, means]))
    two_steps = least_squares_accuracy(dataset, np.hstack([own, means, adjacent @ means / counts]))
    assert dataset.ceiling is not None
    assert 0.2 < alone < 0.38
    assert 0.7 < one_step < two_steps < dataset.ceiling
    assert dataset.ceiling == pytest.approx(0.97 + 0.03 / 41, abs=0.02)


def test_neighbours_share_a_class_far_more_often_than_chance(dataset: NodeDataset) -> None:
    """Half of the edges are drawn so; in small classes many of them are repeats and merged."""
    src, dst = dataset.graph.edges()
    shares = np.bincount(dataset.labels[src], minlength=41) / src.size
    assert np.sum(shares**2) < 0.06
    assert 0.3 < np.mean(dataset.labels[src] == dataset.labels[dst]) < 0.5


def test_too_small_a_scale_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"scale: 0.0001 gives fewer than 200 nodes"):
        write_synthetic_reddit(tmp_path / "store", scale=0.0001)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "store").mkdir()
    with pytest.raises(DataError, match="already exists"):
        write_synthetic_reddit(tmp_path / "store", scale=0.001)


@pytest.mark.slow
def test_the_full_size_is_written_in_bounded_time_and_memory(tmp_path: Path) -> None:
    code = "from gaancore.data.synthetic.reddit import write_synthetic_reddit as w; import sys; "
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", f"{code}w(sys.argv[1])", tmp_path / "store"], check=True)
    seconds = time.perf_counter() - start
    peak_mb = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1000
    opened = open_store(tmp_path / "store")
    assert opened.num_nodes == 232_965
    assert opened.num_edges == pytest.approx(114_615_892, rel=0.002)
    assert 250 < np.median(opened.graph.degrees) < 320
    assert [opened.nodes(split).size for split in range(3)] == [153_431, 23_831, 55_703]
    assert opened.graph.is_symmetric()
    assert seconds < 600
    assert peak_mb < 4000
