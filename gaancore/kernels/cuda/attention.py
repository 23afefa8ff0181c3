"""Attention, fused: allocates and launches. Scores are made again in the backward pass."""

from typing import NamedTuple

import numpy as np

from gaancore.array import Array, array_module
from gaancore.kernels import dropout_constants
from gaancore.kernels.cuda.launcher import (
    STRIPS,
    joining_team,
    launch,
    num_slots,
    power_of_two,
    share_out,
)
from gaancore.kernels.cuda.segments import add_pieces

Triple = tuple[Array, Array, Array]
i64, i32 = np.int64, np.int32


class Saved(NamedTuple):
    """What the forward pass keeps: its inputs and two numbers for each row and head."""

    queries: Array  # (N, K, A)
    keys: Array  # (S, K, A)
    values: Array  # (S, K, D)
    stats: Array  # (N, K, 2): what was subtracted from the scores, and 1 / sum


def attention_forward(
    queries: Array,
    keys: Array,
    values: Array,
    indptr: Array,
    indices: Array,
    scale: float,
    rate: float,
    seed: int,
) -> tuple[Array, Saved]:
    xp, dtype, (N, K, A), D = array_module(values), values.dtype, queries.shape, values.shape[2]
    slots = num_slots(indptr, indices.size)
    numbers, team, teams = share_out(queries, keys, values, packs=STRIPS)
    out, partial = (xp.empty((rows, K, D), dtype) for rows in (N, slots))
    stats, partial_stats = (xp.empty((rows, K, 2), dtype) for rows in (N, slots))
    static = (dtype.type(scale), *dropout_constants(dtype, rate, seed))
    made = (out, stats, partial, partial_stats)
    args = (queries, keys, values, indptr, indices, i64(N), i64(slots), *static, *made)
    given = {"numbers": numbers, "K": K, "A": A, "D": D, "TEAM": team}
    launch("attention", "attention_forward", values, (N + slots) * K * teams * team, *args, **given)
    joining = joining_team(indptr, slots)
    pieces = (partial, partial_stats, indptr, i64(N), i64(slots), i32(joining), out, stats)
    launch("attention", "attention_pieces", values, slots * K * D * joining, *pieces, **given)
    return out, Saved(queries, keys, values, stats)


def attention_backward(
    grad: Array,
    out: Array,
    saved: Saved,
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
    slots = num_slots(indptr, indices.size)
    numbers, team, _ = share_out(queries, keys, values, grad)
    teams = -(-A // (team * numbers * STRIPS))
    weights, grad_scores = (xp.empty((indices.size, K), dtype) for _ in range(2))
    grad_queries, partial = (xp.empty((rows, K, A), dtype) for rows in (N, slots))
    static = (dtype.type(scale), *dropout_constants(dtype, rate, seed))
    rows = (grad, out, queries, keys, values, stats, indptr, indices)
    made = (weights, grad_scores, grad_queries, partial)
    args = (*rows, i64(N), i64(slots), *static, *made)
    given = {"numbers": numbers, "K": K, "A": A, "D": D, "TEAM": team}
    threads = (N + slots) * K * max(1, teams) * team
    launch("attention_backward", "attention_backward", grad, threads, *args, **given)
    add_pieces(partial, indptr, grad_queries)
    of_edges = (grad_scores, weights, queries, grad)
    return grad_queries, *_to_sources(of_edges, t_indptr, t_indices, t_edge_ids, keys.shape[0])


def _to_sources(
    of_edges: tuple[Array, ...], t_indptr: Array, t_indices: Array, t_edge_ids: Array, S: int
) -> tuple[Array, Array]:
    """The gradients of keys and values, in one walk of the transposed rows."""
    _, _, queries, grad = of_edges
    xp, dtype, (_, K, A), D = array_module(grad), grad.dtype, queries.shape, grad.shape[2]
    slots, numbers = num_slots(t_indptr, t_indices.size), share_out(queries, grad)[0]
    lanes = max(1, (A + D) // numbers)
    team = power_of_two(lanes)
    grad_keys, grad_values = xp.empty((S, K, A), dtype), xp.empty((S, K, D), dtype)
    partial = xp.empty((slots, K, A + D), dtype)
    sizes, name = (i64(S), i64(slots)), "attention_sources"
    args = (*of_edges, t_indptr, t_indices, t_edge_ids, *sizes, grad_keys, grad_values, partial)
    given = {"numbers": numbers, "K": K, "A": A, "D": D, "TEAM": team}
    given["ID_BYTES"] = t_edge_ids.itemsize
    threads = (S + slots) * K * -(-lanes // team) * team
    launch(name, name, grad, threads, *args, **given)
    joining = joining_team(t_indptr, slots)
    pieces = (partial, t_indptr, *sizes, i32(joining), grad_keys, grad_values)
    launch(name, f"{name}_pieces", grad, slots * K * (A + D) * joining, *pieces, **given)
    return grad_keys, grad_values
