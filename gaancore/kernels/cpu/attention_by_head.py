"""Numba: scores, softmax and weighted sum in one pass over each row, and its gradient.

What bounds it is not arithmetic but where a gathered row is found. One head's keys and values of a
graph fit into the L2 cache where all heads' do not, so they are copied head by head first
(`pack`), and each head's rows are walked in turn. A thread owns rows [start, stop).

Names: q, g, y are the rows of queries, of the gradient and of the output, (N * K, width), row
i * K + k; kh, vh and `packed` are packed, (K * S, width), row k * S + j. Between forward and
backward only exp(score - max) and 1 / sum are kept, per edge and head: O(E K), never O(E K D).
"""

from functools import cache
from typing import Any

import numpy as np

from gaancore.kernels.cpu.vector.math import exp_nonpositive, random_word
from gaancore.kernels.cpu.vector.moves import add, clear, dot, load, register, store
from gaancore.system.jit import jit

FAST = {"reassoc", "contract", "nsz"}
ROWS = 64  # rows whose scores are exponentiated together: one long loop instead of many short


@cache
def pack(width: int) -> Any:
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
def forward(key_width: int, value_width: int) -> Any:
    @jit(fastmath=FAST)
    def kernel(
        q,
        kh,
        vh,
        indptr,
        indices,
        scale,
        threshold,
        keep_scale,
        seed,
        exps,
        inverse,
        y,
        start,
        stop,
    ):
        zero, one, K = q.dtype.type(0), q.dtype.type(1), exps.shape[0]
        S = kh.shape[0] // K
        x, total = register(kh, key_width), register(vh, value_width)
        for k in range(K):
            first, exp = k * S, exps[k]
            for chunk in range(start, stop, ROWS):
                chunk_stop = min(chunk + ROWS, stop)
                for i in range(chunk, chunk_stop):
                    lo, hi = np.uintp(indptr[i]), np.uintp(indptr[i + 1])
                    load(x, q, i * K + k, key_width)
                    top = q.dtype.type(-np.inf)
                    for e in range(lo, hi):
                        score = scale * dot(x, kh, first + indices[e], key_width)
                        exp[e] = score
                        top = max(top, score)
                    if top == -np.inf:
                        top = zero  # scores of -inf only: exp gives zeros, and no NaN
                    for e in range(lo, hi):
                        exp[e] -= top
                for e in range(np.uintp(indptr[chunk]), np.uintp(indptr[chunk_stop])):
                    exp[e] = exp_nonpositive(exp[e])
                for i in range(chunk, chunk_stop):
                    norm = zero
                    clear(total, value_width)
                    for e in range(np.uintp(indptr[i]), np.uintp(indptr[i + 1])):
                        weight = exp[e]
                        norm += weight
                        if threshold > 0:
                            kept = random_word(seed, np.int64(e) * K + k) >= threshold
                            weight = weight * keep_scale if kept else zero
                        add(total, weight, vh, first + indices[e], value_width)
                    inverse[k, i] = one / norm if norm != zero else zero
                    store(y, i * K + k, inverse[k, i], total, value_width)

    return kernel


@cache
def pack_gradient(width: int) -> Any:
    """pack, and means[k, i] = <g[i, k], y[i, k]>, the weighted mean of each weight's gradient."""

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
def backward_columns(key_width: int, value_width: int) -> Any:
    """grad_keys, grad_values, and each edge's gradient of the score, over the transposed block.

    A source's row of values stays in registers while the gradients of its destinations pass by,
    so that one visit to each of them gives the weight's gradient and grad_values both.
    """

    @jit(fastmath=FAST)
    def kernel(
        qh,
        gh,
        vh,
        means,
        exps,
        inverse,
        t_indptr,
        t_indices,
        t_edge_ids,
        scale,
        threshold,
        keep_scale,
        seed,
        grad_scores,
        grad_k,
        grad_v,
        start,
        stop,
    ):
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
                for p in range(np.uintp(t_indptr[j]), np.uintp(t_indptr[j + 1])):
                    i, e = np.uintp(t_indices[p]), np.uintp(t_edge_ids[p])
                    factor = one
                    if threshold > 0:
                        kept = random_word(seed, np.int64(e) * K + k) >= threshold
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
def backward_rows(width: int) -> Any:
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
                for e in range(np.uintp(indptr[i]), np.uintp(indptr[i + 1])):
                    add(total, scores[e], kh, first + indices[e], width)
                store(grad_q, i * K + k, scale, total, width)

    return kernel
