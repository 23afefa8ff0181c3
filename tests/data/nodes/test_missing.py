"""Features that are NaN: refused, or filled without a look at validation and test nodes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from small_files import FEATURES, SPLIT, write_npz

from gaancore.data import load_ppi
from gaancore.data.nodes.make import RawDataset
from gaancore.data.nodes.missing import fill_missing
from gaancore.errors import DataError, SettingsError
from gaancore.graph import CSRGraph

SOME = st.floats(-1e3, 1e3, width=32) | st.just(float("nan"))


def raw_of(features: np.ndarray, split: np.ndarray | None) -> RawDataset:
    n, nothing = len(features), np.zeros(0, np.int64)
    graph = CSRGraph.from_edges(nothing, nothing, n, duplicates="merge")
    labels, ids = np.zeros((n, 2), np.uint8), np.arange(n)
    return RawDataset("f", graph, features, labels, split, ids, {"features": "f", "split": "f"})


@given(arrays(np.float32, (5, 3), elements=SOME), arrays(np.int8, 5, elements=st.integers(-1, 2)))
def test_the_mean_is_that_of_the_training_nodes_that_have_the_feature(features, split):
    filled = fill_missing(raw_of(features, split), "mean").features
    for column in range(3):
        known = [
            float(features[row, column])
            for row in range(5)
            if split[row] == 0 and not np.isnan(features[row, column])
        ]
        mean = sum(known) / len(known) if known else 0.0
        for row in range(5):
            found, before = filled[row, column], features[row, column]
            assert found == (before if not np.isnan(before) else pytest.approx(mean, rel=1e-6))


@pytest.mark.parametrize(
    ("split", "refusal"),
    [(None, "no training nodes to take a mean over"), (np.zeros(4, np.int8), "expected 3 rows")],
)
def test_there_is_no_mean_without_a_split_for_every_node(split, refusal):
    with pytest.raises(DataError, match=refusal):
        fill_missing(raw_of(np.full((3, 2), np.nan, np.float32), split), "mean")


def test_missing_features_are_filled_and_counted_where_that_is_asked_for(tmp_path):
    x = np.array(FEATURES, np.float32)
    test_node = SPLIT.index(2)
    x[test_node] = np.nan
    path = write_npz(tmp_path, x=x)
    dataset = load_ppi(path, nan="zero")
    assert dataset.features[test_node].tolist() == [0, 0]
    assert "2 features that are NaN replaced by 0" in dataset.notes
    dataset = load_ppi(path, nan="mean")
    training = [row for row, split in zip(FEATURES, SPLIT, strict=True) if split == 0]
    assert dataset.features[test_node] == pytest.approx(np.mean(training, axis=0))
    assert "2 features that are NaN replaced by the mean over the training nodes" in dataset.notes


def test_a_sound_dataset_says_nothing_of_it(tmp_path):
    path = write_npz(tmp_path)
    assert load_ppi(path, nan="mean").notes == load_ppi(path).notes


@pytest.mark.parametrize("nan", ["error", "zero", "mean"])
def test_an_infinite_feature_is_refused_whatever_is_asked_for(tmp_path, nan):
    x = np.array(FEATURES, np.float32)
    x[3, 1] = np.inf
    with pytest.raises(DataError, match="1 values are not finite in float32, first inf at row 3"):
        load_ppi(write_npz(tmp_path, x=x), nan=nan)


def test_another_way_to_fill_is_refused(tmp_path):
    with pytest.raises(SettingsError, match="nan: expected one of error, zero, mean"):
        load_ppi(write_npz(tmp_path), nan="median")
