"""What a step's outputs are compared with: labels as they are, smoothed, or weighted by class; and,
where a node has no label to learn from, each other.
"""

import numpy as np

from gaancore.array import Array, array_module, on_device_of
from gaancore.ops import (
    bce_with_logits,
    soft_bce_with_logits,
    soft_cross_entropy,
    softmax_cross_entropy,
)
from gaancore.tensor import Tensor
from gaancore.training.nodes.settings import NodeSettings


class NodeLoss:
    """The loss of nodes by their labels, its mean over those of a step.

    having  : (C,) how many of the training nodes have each class or label. count: how many there
              are. several: whether a node has several labels, not one class.

    `label_smoothing` e turns the 1 of a class into 1 - e + e / C and the 0 of the others into e / C
    (Szegedy et al., 2016, section 7), and of several labels t into (1 - e) t + e / 2.

    `class_weight = balanced` gives each training node the weight n / (c n_k), of n nodes of which
    n_k have its class k, and c classes that any has; each label of several is such a problem of two
    classes. So all classes weigh the same in an epoch, and the mean weight is 1: scikit-learn's
    `class_weight="balanced"`.
    """

    def __init__(
        self, settings: NodeSettings, having: np.ndarray, count: int, *, several: bool
    ) -> None:
        self.smoothing = settings.label_smoothing
        self.num_classes = having.size
        self.several = several
        balanced = settings.class_weight != "none"
        self.weights = _balanced(having, count, several) if balanced else None

    def __call__(self, outputs: Tensor, labels: Array) -> Tensor:
        """A scalar. outputs (n, C); labels as in a dataset, (n, C) of 0 and 1 or (n,) classes
        below C, on the device of the outputs."""
        if not self.smoothing and self.weights is None:
            hard = bce_with_logits if self.several else softmax_cross_entropy
            return hard(outputs, labels)
        with on_device_of(outputs.data):
            return self._softened(outputs, labels)

    def _softened(self, outputs: Tensor, labels: Array) -> Tensor:
        xp, dtype = array_module(outputs.data), outputs.dtype
        weights = xp.ones((2, self.num_classes)) if self.weights is None else self.weights
        weights, e = xp.asarray(weights, dtype=dtype), dtype.type(self.smoothing)
        if self.several:
            targets = (1 - e) * labels.astype(dtype) + e / 2
            chosen = xp.where(labels > 0, weights[1], weights[0])
            return soft_bce_with_logits(outputs, targets, chosen)
        own = (labels[:, None] == xp.arange(self.num_classes)).astype(dtype)
        targets = (1 - e) * own + e / self.num_classes
        return soft_cross_entropy(outputs, targets * weights[1][labels][:, None])


def _balanced(having: np.ndarray, count: int, several: bool) -> np.ndarray:
    """(2, C): the weight of a node without the class or label, and of one with it."""
    if several:
        both = np.stack([count - having, having])
        classes = (both > 0).sum(axis=0)
    else:
        both = np.stack([having, having])
        classes = max(1, np.count_nonzero(having))
    return count / (classes * np.maximum(both, 1))


def consistency_loss(outputs: Tensor, others: Tensor, first: int) -> Tensor:
    """How far two outputs of the same nodes are from what both say together: the mean over rows
    `first` and later, and over both outputs, of -sum_c q_c log p_c.

    p is the softmax of an output, and q the mean of both p, squared and divided by its sum: surer
    than either. No gradient flows through q. Two outputs differ by their dropout, so a node without
    a label teaches the network to give one answer whatever it is shown of the neighbourhood
    (consistency regularisation: Berthelot et al., 2019, section 3; on graphs, Feng et al., 2020).

    outputs, others : (n, C), with first < n.
    """
    with on_device_of(outputs.data):
        both = (_softmax(outputs.data) + _softmax(others.data)) / 2
        targets = both * both
        targets /= targets.sum(axis=1, keepdims=True)
        targets[:first] = 0  # rows of zeros add nothing
        found = soft_cross_entropy(outputs, targets) + soft_cross_entropy(others, targets)
        return found * (len(targets) / (2 * (len(targets) - first)))


def _softmax(logits: Array) -> Array:
    xp = array_module(logits)
    rising = xp.exp(logits - logits.max(axis=1, keepdims=True))
    return rising / rising.sum(axis=1, keepdims=True)
