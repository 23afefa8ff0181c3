"""Attention head by head: scores, softmax and weighted sum in one pass over each row.

What bounds it is not arithmetic but where a gathered row is found. One head's keys and values of a
graph fit into the L2 cache where all heads' do not. So they are copied head by head first
(`_by_head`), and each head's rows are walked in turn. A thread owns rows [start, stop).

Names: q, g, y are the rows of queries, of the gradient and of the output, (N * K, width), row
i * K + k; kh, vh, qh, gh and `packed` are packed: (K * S, width), row k * S + j.
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from gaancore.kernels import dropout_constants
from gaancore.kernels.cpu.sharing import aligned, by_edges, edges_of, head_rows, soon
from gaancore.kernels.cpu.vector.code import FAST
from gaancore.kernels.cpu.vector.math import exp_nonpositive, random_word
from gaancore.kernels.cpu.vector.moves import add, clear, dot, load, register, store
from gaancore.kernels.cpu.vector.register_moves import prefetch
from gaancore.system import threads
from gaancore.system.jit import jit

CHUNK = 64  # rows whose scores are exponentiated together: one long loop instead of many short

Results = tuple[np.ndarray, "ByHead"]
Triple = tuple[np.ndarray, np.ndarray, np.ndarray]


class ByHead(NamedTuple):
    """What the forward pass keeps: of E edges and K heads, never of a width (packed: see above)."""

    queries: np.ndarray  # (N, K, A), as given
    keys: np.ndarray  # (K * S, A), packed
    values: np.ndarray  # (K * S, D), packed
    exps: np.ndarray  # (K, E): exp(score - the row's maximum)
    inverse: np.ndarray  # (K, N): 1 / the row's sum of them


def forward(
    queries: np.ndarray, keys: np.ndarray, values: np.ndarray, indptr: np.ndarray,
    indices: np.ndarray, scale: float, rate: float, seed: int,
) -> Results:  # fmt: skip
    (num_dst, K, A), D, dtype = queries.shape, values.shape[2], queries.dtype
    kh, vh = _by_head(keys), _by_head(values)
    exps = np.empty((K, indices.size), dtype)
    inverse = np.empty((K, num_dst), dtype)
    out = np.empty((num_dst, K, D), dtype)
    static = (dtype.type(scale), *dropout_constants(dtype, rate, seed))
    args = (head_rows(queries), kh, vh, indptr, indices, *static, exps, inverse, head_rows(out))
    by_edges(_forward(A, D), indptr, K * (A + D), *args)
    return out, ByHead(queries, kh, vh, exps, inverse)


def backward(
    grad: np.ndarray, out: np.ndarray, saved: ByHead, scale: float, rate: float, seed: int,
    indptr: np.ndarray, indices: np.ndarray, transpose: Triple,
) -> Triple:  # fmt: skip
    queries, kh, vh, exps, inverse = saved
    (num_dst, K, A), D, dtype = queries.shape, out.shape[2], out.dtype
    t_indptr, num_src = transpose[0], transpose[0].size - 1
    gh, means = aligned((K * num_dst, D), dtype), np.empty_like(inverse)
    packed = (head_rows(grad), head_rows(out), gh, means)
    threads.share_rows(_pack_gradient(D), num_dst, K * D, *packed)
    grad_scores = np.empty_like(exps)
    grad_q = np.empty_like(queries)
    grad_k, grad_v = (np.empty((num_src, K, width), dtype) for width in (A, D))
    static = (dtype.type(scale), *dropout_constants(dtype, rate, seed))
    given = (_by_head(queries), gh, vh, means, exps, inverse, *transpose, *static)
    targets = (grad_scores, head_rows(grad_k), head_rows(grad_v))
    by_edges(_backward_columns(A, D), t_indptr, K * (A + 2 * D), *given, *targets)
    args = (grad_scores, kh, indptr, indices, dtype.type(scale), head_rows(grad_q))
    by_edges(_backward_rows(A), indptr, K * A, *args)
    return grad_q, grad_k, grad_v


def _by_head(x: np.ndarray) -> np.ndarray:
    """(n, K, D) as (K * n, D): all rows of one head together."""
    n, K, D = x.shape
    if K == 1:
        return head_rows(x)  # they are
    packed = aligned((K * n, D), x.dtype)
    threads.share_rows(_pack(D), n, K * D, head_rows(x), packed, K)
    return packed


@cache
def _pack(width: int) -> Any:
    @jit
    def kernel(rows, packed, K, start, stop):
        one, S = rows.dtype.type(1), rows.shape[0] // K
        r = register(rows, width)
        for j in range(start, stop):
            for k in range(K):
                load(r, rows, j * K + k, width)
                store(packed, k * S + j, one, r, width)

    return kernel


@cache
def _forward(key_width: int, value_width: int) -> Any:
    @jit(fastmath=FAST)
    def kernel(
        q, kh, vh, indptr, indices, scale, threshold, keep_scale, key, exps, inverse, y,
        start, stop,
    ):  # fmt: skip
        zero, one, K = q.dtype.type(0), q.dtype.type(1), exps.shape[0]
        S = kh.shape[0] // K
        x, total = register(kh, key_width), register(vh, value_width)
        for k in range(K):
            first, exp = k * S, exps[k]
            for chunk in range(start, stop, CHUNK):
                chunk_stop = min(chunk + CHUNK, stop)
                for i in range(chunk, chunk_stop):
                    load(x, q, i * K + k, key_width)
                    top = q.dtype.type(-np.inf)
                    for e in edges_of(indptr, i):
                        score = scale * dot(x, kh, first + indices[e], key_width)
                        exp[e] = score
                        top = max(top, score)
                    if top == -np.inf:
                        top = zero  # scores of -inf only: exp gives zeros, and no NaN
                    for e in edges_of(indptr, i):
                        exp[e] -= top
                for e in range(np.uintp(indptr[chunk]), np.uintp(indptr[chunk_stop])):
                    exp[e] = exp_nonpositive(exp[e])
                for i in range(chunk, chunk_stop):
                    norm = zero
                    clear(total, value_width)
                    for e in edges_of(indptr, i):
                        weight = exp[e]
                        norm += weight
                        if threshold > 0:
                            kept = random_word(key, np.int64(e) * K + k) >= threshold
                            weight = weight * keep_scale if kept else zero
                        add(total, weight, vh, first + indices[e], value_width)
                    inverse[k, i] = one / norm if norm != zero else zero
                    store(y, i * K + k, inverse[k, i], total, value_width)

    return kernel


@cache
def _pack_gradient(width: int) -> Any:
    """_pack, and means[k, i] = <g[i, k], y[i, k]>, the weighted mean of each weight's gradient."""

    @jit(fastmath=FAST)
    def kernel(g, y, packed, means, start, stop):
        one, (K, N) = g.dtype.type(1), means.shape
        r = register(g, width)
        for i in range(start, stop):
            for k in range(K):
                load(r, g, i * K + k, width)
                store(packed, k * N + i, one, r, width)
                means[k, i] = dot(r, y, i * K + k, width)

    return kernel


@cache
def _backward_columns(key_width: int, value_width: int) -> Any:
    """grad_keys, grad_values, and each edge's gradient of the score, over the transposed block.

    A source's row of values stays in registers while the gradients of its destinations pass by,
    so that one visit to each of them gives the weight's gradient and grad_values both.
    """

    @jit(fastmath=FAST)
    def kernel(
        qh, gh, vh, means, exps, inverse, t_indptr, t_indices, t_edge_ids,
        scale, threshold, keep_scale, key, grad_scores, grad_k, grad_v, start, stop,
    ):  # fmt: skip
        zero, one, (K, N) = gh.dtype.type(0), gh.dtype.type(1), means.shape
        S = vh.shape[0] // K
        value, total_v = register(gh, value_width), register(gh, value_width)
        total_k = register(qh, key_width)
        for k in range(K):
            first, mean, norm, exp, scores = k * N, means[k], inverse[k], exps[k], grad_scores[k]
            for j in range(start, stop):
                load(value, vh, k * S + j, value_width)
                clear(total_v, value_width)
                clear(total_k, key_width)
                for p in edges_of(t_indptr, j):
                    i, e = np.uintp(t_indices[p]), np.uintp(t_edge_ids[p])
                    prefetch(gh, first + soon(t_indices, p), value_width)
                    prefetch(qh, first + soon(t_indices, p), key_width)
                    prefetch(exps, k * exps.shape[1] + soon(t_edge_ids, p), 1)
                    prefetch(grad_scores, k * exps.shape[1] + soon(t_edge_ids, p), 1)
                    factor = one
                    if threshold > 0:
                        kept = random_word(key, np.int64(e) * K + k) >= threshold
                        factor = keep_scale if kept else zero
                    row = first + t_indices[p]
                    weight = exp[e] * norm[i]
                    grad_weight = factor * dot(value, gh, row, value_width)
                    scores[e] = weight * (grad_weight - mean[i])
                    add(total_v, weight * factor, gh, row, value_width)
                    add(total_k, scores[e], qh, row, key_width)
                store(grad_v, j * K + k, one, total_v, value_width)
                store(grad_k, j * K + k, scale, total_k, key_width)

    return kernel


@cache
def _backward_rows(width: int) -> Any:
    """grad_queries[i] = scale * sum of grad_scores[e] * keys[j] over the edges e = (i, j)."""

    @jit(fastmath=FAST)
    def kernel(grad_scores, kh, indptr, indices, scale, grad_q, start, stop):
        K = grad_scores.shape[0]
        S = kh.shape[0] // K
        total = register(kh, width)
        for k in range(K):
            first, scores = k * S, grad_scores[k]
            for i in range(start, stop):
                clear(total, width)
                for e in edges_of(indptr, i):
                    add(total, scores[e], kh, first + indices[e], width)
                store(grad_q, i * K + k, scale, total, width)

    return kernel
