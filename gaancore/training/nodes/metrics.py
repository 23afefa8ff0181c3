"""Precision, recall and F1 from counts summed over everything that is scored, never averaged over
batches."""

from dataclasses import dataclass

import numpy as np

from gaancore.errors import TrainingError


@dataclass(frozen=True)
class Scores:
    """micro_f1 : F1 of true/false positives/negatives summed over all nodes and classes.
    macro_f1 : mean of each class's own F1 over the classes that a node has or is given, and of each
               label's over all labels: those without any node count 0. So has scikit-learn it,
               with zero_division=0.
    """

    micro_f1: float
    macro_f1: float


@dataclass(frozen=True)
class ClassScores:
    """Of one class or label, from its true and false positives and its false negatives:

    precision : TP / (TP + FP), the share that is right of the nodes it is predicted of.
    recall    : TP / (TP + FN), the share that is found of the nodes that have it.
    f1        : 2 TP / (2 TP + FP + FN), the harmonic mean of both.
    support   : TP + FN, the nodes that have it.

    0 / 0 is 0: precision if it is never predicted, recall if no node has it, F1 if both.
    """

    precision: float
    recall: float
    f1: float
    support: int


@dataclass(frozen=True, eq=False)
class Counts:
    """How many nodes, of each of C classes or labels; (C,) integers, all 0 if there are no nodes.

    hits      : those that have it and of which it is predicted, TP.
    predicted : those of which it is predicted, TP + FP.
    support   : those that have it, TP + FN.
    one_class : whether a node has one class, not any number of labels.
    """

    hits: np.ndarray
    predicted: np.ndarray
    support: np.ndarray
    one_class: bool = False

    def scores(self) -> Scores:
        """F1 of all classes together."""
        micro = _share(2 * self.hits.sum(), self.predicted.sum() + self.support.sum())
        there = self.predicted + self.support > 0
        each = self._f1[there] if self.one_class and there.any() else self._f1
        return Scores(micro_f1=float(micro), macro_f1=float(each.mean()))

    def per_class(self) -> list[ClassScores]:
        """The scores of each class by itself."""
        precision, recall = _share(self.hits, self.predicted), _share(self.hits, self.support)
        columns = [x.tolist() for x in (precision, recall, self._f1, self.support)]
        return [ClassScores(*row) for row in zip(*columns, strict=True)]

    @property
    def _f1(self) -> np.ndarray:
        return _share(2 * self.hits, self.predicted + self.support)


def _share(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """part / whole; 0 where whole is, of which nothing can be a part."""
    return part / np.maximum(whole, 1)


def class_counts(logits: np.ndarray, labels: np.ndarray) -> Counts:
    """Predictions against truth.

    logits (N, C); labels (N, C) of 0 and 1: a label is predicted where its logit is > 0 (its
    probability > 1/2); or labels (N,) classes below C: the largest logit is predicted, and micro-F1
    is the accuracy. N = 0, or no positive anywhere, scores 0.
    Raises TrainingError if a logit is not finite: NaN is not "no positives".
    """
    if not np.isfinite(logits).all():
        row, column = np.argwhere(~np.isfinite(logits))[0]
        raise TrainingError(
            f"output {column} of node {row} of those scored is {logits[row, column]}: the model "
            "has diverged; lower the learning rate or clip gradients"
        )
    width = logits.shape[1]
    if labels.ndim == 2:
        predicted, truth = logits > 0, labels > 0
        hits, guesses, support = (
            np.count_nonzero(x, axis=0) for x in (predicted & truth, predicted, truth)
        )
        return Counts(hits, guesses, support)
    chosen = logits.argmax(axis=1)
    hits, guesses, support = (
        np.bincount(x, minlength=width) for x in (chosen[chosen == labels], chosen, labels)
    )
    return Counts(hits, guesses, support, one_class=True)


def f1_scores(logits: np.ndarray, labels: np.ndarray) -> Scores:
    """F1 of predictions against truth, see `class_counts`."""
    return class_counts(logits, labels).scores()


def calibration_errors(
    probabilities: np.ndarray, labels: np.ndarray, bins: int = 15
) -> tuple[float, np.ndarray]:
    """How far probabilities are from what comes true: of all, and (C,) of each class or label.

    The nodes are put into `bins` of equal width by a probability; the error is the mean over the
    bins, weighted by their nodes, of |mean probability - share that comes true| (ECE; Guo et al.,
    2017, equation 3). Of each class it is about the probability of that class. Of all it is about
    that of the most likely class, where a node has one, else the mean over the labels.

    probabilities (n, C); labels as in `class_counts`. 0 without nodes.

    >>> half = np.full((4, 2), 0.5)
    >>> calibration_errors(half, np.array([0, 0, 0, 1]))
    (0.25, array([0.25, 0.25]))
    """
    n, num_classes = probabilities.shape
    one_class = labels.ndim == 1
    truth = labels[:, None] == np.arange(num_classes) if one_class else labels > 0
    each = np.array(
        [_gap(probabilities[:, c], truth[:, c], bins) for c in range(num_classes)], float
    )
    if not one_class or not n:
        return float(each.mean()) if num_classes else 0.0, each
    chosen = probabilities.argmax(axis=1)
    rows = np.arange(n)
    return _gap(probabilities[rows, chosen], truth[rows, chosen], bins), each


def _gap(probability: np.ndarray, true: np.ndarray, bins: int) -> float:
    place = np.clip(np.ceil(probability * bins).astype(np.int64) - 1, 0, bins - 1)
    sums = np.bincount(place, probability.astype(np.float64) - true, minlength=bins)
    return float(np.abs(sums).sum() / max(1, probability.size))


def majority_scores(train_labels: np.ndarray, labels: np.ndarray, num_classes: int) -> Scores:
    """F1 of not looking at all: predict what most training nodes have (each label of at least
    half of them; the most frequent class). What a model must beat to have learned anything.
    """
    if labels.ndim == 2:
        guess = np.where(train_labels.mean(axis=0) >= 0.5, 1.0, -1.0)
    else:
        guess = np.bincount(train_labels, minlength=num_classes).astype(float)
    return f1_scores(np.broadcast_to(guess, (len(labels), num_classes)), labels)
