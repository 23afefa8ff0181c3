"""Numba: scores, softmax and weighted sum in one pass over each row, and its gradient.

What bounds it is not arithmetic but where a gathered row is found. One head's keys and values of a
graph fit into the L2 cache where all heads' do not, so they are copied head by head first
(`pack`), and each head's rows are walked in turn. A thread owns rows [start, stop).

Names: q, g, y are the rows of queries, of the gradient and of the output, (N * K, width), row
i * K + k; kh, vh, qh, gh are packed, (K * S, width), row k * S + j. Between forward and backward
only exp(score - max) and 1 / sum are kept, per edge and head: O(E K), never O(E K D).
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
        q, kh, vh, indptr, indices, scale, threshold, keep_scale, seed, exps, inverse, y, start, stop
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
    """grad_queries, and for each edge (weight after dropout, gradient of the score) as a pair."""

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
        pairs,
        grad_q,
        start,
        stop,
    ):
        zero, K = g.dtype.type(0), exps.shape[0]
        S = kh.shape[0] // K
        grad, total = register(vh, value_width), register(kh, key_width)
        for k in range(K):
            first, exp, pair = k * S, exps[k], pairs[k]
            for i in range(start, stop):
                load(grad, g, i * K + k, value_width)
                mean = dot(grad, y, i * K + k, value_width)  # sum over the segment of w * grad_w
                clear(total, key_width)
                for e in range(np.uintp(indptr[i]), np.uintp(indptr[i + 1])):
                    j = first + indices[e]
                    weight = exp[e] * inverse[k, i]
                    grad_weight = dot(grad, vh, j, value_width)
                    kept_weight = weight
                    if threshold > 0:
                        kept = random_word(seed, np.int64(e) * K + k) >= threshold
                        kept_weight = weight * keep_scale if kept else zero
                        grad_weight = grad_weight * keep_scale if kept else zero
                    grad_score = weight * (grad_weight - mean)
                    pair[e, 0] = kept_weight
                    pair[e, 1] = grad_score
                    add(total, grad_score, kh, j, key_width)
                store(grad_q, i * K + k, scale, total, key_width)

    return kernel


@cache
def backward_columns(key_width: int, value_width: int) -> Any:
    """grad_keys and grad_values, over the transposed block: each source gathers its edges."""

    @jit(fastmath=FAST)
    def kernel(
        qh, gh, t_indptr, t_indices, t_edge_ids, scale, pairs, grad_k, grad_v, start, stop
    ):
        one, K = qh.dtype.type(1), pairs.shape[0]
        N = qh.shape[0] // K
        keys, values = register(qh, key_width), register(gh, value_width)
        for k in range(K):
            first, pair = k * N, pairs[k]
            for j in range(start, stop):
                clear(keys, key_width)
                clear(values, value_width)
                for p in range(np.uintp(t_indptr[j]), np.uintp(t_indptr[j + 1])):
                    i, e = first + t_indices[p], np.uintp(t_edge_ids[p])
                    add(keys, pair[e, 1], qh, i, key_width)
                    add(values, pair[e, 0], gh, i, value_width)
                store(grad_k, j * K + k, scale, keys, key_width)
                store(grad_v, j * K + k, one, values, value_width)

    return kernel
