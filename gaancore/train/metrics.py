"""F1 scores from counts summed over everything that is scored, never averaged over batches."""

from dataclasses import dataclass

import numpy as np

from gaancore.errors import TrainingError


@dataclass(frozen=True)
class Scores:
    """micro_f1 : F1 of true/false positives/negatives summed over all nodes and classes.
    macro_f1 : mean over classes of each class's own F1; a class that never occurs and is never
               predicted counts 0, as for scikit-learn's zero_division=0.
    """

    micro_f1: float
    macro_f1: float


def f1_scores(logits: np.ndarray, labels: np.ndarray) -> Scores:
    """F1 of predictions against truth.

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
    if labels.ndim == 2:
        predicted, truth = logits > 0, labels > 0
    else:
        classes = np.arange(logits.shape[1])
        predicted = logits.argmax(axis=1)[:, None] == classes
        truth = labels[:, None] == classes
    hits = np.count_nonzero(predicted & truth, axis=0)
    marks = np.count_nonzero(predicted, axis=0) + np.count_nonzero(truth, axis=0)
    per_class = 2 * hits / np.maximum(marks, 1)
    micro = 2 * int(hits.sum()) / max(int(marks.sum()), 1)
    return Scores(micro_f1=micro, macro_f1=float(per_class.mean()))


def majority_scores(train_labels: np.ndarray, labels: np.ndarray, num_classes: int) -> Scores:
    """F1 of not looking at all: predict what most training nodes have (each label of at least
    half of them; the most frequent class). What a model must beat to have learned anything.
    """
    if labels.ndim == 2:
        guess = np.where(train_labels.mean(axis=0) >= 0.5, 1.0, -1.0)
    else:
        guess = np.bincount(train_labels, minlength=num_classes).astype(float)
    return f1_scores(np.broadcast_to(guess, (len(labels), num_classes)), labels)
