"""Softmax, weighted sum and dot over the segments of a block: allocates and launches."""

import math
from typing import Any

import numpy as np

from gaancore.array import Array, array_module
from gaancore.kernels.cuda.launcher import (
    joining_team,
    launch,
    num_slots,
    power_of_two,
    share_out,
)

Sizes = tuple[Any, ...]
i64, i32 = np.int64, np.int32


def segment_softmax_forward(scores: Array, indptr: Array) -> Array:
    xp, (threads, slots, sizes) = array_module(scores), _softmax_sizes(scores, indptr)
    weights = xp.empty(scores.shape, scores.dtype)
    partial = xp.empty((slots, scores.shape[1], 2), scores.dtype)
    args = (scores, indptr, *sizes, weights, partial)
    launch("segment_softmax", "segment_softmax_forward", scores, threads, *args)
    _join("segment_softmax_forward", scores, indptr, args, sizes)
    return weights


def segment_softmax_backward(weights: Array, grad: Array, indptr: Array) -> Array:
    xp, (threads, slots, sizes) = array_module(grad), _softmax_sizes(grad, indptr)
    out = xp.empty(grad.shape, grad.dtype)
    partial = xp.empty((slots, grad.shape[1]), grad.dtype)
    args = (weights, grad, indptr, *sizes, out, partial)
    launch("segment_softmax", "segment_softmax_backward", grad, threads, *args)
    _join("segment_softmax_backward", grad, indptr, args, sizes)
    return out


def _join(kernel: str, like: Array, indptr: Array, args: tuple[Any, ...], sizes: Sizes) -> None:
    """What is left to do for rows that were cut, after the first kernel with its `args`."""
    N, slots, K, heads, lanes = sizes
    joining = joining_team(indptr, int(slots))
    threads = int(slots) * int(K) * joining
    join = (indptr, N, slots, K, i32(joining), args[-1])
    launch("segment_softmax", f"{kernel}_join", like, threads, *join)
    threads = int(slots) * -(-int(K) // int(heads)) * int(lanes)
    launch("segment_softmax", f"{kernel}_long", like, threads, *args)


def _softmax_sizes(scores: Array, indptr: Array) -> tuple[int, int, Sizes]:
    """Threads, slots, (N, slots, K, heads, team): lanes for heads times an average row's edges."""
    (E, K), N = scores.shape, indptr.size - 1
    slots, heads = num_slots(indptr, E), power_of_two(K)
    team = min(32, heads * power_of_two(-(-E // max(1, N))))
    threads = (N + slots) * -(-K // heads) * team
    return threads, slots, (i64(N), i64(slots), i32(K), i32(heads), i32(team))


def segment_weighted_sum(
    weights: Array, values: Array, indptr: Array, indices: Array, edge_ids: Array | None = None
) -> Array:
    ids, id_bytes = (indices, 0) if edge_ids is None else (edge_ids, edge_ids.itemsize)
    given = (weights, values, indptr, indices, ids, i32(id_bytes))
    name = "segment_weighted_sum"
    return sum_over_rows(name, name, values, given, indptr, indices.size)


def sum_over_rows(
    file: str,
    kernel: str,
    gathered: Array,
    given: tuple[Any, ...],
    indptr: Array,
    num_edges: int,
    sizes: tuple[int, ...] | None = None,
    beside: tuple[Array, ...] = (),
) -> Array:
    """Launch a kernel that is made of `sum_over_rows`, then add up pieces.

    sizes  : of a row of the result, (K, D) or (F,); by default that of a row of `gathered`.
    beside : what is walked together with the rows of `gathered`.
    """
    xp, dtype, sizes = array_module(gathered), gathered.dtype, sizes or gathered.shape[1:]
    N, slots = indptr.size - 1, num_slots(indptr, num_edges)
    per_row = math.prod(sizes)
    numbers, team, teams = share_out(gathered, *beside)
    out, partial = xp.empty((N, *sizes), dtype), xp.empty((slots, *sizes), dtype)
    threads = (N + slots) * math.prod(sizes[:-1]) * teams * team
    args = (*given, i64(N), i64(slots), *map(i32, sizes), i32(team), out, partial)
    launch(file, kernel, gathered, threads, *args, numbers=numbers)
    joining = joining_team(indptr, slots)
    pieces = (partial, indptr, i64(N), i64(slots), i32(per_row), i32(joining), out)
    launch("sum_pieces", "sum_pieces", gathered, slots * per_row * joining, *pieces)
    return out


def edge_dot(queries: Array, keys: Array, indptr: Array, indices: Array) -> Array:
    (N, K, D), slots = queries.shape, num_slots(indptr, indices.size)
    numbers, team, _ = share_out(queries, keys)
    out = array_module(keys).empty((indices.size, K), keys.dtype)
    args = (queries, keys, indptr, indices, i64(N), i64(slots), i32(K), i32(D), i32(team), out)
    launch("edge_dot", "edge_dot", keys, (N + slots) * K * team, *args, numbers=numbers)
    return out
