"""The CUDA backend: allocates, and launches the kernels of cuda/*.cu. See the contract."""

import math
from typing import Any

import numpy as np

from gaancore.array import Array, array_module
from gaancore.kernels.cuda.dense import (
    adam_step,
    bce_with_logits,
    dropout,
    dropout_constants,
    gru_update_backward,
    gru_update_forward,
    linear_backward,
    linear_forward,
    matmul,
    scale_heads_backward,
    scale_heads_forward,
    softmax_cross_entropy,
)
from gaancore.kernels.cuda.launcher import launch, num_slots, power_of_two, share_out

ATTENTION_PACKS = 4  # loads of an output row that a lane keeps in registers (attention.cu)

__all__ = [
    "adam_step",
    "attention_backward",
    "attention_forward",
    "bce_with_logits",
    "dropout",
    "edge_dot",
    "gru_update_backward",
    "gru_update_forward",
    "linear_backward",
    "linear_forward",
    "matmul",
    "scale_heads_backward",
    "scale_heads_forward",
    "segment_max_backward",
    "segment_max_forward",
    "segment_mean_backward",
    "segment_mean_forward",
    "segment_softmax_backward",
    "segment_softmax_forward",
    "segment_weighted_sum",
    "softmax_cross_entropy",
]

Triple = tuple[Array, Array, Array]
u64, i64, i32 = np.uint64, np.int64, np.int32


def _softmax_sizes(scores: Array, indptr: Array) -> tuple[int, int, tuple[Any, ...]]:
    """Threads, slots, (N, slots, K, heads, team): lanes for heads times an average row's edges."""
    (E, K), N = scores.shape, indptr.size - 1
    slots, heads = num_slots(E), power_of_two(K)
    team = min(32, heads * power_of_two(-(-E // max(1, N))))
    threads = (N + slots) * -(-K // heads) * team
    return threads, slots, (i64(N), i64(slots), i32(K), i32(heads), i32(team))


def _sum_over_rows(
    file: str, kernel: str, rows: Array, given: tuple[Any, ...], indptr: Array, num_edges: int
) -> Array:
    """Launch a kernel that is made of `sum_over_rows`, then add up pieces; `rows` are gathered."""
    xp, dtype, sizes = array_module(rows), rows.dtype, rows.shape[1:]  # (K, D) or (F,)
    N, slots = indptr.size - 1, num_slots(num_edges)
    per_row = math.prod(sizes)
    numbers, team, teams = share_out(rows)
    out, partial = xp.empty((N, *sizes), dtype), xp.empty((slots, *sizes), dtype)
    threads = (N + slots) * math.prod(sizes[:-1]) * teams * team
    args = (*given, i64(N), i64(slots), *map(i32, sizes), i32(team), out, partial)
    launch(file, kernel, rows, threads, *args, numbers=numbers)
    pieces = (partial, indptr, i64(N), i64(slots), i32(per_row), out)
    launch("segment_weighted_sum", "sum_pieces", rows, slots * per_row, *pieces)
    return out


def segment_softmax_forward(scores: Array, indptr: Array) -> Array:
    xp, (threads, slots, sizes) = array_module(scores), _softmax_sizes(scores, indptr)
    weights = xp.empty(scores.shape, scores.dtype)
    partial = xp.empty((slots, scores.shape[1], 2), scores.dtype)
    args = (scores, indptr, *sizes, weights, partial)
    launch("segment_softmax", "segment_softmax_forward", scores, threads, *args)
    if slots:
        launch("segment_softmax", "segment_softmax_forward_long", scores, threads, *args)
    return weights


def segment_softmax_backward(weights: Array, grad: Array, indptr: Array) -> Array:
    xp, (threads, slots, sizes) = array_module(grad), _softmax_sizes(grad, indptr)
    out = xp.empty(grad.shape, grad.dtype)
    partial = xp.empty((slots, grad.shape[1]), grad.dtype)
    args = (weights, grad, indptr, *sizes, out, partial)
    launch("segment_softmax", "segment_softmax_backward", grad, threads, *args)
    if slots:
        launch("segment_softmax", "segment_softmax_backward_long", grad, threads, *args)
    return out


def segment_weighted_sum(
    weights: Array, values: Array, indptr: Array, indices: Array, edge_ids: Array | None = None
) -> Array:
    ids, id_bytes = (indices, 0) if edge_ids is None else (edge_ids, edge_ids.itemsize)
    given = (weights, values, indptr, indices, ids, i32(id_bytes))
    name = "segment_weighted_sum"
    return _sum_over_rows(name, name, values, given, indptr, indices.size)


def edge_dot(queries: Array, keys: Array, indptr: Array, indices: Array) -> Array:
    (N, K, D), slots = queries.shape, num_slots(indices.size)
    numbers, team, _ = share_out(queries, keys)
    out = array_module(keys).empty((indices.size, K), keys.dtype)
    args = (queries, keys, indptr, indices, i64(N), i64(slots), i32(K), i32(D), i32(team), out)
    launch("edge_dot", "edge_dot", keys, (N + slots) * K * team, *args, numbers=numbers)
    return out


def segment_mean_forward(values: Array, indptr: Array, indices: Array) -> Array:
    given = (values, indptr, indices)
    kernel = "segment_mean_forward"
    return _sum_over_rows("segment_mean", kernel, values, given, indptr, indices.size)


def segment_mean_backward(grad: Array, indptr: Array, t_indptr: Array, t_indices: Array) -> Array:
    given = (grad, indptr, t_indptr, t_indices)
    kernel = "segment_mean_backward"
    return _sum_over_rows("segment_mean", kernel, grad, given, t_indptr, t_indices.size)


def segment_max_forward(values: Array, indptr: Array, indices: Array) -> tuple[Array, Array]:
    xp, F = array_module(values), values.shape[1]
    N, slots = indptr.size - 1, num_slots(indices.size)
    numbers, team, teams = share_out(values)
    out, partial = (xp.empty((rows, F), values.dtype) for rows in (N, slots))
    winners, partial_winners = (xp.empty((rows, F), i32) for rows in (N, slots))
    sizes = (i64(N), i64(slots), i32(F))
    args = (values, indptr, indices, *sizes, i32(team), out, winners, partial, partial_winners)
    threads = (N + slots) * teams * team
    launch("segment_max", "segment_max_forward", values, threads, *args, numbers=numbers)
    pieces = (partial, partial_winners, indptr, *sizes, out, winners)
    launch("segment_max", "max_pieces", values, slots * F, *pieces, numbers=numbers)
    return out, winners


def segment_max_backward(grad: Array, winners: Array, t_indptr: Array, t_indices: Array) -> Array:
    given = (grad, winners, t_indptr, t_indices)
    kernel = "segment_max_backward"
    return _sum_over_rows("segment_max", kernel, grad, given, t_indptr, t_indices.size)


def attention_forward(
    queries: Array,
    keys: Array,
    values: Array,
    indptr: Array,
    indices: Array,
    scale: float,
    rate: float,
    seed: int,
) -> tuple[Array, tuple[Array, ...]]:
    xp, dtype, (N, K, A), D = array_module(values), values.dtype, queries.shape, values.shape[2]
    slots = num_slots(indices.size)
    numbers, team, teams = share_out(queries, keys, values, packs=ATTENTION_PACKS)
    out, partial = (xp.empty((rows, K, D), dtype) for rows in (N, slots))
    stats, partial_stats = (xp.empty((rows, K, 2), dtype) for rows in (N, slots))
    sizes = (i64(N), i64(slots), i32(K), i32(A), i32(D), i32(team))
    static = (dtype.type(scale), *dropout_constants(dtype, rate, seed))
    given, made = (queries, keys, values, indptr, indices), (out, stats, partial, partial_stats)
    args = (*given, *sizes, *static, *made)
    threads = (N + slots) * K * teams * team
    launch("attention", "attention_forward", values, threads, *args, numbers=numbers)
    pieces = (partial, partial_stats, indptr, i64(N), i64(slots), i32(K), i32(D), out, stats)
    launch("attention", "attention_pieces", values, slots * K * D, *pieces, numbers=numbers)
    return out, (queries, keys, values, stats)


def attention_backward(
    grad: Array,
    out: Array,
    saved: tuple[Array, ...],
    scale: float,
    rate: float,
    seed: int,
    indptr: Array,
    indices: Array,
    t_indptr: Array,
    t_indices: Array,
    t_edge_ids: Array,
) -> Triple:
    queries, keys, values, stats = saved
    xp, dtype, (N, K, A), D = array_module(grad), grad.dtype, queries.shape, grad.shape[2]
    slots = num_slots(indices.size)
    numbers, team, _ = share_out(queries, keys, values, grad)
    weights, grad_scores = (xp.empty((indices.size, K), dtype) for _ in range(2))
    sizes = (i64(N), i64(slots), i32(K), i32(A), i32(D), i32(team))
    static = (dtype.type(scale), *dropout_constants(dtype, rate, seed))
    given = (grad, out, queries, keys, values, stats, indptr, indices)
    args = (*given, *sizes, *static, weights, grad_scores)
    threads = (N + slots) * K * team
    launch("attention_backward", "attention_backward", grad, threads, *args, numbers=numbers)
    transposed = (t_indptr, t_indices, t_edge_ids)
    return (
        segment_weighted_sum(grad_scores, keys, indptr, indices),
        segment_weighted_sum(grad_scores, queries, *transposed),
        segment_weighted_sum(weights, grad, *transposed),
    )
