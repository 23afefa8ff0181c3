"""Attention on the CPU: which of two walks over the edges takes it, and their arrays.

cpu_attention.py goes head by head over packed copies, cpu_attention_short.py takes all heads of an
edge at once. At 8 edges a row the second takes a half to a third of the time; at 24 of 32 numbers a
head the first is ahead.
"""

from typing import Any

import numpy as np

from gaancore.kernels.cpu import attention_all_heads as all_heads
from gaancore.kernels.cpu import attention_by_head as by_head
from gaancore.kernels.cpu.sharing import aligned, by_edges, flat_heads, rows
from gaancore.system import threads

SHORT = 16  # edges a row, on average, up to which all heads of an edge are taken at once

Triple = tuple[np.ndarray, np.ndarray, np.ndarray]


def dropout_constants(dtype: np.dtype, rate: float) -> tuple[np.uint64, Any]:
    """Random 32-bit words at or above the threshold are kept, and scaled by 1 / (1 - rate)."""
    return np.uint64(round(rate * 2**32)), dtype.type(1 / (1 - rate))


def _pack(x: np.ndarray) -> np.ndarray:
    """(n, K, D) as (K * n, D): all rows of one head together."""
    n, K, D = x.shape
    if K == 1:
        return rows(x)  # they are
    packed = aligned((K * n, D), x.dtype)
    threads.share_rows(by_head.pack(D), n, K * D, rows(x), packed, K)
    return packed


def attention_forward(
    queries: np.ndarray,
    keys: np.ndarray,
    values: np.ndarray,
    indptr: np.ndarray,
    indices: np.ndarray,
    scale: float,
    rate: float,
    seed: int,
) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
    (num_dst, K, A), D, dtype = queries.shape, values.shape[2], queries.dtype
    if rate == 0 and indices.size <= SHORT * num_dst:
        return _forward_short(queries, keys, values, indptr, indices, scale)
    kh, vh = _pack(keys), _pack(values)
    exps = np.empty((K, indices.size), dtype)
    inverse = np.empty((K, num_dst), dtype)
    out = np.empty((num_dst, K, D), dtype)
    drop = (*dropout_constants(dtype, rate), np.uint64(seed))
    args = (rows(queries), kh, vh, indptr, indices, dtype.type(scale), *drop)
    by_edges(by_head.forward(A, D), indptr, K * (A + D), *args, exps, inverse, rows(out))
    return out, (queries, kh, vh, exps, inverse)


def attention_backward(
    grad: np.ndarray,
    out: np.ndarray,
    saved: tuple[np.ndarray, ...],
    scale: float,
    rate: float,
    seed: int,
    indptr: np.ndarray,
    indices: np.ndarray,
    t_indptr: np.ndarray,
    t_indices: np.ndarray,
    t_edge_ids: np.ndarray,
) -> Triple:
    if len(saved) == 4:
        transpose = (t_indptr, t_indices, t_edge_ids)
        return _backward_short(grad, *saved, scale, indptr, indices, *transpose)
    queries, kh, vh, exps, inverse = saved
    (num_dst, K, A), D, dtype = queries.shape, out.shape[2], out.dtype
    gh, means = aligned((K * num_dst, D), dtype), np.empty_like(inverse)
    packed = (rows(grad), rows(out), gh, means)
    threads.share_rows(by_head.pack_gradient(D), num_dst, K * D, *packed)
    grad_scores = np.empty_like(exps)
    grad_q = np.empty_like(queries)
    grad_k = np.empty((t_indptr.size - 1, K, A), dtype)
    grad_v = np.empty((t_indptr.size - 1, K, D), dtype)
    drop = (dtype.type(scale), *dropout_constants(dtype, rate), np.uint64(seed))
    edges = (t_indptr, t_indices, t_edge_ids)
    given = (_pack(queries), gh, vh, means, exps, inverse, *edges, *drop)
    targets = (grad_scores, rows(grad_k), rows(grad_v))
    by_edges(by_head.backward_columns(A, D), t_indptr, K * (A + 2 * D), *given, *targets)
    by_rows = (grad_scores, kh, indptr, indices, dtype.type(scale), rows(grad_q))
    by_edges(by_head.backward_rows(A), indptr, K * A, *by_rows)
    return grad_q, grad_k, grad_v


def _forward_short(
    queries: np.ndarray, keys: np.ndarray, values: np.ndarray,
    indptr: np.ndarray, indices: np.ndarray, scale: float,
) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:  # fmt: skip
    (num_dst, K, A), D, dtype = queries.shape, values.shape[2], queries.dtype
    weights, out = np.empty((indices.size, K), dtype), np.empty((num_dst, K, D), dtype)
    q, k, v = (flat_heads(x) for x in (queries, keys, values))
    given = (q, k, v, indptr, indices, dtype.type(scale))
    by_edges(all_heads.forward(K, A, D), indptr, K * (A + D), *given, weights, flat_heads(out))
    return out, (queries, keys, values, weights)


def _backward_short(
    grad: np.ndarray, queries: np.ndarray, keys: np.ndarray, values: np.ndarray,
    weights: np.ndarray, scale: float, indptr: np.ndarray, indices: np.ndarray,
    t_indptr: np.ndarray, t_indices: np.ndarray, t_edge_ids: np.ndarray,
) -> Triple:  # fmt: skip
    (_, K, A), D, factor = queries.shape, values.shape[2], queries.dtype.type(scale)
    grad_q, grad_k, grad_v = (np.empty_like(x) for x in (queries, keys, values))
    grad_scores, work = np.empty_like(weights), K * (A + D)
    g, q, k, v = (flat_heads(x) for x in (grad, queries, keys, values))
    given = (g, weights, k, v, indptr, indices, factor, grad_scores, flat_heads(grad_q))
    by_edges(all_heads.backward_rows(K, A, D), indptr, work, *given)
    edges = (t_indptr, t_indices, t_edge_ids)
    by_column = (g, q, weights, grad_scores, *edges, factor, flat_heads(grad_k), flat_heads(grad_v))
    by_edges(all_heads.backward_columns(K, A, D), t_indptr, work, *by_column)
    return grad_q, grad_k, grad_v
