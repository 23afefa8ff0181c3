"""A graph whose labels are in its edges: learned with their features, and not without them."""

from dataclasses import replace

import numpy as np
import pytest

import gaancore
from gaancore.data import TRAIN, NodeDataset, synthetic_trust
from gaancore.data.nodes.features.edges import edge_statistics
from gaancore.errors import DataError, SettingsError
from gaancore.graph import CSRGraph
from gaancore.training.nodes.scorer import Scorer

SMALL = {
    "num_heads": 2, "first_heads": 0, "key_dim": 8, "value_dim": 32, "gate_dim": 16,
    "embed_dim": 16, "out_dim": 16, "fanouts": (-1,), "batch": "seeds", "batch_size": 64,
    "dropout": 0.0, "attention_dropout": 0.0, "lr": 0.01, "verbose": False,
}  # fmt: skip


def without_edge_features(data: NodeDataset) -> NodeDataset:
    return replace(data, graph=data.graph.with_edge_attr(None), edge_names=None)


@pytest.fixture(scope="module")
def data() -> NodeDataset:
    return synthetic_trust()


@pytest.fixture(scope="module")
def run(data, tmp_path_factory):
    return gaancore.train(data, out=tmp_path_factory.mktemp("runs") / "with", epochs=20, **SMALL)


def test_with_the_features_of_edges_it_learns_what_can_be_learned(data, run):
    assert abs(data.ceiling - 0.95) < 0.02
    assert run.evaluate()["test"]["micro_f1"] >= 0.93


def test_without_them_it_guesses(data, tmp_path):
    run = gaancore.train(without_edge_features(data), out=tmp_path / "run", epochs=5, **SMALL)
    assert abs(run.evaluate()["test"]["micro_f1"] - 0.5) < 0.07


def test_a_run_can_leave_them_out(data, tmp_path):
    short = {**SMALL, "epochs": 1}
    run = gaancore.train(data, out=tmp_path / "run", edge_features="none", **short)
    assert not any("edge" in name for name in run.classifier.model.state())
    assert run.evaluate(data=data)["test"] == run.evaluate()["test"]
    assert run.predict(without_edge_features(data)).size == data.num_nodes
    with pytest.raises(SettingsError, match="edge_features: of data in memory auto"):
        gaancore.train(data, out=tmp_path / "other", edge_features="trust", **short)


def test_the_run_knows_them_on_another_graph(run):
    other = synthetic_trust(seed=1, num_nodes=400)
    right = run.predict(other) == np.array(other.class_names)[other.labels]
    assert right.mean() > 0.88
    assert run.attention(other, nodes=[7]).layers[1].shape == (9, 2)
    logits = run.predictions(other).logits
    stretched = other.graph.edge_attr * np.float32(3)
    changed = replace(other, graph=other.graph.with_edge_attr(stretched))
    assert (run.predictions(changed).logits != logits).any()


def test_a_graph_with_other_features_of_edges_is_refused(run):
    other = synthetic_trust(seed=1, num_nodes=400)
    with pytest.raises(DataError, match="edges: the run was trained on 2 features an edge, here"):
        run.predict(without_edge_features(other))
    message = "edges: 'noise' stands where the run was trained on 'trust'"
    with pytest.raises(DataError, match=message):
        run.predict(replace(other, edge_names=("noise", "trust")))


def test_they_are_standardised_where_training_sees_the_whole_graph_too(data, tmp_path):
    scaled = data.graph.with_edge_attr(data.graph.edge_attr * np.float32(1024) + np.float32(7))
    other = replace(data, graph=scaled)
    options = {**SMALL, "epochs": 1, "transductive": True}
    runs = [
        gaancore.train(graph, out=tmp_path / name, **options)
        for name, graph in {"one": data, "two": other}.items()
    ]
    logits = [run.predictions(graph).logits for run, graph in zip(runs, (data, other), strict=True)]
    np.testing.assert_allclose(*logits, rtol=1e-4, atol=1e-5)


def test_they_are_standardised_over_the_arcs_that_training_sees():
    nodes, edges = np.arange(4), np.array([[1.0, 7.0], [3, 7], [9, 0], [9, 0]])
    graph = CSRGraph.from_edges([0, 1, 2, 3], [1, 0, 1, 2], 4, duplicates="keep", edge_attr=edges)
    split = np.array([0, 0, 1, 2], np.int8)
    data = NodeDataset(
        name="four", kind="real", path=None, graph=graph, features=np.eye(4, dtype=np.float32),
        labels=nodes % 2, split=split, graph_ids=None, node_ids=nodes, num_classes=2,
    )  # fmt: skip
    mean, scale = edge_statistics(data)
    assert mean.tolist() == [2, 7]
    assert scale.tolist() == [1, 1]  # the second is constant
    assert edge_statistics(without_edge_features(data)) is None


@pytest.mark.parametrize("edge_features", ["auto", "none"])
def test_a_run_that_sees_all_nodes_reads_them_in_the_same_units(data, edge_features, tmp_path):
    settings = {**SMALL, "epochs": 1, "transductive": True, "edge_features": edge_features}
    run = gaancore.train(data, out=tmp_path / "run", **settings)
    assert run.evaluate(["test"], data=data)["test"]["micro_f1"] == run.record["test"]["micro_f1"]
    scorer = Scorer(data, (np.zeros(1), np.ones(1)), run.settings, 0, run.classifier.edges)
    seen = scorer.view(TRAIN).graph.edge_attr
    if edge_features == "none":
        assert seen is None
    else:
        src, dst = data.graph.edges()
        among_training = (data.split[src] == TRAIN) & (data.split[dst] == TRAIN)
        rows = seen[np.flatnonzero(among_training)]  # the arcs that the statistics are of
        np.testing.assert_allclose(rows.std(axis=0), 1, atol=1e-4)
        np.testing.assert_allclose(rows.mean(axis=0), 0, atol=1e-4)
