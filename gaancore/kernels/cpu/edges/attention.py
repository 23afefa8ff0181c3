"""Attention over edges that have features: host above, Numba loops below.

All heads of a row or a source follow one another, as in sums.py: what is read of an edge, in a
place of its own, then serves all of them. An edge keeps one number for each head, its weight.

Names are those of columns.py; y is the output. The key projection has rows of (feature, head) too.
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from gaancore.kernels import dropout_constants
from gaancore.kernels.cpu.edges.columns import HEADS_AHEAD, Cut, backward_columns, cut_into_parts
from gaancore.kernels.cpu.segments import CHUNK
from gaancore.kernels.cpu.sharing import by_edges, edges_of, head_rows
from gaancore.kernels.cpu.vector.code import FAST
from gaancore.kernels.cpu.vector.math import exp_nonpositive, random_word
from gaancore.kernels.cpu.vector.moves import (
    add,
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
from gaancore.kernels.cpu.vector.register_moves import add_register, leak, prefetch
from gaancore.system import threads
from gaancore.system.jit import jit

Results = tuple[np.ndarray, "WithEdges"]


class WithEdges(NamedTuple):
    """What the forward pass keeps: its inputs, and the weight of each edge and head."""

    queries: np.ndarray  # (N, K, A)
    keys: np.ndarray  # (S, K, A)
    values: np.ndarray  # (S, K, D)
    edges: np.ndarray  # (E, B)
    to_keys: np.ndarray  # (B, K, A)
    to_values: np.ndarray  # (B, K, D)
    weights: np.ndarray  # (E, K)


def edge_attention_forward(
    queries: np.ndarray, keys: np.ndarray, values: np.ndarray, edges: np.ndarray,
    to_keys: np.ndarray, to_values: np.ndarray, indptr: np.ndarray, indices: np.ndarray,
    slope: float, scale: float, rate: float, seed: int,
) -> Results:  # fmt: skip
    (N, K, A), D, (E, B), dtype = queries.shape, values.shape[2], edges.shape, queries.dtype
    weights, out = np.empty((E, K), dtype), np.empty((N, K, D), dtype)
    rows = (head_rows(x) for x in (queries, keys, values, to_keys, to_values))
    static = (dtype.type(slope), dtype.type(scale), *dropout_constants(dtype, rate, seed))
    args = (*rows, edges, indptr, indices, *static, weights, head_rows(out))
    by_edges(_forward(K, A, D, B), indptr, K * (A + D * (1 + B)), *args)
    return out, WithEdges(queries, keys, values, edges, to_keys, to_values, weights)


def edge_attention_backward(
    grad: np.ndarray, out: np.ndarray, saved: WithEdges, slope: float, scale: float, rate: float,
    seed: int, needed: bool, indptr: np.ndarray, indices: np.ndarray, t_indptr: np.ndarray,
    t_indices: np.ndarray, t_edge_ids: np.ndarray,
) -> tuple[np.ndarray | None, ...]:  # fmt: skip
    queries, keys, values, edges, to_keys, to_values, weights = saved
    (N, K, A), D, (E, B), dtype = queries.shape, out.shape[2], edges.shape, out.dtype
    q, k, v, of_keys, of_values = (
        head_rows(x) for x in (queries, keys, values, to_keys, to_values)
    )
    means, g = np.empty((N, K), dtype), head_rows(grad)
    threads.share_rows(_means(D), N * K, D, g, head_rows(out), means.reshape(-1))
    bounds, cut = cut_into_parts(t_indptr), Cut.of(D, B)
    parts = bounds.size - 1
    grad_scores, grad_edges = np.empty_like(weights), np.zeros((E if needed else 0, B), dtype)
    grad_q, grad_k, grad_v = (np.empty_like(x) for x in (queries, keys, values))
    partial = np.empty((parts, B, K, D), dtype)
    static = (dtype.type(slope), dtype.type(scale), *dropout_constants(dtype, rate, seed))
    given = (g, weights, v, edges, of_values, q, means, t_indptr, t_indices, t_edge_ids, bounds)
    of_v, of_partial = (x.reshape(-1, cut.width) for x in (grad_v, partial))
    targets = (grad_scores, of_v, head_rows(grad_k), of_partial, grad_edges)
    work = E * K * (A + D * (1 + B)) // parts
    kernel = backward_columns(K, A, D, B, attention=True)
    threads.share_rows(kernel, parts, work, *given, *static, *targets)

    bounds = cut_into_parts(indptr)
    parts = bounds.size - 1
    partial_keys = np.zeros((parts, B, K, A), dtype)
    of_scores = (q, k, edges, of_keys, grad_scores, indptr, indices, bounds)
    made = (head_rows(grad_q), partial_keys.reshape(parts * B * K, A), grad_edges)
    threads.share_rows(_backward_rows(A, B), parts, E * K * A // parts, *of_scores, *made)
    grads = (grad_q, grad_k, grad_v, grad_edges if needed else None)
    return *grads, partial_keys.sum(axis=0), partial.sum(axis=0)


@cache
def _forward(K: int, A: int, D: int, B: int) -> Any:
    ahead = min(HEADS_AHEAD, K - 1)

    @jit(fastmath=FAST)
    def kernel(
        q, keys, values, to_keys, to_values, edges, indptr, indices, slope, scale, threshold,
        keep_scale, key, weights, y, start, stop,
    ):  # fmt: skip
        zero, one, limits = q.dtype.type(0), q.dtype.type(1), np.finfo(q.dtype)
        x, top, heads = register(q, A), register(q, K), register(q, K)
        u, total = register(q, D), register(q, D)
        asked, flat = np.empty((B, K), q.dtype), weights.reshape(-1)
        for chunk in range(start, stop, CHUNK):
            chunk_stop = min(chunk + CHUNK, stop)
            for i in range(chunk, chunk_stop):
                for k in range(K):
                    load(x, q, i * K + k, A)
                    for b in range(B):
                        asked[b, k] = dot(x, to_keys, b * K + k, A)
                    for e in edges_of(indptr, i):
                        weights[e, k] = dot(x, keys, np.int64(indices[e]) * K + k, A)
                fill(top, limits.min, K)  # not -inf: -inf less it is -inf, and no NaN
                for e in edges_of(indptr, i):
                    load(heads, weights, e, K)
                    for b in range(B):
                        add(heads, edges[e, b], asked, b, K)
                    store(weights, e, scale, heads, K)
                    larger(top, weights, e, K)
                for e in edges_of(indptr, i):
                    subtract(weights, weights, e, top, K)
            for n in range(np.uintp(indptr[chunk] * K), np.uintp(indptr[chunk_stop] * K)):
                flat[n] = exp_nonpositive(flat[n])
            for i in range(chunk, chunk_stop):
                fill(top, limits.tiny, K)  # lost in a sum; scores of -inf only give 0 / tiny
                for e in edges_of(indptr, i):
                    add(top, one, weights, e, K)
                for e in edges_of(indptr, i):
                    divide(weights, weights, e, top, K)
                for k in range(K):
                    clear(total, D)
                    for e in edges_of(indptr, i):
                        row = np.int64(indices[e]) * K + k
                        prefetch(values, row + ahead, D)
                        load(u, values, row, D)
                        for b in range(B):
                            add(u, edges[e, b], to_values, b * K + k, D)
                        leak(u, u, slope, D)
                        weight = weights[e, k]
                        if threshold > 0:
                            kept = random_word(key, np.int64(e) * K + k) >= threshold
                            weight = weight * keep_scale if kept else zero
                        add_register(total, weight, u, D)
                    store(y, i * K + k, one, total, D)

    return kernel


@cache
def _means(D: int) -> Any:
    """means[i, k] = -<g[i, k], y[i, k]>: less the weighted mean of each weight's gradient."""

    @jit(fastmath=FAST)
    def kernel(g, y, means, start, stop):
        r = register(g, D)
        for n in range(start, stop):
            load(r, g, n, D)
            means[n] = -dot(r, y, n, D)

    return kernel


@cache
def _backward_rows(A: int, B: int) -> Any:
    """Gradients of queries and of the key projection, and what scores give to those of features."""

    @jit(fastmath=FAST)
    def kernel(
        q, keys, edges, to_keys, grad_scores, indptr, indices, bounds, grad_q, partial, grad_edges,
        start, stop,
    ):  # fmt: skip
        one, K = q.dtype.type(1), grad_scores.shape[1]
        ahead = min(HEADS_AHEAD, K - 1)
        total, of_asked, row = register(q, A), register(q, B), register(q, A)
        asked = np.empty((1, B), q.dtype)
        for part in range(start, stop):
            for i in range(bounds[part], bounds[part + 1]):
                for k in range(K):
                    clear(total, A)
                    clear(of_asked, B)
                    for e in edges_of(indptr, i):
                        source = np.int64(indices[e]) * K + k
                        prefetch(keys, source + ahead, A)
                        add(total, grad_scores[e, k], keys, source, A)
                        add(of_asked, grad_scores[e, k], edges, e, B)
                    store(asked, 0, one, of_asked, B)
                    for b in range(B):
                        add(total, asked[0, b], to_keys, b * K + k, A)
                        target = (part * B + b) * K + k
                        load(row, partial, target, A)
                        add(row, asked[0, b], q, i * K + k, A)
                        store(partial, target, one, row, A)
                    store(grad_q, i * K + k, one, total, A)
                    if len(grad_edges) > 0:
                        load(row, q, i * K + k, A)
                        for b in range(B):
                            asked[0, b] = dot(row, to_keys, b * K + k, A)
                        for e in edges_of(indptr, i):
                            for b in range(B):
                                grad_edges[e, b] += grad_scores[e, k] * asked[0, b]

    return kernel
