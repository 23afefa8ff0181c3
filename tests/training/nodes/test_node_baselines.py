"""The guesses beside a classifier's scores, against scikit-learn, plain loops and a hand's work."""

import dataclasses
import json

import numpy as np
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal
from small_reddit import small_classes, small_reddit
from small_run import contents, small_dataset, small_run

from gaancore.data import TEST, TRAIN, VALIDATION
from gaancore.graph import CSRGraph
from gaancore.training.nodes import words
from gaancore.training.nodes.baselines import logistic, propagation
from gaancore.training.nodes.baselines.of_nodes import baselines
from gaancore.training.nodes.metrics import f1_scores, majority_scores


@pytest.mark.parametrize("sparse", [False, True])
def test_logistic_regression_is_scikit_learns(sparse):
    linear_model = pytest.importorskip("sklearn.linear_model")
    rng = np.random.default_rng(0)
    x = rng.standard_normal((60, 5)) * (rng.random((60, 5)) < 0.7)
    y = (x @ rng.standard_normal((5, 3)) + 0.3 * rng.standard_normal((60, 3))).argmax(axis=1)
    matrix = scipy.sparse.csr_array(x) if sparse else x
    start = np.zeros((6, 3))
    found = logistic.fit(matrix, logistic.one_hot(y, 3), 0.5, start, one_class=True, tolerance=1e-8)
    model = linear_model.LogisticRegression(C=0.5, tol=1e-8, max_iter=1000).fit(x, y)
    centred = found - found.mean(axis=1, keepdims=True)  # a constant added to all changes nothing
    assert_allclose(centred[:-1], model.coef_.T - model.coef_.T.mean(1, keepdims=True), atol=1e-4)
    assert_array_equal((x @ found[:-1] + found[-1]).argmax(axis=1), model.predict(x))

    labels = np.stack([y == 1, x[:, 0] > 0.5], axis=1).astype(np.uint8)
    both = logistic.fit(matrix, labels.astype(float), 0.5, np.zeros((6, 2)), one_class=False,
                        tolerance=1e-9)  # fmt: skip
    for column in range(2):
        one = linear_model.LogisticRegression(C=0.5, tol=1e-8, max_iter=1000)
        one.fit(x, labels[:, column])
        assert_allclose(both[:-1, column], one.coef_[0], atol=1e-3)
        assert_allclose(both[-1, column], one.intercept_[0], atol=1e-3)


def test_a_logistic_regression_of_two_nodes_is_the_one_worked_out_by_hand():
    """x = -1 and 1 of two labels: by symmetry w = C (1 - sigmoid(w)) 2 for one label, b = 0."""
    x, targets = np.array([[-1.0], [1.0]]), np.array([[0.0], [1.0]])
    found = logistic.fit(x, targets, 1.0, np.zeros((2, 1)), one_class=False, tolerance=1e-10)
    w = 0.5
    for _ in range(200):
        w = 0.5 * w + 0.5 * 2 / (1 + np.exp(w))
    assert_allclose(found.ravel(), [w, 0], atol=1e-6)


def test_features_that_are_mostly_0_stay_and_others_are_standardised():
    data = small_reddit()
    model = logistic.logistic_regression(data)
    train = data.features[data.nodes(TRAIN)].astype(float)
    assert_allclose(model.mean, train.mean(axis=0))
    assert_allclose(model.scale, train.std(axis=0))
    assert model.learned == 72
    assert model.strength in logistic.STRENGTHS
    words_ = np.where(np.random.default_rng(0).random((120, 6)) < 0.1, 1, 0).astype(np.float32)
    model = logistic.logistic_regression(small_reddit(x=words_))
    assert (model.mean == 0).all()
    assert (model.scale == 1).all()


def test_labels_spread_along_a_path_as_by_hand():
    """a - b - c - d, and e alone: a is class 0, d is class 1."""
    graph = CSRGraph.from_edges([0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2], 5, duplicates="keep")
    seen, targets = np.array([0, 3]), np.array([[1.0, 0.0], [0.0, 1.0]])
    once, reached = propagation.propagated(graph, targets, seen, 1)
    assert_allclose(once, [[1, 0], [1, 0], [0, 1], [0, 1], [0.5, 0.5]])
    assert reached.tolist() == [True, True, True, True, False]
    # b after two rounds: half of a's 1 and half of c's 1/2 of class 1, over 3/4 in all
    twice, _ = propagation.propagated(graph, targets, seen, 2)
    assert_allclose(twice[1], [2 / 3, 1 / 3], rtol=1e-6)
    # in the end a harmonic function: 2/3 and 1/3
    last, _ = propagation.propagated(graph, targets, seen, 50)
    assert_allclose(last[1:3], [[2 / 3, 1 / 3], [1 / 3, 2 / 3]], atol=1e-6)


def test_rows_of_a_graph_may_be_gone_over_in_parts(monkeypatch):
    data = small_reddit()
    seen = data.nodes(TRAIN)
    targets = logistic.one_hot(data.labels[seen], 5)
    whole, _ = propagation.propagated(data.graph, targets, seen, 5)
    monkeypatch.setattr(propagation, "ARCS_AT_A_TIME", 7)
    parts, _ = propagation.propagated(data.graph, targets, seen, 5)
    assert_array_equal(whole, parts)


@pytest.mark.parametrize("data", [small_dataset(), small_reddit()], ids=["labels", "classes"])
def test_each_guess_is_scored_as_the_network_is(data):
    found = baselines(data, TEST)
    assert list(found.scores) == ["majority", "logistic regression", "label propagation"]
    assert found.notes == ()
    train, test = data.nodes(TRAIN), data.nodes(TEST)
    majority = majority_scores(data.labels[train], data.labels[test], data.num_classes)
    assert found.scores["majority"] == dataclasses.asdict(majority)
    logits = logistic.logistic_regression(data).logits(data.features, test)
    assert (
        found.scores["logistic regression"]["micro_f1"]
        == f1_scores(logits, data.labels[test]).micro_f1
    )
    assert baselines(data, TEST) == found


def test_labels_that_are_not_for_training_change_no_guess_but_its_strength():
    data = small_reddit()
    hidden = data.labels.copy()
    hidden[data.nodes(TEST)] = 0
    seen = data.nodes(TRAIN)
    targets = logistic.one_hot(data.labels[seen], 5)
    other = small_reddit(y=hidden)
    assert_array_equal(
        logistic.logistic_regression(data).weights, logistic.logistic_regression(other).weights
    )
    assert_array_equal(
        propagation.propagated(data.graph, targets, seen, 9)[0],
        propagation.propagated(other.graph, targets, seen, 9)[0],
    )


def test_what_is_too_large_is_left_out_or_learned_from_less_and_told(monkeypatch):
    data = small_reddit()
    monkeypatch.setattr(logistic, "MOST_TRIED", 10 * 6 * 5)
    monkeypatch.setattr(logistic, "MOST_LEARNED", 20 * 6 * 5)
    monkeypatch.setattr(propagation, "MOST_SUMS", 3 * 6 * data.num_edges)
    found = baselines(data, TEST)
    assert found.notes == (
        "logistic regression learned from 20 of 72 training nodes, to take seconds",
        "label propagation went 3 rounds, not 50",
    )
    monkeypatch.setattr(propagation, "MOST_CELLS", 100)
    found = baselines(data, TEST)
    assert "label propagation" not in found.scores
    assert "arcs and 5 classes are too many" in found.notes[-1]


def test_graphs_without_a_training_node_have_no_label_to_propagate():
    arrays = small_classes()
    data = small_reddit(split=np.minimum(arrays["graph_id"] // 2, 2))
    found = baselines(data, TEST)
    assert list(found.scores) == ["majority", "logistic regression"]
    assert found.notes == (
        "label propagation left out: no path leads from a scored node to a training node",
    )


def test_guesses_stand_in_the_record_and_change_no_weight(tmp_path, monkeypatch):
    record = small_run(tmp_path / "with").train()
    assert record["baselines"] == baselines(small_dataset(), TEST).scores
    assert "logistic regression on test" in words.rows(record)
    monkeypatch.setattr(propagation, "MOST_CELLS", 0)
    small_run(tmp_path / "less").train()
    for name in ("last.safetensors", "best.safetensors", "log.jsonl"):
        assert contents(tmp_path / "with")[name] == contents(tmp_path / "less")[name]


def test_without_test_nodes_the_guesses_are_of_validation_nodes(tmp_path):
    split = small_classes()["split"]
    data = small_dataset(split=np.where(split == 2, 0, split))
    record = small_run(tmp_path, data).train()
    assert record["baselines"] == baselines(data, VALIDATION).scores
    assert "majority on validation" in words.rows(record)


def test_a_network_below_a_guess_is_warned_of_in_plain_words(tmp_path):
    record = small_run(tmp_path, lr=1e-9, lr_floor=1e-9, epochs=1).train()
    lines = words.doubts(record)
    assert any(
        "is below logistic regression" in line and line.startswith("warning: on test nodes")
        for line in lines
    )
    better = json.loads(json.dumps(record))
    better["test"]["micro_f1"] = 1.0
    assert words.doubts(better) == []


def test_records_of_gaancore_0_1_are_still_read(tmp_path):
    record = small_run(tmp_path).train()
    record["majority"] = record.pop("baselines")["majority"]
    record.pop("baselines_notes")
    assert list(words.rows(record)) == ["test", "validation", "majority on test"]
    record["test"]["micro_f1"] = 0.0
    assert words.doubts(record)[0].startswith("warning: no better than the majority")
