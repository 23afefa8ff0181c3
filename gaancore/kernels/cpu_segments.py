"""Numba: softmax, weighted sum, dot, mean and max over the segments of a block.

Each kernel owns the rows [start, stop) of what it writes, so threads never meet. Kernels with
rows of numbers are made for one width at a time (see rows.py) and kept.
"""

from functools import cache
from typing import Any

import numpy as np

from gaancore.jit import jit
from gaancore.kernels.fastmath import exp_nonpositive
from gaancore.kernels.rows import (
    add,
    clear,
    dot,
    fill_int,
    load,
    register,
    register_int,
    store,
    store_int,
    take_larger,
)

FAST = {"reassoc", "contract", "nsz"}


@jit(fastmath=FAST)
def softmax_forward(scores, indptr, weights, start, stop):
    for i in range(start, stop):
        for k in range(scores.shape[1]):
            top = scores.dtype.type(-np.inf)
            for e in range(indptr[i], indptr[i + 1]):
                top = max(top, scores[e, k])
            if top == -np.inf:
                top = scores.dtype.type(0)  # scores of -inf only: exp gives zeros, and no NaN
            total = scores.dtype.type(0)
            for e in range(indptr[i], indptr[i + 1]):
                weights[e, k] = exp_nonpositive(scores[e, k] - top)
                total += weights[e, k]
            if total != 0:
                for e in range(indptr[i], indptr[i + 1]):
                    weights[e, k] /= total


@jit(fastmath=FAST)
def softmax_backward(weights, grad, indptr, grad_scores, start, stop):
    for i in range(start, stop):
        for k in range(weights.shape[1]):
            total = weights.dtype.type(0)
            for e in range(indptr[i], indptr[i + 1]):
                total += weights[e, k] * grad[e, k]
            for e in range(indptr[i], indptr[i + 1]):
                grad_scores[e, k] = weights[e, k] * (grad[e, k] - total)


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
                for p in range(indptr[i], indptr[i + 1]):
                    e = p if edge_ids is None else edge_ids[p]
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
                for e in range(indptr[i], indptr[i + 1]):
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
                for e in range(indptr[i], indptr[i + 1]):
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
                for p in range(t_indptr[j], t_indptr[j + 1]):
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
        w = register_int(width)
        for i in range(start, stop):
            first, last = indptr[i], indptr[i + 1]
            for s in range(strips):
                if first == last:
                    clear(r, width)
                    fill_int(w, np.int32(-1), width)
                else:
                    load(r, values, np.int64(indices[first]) * strips + s, width)
                    fill_int(w, indices[first], width)
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
