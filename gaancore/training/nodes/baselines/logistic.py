"""Logistic regression on each node's own features: what can be had without the graph.

SciPy's L-BFGS in float64, from zero, finds the one minimum that there is, so that the answer is the
same on every machine, whatever else is installed.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy  # whose modules are imported at their first use

from gaancore.data.nodes.dataset import TRAIN, VALIDATION, NodeDataset
from gaancore.data.nodes.features.matrix import LOOKED_AT, SPARSE, FeatureMatrix, share_filled
from gaancore.training.nodes.metrics import f1_scores

STRENGTHS = (0.01, 0.1, 1.0, 10.0)  # C: how much the loss weighs beside the weights' size
# numbers x classes that a strength is tried on, and that are learned from in the end: some seconds
MOST_TRIED, MOST_LEARNED = 8_000_000, 80_000_000
MOST_NUMBERS = 8_000_000  # of features that are held for it
ROWS_AT_A_TIME = 4_096  # of features, in float64

Matrix = Any  # (n, F) float64: an array, or SciPy's csr_array where most numbers are 0


@dataclass(frozen=True)
class LogisticRegression:
    """Weights (F + 1, C) of standardised features, the last row for the constant.

    mean, scale : (F,) of the nodes it was learned from; 0 and 1 where most features are 0.
    strength    : C, chosen by the micro-F1 of the validation nodes.
    learned     : how many training nodes it was learned from.
    """

    weights: np.ndarray
    mean: np.ndarray
    scale: np.ndarray
    strength: float
    learned: int

    def logits(self, features: FeatureMatrix, nodes: np.ndarray) -> np.ndarray:
        """(n, C) of some nodes, whose features (N, F) are read a few rows at a time."""
        parts = [
            (rows if scipy.sparse.issparse(rows) else (rows - self.mean) / self.scale)
            @ self.weights[:-1]
            + self.weights[-1]
            for rows in _parts(features, nodes)
        ]
        return np.concatenate(parts)


def logistic_regression(dataset: NodeDataset) -> LogisticRegression:
    """Learned from the training nodes, evenly chosen where they are too many.

    Features are standardised over these nodes, unless most of them are 0. `strength` is the one of
    STRENGTHS with the best micro-F1 on validation nodes, the smallest if several are; where there
    are many nodes, as it turns out on some of them.
    """
    d = dataset
    looked_at = d.features[_evenly(d.nodes(TRAIN), LOOKED_AT)]
    filled = share_filled(looked_at)
    sparse = filled <= 1 - SPARSE or scipy.sparse.issparse(looked_at)
    numbers = max(1, d.num_features * (filled if sparse else 1))  # of a node
    tried, most = (
        max(1, int(min(MOST_NUMBERS, products / max(1, d.num_classes)) / numbers))
        for products in (MOST_TRIED, MOST_LEARNED)
    )
    nodes, held = (_evenly(d.nodes(split), most) for split in (TRAIN, VALIDATION))
    some = _evenly(np.arange(nodes.size), tried)
    mean, scale = np.zeros(d.num_features), np.ones(d.num_features)
    matrix: Matrix
    if sparse:
        parts = [scipy.sparse.csr_array(rows) for rows in _parts(d.features, nodes)]
        matrix = scipy.sparse.csr_array(scipy.sparse.vstack(parts))
    else:
        x = d.features[nodes].astype(np.float64)
        mean, deviation = x.mean(axis=0), x.std(axis=0)
        scale = np.where(deviation <= 1e-12 * np.abs(mean), scale, deviation)
        matrix = (x - mean) / scale
    targets = one_hot(d.labels[nodes], d.num_classes)
    weights, found = np.zeros((d.num_features + 1, d.num_classes)), []
    one_class = not d.multi_label
    for strength in STRENGTHS:
        weights = fit(matrix[some], targets[some], strength, weights, one_class=one_class)
        model = LogisticRegression(weights, mean, scale, strength, nodes.size)
        score = f1_scores(model.logits(d.features, held), d.labels[held]).micro_f1
        found.append((score, model))
    best = max(found, key=lambda pair: pair[0])[1]
    if some.size == nodes.size:
        return best
    weights = fit(matrix, targets, best.strength, best.weights, one_class=one_class)
    return replace(best, weights=weights)


def fit(
    x: Matrix,
    targets: np.ndarray,
    strength: float,
    start: np.ndarray,
    *,
    one_class: bool,
    tolerance: float = 1e-4,
) -> np.ndarray:
    """(F + 1, C) the minimum of C sum(losses) + |W|^2 / 2, the constants not in |W|.

    The loss of a node is its cross-entropy if it has one class, else the sum of those of its
    labels: scikit-learn's LogisticRegression(C=strength), of each label by itself in the second
    case. x (n, F); targets (n, C) of 0 and 1; start: where the search begins.
    """
    shape, share = start.shape, 1 / (strength * len(targets))

    def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
        weights = flat.reshape(shape)
        scores = x @ weights[:-1] + weights[-1]
        if one_class:
            logs = scipy.special.log_softmax(scores, axis=1)
            losses, grads = -(targets * logs), np.exp(logs) - targets
        else:
            losses, grads = (
                np.logaddexp(0, scores) - targets * scores,
                scipy.special.expit(scores) - targets,
            )
        grads /= len(targets)
        value = losses.sum() / len(targets) + share / 2 * (weights[:-1] ** 2).sum()
        slopes = np.vstack([x.T @ grads + share * weights[:-1], grads.sum(axis=0)])
        return value, slopes.reshape(-1)

    options = {"maxiter": 100, "gtol": tolerance, "ftol": 64 * np.finfo(float).eps, "maxls": 50}
    found = scipy.optimize.minimize(
        objective, start.reshape(-1), method="L-BFGS-B", jac=True, options=options
    )
    return np.asarray(found.x).reshape(shape)


def one_hot(labels: np.ndarray, num_classes: int) -> np.ndarray:
    """(n, C) of 0.0 and 1.0, of classes (n,) or of labels that are so already."""
    if labels.ndim == 2:
        return labels.astype(np.float64)
    return (labels[:, None] == np.arange(num_classes)).astype(np.float64)


def _parts(features: FeatureMatrix, nodes: np.ndarray) -> Iterator[Matrix]:
    """Rows of `nodes` in float64, a few at a time."""
    for start in range(0, max(1, nodes.size), ROWS_AT_A_TIME):
        yield features[nodes[start : start + ROWS_AT_A_TIME]].astype(np.float64)


def _evenly(nodes: np.ndarray, most: int) -> np.ndarray:
    if nodes.size <= most:
        return nodes
    return nodes[np.linspace(0, nodes.size - 1, most).astype(np.int64)]
