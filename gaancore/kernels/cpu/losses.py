"""Losses with their gradients in one pass: host above, Numba loop below."""

import numpy as np

from gaancore.kernels.cpu.vector.code import FAST
from gaancore.kernels.cpu.vector.math import exp_nonpositive, log1p_unit
from gaancore.system import threads
from gaancore.system.jit import jit


def bce_with_logits(logits: np.ndarray, targets: np.ndarray) -> tuple[float, np.ndarray]:
    grad = np.empty_like(logits)
    losses = np.empty(logits.shape[0], logits.dtype)
    threads.share_rows(_bce_with_logits, *logits.shape, logits, targets, grad, losses)
    return float(losses.sum(dtype=np.float64)), grad


@jit(fastmath=FAST)
def _bce_with_logits(logits, targets, grad, losses, start, stop):
    """losses[i] = sum_c log(1 + e^x) - t x, grad = sigmoid(x) - t; safe for any finite logit."""
    one, zero = logits.dtype.type(1), logits.dtype.type(0)
    for i in range(start, stop):
        x, t, g = logits[i], targets[i], grad[i]
        total = zero
        for c in range(x.size):
            e, target = exp_nonpositive(-abs(x[c])), x.dtype.type(t[c])
            sigmoid = (one if x[c] >= zero else e) / (one + e)
            g[c] = sigmoid - target
            total += max(x[c], zero) - x[c] * target + log1p_unit(e)
        losses[i] = total


def softmax_cross_entropy(logits: np.ndarray, targets: np.ndarray) -> tuple[float, np.ndarray]:
    grad = np.empty_like(logits)
    losses = np.empty(logits.shape[0], logits.dtype)
    args = (logits, targets, grad, losses)
    threads.share_rows(_softmax_cross_entropy, *logits.shape, *args)
    return float(losses.sum(dtype=np.float64)), grad


@jit(fastmath=FAST)
def _softmax_cross_entropy(logits, targets, grad, losses, start, stop):
    """losses[i] = log(sum_c e^x_c) - x_target, grad = softmax(x) - onehot(target); the row's
    maximum is subtracted first."""
    one = logits.dtype.type(1)
    for i in range(start, stop):
        x, g, target = logits[i], grad[i], targets[i]
        top = x[0]
        for c in range(1, x.size):
            top = max(top, x[c])
        total = logits.dtype.type(0)
        for c in range(x.size):
            g[c] = exp_nonpositive(x[c] - top)
            total += g[c]
        for c in range(x.size):
            g[c] /= total
        g[target] -= one
        losses[i] = np.log(total) - (x[target] - top)
