"""Numba: attention with all heads of an edge at once, for blocks that are at home in the cache.

Where the rows that a destination gathers are in the L2 cache anyway, the head-by-head walk of
cpu_attention.py has nothing to win, and pays for its many short loops: at 8 edges a row, a branch
is mispredicted for every head of it. Here a row of K heads stays in registers while its edges pass.

Shapes: q, y and their gradients (N, K * width), keys and values (S, K * width), weights and
grad_scores (E, K). A thread owns rows [start, stop) of what it writes.
"""

from functools import cache
from typing import Any

import numpy as np

from gaancore.kernels.cpu.segments import FAST, ROWS, edges_of
from gaancore.kernels.cpu.vector.head_moves import add_heads, head_dots
from gaancore.kernels.cpu.vector.math import exp_nonpositive
from gaancore.kernels.cpu.vector.moves import (
    add,
    add_product,
    clear,
    divide,
    fill,
    larger,
    load,
    register,
    store,
    subtract,
)
from gaancore.system.jit import jit


@cache
def forward(K: int, A: int, D: int) -> Any:
    """weights = softmax of scale * <q, keys> over each row's edges; y = their sums of values."""
    key_width, value_width = K * A, K * D

    @jit(fastmath=FAST)
    def kernel(q, keys, values, indptr, indices, scale, weights, y, start, stop):
        one, limits = q.dtype.type(1), np.finfo(q.dtype)
        x, total = register(q, key_width), register(q, value_width)
        top, norm = register(q, K), register(q, K)
        flat = weights.reshape(-1)
        for chunk in range(start, stop, ROWS):
            chunk_stop = min(chunk + ROWS, stop)
            for i in range(chunk, chunk_stop):
                load(x, q, i, key_width)
                fill(top, limits.min, K)  # not -inf: -inf less it is -inf, and no NaN
                for e in edges_of(indptr, i):
                    head_dots(weights, e, scale, x, keys, indices[e], K, A)
                    larger(top, weights, e, K)
                for e in edges_of(indptr, i):
                    subtract(weights, weights, e, top, K)
            for n in range(np.uintp(indptr[chunk] * K), np.uintp(indptr[chunk_stop] * K)):
                flat[n] = exp_nonpositive(flat[n])
            for i in range(chunk, chunk_stop):
                fill(norm, limits.tiny, K)  # lost in a sum; scores of -inf only give 0 / tiny
                for e in edges_of(indptr, i):
                    add(norm, one, weights, e, K)
                clear(total, value_width)
                for e in edges_of(indptr, i):
                    divide(weights, weights, e, norm, K)
                    add_heads(total, weights, e, values, indices[e], K, D)
                store(y, i, one, total, value_width)

    return kernel


@cache
def backward_rows(K: int, A: int, D: int) -> Any:
    """grad_scores[e] = w (dw - <w, dw> over the row), dw[e] = <grad[i], values[j]>; grad_q."""
    key_width, value_width = K * A, K * D

    @jit(fastmath=FAST)
    def kernel(
        grad, weights, keys, values, indptr, indices, scale, grad_scores, grad_q, start, stop
    ):
        one = grad.dtype.type(1)
        g, total, mean = register(grad, value_width), register(grad, key_width), register(grad, K)
        flat, flat_weights = grad_scores.reshape(-1), weights.reshape(-1)
        for i in range(start, stop):
            load(g, grad, i, value_width)
            clear(mean, K)
            for e in edges_of(indptr, i):
                head_dots(grad_scores, e, one, g, values, indices[e], K, D)
                add_product(mean, weights, grad_scores, e, K)
            for e in edges_of(indptr, i):
                subtract(grad_scores, grad_scores, e, mean, K)
            for n in range(np.uintp(indptr[i] * K), np.uintp(indptr[i + 1] * K)):
                flat[n] *= flat_weights[n]
            clear(total, key_width)
            for e in edges_of(indptr, i):
                add_heads(total, grad_scores, e, keys, indices[e], K, A)
            store(grad_q, i, scale, total, key_width)

    return kernel


@cache
def backward_columns(K: int, A: int, D: int) -> Any:
    """grad_keys and grad_values, over the transposed block."""
    key_width, value_width = K * A, K * D

    @jit(fastmath=FAST)
    def kernel(
        grad, q, weights, grad_scores, t_indptr, t_indices, t_edge_ids, scale, grad_k, grad_v,
        start, stop,
    ):  # fmt: skip
        one = grad.dtype.type(1)
        of_key, of_value = register(grad, key_width), register(grad, value_width)
        for j in range(start, stop):
            clear(of_key, key_width)
            clear(of_value, value_width)
            for p in edges_of(t_indptr, j):
                e = np.uintp(t_edge_ids[p])
                add_heads(of_key, grad_scores, e, q, t_indices[p], K, A)
                add_heads(of_value, weights, e, grad, t_indices[p], K, D)
            store(grad_k, j, scale, of_key, key_width)
            store(grad_v, j, one, of_value, value_width)

    return kernel
