"""Softmax, weighted sum and dot over the segments of a block: host above, Numba loop below.

Each loop owns the rows [start, stop) of what it writes, so threads never meet. Loops over rows of
numbers are made for one width at a time (see vector/moves.py) and kept.
"""

from functools import cache
from typing import Any

import numpy as np

from gaancore.kernels.cpu.sharing import by_edges, edges_of, head_rows
from gaancore.kernels.cpu.vector.code import FAST
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
    subtract,
)
from gaancore.system.jit import jit

CHUNK = 16  # rows exponentiated together: at 30 edges and 8 heads they fit into the L1 cache


def segment_softmax_forward(scores: np.ndarray, indptr: np.ndarray) -> np.ndarray:
    weights, heads = np.empty_like(scores), scores.shape[1]
    by_edges(_softmax_forward(heads), indptr, heads, scores, indptr, weights)
    return weights


@cache
def _softmax_forward(heads: int) -> Any:
    """Rows of a chunk together: their exponentials are one long loop instead of many short ones."""

    @jit(fastmath=FAST)
    def kernel(scores, indptr, weights, start, stop):
        one, limits = scores.dtype.type(1), np.finfo(scores.dtype)
        top, total = register(scores, heads), register(scores, heads)
        flat = weights.reshape(-1)
        for chunk in range(start, stop, CHUNK):
            chunk_stop = min(chunk + CHUNK, stop)
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


def segment_softmax_backward(
    weights: np.ndarray, grad: np.ndarray, indptr: np.ndarray
) -> np.ndarray:
    out, heads = np.empty_like(weights), weights.shape[1]
    by_edges(_softmax_backward(heads), indptr, heads, weights, grad, indptr, out)
    return out


@cache
def _softmax_backward(heads: int) -> Any:
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


def segment_weighted_sum(
    weights: np.ndarray,
    values: np.ndarray,
    indptr: np.ndarray,
    indices: np.ndarray,
    edge_ids: np.ndarray | None = None,
) -> np.ndarray:
    _, K, D = values.shape
    out = np.empty((indptr.size - 1, K, D), values.dtype)
    args = (weights, head_rows(values), indptr, indices, edge_ids, head_rows(out))
    by_edges(_weighted_sum(D), indptr, K * D, *args)
    return out


@cache
def _weighted_sum(width: int) -> Any:
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


def edge_dot(
    queries: np.ndarray, keys: np.ndarray, indptr: np.ndarray, indices: np.ndarray
) -> np.ndarray:
    _, K, D = keys.shape
    out = np.empty((indices.size, K), keys.dtype)
    args = (head_rows(queries), head_rows(keys), indptr, indices, out)
    by_edges(_edge_dot(D), indptr, K * D, *args)
    return out


@cache
def _edge_dot(width: int) -> Any:
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
