"""Features that are learned for each node: they belong to one graph, and a run says so."""

import copy
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import gaancore
from gaancore.data import Reading, load_nodes
from gaancore.data.nodes.layouts.find import read_layout
from gaancore.data.nodes.store.convert import write_store
from gaancore.errors import DataError, SettingsError
from gaancore.nn import Embedding
from gaancore.report.one_node import features
from gaancore.sparse import CSRMatrix
from gaancore.system import threads
from gaancore.tensor import Tensor
from gaancore.trained.nodes import NodeRun

N = 40
SIZES = {"embed_dim": 4, "out_dim": 6, "num_heads": 2, "key_dim": 3, "value_dim": 4, "gate_dim": 3}
SIZES |= {"epochs": 4, "verbose": False, "features": "learned"}


def make_graph(folder: Path, seed: int = 0, names: str = "n", bare: bool = True) -> Path:
    """Two tables: two groups, mostly joined within; the group is the class, and nothing tells it
    but the edges."""
    rng = np.random.default_rng(seed)
    folder.mkdir()
    lines = ["id,label" if bare else "id,x,label"]
    lines += [f"{names}{i},{'' if bare else '1,'}{'ab'[i % 2]}" for i in range(N)]
    (folder / "nodes.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    src = rng.integers(N, size=200)
    dst = (src + 2 * rng.integers(1, N // 2, 200)) % N
    arcs = [f"{names}{a},{names}{b}" for a, b in zip(src, dst, strict=True)]
    (folder / "edges.csv").write_text("src,dst\n" + "\n".join(arcs) + "\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> NodeRun:
    folder = tmp_path_factory.mktemp("learned")
    return gaancore.train(make_graph(folder / "data"), out=folder / "run", **SIZES)


def test_the_gradient_of_an_embedding_is_the_sum_of_what_arrives_at_each_row():
    layer = Embedding(4, 3, np.random.default_rng(0))
    which = [2, 0, 2]
    x = CSRMatrix([0, 1, 2, 3], which, np.ones(3, np.float32), num_columns=4)
    out = layer(x)
    assert out.data.tolist() == layer.weight.data[which].tolist()
    grad = np.random.default_rng(1).standard_normal((3, 3)).astype(np.float32)
    out.backward(grad)
    expected = np.zeros((4, 3), np.float32)
    for row, piece in zip(which, grad, strict=True):
        expected[row] += piece
    np.testing.assert_allclose(layer.weight.grad, expected, rtol=1e-6)


def test_a_run_learns_from_the_edges_alone_and_says_what_it_sees(run):
    assert run.settings.transductive
    assert run.settings.normalize == "none"
    assert run.facts["learned_features"]
    assert any("features: learned, a row of numbers for each" in n for n in run.facts["notes"])
    assert run.classifier.model.embed.weight.shape == (N, 4)
    assert "logistic regression" not in run.record["baselines"]
    assert any("logistic regression left out" in n for n in run.record["baselines_notes"])


def test_it_answers_for_its_own_nodes(run):
    own = run.predict_proba()
    assert own.shape == (N, 2)
    assert run.predict_proba(run.facts["path"]).tobytes() == own.tobytes()
    assert run.embed().shape == (N, 6)
    assert run.evaluate(["test"])["test"]["micro_f1"] == run.record["test"]["micro_f1"]
    for other in (copy.deepcopy(run.classifier), pickle.loads(pickle.dumps(run.classifier))):
        assert other.logits(run.inputs()).tobytes() == run.classifier.logits(run.inputs()).tobytes()


def test_a_report_shows_no_features_of_a_node(run):
    assert features(run, run.inputs(), np.array([3, 4]))["features"] is None


REFUSED = "not the nodes that the run learned features for.* train on features of the files, or on "
REFUSED += "degree, spectral or ones"


def test_other_nodes_are_refused_by_their_names(run, tmp_path):
    other = make_graph(tmp_path / "other", seed=1, names="m")
    for ask in (run.predict, run.embed, run.gates, lambda d: run.evaluate(data=d)):
        with pytest.raises(DataError, match=REFUSED):
            ask(other)
    # the same nodes with other edges are the same nodes
    assert run.predict_proba(make_graph(tmp_path / "edges", seed=5)).shape == (N, 2)


def test_nodes_that_are_only_numbered_are_known_by_their_edges(tmp_path):
    paths = []
    for seed in (0, 1):
        ends = np.random.default_rng(seed).integers(N, size=(2, 90))
        paths.append(tmp_path / f"{seed}.npz")
        np.savez(paths[-1], edge_index=ends, x=np.ones((N, 1)), y=np.arange(N) % 2)
    run = gaancore.train(paths[0], out=tmp_path / "run", **SIZES)
    assert "1 features of the files are not used" in run.facts["notes"]
    assert run.predict(paths[0]).shape == (N,)
    with pytest.raises(DataError, match=REFUSED):
        run.predict(paths[1])


def test_a_loaded_dataset_and_a_store_can_be_learned_on(tmp_path):
    data = gaancore.load(make_graph(tmp_path / "data"), features="learned")
    assert data.learned
    settings = {name: value for name, value in SIZES.items() if name != "features"}
    first = gaancore.train(data, out=tmp_path / "first", **settings)
    assert first.settings.transductive
    raw = read_layout(make_graph(tmp_path / "full", bare=False))
    raw = replace(raw, split=np.arange(N) // 2 % 3)
    write_store(raw, tmp_path / "store", name="full")
    run = gaancore.train(tmp_path / "store", out=tmp_path / "run", **SIZES)
    assert run.predict(tmp_path / "store").shape == (N,)
    assert run.evaluate(["test"], data=tmp_path / "store")["test"] == run.evaluate(["test"])["test"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"transductive": False}, "transductive: features are learned for all nodes"),
        ({"model": "fnn"}, "features: learned ones say nothing of a node but through a graph"),
        ({"normalize": "standard"}, "normalize: learned features have nothing to standardise"),
    ],
)
def test_settings_that_make_no_sense_are_refused(changes, message, tmp_path):
    with pytest.raises(SettingsError, match=message):
        gaancore.train(make_graph(tmp_path / "data"), out=tmp_path / "run", **SIZES | changes)


def test_a_graph_without_features_is_told_what_can_stand_for_them(tmp_path):
    path = make_graph(tmp_path / "data")
    with pytest.raises(DataError, match=r"degree, ones or spectral, .* learned, which belong to"):
        load_nodes(path, name="bare", split_shares=(60, 20, 20))
    found = load_nodes(
        path, name="bare", split_shares=(60, 20, 20), reading=Reading(features="learned")
    )
    assert found.features.toarray().tolist() == np.eye(N).tolist()


def test_any_number_of_threads_gives_the_same_bits(any_threads, tmp_path):
    path, found = make_graph(tmp_path / "data"), []
    for count in (1, 2):
        threads.set_num_threads(count)
        run = gaancore.train(
            path, out=tmp_path / str(count), **SIZES | {"batch": "seeds", "batch_size": 8}
        )
        found.append(run.predict_proba().tobytes())
    assert found[0] == found[1]


def test_it_is_reached_by_gradients_through_the_whole_model(run):
    model = run.classifier.model
    model.zero_grad()
    inputs = run.inputs()
    x = run.classifier.features(inputs)[np.arange(N)]
    block = run.classifier.graph(inputs).full_block()
    out = model(x, [block] * model.num_steps)
    assert isinstance(out, Tensor)
    out.backward(np.ones(out.shape, np.float32))
    assert np.count_nonzero(model.embed.weight.grad.any(axis=1)) == N
