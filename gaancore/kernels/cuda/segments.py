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

i64, i32 = np.int64, np.int32


def segment_softmax_forward(scores: Array, indptr: Array) -> Array:
    weights = array_module(scores).empty(scores.shape, scores.dtype)
    _softmax("segment_softmax_forward", (scores,), indptr, weights, 2)
    return weights


def segment_softmax_backward(weights: Array, grad: Array, indptr: Array) -> Array:
    out = array_module(grad).empty(grad.shape, grad.dtype)
    _softmax("segment_softmax_backward", (weights, grad), indptr, out, 1)
    return out


def _softmax(kernel: str, rows: tuple[Array, ...], indptr: Array, out: Array, sums: int) -> None:
    """Launch a kernel, then what is left to do for rows that were cut: a piece leaves `sums`
    numbers of each head. Lanes of a team: heads times an average row's edges.
    """
    (E, K), N, like = out.shape, indptr.size - 1, rows[0]
    slots, heads = num_slots(indptr, E), power_of_two(K)
    team = min(32, heads * power_of_two(-(-E // max(1, N))))
    partial = array_module(out).empty((slots, K, sums), out.dtype)
    given = {"K": K, "HEADS": heads, "TEAM": team}
    args = (*rows, indptr, i64(N), i64(slots), out, partial)
    lanes, joining = -(-K // heads) * team, joining_team(indptr, slots)
    launch("segment_softmax", kernel, like, (N + slots) * lanes, *args, **given)
    join = (indptr, i64(N), i64(slots), i32(joining), partial)
    launch("segment_softmax", f"{kernel}_join", like, slots * K * joining, *join, **given)
    launch("segment_softmax", f"{kernel}_long", like, slots * lanes, *args, **given)


def segment_weighted_sum(
    weights: Array, values: Array, indptr: Array, indices: Array, edge_ids: Array | None = None
) -> Array:
    ids, id_bytes = (indices, 0) if edge_ids is None else (edge_ids, edge_ids.itemsize)
    arrays, (_, K, D) = (weights, values, indptr, indices, ids), values.shape
    name, given = "segment_weighted_sum", {"K": K, "D": D, "ID_BYTES": id_bytes}
    return sum_over_rows(name, name, values, arrays, indptr, indices.size, **given)


def sum_over_rows(
    file: str,
    kernel: str,
    gathered: Array,
    args: tuple[Any, ...],
    indptr: Array,
    num_edges: int,
    sizes: tuple[int, ...] | None = None,
    beside: tuple[Array, ...] = (),
    **given: int,
) -> Array:
    """Launch a kernel that is made of `sum_over_rows`, then add up pieces.

    sizes  : of a row of the result, (K, D) or (F,); by default that of a row of `gathered`.
    beside : what is walked together with the rows of `gathered`.
    given  : what the text is compiled for, but for TEAM.
    """
    xp, dtype, sizes = array_module(gathered), gathered.dtype, sizes or gathered.shape[1:]
    N, slots = indptr.size - 1, num_slots(indptr, num_edges)
    numbers, team, teams = share_out(gathered, *beside)
    out, partial = xp.empty((N, *sizes), dtype), xp.empty((slots, *sizes), dtype)
    threads = (N + slots) * math.prod(sizes[:-1]) * teams * team
    args = (*args, i64(N), i64(slots), out, partial)
    launch(file, kernel, gathered, threads, *args, numbers=numbers, TEAM=team, **given)
    add_pieces(partial, indptr, out)
    return out


def add_pieces(partial: Array, indptr: Array, out: Array) -> None:
    """Sums of the rows that were cut: partial (slots, ...) has one for each of their pieces."""
    slots, width = partial.shape[0], math.prod(partial.shape[1:])
    joining = joining_team(indptr, slots)
    args = (partial, indptr, i64(indptr.size - 1), i64(slots), i32(width), i32(joining), out)
    launch("sum_pieces", "sum_pieces", out, slots * width * joining, *args)


def edge_dot(queries: Array, keys: Array, indptr: Array, indices: Array) -> Array:
    (N, K, D), slots = queries.shape, num_slots(indptr, indices.size)
    numbers, team, _ = share_out(queries, keys)
    out = array_module(keys).empty((indices.size, K), keys.dtype)
    args = (queries, keys, indptr, indices, i64(N), i64(slots), out)
    given = {"K": K, "D": D, "TEAM": team}
    launch("edge_dot", "edge_dot", keys, (N + slots) * K * team, *args, numbers=numbers, **given)
    return out
