"""Rows that are standardised as they are fetched, against NumPy on the whole matrix."""

import resource
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import seeds

from gaancore.data import Features, NodeDataset, feature_statistics
from gaancore.data.nodes.features import standardised as module
from gaancore.data.nodes.make import RawDataset, make_dataset
from gaancore.errors import SettingsError, ShapeError
from gaancore.graph import CSRGraph


def with_features(features: np.ndarray, split: list[int]) -> NodeDataset:
    raw = RawDataset(
        path=None,
        graph=CSRGraph.from_edges([], [], len(split), duplicates="keep"),
        features=features,
        labels=np.ones((len(split), 2), int),
        split=np.array(split),
        node_ids=np.arange(len(split)),
        graph_ids=None,
        sources=dict.fromkeys(("features", "labels", "split", "graph_ids"), "drawn"),
    )
    return make_dataset(raw, name="drawn", multi_label=True)


def standardised(dataset: NodeDataset) -> np.ndarray:
    features = Features(dataset.features, *feature_statistics(dataset, "standard"))
    return features[np.arange(dataset.num_nodes)]


def test_standard_features_worked_by_hand() -> None:
    dataset = with_features(np.array([[1.0, 7.0], [3.0, 7.0], [9.0, 8.0]]), [0, 0, 2])
    mean, scale = feature_statistics(dataset, "standard")
    assert mean.tolist() == [2.0, 7.0]
    assert scale.tolist() == [1.0, 1.0]  # the second column is constant in training: only centred
    assert mean.dtype == scale.dtype == np.float64
    features = Features(dataset.features, mean, scale)
    assert features.shape == (3, 2)
    assert features[np.array([2, 0, 2])].tolist() == [[7.0, 1.0], [-1.0, 0.0], [7.0, 1.0]]
    assert features[np.array([1])].dtype == np.float32
    assert features[np.zeros(0, int)].shape == (0, 2)


def test_an_outlier_outside_the_training_nodes_changes_no_statistic() -> None:
    features = np.random.default_rng(0).standard_normal((30, 4))
    split = [0] * 20 + [1] * 5 + [2] * 5
    before = feature_statistics(with_features(features, split), "standard")
    features[20:] = 1e6
    after = feature_statistics(with_features(features, split), "standard")
    for a, b in zip(before, after, strict=True):
        np.testing.assert_array_equal(a, b)


@given(seed=seeds(), shift=st.sampled_from([0.0, 1.0, 1e4]), at_a_time=st.integers(1, 50))
def test_statistics_are_those_of_the_training_rows_however_few_are_read_at_a_time(
    seed: int, shift: float, at_a_time: int
) -> None:
    features = np.random.default_rng(seed).standard_normal((50, 3)) * [0.1, 1, 9] + shift
    dataset = with_features(features, [0] * 40 + [2] * 10)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "ROWS_AT_A_TIME", at_a_time)
        mean, scale = feature_statistics(dataset, "standard")
    stored = dataset.features.astype(np.float64)
    np.testing.assert_allclose(mean, stored[:40].mean(axis=0), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(scale, stored[:40].std(axis=0), rtol=1e-9)
    fetched = Features(dataset.features, mean, scale)[np.arange(50)]
    np.testing.assert_array_equal(fetched, ((stored - mean) / scale).astype(np.float32))


@pytest.mark.parametrize("value", [0.0, 0.1, -3e5, 1e-20])
def test_a_constant_column_is_centred_and_never_divided_by_zero(value: float) -> None:
    dataset = with_features(np.full((7, 1), value), [0] * 7)
    assert feature_statistics(dataset, "standard")[1].tolist() == [1.0]
    np.testing.assert_allclose(standardised(dataset), 0, atol=1e-9)


def test_features_are_left_alone_on_request() -> None:
    dataset = with_features(np.array([[1.0, 7.0], [3.0, 7.0]]), [0, 0])
    features = Features(dataset.features, *feature_statistics(dataset, "none"))
    np.testing.assert_array_equal(features[np.arange(2)], dataset.features)
    with pytest.raises(SettingsError, match="normalize: expected one of none, standard"):
        feature_statistics(dataset, "minmax")


def test_statistics_of_other_features_are_refused() -> None:
    with pytest.raises(ShapeError, match=r"expected \(N, 3\), got \(4, 2\)"):
        Features(np.zeros((4, 2), np.float32), np.zeros(3), np.ones(3))


FETCH_A_FEW = """
import resource, sys
import numpy as np
from gaancore.data import Features
matrix = np.load(sys.argv[1], mmap_mode="r")
features = Features(matrix, np.zeros(1024), np.ones(1024))
features[np.arange(4)]
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert features[np.arange(0, 100_000, 5000)].sum() == 20 * 1024
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="counts kilobytes as Linux does")
def test_rows_of_a_memory_mapped_matrix_are_read_and_no_others(tmp_path) -> None:
    assert resource.getpagesize() <= 65_536
    path = tmp_path / "features.npy"
    matrix = np.lib.format.open_memmap(path, "w+", np.float32, (100_000, 1024))  # 400 MB, sparse
    matrix[::5000] = 1
    matrix.flush()
    command = [sys.executable, "-c", FETCH_A_FEW, str(path)]
    grown = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert grown < 50_000  # kilobytes; the pages read ahead around each row are among them
