"""One class per node, drawn neighbours, standardised features: what Reddit adds to a run."""

import json
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from small_reddit import (
    CLASSES,
    small_classes,
    small_reddit,
    small_reddit_run,
    small_reddit_settings,
)
from small_run import contents, small_dataset, small_settings

from gaancore.choices import MODELS
from gaancore.data import TEST, VALIDATION, Features, feature_statistics, open_store
from gaancore.data.nodes.layouts.find import read_layout
from gaancore.data.nodes.store.convert import write_store
from gaancore.errors import SettingsError
from gaancore.graph import CSRGraph, sample_blocks
from gaancore.seeding import derive_seed
from gaancore.tensor import Tensor
from gaancore.training.nodes import inference
from gaancore.training.nodes.build import build_model
from gaancore.training.nodes.inference import infer, infer_sampled
from gaancore.training.nodes.run import ClassifierRun
from gaancore.training.run_folder import RunFolder


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("variant", ["released", "paper"])
def test_every_model_trains_in_both_variants(tmp_path, model, variant):
    record = small_reddit_run(tmp_path, model=model, variant=variant, epochs=2).train()
    assert record["task"] == "reddit"
    assert 0 <= record["test"]["micro_f1"] <= 1
    log = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert all(np.isfinite(line["loss"]) for line in log)
    assert all(0 <= line["waiting_share"] <= 1 for line in log)


def test_training_learns_the_class_from_the_neighbours(tmp_path):
    changes = {"epochs": 40, "lr": 0.01, "out_dim": 16, "attention_dropout": 0.0, "dropout": 0.0}
    record = small_reddit_run(tmp_path, **changes).train()
    assert record["validation"]["micro_f1"] > record["baselines"]["majority"]["micro_f1"] + 0.15


def test_micro_f1_is_the_share_of_nodes_whose_largest_logit_is_their_class(tmp_path):
    run = small_reddit_run(tmp_path, eval_fanouts=(-1,))
    nodes = run.dataset.nodes(TEST)
    features = Features(run.dataset.features, *run.scorer.statistics)
    logits = infer(run.model, run.dataset.graph, features, nodes)
    right = np.mean(logits.argmax(axis=1) == run.dataset.labels[nodes])
    assert run.scorer.score(run.model, TEST).micro_f1 == pytest.approx(right)


def test_the_first_loss_is_the_cross_entropy_of_the_first_batch(tmp_path):
    run = small_reddit_run(tmp_path, dropout=0.0, attention_dropout=0.0, validate_every=1)
    (batch,) = run.batches.step(0).batches
    logits = run.model(Tensor(batch.x), batch.blocks).data.astype(np.float64)
    rows = np.arange(len(logits))
    expected = np.logaddexp.reduce(logits, axis=1) - logits[rows, batch.labels]
    run.train()
    assert run.folder.read_log()[0]["loss"] == pytest.approx(expected.mean(), rel=1e-5)


def test_features_go_in_standardised_on_the_training_nodes(tmp_path):
    run = small_reddit_run(tmp_path)
    x = run.dataset.features.astype(np.float64)
    train = x[run.dataset.split == 0]
    expected = (x - train.mean(axis=0)) / train.std(axis=0)
    (batch,) = run.batches.step(0).batches
    training_nodes = np.flatnonzero(run.dataset.split == 0)
    assert_allclose(batch.x, expected[training_nodes][batch.blocks[0].src_ids], rtol=1e-5)


def test_a_task_refuses_labels_of_the_other_kind(tmp_path):
    with pytest.raises(
        SettingsError, match="task reddit: expected one class per node, got several"
    ):
        ClassifierRun(small_reddit_settings(), small_dataset(), RunFolder(tmp_path))
    with pytest.raises(SettingsError, match="task ppi: expected several labels per node, got one"):
        ClassifierRun(small_settings(), small_reddit(), RunFolder(tmp_path))


def test_scores_from_drawn_neighbours_are_those_of_one_fixed_draw(tmp_path):
    run = small_reddit_run(tmp_path, batch_size=7, eval_fanouts=(3, 2))
    view, _ = run.dataset.view(VALIDATION)
    features = Features(view.features, *run.scorer.statistics)
    nodes, parts = view.nodes(VALIDATION), []
    for start in range(0, nodes.size, 7):
        key = derive_seed(run.settings.seed, "evaluation", start)
        blocks = sample_blocks(view.graph, nodes[start : start + 7], (3, 2), seed=key)
        parts.append(run.model(Tensor(features[blocks[0].src_ids]), blocks).data)
    right = np.concatenate(parts).argmax(axis=1) == view.labels[nodes]
    assert run.scorer.score(run.model, VALIDATION).micro_f1 == pytest.approx(right.mean())
    assert run.scorer.score(run.model, VALIDATION) == run.scorer.score(run.model, VALIDATION)


@pytest.mark.parametrize("prefetch", [0, 3])
def test_drawing_all_neighbours_is_the_same_as_going_layer_by_layer(prefetch):
    dataset = small_reddit()
    run_settings = small_reddit_settings()
    features = Features(dataset.features, *feature_statistics(dataset, "standard"))
    model = build_model(run_settings, dataset.num_features, CLASSES)
    nodes = np.arange(3, 100, 2)
    drawn = infer_sampled(
        model, dataset.graph, features, nodes, (-1, -1), batch_size=10, seed=0, prefetch=prefetch
    )
    assert_allclose(drawn, infer(model, dataset.graph, features, nodes), rtol=1e-4, atol=1e-5)
    nobody = np.zeros(0, np.int64)
    none = infer_sampled(
        model, dataset.graph, features, nobody, (2, 2), batch_size=10, seed=0, prefetch=prefetch
    )
    assert none.shape == (0, CLASSES)


def test_a_hub_larger_than_a_chunk_is_scored_all_the_same(monkeypatch):
    degree = 3000
    src = np.arange(1, degree + 1)
    hub = np.zeros(degree, int)
    graph = CSRGraph.from_edges(
        np.append(src, hub), np.append(hub, src), degree + 1, duplicates="keep"
    )
    x = np.random.default_rng(0).standard_normal((degree + 1, 6)).astype(np.float32)
    model = build_model(small_reddit_settings(), 6, CLASSES)
    whole = infer(model, graph, x, np.arange(5))
    monkeypatch.setattr(inference, "EDGES_AT_A_TIME", 100)
    assert_allclose(infer(model, graph, x, np.arange(5)), whole, rtol=1e-4, atol=1e-5)


def test_the_same_seed_gives_the_same_bits(tmp_path):
    for name in "ab":
        small_reddit_run(tmp_path / name).train()
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


def test_a_memory_mapped_store_trains_to_the_same_bits_as_arrays_in_memory(tmp_path):
    path = tmp_path / "classes.npz"
    np.savez(path, **small_classes())
    write_store(read_layout(path), tmp_path / "store", name="small", unflagged="error")
    mapped = open_store(tmp_path / "store")
    copied = replace(
        mapped,
        graph=CSRGraph(np.array(mapped.graph.indptr), np.array(mapped.graph.indices)),
        features=np.array(mapped.features),
        labels=np.array(mapped.labels),
        split=np.array(mapped.split),
    )
    runs = [small_reddit_run(tmp_path / n, d) for n, d in (("a", mapped), ("b", copied))]
    assert isinstance(runs[0].batches.rows.matrix.matrix, np.memmap)  # cut out, not copied
    for run in runs:
        run.train()
    assert contents(tmp_path / "a") == contents(tmp_path / "b")
