"""Losses with their gradients in one pass: allocates and launches."""

import numpy as np

from gaancore.array import Array, array_module
from gaancore.kernels.cuda.launcher import launch, num_blocks, power_of_two

LOSS_BLOCKS = 512  # blocks at most, each of which leaves one sum

i64, i32 = np.int64, np.int32


def bce_with_logits(logits: Array, targets: Array) -> tuple[Array, Array]:
    xp, size = array_module(logits), logits.size
    grad, total = xp.empty(logits.shape, logits.dtype), xp.empty((), np.float64)
    blocks = num_blocks(size, LOSS_BLOCKS)
    losses = xp.empty(blocks, np.float64)
    args = (logits, targets, i64(size), grad, losses)
    launch("bce_with_logits", "bce_with_logits", logits, size, *args, most=LOSS_BLOCKS)
    launch("sum_blocks", "sum_blocks", logits, 1, losses, i64(blocks), total)
    return total, grad


def softmax_cross_entropy(logits: Array, targets: Array) -> tuple[Array, Array]:
    xp, (N, C) = array_module(logits), logits.shape
    grad, total = xp.empty((N, C), logits.dtype), xp.empty((), np.float64)
    losses, team = xp.empty(N, np.float64), power_of_two(C)
    args = (logits, targets, i64(N), i32(C), i32(team), grad, losses)
    launch("softmax_cross_entropy", "softmax_cross_entropy", logits, N * team, *args)
    launch("sum_blocks", "sum_blocks", logits, 1, losses, i64(N), total)
    return total, grad
