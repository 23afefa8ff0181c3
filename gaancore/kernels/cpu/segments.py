"""Numba: softmax, weighted sum, dot, mean and max over the segments of a block.

Each kernel owns the rows [start, stop) of what it writes, so threads never meet. Kernels with
rows of numbers are made for one width at a time (see rows.py) and kept.
"""

from functools import cache
from typing import Any

import numpy as np

from gaancore.kernels.cpu.vector.math import exp_nonpositive
from gaancore.kernels.cpu.vector.moves import (
    add,
    add_product,
    clear,
    divide,
    dot,
    fill,
    larger,
    load,
    register,
    store,
    store_int,
    subtract,
    take_larger,
)
from gaancore.system.jit import jit

FAST = {"reassoc", "contract", "nsz"}
ROWS = 16  # rows of a chunk: at 30 edges and 8 heads they fit into the L1 cache


@jit(inline="always")
def edges_of(indptr, i):
    """Unsigned, so that LLVM need not ask whether an index is counted from the end."""
    return range(np.uintp(indptr[i]), np.uintp(indptr[i + 1]))


@cache
def softmax_forward(heads: int) -> Any:
    """Rows of a chunk together: their exponentials are one long loop instead of many short ones."""

    @jit(fastmath=FAST)
    def kernel(scores, indptr, weights, start, stop):
        one, limits = scores.dtype.type(1), np.finfo(scores.dtype)
        top, total = register(scores, heads), register(scores, heads)
        flat = weights.reshape(-1)
        for chunk in range(start, stop, ROWS):
            chunk_stop = min(chunk + ROWS, stop)
            for i in range(chunk, chunk_stop):
                fill(top, limits.min, heads)  # not -inf: -inf less it is -inf, and no NaN
                for e in edges_of(indptr, i):
                    larger(top, scores, e, heads)
                for e in edges_of(indptr, i):
                    subtract(weights, scores, e, top, heads)
            for n in range(np.uintp(indptr[chunk] * heads), np.uintp(indptr[chunk_stop] * heads)):
                flat[n] = exp_nonpositive(flat[n])
            for i in range(chunk, chunk_stop):
                fill(total, limits.tiny, heads)  # lost in a sum; scores of -inf only give 0 / tiny
                for e in edges_of(indptr, i):
                    add(total, one, weights, e, heads)
                for e in edges_of(indptr, i):
                    divide(weights, weights, e, total, heads)

    return kernel


@cache
def softmax_backward(heads: int) -> Any:
    @jit(fastmath=FAST)
    def kernel(weights, grad, indptr, grad_scores, start, stop):
        total = register(weights, heads)
        flat, flat_weights = grad_scores.reshape(-1), weights.reshape(-1)
        for i in range(start, stop):
            clear(total, heads)
            for e in edges_of(indptr, i):
                add_product(total, weights, grad, e, heads)
            for e in edges_of(indptr, i):
                subtract(grad_scores, grad, e, total, heads)
            for n in range(np.uintp(indptr[i] * heads), np.uintp(indptr[i + 1] * heads)):
                flat[n] *= flat_weights[n]

    return kernel


@cache
def weighted_sum(width: int) -> Any:
    """values and out as rows of (node, head): row i * K + k."""

    @jit
    def kernel(weights, values, indptr, indices, edge_ids, out, start, stop):
        one, K = weights.dtype.type(1), weights.shape[1]
        r = register(values, width)
        for i in range(start, stop):
            for k in range(K):
                clear(r, width)
                for p in edges_of(indptr, i):
                    e = p if edge_ids is None else np.uintp(edge_ids[p])
                    add(r, weights[e, k], values, np.int64(indices[p]) * K + k, width)
                store(out, i * K + k, one, r, width)

    return kernel


@cache
def edge_dot(width: int) -> Any:
    @jit
    def kernel(queries, keys, indptr, indices, out, start, stop):
        K = out.shape[1]
        r = register(queries, width)
        for i in range(start, stop):
            for k in range(K):
                load(r, queries, i * K + k, width)
                for e in edges_of(indptr, i):
                    out[e, k] = dot(r, keys, np.int64(indices[e]) * K + k, width)

    return kernel


@cache
def mean_forward(width: int) -> Any:
    """values and out as strips: `strips` rows of `width` numbers make one node."""

    @jit
    def kernel(values, indptr, indices, strips, out, start, stop):
        one = values.dtype.type(1)
        r = register(values, width)
        for i in range(start, stop):
            degree = indptr[i + 1] - indptr[i]
            scale = one / max(degree, 1)
            for s in range(strips):
                clear(r, width)
                for e in edges_of(indptr, i):
                    add(r, one, values, np.int64(indices[e]) * strips + s, width)
                store(out, i * strips + s, values.dtype.type(scale), r, width)

    return kernel


@cache
def mean_backward(width: int) -> Any:
    """out[j] = sum of grad[i] / |N_i| over the destinations i of source j."""

    @jit
    def kernel(grad, inverse_degree, t_indptr, t_indices, strips, out, start, stop):
        one = grad.dtype.type(1)
        r = register(grad, width)
        for j in range(start, stop):
            for s in range(strips):
                clear(r, width)
                for p in edges_of(t_indptr, j):
                    i = np.int64(t_indices[p])
                    add(r, inverse_degree[i], grad, i * strips + s, width)
                store(out, j * strips + s, one, r, width)

    return kernel


@cache
def max_forward(width: int) -> Any:
    @jit
    def kernel(values, indptr, indices, strips, out, winners, start, stop):
        one = values.dtype.type(1)
        r = register(values, width)
        w = register(winners, width)
        for i in range(start, stop):
            first, last = indptr[i], indptr[i + 1]
            for s in range(strips):
                if first == last:
                    clear(r, width)
                    fill(w, np.int32(-1), width)
                else:
                    load(r, values, np.int64(indices[first]) * strips + s, width)
                    fill(w, indices[first], width)
                    for e in range(first + 1, last):
                        j = indices[e]
                        take_larger(r, w, values, np.int64(j) * strips + s, j, width)
                store(out, i * strips + s, one, r, width)
                store_int(winners, i * strips + s, w, width)

    return kernel


@jit
def max_backward(grad, winners, line, out, start, stop):
    """Cache lines [start, stop) of each row are this thread's: it adds up in row order."""
    for i in range(grad.shape[0]):
        for f in range(start * line, min(stop * line, grad.shape[1])):
            j = winners[i, f]
            if j >= 0:
                out[j, f] += grad[i, f]
