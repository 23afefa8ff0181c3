"""Nodes in no split that stay as neighbours: seen by all, learned from and scored by none."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from small_run import FEATURES, NODES, contents, small_arrays, small_settings

from gaancore.data import TEST, TRAIN, VALIDATION, Features, NodeDataset
from gaancore.data.nodes.dataset import UNFLAGGED
from gaancore.data.nodes.make import RawDataset, make_dataset
from gaancore.data.nodes.rows import WholeRows
from gaancore.errors import DataError
from gaancore.graph import CSRGraph
from gaancore.tensor import Tensor, no_grad
from gaancore.training.nodes.batches import Batches
from gaancore.training.nodes.build import build_model
from gaancore.training.nodes.inference import infer
from gaancore.training.nodes.run import ClassifierRun
from gaancore.training.run_folder import RunFolder

ARRAYS = small_arrays()
CONTEXT = np.flatnonzero(np.arange(NODES) % 4 == 1)
MODES = pytest.mark.parametrize("mode", ["seeds", "graphs"])


def small_dataset(unflagged: str = "context", labels: np.ndarray | None = None) -> NodeDataset:
    """The small graph, of which a quarter is in no split; without labels unless they are given."""
    split, unknown = ARRAYS["split"].copy(), ARRAYS["y"].astype(np.float64)
    split[CONTEXT], unknown[CONTEXT] = UNFLAGGED, np.nan
    raw = RawDataset(
        path="small.npz",
        graph=CSRGraph.from_edges(*ARRAYS["edge_index"], NODES, duplicates="keep"),
        features=ARRAYS["x"],
        labels=unknown if labels is None else labels,
        split=split,
        node_ids=np.arange(NODES),
        graph_ids=ARRAYS["graph_id"],
        sources=dict.fromkeys(("features", "labels", "split", "graph_ids"), "small.npz"),
    )
    return make_dataset(raw, name="small", multi_label=True, unflagged=unflagged)


def trained(folder: Path, dataset: NodeDataset, mode: str) -> ClassifierRun:
    settings = small_settings(batch=mode, epochs=2)
    run = ClassifierRun(settings, dataset, RunFolder(folder))
    run.start()
    run.train()
    return run


def batches(dataset: NodeDataset, mode: str) -> Batches:
    view, _ = dataset.view(TRAIN)
    statistics = np.zeros(FEATURES), np.ones(FEATURES)
    rows = WholeRows(view.graph, Features(view.features, *statistics), view.labels)
    return Batches(view, rows, small_settings(batch=mode), 2)


def test_every_split_sees_them_and_none_counts_them():
    dataset = small_dataset()
    assert dataset.num_nodes == NODES
    assert f"{CONTEXT.size} nodes in no split kept as neighbours, not learned from or scored" in (
        dataset.notes
    )
    for split in (TRAIN, VALIDATION, TEST):
        view, ids = dataset.view(split)
        expected = np.flatnonzero(dataset.split <= split)
        assert_array_equal(ids, expected)
        assert set(CONTEXT) <= set(ids)
        assert not set(view.nodes(split)) & set(np.flatnonzero(view.split == UNFLAGGED))


def test_without_them_the_dataset_is_that_of_the_other_nodes():
    kept, dropped = small_dataset(), small_dataset("drop")
    others = kept.induced(np.flatnonzero(kept.split != UNFLAGGED))
    for name in ("features", "labels", "split", "node_ids"):
        assert_array_equal(getattr(dropped, name), getattr(others, name))


@MODES
def test_a_step_is_about_training_nodes_alone(mode):
    dataset = small_dataset()
    made = batches(dataset, mode)
    view, _ = dataset.view(TRAIN)
    met = np.concatenate([made.step(step).batches[0].seeds for step in range(made.steps_per_epoch)])
    assert_array_equal(np.sort(met), view.nodes(TRAIN))


@MODES
def test_a_step_sees_their_features_over_whole_neighbourhoods(mode):
    dataset = small_dataset()
    view, _ = dataset.view(TRAIN)
    model = build_model(small_settings(), FEATURES, dataset.num_classes)
    made = batches(dataset, mode)
    for step in range(made.steps_per_epoch):
        (batch,) = made.step(step).batches
        with no_grad():
            logits = model(Tensor(batch.x), batch.blocks).data
        assert_allclose(logits, infer(model, view.graph, view.features, batch.seeds), rtol=1e-5)
        assert_array_equal(batch.labels, view.labels[batch.seeds])
    changed = view.features.copy()
    changed[view.split == UNFLAGGED] += 1
    moved = infer(model, view.graph, changed, batch.seeds)
    assert np.abs(moved - logits).max() > 1e-3


@MODES
def test_whatever_their_labels_are_a_run_ends_with_the_same_bits(tmp_path, mode):
    trained(tmp_path / "unknown", small_dataset(), mode)
    labels = ARRAYS["y"].copy()
    labels[CONTEXT] = 1 - labels[CONTEXT]
    trained(tmp_path / "others", small_dataset(labels=labels), mode)
    others, unknown = (without_notes(contents(tmp_path / name)) for name in ("others", "unknown"))
    assert others == unknown


def without_notes(files):
    """The files of a run but for the notes of its data, which count the nodes without a label."""
    for name in ("settings.json", "record.json"):
        files[name]["data"].pop("notes")
    return files


def test_they_change_what_is_learned(tmp_path):
    kept, dropped = small_dataset(), small_dataset("drop")
    states = [
        trained(tmp_path / name, dataset, "seeds").model.state()
        for name, dataset in (("kept", kept), ("dropped", dropped))
    ]
    assert any((states[0][name] != states[1][name]).any() for name in states[0])


def test_patience_counts_the_nodes_that_are_trained_on(tmp_path):
    settings = replace(small_settings(), validate_every=-1, variant="released")
    run = ClassifierRun(settings, small_dataset(), RunFolder(tmp_path))
    count = int((small_dataset().split == TRAIN).sum())
    expected = settings.steps_between_validations(count, run.steps_per_epoch)
    assert run.steps_between_validations() == expected
    assert run.steps_per_epoch == -(-count // settings.batch_size)


def test_a_node_of_the_split_without_a_label_is_taken_out_of_it_and_told():
    labels = ARRAYS["y"].astype(np.float64)
    out = [int(np.flatnonzero(small_dataset().split == part)[0]) for part in (TRAIN, TEST)]
    labels[out] = np.nan
    dataset = small_dataset(labels=labels)
    assert (dataset.split[out] == UNFLAGGED).all()
    assert dataset.num_nodes == NODES
    assert (
        "2 nodes of the split have no label and are taken out of it: 1 training, 1 test (NaN, NA, "
        "-1 and -100 mean none)"
    ) in dataset.notes
    assert (
        f"{CONTEXT.size + 2} nodes in no split kept as neighbours, not learned from or scored"
        in (dataset.notes)
    )
    labels[ARRAYS["split"] == TRAIN] = np.nan
    with pytest.raises(DataError, match=r"none of [\d,]+ training nodes has any, as NaN, NA, -1"):
        small_dataset(labels=labels)


@pytest.mark.parametrize("unflagged", ["drop", "train"])
def test_where_no_node_is_kept_as_a_neighbour_each_of_the_split_needs_a_label(unflagged):
    labels = ARRAYS["y"].astype(np.float64)
    labels[2] = np.nan
    with pytest.raises(DataError, match=r"labels: nodes without any: 1, first row "):
        small_dataset(unflagged, labels)
