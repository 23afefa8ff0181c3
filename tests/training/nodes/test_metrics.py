"""Scores against numbers worked by hand and a plain loop over nodes and labels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from strategies import seeds

from gaancore.errors import TrainingError
from gaancore.training.nodes.metrics import (
    ClassScores,
    calibration_errors,
    class_counts,
    f1_scores,
    majority_scores,
)


def scores_by_loops(predicted, truth, columns) -> ClassScores:
    """Of all nodes and these labels together."""
    true_positives = false_positives = false_negatives = 0
    for p_row, t_row in zip(predicted, truth, strict=True):
        for c in columns:
            true_positives += p_row[c] and t_row[c]
            false_positives += p_row[c] and not t_row[c]
            false_negatives += t_row[c] and not p_row[c]
    found, there = true_positives + false_positives, true_positives + false_negatives
    return ClassScores(
        precision=true_positives / found if found else 0.0,
        recall=true_positives / there if there else 0.0,
        f1=2 * true_positives / (found + there) if found + there else 0.0,
        support=there,
    )


def test_three_nodes_and_two_labels_worked_by_hand():
    logits = np.array([[2.0, -1.0], [0.5, 3.0], [-2.0, 1.0]])
    labels = np.array([[1, 1], [0, 1], [1, 0]], np.uint8)
    scores = f1_scores(logits, labels)
    # label 0: TP 1, FP 1, FN 1; label 1: TP 1, FP 1, FN 1
    assert (scores.micro_f1, scores.macro_f1) == (0.5, 0.5)
    # a frequent label that is always right, a rare one that is always wrong
    logits = np.array([[1.0, -1.0]] * 9 + [[1.0, 1.0]])
    labels = np.array([[1, 0]] * 9 + [[1, 0]], np.uint8)
    scores = f1_scores(logits, labels)
    assert (scores.micro_f1, scores.macro_f1) == (20 / 21, 0.5)


@given(seed=seeds(), nodes=st.integers(1, 12), classes=st.integers(1, 4))
def test_scores_are_those_of_a_plain_loop(seed, nodes, classes):
    rng = np.random.default_rng(seed)
    logits = rng.integers(-2, 3, (nodes, classes)).astype(np.float32)
    labels = rng.integers(0, 2, (nodes, classes)).astype(np.uint8)
    predicted, truth = (logits > 0).tolist(), labels.tolist()
    micro = scores_by_loops(predicted, truth, range(classes)).f1
    each = [scores_by_loops(predicted, truth, [c]) for c in range(classes)]
    macro = sum(found.f1 for found in each) / classes
    scores = f1_scores(logits, labels)
    assert_allclose((scores.micro_f1, scores.macro_f1), (micro, macro), rtol=1e-12)
    assert class_counts(logits, labels).per_class() == each


def test_each_class_of_five_nodes_worked_by_hand():
    # predicted 0 0 2 0 2, where 0 1 2 1 0 is so; class 3 is never predicted and of no node
    logits, labels = np.eye(4)[[0, 0, 2, 0, 2]], np.array([0, 1, 2, 1, 0])
    assert class_counts(logits, labels).per_class() == [
        ClassScores(precision=1 / 3, recall=1 / 2, f1=2 / 5, support=2),
        ClassScores(precision=0, recall=0, f1=0, support=2),
        ClassScores(precision=1 / 2, recall=1, f1=2 / 3, support=1),
        ClassScores(precision=0, recall=0, f1=0, support=0),
    ]
    scores = f1_scores(logits, labels)
    assert scores.micro_f1 == 2 / 5
    assert scores.macro_f1 == pytest.approx((2 / 5 + 2 / 3) / 3)  # class 3 is nobody's


def test_labels_without_a_node_count_in_the_mean_over_labels():
    logits = np.array([[1.0, -1.0], [1.0, -1.0]])
    assert f1_scores(logits, np.array([[1, 0], [1, 0]], np.uint8)).macro_f1 == 0.5
    assert f1_scores(logits, np.array([0, 0])).macro_f1 == 1
    assert f1_scores(np.zeros((0, 2)), np.zeros(0, np.int64)).macro_f1 == 0


@given(seed=seeds())
def test_f1_does_not_depend_on_the_order_of_the_nodes(seed):
    rng = np.random.default_rng(seed)
    logits, labels = rng.standard_normal((30, 4)), rng.integers(0, 2, (30, 4)).astype(np.uint8)
    order = rng.permutation(30)
    assert f1_scores(logits[order], labels[order]) == f1_scores(logits, labels)


def test_counts_are_summed_and_not_averaged_over_graphs():
    small = (np.array([[1.0], [-1.0]]), np.array([[1], [0]], np.uint8))  # F1 1
    large = (np.ones((8, 1)), np.array([[1]] * 2 + [[0]] * 6, np.uint8))  # F1 4 / 10
    both = f1_scores(np.concatenate([small[0], large[0]]), np.concatenate([small[1], large[1]]))
    assert both.micro_f1 == 6 / 12
    assert both.micro_f1 != (f1_scores(*small).micro_f1 + f1_scores(*large).micro_f1) / 2


@pytest.mark.parametrize("logit", [0.3, 1e-30])
def test_a_label_is_predicted_where_its_logit_is_above_0(logit):
    ones = np.ones((1, 1), np.uint8)
    assert f1_scores(np.full((1, 1), logit), ones).micro_f1 == 1
    assert f1_scores(np.full((1, 1), 0.0), ones).micro_f1 == 0
    assert f1_scores(np.full((1, 1), -logit), ones).micro_f1 == 0


def test_no_positive_anywhere_scores_0_without_a_warning():
    nothing, everything = np.zeros((3, 2), np.uint8), np.ones((3, 2), np.uint8)
    assert f1_scores(np.full((3, 2), -1.0), nothing).micro_f1 == 0
    assert f1_scores(np.full((3, 2), -1.0), everything).micro_f1 == 0
    assert f1_scores(np.full((3, 2), 1.0), nothing).macro_f1 == 0
    assert f1_scores(np.zeros((0, 2)), nothing[:0]).micro_f1 == 0
    of_nobody = class_counts(np.zeros((0, 2)), nothing[:0]).per_class()
    assert of_nobody == [ClassScores(precision=0, recall=0, f1=0, support=0)] * 2


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("labels", [np.zeros((2, 3), np.uint8), np.zeros(2, np.int64)])
def test_an_output_that_is_not_finite_is_an_error_and_not_a_negative(bad, labels):
    logits = np.zeros((2, 3))
    logits[1, 2] = bad
    with pytest.raises(TrainingError, match=f"^output 2 of node 1 of those scored is {bad}: "):
        f1_scores(logits, labels)


@given(seed=seeds())
def test_one_class_per_node_scores_the_accuracy(seed):
    rng = np.random.default_rng(seed)
    logits, labels = rng.standard_normal((20, 4)), rng.integers(0, 4, 20)
    pairs = zip(logits, labels, strict=True)
    right = sum(max(range(4), key=row.__getitem__) == label for row, label in pairs)
    assert_allclose(f1_scores(logits, labels).micro_f1, right / 20, rtol=1e-12)


def test_the_majority_predicts_each_label_that_half_of_the_training_nodes_have():
    train = np.array([[1, 0, 1], [1, 0, 0], [0, 0, 1], [1, 1, 0]], np.uint8)  # 3/4, 1/4, 1/2
    test = np.array([[1, 1, 0], [0, 1, 1]], np.uint8)
    assert majority_scores(train, test, 3).micro_f1 == 2 * 2 / (4 + 4)


def test_the_majority_class_is_the_most_frequent_in_training_even_if_others_are_unseen_there():
    train, test = np.array([1, 1, 0]), np.array([1, 3, 1, 0])
    assert majority_scores(train, test, 4).micro_f1 == 0.5


def test_calibration_errors_of_three_nodes_worked_by_hand():
    """Bins of a tenth: 0.85 and 0.9 share one, which is right once in two."""
    probabilities = np.array([[0.85, 0.15], [0.9, 0.1], [0.35, 0.65]])
    overall, each = calibration_errors(probabilities, np.array([0, 1, 1]), bins=10)
    of_all = (abs((0.85 - 1) + (0.9 - 0)) + abs(0.65 - 1)) / 3
    of_first = (abs((0.85 - 1) + (0.9 - 0)) + 0.35) / 3
    assert overall == pytest.approx(of_all)
    # of the second class: 0.15, 0.1 and 0.65, each in a bin of its own
    assert each == pytest.approx([of_first, (0.15 + abs(0.1 - 1) + abs(0.65 - 1)) / 3])
    several, of_labels = calibration_errors(probabilities, np.array([[1, 0], [0, 1], [0, 1]]), 10)
    assert of_labels == pytest.approx(each)
    assert several == pytest.approx(each.mean())


def test_probabilities_that_come_true_as_often_as_they_say_have_no_calibration_error():
    sure = np.eye(3)[[0, 1, 2, 1]]
    assert calibration_errors(sure, np.array([0, 1, 2, 1]))[0] == 0
    assert calibration_errors(np.zeros((0, 3)), np.zeros(0, np.int64))[0] == 0
