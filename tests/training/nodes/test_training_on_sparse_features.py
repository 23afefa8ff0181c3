"""A run on sparse features, beside one on the same features with all their zeros."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import gaancore
from gaancore.data import NodeDataset
from gaancore.data.nodes.inputs import inputs_of
from gaancore.errors import SettingsError
from gaancore.report.one_node import features
from gaancore.system import threads
from gaancore.tasks.begin import resume
from gaancore.trained.nodes import NodeRun

N, F = 60, 50
SIZES = {"embed_dim": 4, "out_dim": 6, "num_heads": 2, "key_dim": 3, "value_dim": 4, "gate_dim": 3}
SIZES |= {"hidden_dim": 6, "epochs": 4, "verbose": False}


def drawn(seed: int = 0) -> tuple[Any, np.ndarray, list[str]]:
    """Arcs, words (N, F), and classes that the words tell."""
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=N)
    x = (rng.random((N, F)) < 0.04).astype(np.float32)
    x[np.arange(N), y] = 1
    arcs = sparse.coo_array((np.ones(150), rng.integers(N, size=(2, 150))), shape=(N, N))
    return arcs, x, [f"class {label}" for label in y]


def data(kind: type, seed: int = 0) -> NodeDataset:
    arcs, x, y = drawn(seed)
    found = gaancore.from_scipy(arcs, x if kind is np.ndarray else kind(x), y)
    assert isinstance(found, NodeDataset)
    return found


def trained(folder: Path, kind: type, **settings: Any) -> NodeRun:
    return gaancore.train(data(kind), out=folder, **SIZES | settings)


CASES = [
    {}, {"model": "fnn"}, {"model": "max-pool"}, {"normalize": "row"},
    {"batch": "seeds", "batch_size": 8, "fanouts": (3, 2), "eval_fanouts": (3, 2), "prefetch": 2},
]  # fmt: skip


@pytest.mark.parametrize("settings", CASES, ids=str)
def test_a_run_learns_what_it_learns_from_dense_features(settings, tmp_path):
    runs = [
        trained(tmp_path / kind.__name__, kind, **settings)
        for kind in (np.ndarray, sparse.csr_array)
    ]
    dense, kept = runs
    np.testing.assert_allclose(
        [line["loss"] for line in kept.log], [line["loss"] for line in dense.log], rtol=1e-4
    )
    np.testing.assert_allclose(kept.predict_proba(), dense.predict_proba(), rtol=1e-4, atol=1e-5)
    assert kept.record["baselines"] == dense.record["baselines"]


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> NodeRun:
    folder = tmp_path_factory.mktemp("sparse") / "run"
    return trained(folder, sparse.csr_array, input_dropout=0.3, normalize="standard")


def test_one_run_answers_for_sparse_and_for_dense_features_of_a_graph(run):
    kept, dense = data(sparse.csc_array, seed=1), data(np.ndarray, seed=1)
    for ask in (run.predict_proba, run.embed, lambda d: run.gates(d, nodes=[3])[2]):
        np.testing.assert_allclose(ask(kept), ask(dense), rtol=1e-4, atol=1e-6)
    found = [run.attention(d, nodes=[5]).layers[1] for d in (kept, dense)]
    np.testing.assert_allclose(*found, rtol=1e-4, atol=1e-6)
    scores = [run.evaluate(["test"], data=d)["test"]["micro_f1"] for d in (kept, dense)]
    assert scores[0] == scores[1]


def test_a_report_shows_the_same_features_of_a_node(run):
    nodes = np.array([5, 0])
    kept, dense = (
        features(run, inputs_of(data(kind)), nodes) for kind in (sparse.csr_array, np.ndarray)
    )
    assert kept == dense
    assert any(kept["features"])


def test_a_run_on_dense_features_answers_for_sparse_ones(tmp_path):
    """Its mean is subtracted from the zeros too."""
    run = trained(tmp_path / "run", np.ndarray, normalize="standard")
    kept, dense = data(sparse.csr_array, seed=1), data(np.ndarray, seed=1)
    assert run.predict_proba(kept).tobytes() == run.predict_proba(dense).tobytes()


def test_an_older_run_of_the_same_files_is_told_why_and_what_to_do(tmp_path):
    """gaancore 0.1 read sparse features as dense: the checksum is another, the data are not."""
    run = trained(tmp_path / "run", np.ndarray)
    kept = data(sparse.csr_array)
    for ask in (lambda: resume(run.path, kept), lambda: run.own_data(kept)):
        with pytest.raises(SettingsError) as refusal:
            ask()
        assert str(refusal.value) == (
            f"{run.path}: the features are sparse here and were dense when the run began, so it "
            "cannot be told whether the data has changed; train a new run, or name the data (data) "
            "to predict or score them as new ones"
        )
    np.testing.assert_allclose(run.predict_proba(kept), run.predict_proba(), rtol=1e-5)
    scored = run.evaluate(["test"], data=kept)
    assert scored["test"]["micro_f1"] == run.record["test"]["micro_f1"]
    assert "the features are sparse here and were dense" in " ".join(scored.notes)
    other = data(sparse.csr_array, seed=1)  # with other arcs
    with pytest.raises(SettingsError, match="the data has changed since the run began"):
        run.own_data(other)


def test_what_is_not_centred_is_said_and_recorded(run):
    facts = run.facts
    assert facts["features_filled"] == round(np.count_nonzero(drawn()[1]) / (N * F), 6)
    assert run.evaluate(["test"]).notes == ()  # the run's own data


@pytest.mark.parametrize("settings", CASES[3:], ids=str)
def test_any_number_of_threads_gives_the_same_bits(settings, any_threads, tmp_path):
    found = []
    for count in (1, 2):
        threads.set_num_threads(count)
        run = trained(tmp_path / str(count), sparse.csr_array, input_dropout=0.5, **settings)
        found.append(run.predict_proba().tobytes())
    assert found[0] == found[1]


def test_the_classifier_takes_a_sparse_matrix_as_it_is():
    arcs, x, y = drawn()
    sizes = {name: SIZES[name] for name in ("embed_dim", "out_dim", "num_heads")}
    found = []
    for given in (sparse.csc_matrix(x), x):
        classifier = gaancore.GaANClassifier(epochs=3, **sizes).fit(given, y, arcs)
        assert sparse.issparse(classifier._fitted.features) == sparse.issparse(given)
        assert classifier.n_features_in_ == F
        found.append(classifier.predict_proba(sparse.coo_array(x[::-1]), arcs))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-4, atol=1e-5)
