"""Loss functions."""

import numpy as np

from gaancore.array import Array, array_module
from gaancore.errors import ShapeError
from gaancore.kernels import kernels_for
from gaancore.ops.checks import expect_floats, expect_shape
from gaancore.ops.lift import primitive
from gaancore.tape import Backward


def _mean(total: Array | float, count: int, dtype: np.dtype) -> Array:
    """A sum of float64 as a mean of `dtype`, in one launch."""
    xp = array_module(total)
    return xp.divide(total, count, out=xp.empty((), dtype), casting="same_kind")


@primitive
def bce_with_logits(logits: Array, targets: Array) -> tuple[Array, Backward]:
    """Binary cross-entropy of sigmoid(logits), mean over nodes and labels (PPI's loss).

    out = mean of log(1 + exp(x)) - t x

    logits (N, C) float, targets (N, C) uint8 of 0 and 1. Returns a scalar; 0 for N = 0.
    Raises ShapeError if shapes differ or targets are not uint8.

    >>> logits, targets = np.log([[3.0, 1.0]]), np.array([[1, 0]], np.uint8)
    >>> float(np.exp(-2 * bce_with_logits(logits, targets).data).round(6))  # 3/4 times 1/2
    0.375
    """
    expect_floats("bce_with_logits", logits=logits)
    expect_shape("bce_with_logits", "logits", logits, ("N", "C"))
    expect_shape("bce_with_logits", "targets", targets, logits.shape)
    if targets.dtype != np.uint8:
        raise ShapeError(f"bce_with_logits: targets: expected uint8, got {targets.dtype}")
    total, grad_total = kernels_for(logits).bce_with_logits(logits, targets)
    count = max(1, logits.size)

    def backward(grad: Array) -> tuple[Array, None]:
        return grad_total * (grad / logits.dtype.type(count)), None

    return _mean(total, count, logits.dtype), backward


@primitive
def softmax_cross_entropy(logits: Array, targets: Array) -> tuple[Array, Backward]:
    """Cross-entropy of softmax(logits), mean over nodes (Reddit's loss).

    out = mean of log(sum_c exp(x_c)) - x_target

    logits (N, C) float, targets (N,) integer classes. Returns a scalar; 0 for N = 0.
    Raises ShapeError if shapes do not fit or a class is not an integer in 0 .. C - 1; on a GPU,
    where to look is to wait, the loss is NaN if it is an integer outside.

    >>> loss = softmax_cross_entropy(np.log([[1.0, 3.0]]), np.array([1]))
    >>> float(np.exp(-loss.data).round(6))  # the probability of class 1
    0.75
    """
    expect_floats("softmax_cross_entropy", logits=logits)
    expect_shape("softmax_cross_entropy", "logits", logits, ("N", "C"))
    expect_shape("softmax_cross_entropy", "targets", targets, (logits.shape[0],))
    if targets.dtype.kind not in "iu":
        raise ShapeError(f"softmax_cross_entropy: targets: expected integers, got {targets.dtype}")
    xp, count = array_module(logits), max(1, logits.shape[0])
    if xp is np and targets.size:
        lowest, highest = int(targets.min()), int(targets.max())
        if lowest < 0 or highest >= logits.shape[1]:
            raise ShapeError(
                f"softmax_cross_entropy: targets: expected classes 0 to {logits.shape[1] - 1}, "
                f"got {lowest} to {highest}"
            )
    classes = targets.astype(np.int64, copy=False)
    total, grad_total = kernels_for(logits).softmax_cross_entropy(logits, classes)

    def backward(grad: Array) -> tuple[Array, None]:
        return grad_total * (grad / logits.dtype.type(count)), None

    return _mean(total, count, logits.dtype), backward


@primitive
def soft_bce_with_logits(logits: Array, targets: Array, weights: Array) -> tuple[Array, Backward]:
    """Binary cross-entropy with targets between 0 and 1, each pair with its own weight.

    out = mean of w (log(1 + exp(x)) - t x)

    logits, targets, weights (N, C) float of one type; the latter two are constants. Returns a
    scalar; 0 for N = 0. Raises ShapeError if shapes or types differ.

    >>> logits, targets = np.log([[3.0, 1.0]]), np.array([[1.0, 0.5]])
    >>> float(np.exp(-2 * soft_bce_with_logits(logits, targets, np.ones((1, 2))).data).round(6))
    0.375
    """
    expect_floats("soft_bce_with_logits", logits=logits, targets=targets, weights=weights)
    expect_shape("soft_bce_with_logits", "logits", logits, ("N", "C"))
    expect_shape("soft_bce_with_logits", "targets", targets, logits.shape)
    expect_shape("soft_bce_with_logits", "weights", weights, logits.shape)
    xp, dtype = array_module(logits), logits.dtype
    decay = xp.exp(-xp.abs(logits))  # in (0, 1], whatever the logit
    losses = weights * (xp.maximum(logits, 0) + xp.log1p(decay) - targets * logits)
    factor = dtype.type(1 / max(1, logits.size))

    def backward(grad: Array) -> tuple[Array, None, None]:
        probabilities = xp.where(logits >= 0, 1, decay) / (1 + decay)
        return weights * (probabilities - targets) * (grad * factor), None, None

    return xp.asarray(losses.sum(dtype=np.float64) * factor, dtype=dtype), backward


@primitive
def soft_cross_entropy(logits: Array, targets: Array) -> tuple[Array, Backward]:
    """Cross-entropy of softmax(logits) with a weight for each class of each node.

    out = mean over nodes of sum_c t_c (log(sum_d exp(x_d)) - x_c)

    logits, targets (N, C) float of one type; targets are constants of 0 or more, and a row need not
    sum to 1. Returns a scalar; 0 for N = 0. Raises ShapeError if shapes or types differ.

    >>> loss = soft_cross_entropy(np.log([[1.0, 3.0]]), np.array([[0.0, 2.0]]))
    >>> float(np.exp(-loss.data).round(6))  # the probability of class 1, twice
    0.5625
    """
    expect_floats("soft_cross_entropy", logits=logits, targets=targets)
    expect_shape("soft_cross_entropy", "logits", logits, ("N", "C"))
    expect_shape("soft_cross_entropy", "targets", targets, logits.shape)
    xp, dtype = array_module(logits), logits.dtype
    shifted = logits - logits.max(axis=1, keepdims=True)
    powers = xp.exp(shifted)
    sums = powers.sum(axis=1, keepdims=True)
    losses = targets * (xp.log(sums) - shifted)
    factor = dtype.type(1 / max(1, logits.shape[0]))

    def backward(grad: Array) -> tuple[Array, None]:
        weight = targets.sum(axis=1, keepdims=True)
        return (weight * (powers / sums) - targets) * (grad * factor), None

    return xp.asarray(losses.sum(dtype=np.float64) * factor, dtype=dtype), backward


@primitive
def masked_absolute_error(
    predictions: Array, targets: Array, mask: Array, *, count: int
) -> tuple[Array, Backward]:
    """Sum of |prediction - target| where mask, divided by count (METR-LA's loss).

    predictions, targets : float of one shape; mask : bool of the same shape. What a target is
    where the mask is False does not matter, not even NaN.
    count : how many targets the mean is over, those of this call or of the whole batch that it is
            a part of. Returns a scalar, 0 without gradient where nothing is valid.
    Raises ShapeError if shapes or dtypes do not fit.

    >>> predictions, targets = np.array([1.0, 5.0]), np.array([3.0, np.nan])
    >>> masked_absolute_error(predictions, targets, np.array([True, False]), count=1).data
    array(2.)
    """
    expect_floats("masked_absolute_error", predictions=predictions, targets=targets)
    expect_shape("masked_absolute_error", "targets", targets, predictions.shape)
    expect_shape("masked_absolute_error", "mask", mask, predictions.shape)
    if mask.dtype != np.bool_:
        raise ShapeError(f"masked_absolute_error: mask: expected bool, got {mask.dtype}")
    xp, dtype = array_module(predictions), predictions.dtype
    errors = xp.where(mask, predictions - targets, dtype.type(0))
    factor = dtype.type(1 / max(1, count))

    def backward(grad: Array) -> tuple[Array, None, None]:
        return xp.sign(errors) * (grad * factor), None, None

    return xp.asarray(xp.abs(errors).sum(dtype=np.float64) * factor, dtype=dtype), backward
