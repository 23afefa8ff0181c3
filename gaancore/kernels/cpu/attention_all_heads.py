"""Attention with all heads of an edge at once, for rows that are all in the cache, or none of them.

Where the rows that a destination gathers are in the L2 cache anyway, the walk of
attention_by_head.py gains nothing and pays for its many short loops: at 8 edges a row, the
processor mispredicts a branch for every head. Where not even one head's rows are in a cache, it
waits for memory once a head. Here a row of K heads stays in registers while its edges pass, and the
rows of edges to come are fetched meanwhile. Weights are never dropped here.

The softmax is that of segments.py, written into the loops over scores and values: as a loop of its
own between them it made the forward pass a tenth slower (measured).

Shapes: q, y and their gradients (N, K * width), keys and values (S, K * width), weights and
grad_scores (E, K). A thread owns rows [start, stop) of what it writes.
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from gaancore.kernels.cpu.segments import CHUNK
from gaancore.kernels.cpu.sharing import by_edges, edges_of, node_rows, soon
from gaancore.kernels.cpu.vector.code import FAST
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
from gaancore.kernels.cpu.vector.register_moves import prefetch
from gaancore.system.jit import jit

Results = tuple[np.ndarray, "AllHeads"]
Triple = tuple[np.ndarray, np.ndarray, np.ndarray]


class AllHeads(NamedTuple):
    """What the forward pass keeps: its inputs, and the weight of each edge and head."""

    queries: np.ndarray  # (N, K, A)
    keys: np.ndarray  # (S, K, A)
    values: np.ndarray  # (S, K, D)
    weights: np.ndarray  # (E, K)


def forward(
    queries: np.ndarray, keys: np.ndarray, values: np.ndarray,
    indptr: np.ndarray, indices: np.ndarray, scale: float,
) -> Results:  # fmt: skip
    (num_dst, K, A), D, dtype = queries.shape, values.shape[2], queries.dtype
    weights, out = np.empty((indices.size, K), dtype), np.empty((num_dst, K, D), dtype)
    q, k, v = (node_rows(x) for x in (queries, keys, values))
    args = (q, k, v, indptr, indices, dtype.type(scale), weights, node_rows(out))
    by_edges(_forward(K, A, D), indptr, K * (A + D), *args)
    return out, AllHeads(queries, keys, values, weights)


def backward(
    grad: np.ndarray, saved: AllHeads, scale: float, indptr: np.ndarray, indices: np.ndarray,
    transpose: Triple,
) -> Triple:  # fmt: skip
    queries, keys, values, weights = saved
    (_, K, A), D, factor = queries.shape, values.shape[2], queries.dtype.type(scale)
    grad_q, grad_k, grad_v = (np.empty_like(x) for x in (queries, keys, values))
    grad_scores, work = np.empty_like(weights), K * (A + D)
    g, q, k, v = (node_rows(x) for x in (grad, queries, keys, values))
    args = (g, weights, k, v, indptr, indices, factor, grad_scores, node_rows(grad_q))
    by_edges(_backward_rows(K, A, D), indptr, work, *args)
    targets = (node_rows(grad_k), node_rows(grad_v))
    by_column = (g, q, weights, grad_scores, *transpose, factor, *targets)
    by_edges(_backward_columns(K, A, D), transpose[0], work, *by_column)
    return grad_q, grad_k, grad_v


@cache
def _forward(K: int, A: int, D: int) -> Any:
    """weights = softmax of scale * <q, keys> over each row's edges; y = their sums of values."""
    key_width, value_width = K * A, K * D

    @jit(fastmath=FAST)
    def kernel(q, keys, values, indptr, indices, scale, weights, y, start, stop):
        one, limits = q.dtype.type(1), np.finfo(q.dtype)
        x, total = register(q, key_width), register(q, value_width)
        top, norm = register(q, K), register(q, K)
        flat = weights.reshape(-1)
        for chunk in range(start, stop, CHUNK):
            chunk_stop = min(chunk + CHUNK, stop)
            for i in range(chunk, chunk_stop):
                load(x, q, i, key_width)
                fill(top, limits.min, K)  # not -inf: -inf less it is -inf, and no NaN
                for e in edges_of(indptr, i):
                    prefetch(keys, soon(indices, e), key_width)
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
                    prefetch(values, soon(indices, e), value_width)
                    add_heads(total, weights, e, values, indices[e], K, D)
                store(y, i, one, total, value_width)

    return kernel


@cache
def _backward_rows(K: int, A: int, D: int) -> Any:
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
                prefetch(values, soon(indices, e), value_width)
                head_dots(grad_scores, e, one, g, values, indices[e], K, D)
                add_product(mean, weights, grad_scores, e, K)
            for e in edges_of(indptr, i):
                subtract(grad_scores, grad_scores, e, mean, K)
            for n in range(np.uintp(indptr[i] * K), np.uintp(indptr[i + 1] * K)):
                flat[n] *= flat_weights[n]
            clear(total, key_width)
            for e in edges_of(indptr, i):
                prefetch(keys, soon(indices, e), key_width)
                add_heads(total, grad_scores, e, keys, indices[e], K, A)
            store(grad_q, i, scale, total, key_width)

    return kernel


@cache
def _backward_columns(K: int, A: int, D: int) -> Any:
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
                e, row, edge = np.uintp(t_edge_ids[p]), soon(t_indices, p), soon(t_edge_ids, p)
                prefetch(q, row, key_width)
                prefetch(grad, row, value_width)
                prefetch(grad_scores, edge, K)
                prefetch(weights, edge, K)
                add_heads(of_key, grad_scores, e, q, t_indices[p], K, A)
                add_heads(of_value, weights, e, grad, t_indices[p], K, D)
            store(grad_k, j, scale, of_key, key_width)
            store(grad_v, j, one, of_value, value_width)

    return kernel
