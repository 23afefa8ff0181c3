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

from gaancore.jit import jit
from gaancore.kernels.fastmath import exp_nonpositive, random_word
from gaancore.kernels.rows import add, clear, dot, load, register, store

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
def backward_rows(key_width: int, value_width: int) -> Any:
    """grad_queries; for each edge and head its weight after dropout, and the score's gradient."""

    @jit(fastmath=FAST)
    def kernel(
        kh,
        vh,
        g,
        y,
        indptr,
        indices,
        scale,
        threshold,
        keep_scale,
        seed,
        exps,
        inverse,
        weights,
        grad_scores,
        grad_q,
        start,
        stop,
    ):
        zero, K = g.dtype.type(0), exps.shape[0]
        S = kh.shape[0] // K
        grad, total = register(vh, value_width), register(kh, key_width)
        for k in range(K):
            first, exp, used, scores = k * S, exps[k], weights[k], grad_scores[k]
            for chunk in range(start, stop, ROWS):
                chunk_stop = min(chunk + ROWS, stop)
                for i in range(chunk, chunk_stop):
                    lo, hi = np.uintp(indptr[i]), np.uintp(indptr[i + 1])
                    load(grad, g, i * K + k, value_width)
                    for e in range(lo, hi):
                        scores[e] = dot(grad, vh, first + indices[e], value_width)
                    norm = inverse[k, i]
                    mean = dot(grad, y, i * K + k, value_width)  # sum of weight * grad_weight
                    if threshold > 0:
                        for e in range(lo, hi):
                            kept = random_word(seed, np.int64(e) * K + k) >= threshold
                            factor = keep_scale if kept else zero
                            weight = norm * exp[e]
                            used[e] = weight * factor
                            scores[e] = weight * (scores[e] * factor - mean)
                    else:
                        for e in range(lo, hi):
                            weight = norm * exp[e]
                            used[e] = weight
                            scores[e] = weight * (scores[e] - mean)
                for i in range(chunk, chunk_stop):
                    clear(total, key_width)
                    for e in range(np.uintp(indptr[i]), np.uintp(indptr[i + 1])):
                        add(total, scores[e], kh, first + indices[e], key_width)
                    store(grad_q, i * K + k, scale, total, key_width)

    return kernel


@cache
def backward_columns(width: int) -> Any:
    """out[j] = scale * sum of weights[e] * rows[i] over the edges e = (i, j) of source j.

    Once with the scores' gradients and the queries for grad_keys, once with the weights and the
    gradient for grad_values: each pass has half of what both together would need in the cache.
    """

    @jit(fastmath=FAST)
    def kernel(weights, packed, t_indptr, t_indices, t_edge_ids, scale, out, start, stop):
        K = weights.shape[0]
        N = packed.shape[0] // K
        total = register(packed, width)
        for k in range(K):
            first, weight = k * N, weights[k]
            for j in range(start, stop):
                clear(total, width)
                for p in range(np.uintp(t_indptr[j]), np.uintp(t_indptr[j + 1])):
                    e = np.uintp(t_edge_ids[p])
                    add(total, weight[e], packed, first + t_indices[p], width)
                store(out, j * K + k, scale, total, width)

    return kernel
