"""load_nodes: the files say which labels nodes have, and may lack a split."""

import numpy as np
import pytest
from small_files import (
    CLASSES,
    LABELS,
    LAYOUTS,
    SPLIT,
    write_csv,
    write_matlab,
    write_npz,
    write_reddit,
)

from gaancore.data import load_nodes, open_store
from gaancore.data.nodes.layouts.find import read_layout
from gaancore.data.nodes.split import with_random_split
from gaancore.data.nodes.store.convert import write_store
from gaancore.errors import DataError, SettingsError

NO_SPLIT = {"split": None}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_rows_of_0_and_1_are_several_labels_in_every_layout_and_a_note_says_why(layout, tmp_path):
    dataset = load_nodes(LAYOUTS[layout](tmp_path), name="mine")
    assert dataset.multi_label
    assert dataset.labels[dataset.split == 1].tolist() == [LABELS[3]]
    assert (dataset.name, dataset.num_classes) == ("mine", 3)
    # rows 1 (none), 0 and 2 (two and three); the other three have exactly one
    assert (
        "3 of 6 rows of labels have no 1 or more than one: taken as several labels per node"
        in dataset.notes
    )


def test_one_dimension_of_labels_is_one_class_per_node_and_needs_no_note(tmp_path):
    dataset = load_nodes(write_reddit(tmp_path), name="mine")
    assert not dataset.multi_label
    assert dataset.labels.tolist() == CLASSES
    assert not any("taken as" in note for note in dataset.notes)


def test_one_column_of_labels_is_one_class_per_node_and_a_note_says_so(tmp_path):
    column = np.array(CLASSES)[:, None]
    dataset = load_nodes(write_npz(tmp_path, y=column), name="mine")
    assert dataset.labels.tolist() == CLASSES
    assert "labels have one column: taken as one class per node" in dataset.notes
    told = load_nodes(write_npz(tmp_path, y=column), name="mine", multi_label=False)
    assert not any("taken as" in note for note in told.notes)


def test_one_hot_rows_are_one_class_per_node_unless_several_labels_are_asked_for(tmp_path):
    path = write_npz(tmp_path, y=np.eye(3, dtype=int)[CLASSES])
    dataset = load_nodes(path, name="mine")
    assert dataset.labels.tolist() == CLASSES
    assert "every row of labels has exactly one 1: taken as one class per node" in dataset.notes
    several = load_nodes(path, name="mine", multi_label=True)
    assert several.labels.tolist() == np.eye(3, dtype=int)[CLASSES].tolist()


@pytest.mark.parametrize("multi_label", [None, True, False])
def test_a_store_knows_which_labels_it_has(multi_label, tmp_path):
    write_store(read_layout(write_csv(tmp_path)), tmp_path / "store", name="small")
    if multi_label is False:
        with pytest.raises(DataError, match="several labels per node; multi_label: True"):
            load_nodes(tmp_path / "store", name="mine", multi_label=multi_label)
    else:
        found = load_nodes(tmp_path / "store", name="mine", multi_label=multi_label)
        assert found.multi_label
        assert found.labels.tolist() == LABELS


def test_files_without_a_split_are_refused_unless_shares_are_given(tmp_path):
    for path in (write_matlab(tmp_path), write_npz(tmp_path, **NO_SPLIT)):
        with pytest.raises(DataError, match="the files name no split"):
            load_nodes(path, name="mine")


@pytest.mark.parametrize("seed", [0, 7])
def test_a_drawn_split_is_that_of_a_store_with_the_same_seed(seed, tmp_path):
    path = write_matlab(
        tmp_path,
        Network=np.zeros((200, 200)),
        Attributes=np.ones((200, 1)),
        Label=np.arange(200)[:, None] % 3,
    )
    loaded = load_nodes(path, name="mine", split_shares=(60, 20, 20), split_seed=seed)
    raw = with_random_split(read_layout(path), (60, 20, 20), seed=seed)
    write_store(raw, tmp_path / "store", name="mine")
    stored = open_store(tmp_path / "store")
    for part in range(3):
        np.testing.assert_array_equal(
            loaded.node_ids[loaded.nodes(part)], stored.node_ids[stored.nodes(part)]
        )
    note = (
        f"no split in the files: 60/20/20 drawn with seed {seed}: 120 training, 40 validation and "
        "40 test nodes"
    )
    assert note in loaded.notes
    assert note in stored.notes


def test_shares_may_have_decimals(tmp_path):
    shares = (100 / 3, 100 / 3, 100 / 3)
    dataset = load_nodes(write_matlab(tmp_path), name="mine", split_shares=shares)
    assert np.bincount(dataset.split).tolist() == [2, 2, 2]


def test_a_split_is_drawn_among_labelled_nodes_and_the_others_are_as_unflagged_says(tmp_path):
    labels = np.array([0, 1, np.nan, 1, 0, 1])
    path = write_npz(tmp_path, y=labels, **NO_SPLIT)
    shares = (60, 20, 20)
    dropped = load_nodes(path, name="mine", split_shares=shares)
    assert sorted(dropped.node_ids.tolist()) == [0, 1, 3, 4, 5]
    kept = load_nodes(path, name="mine", split_shares=shares, unflagged="context")
    assert kept.split[2] == -1
    assert np.bincount(kept.split + 1).tolist() == [1, 3, 1, 1]


def test_a_graph_without_labels_is_refused_for_that_and_not_for_its_split(tmp_path):
    path = write_npz(tmp_path, y=None, split=None)
    with pytest.raises(DataError, match="no labels, which training and scores need"):
        load_nodes(path, name="mine", split_shares=(60, 20, 20))


def test_files_that_name_a_split_keep_it(tmp_path):
    dataset = load_nodes(write_npz(tmp_path), name="mine", split_shares=(60, 20, 20))
    assert dataset.split.tolist() == SPLIT
    assert not any("drawn" in note for note in dataset.notes)


def test_a_mean_for_missing_features_is_over_the_drawn_training_nodes(tmp_path):
    features = np.array([[np.nan], [1.0], [2.0], [3.0], [4.0], [5.0]])
    path = write_npz(tmp_path, x=features, y=np.array(CLASSES), **NO_SPLIT)
    dataset = load_nodes(path, name="mine", nan="mean", split_shares=(50, 17, 33))
    train = [row for row in dataset.nodes(0) if row]
    assert dataset.features[0] == np.float32(features[train].mean())


def test_shares_that_are_no_split_are_refused(tmp_path):
    with pytest.raises(SettingsError, match=r"split_shares: expected .* got 0\.6,0\.2,0\.2"):
        load_nodes(write_matlab(tmp_path), name="mine", split_shares=(0.6, 0.2, 0.2))


def test_loops_of_a_store_are_dropped_or_added(tmp_path):
    write_store(read_layout(write_npz(tmp_path)), tmp_path / "store", name="small")
    dataset = load_nodes(tmp_path / "store", name="mine", self_loops="add")
    assert dataset.graph.num_self_loops == dataset.num_nodes
    assert load_nodes(tmp_path / "store", name="mine", self_loops="drop").graph.num_self_loops == 0
