"""Segment kernels that read features of edges: allocates and launches."""

from typing import NamedTuple

import numpy as np

from gaancore.array import Array, array_module
from gaancore.kernels.cuda.elementwise import dropout
from gaancore.kernels.cuda.launcher import launch, num_slots, power_of_two, share_out
from gaancore.kernels.cuda.linear import matmul
from gaancore.kernels.cuda.segments import (
    edge_dot,
    segment_softmax_backward,
    segment_softmax_forward,
    segment_weighted_sum,
    sum_over_rows,
)

CHUNKS = 512  # of edges or rows, at most: each leaves a sum of the projection's gradient
LEAST = 128  # edges or rows of a chunk
BATCH = 4  # features that a thread of edge_sum_projection owns: as in segments.cuh

Grads = tuple[Array, Array, Array, Array | None]
i64, i32 = np.int64, np.int32


def feature_dot(queries: Array, edges: Array, indptr: Array) -> Array:
    (N, B, K), E = queries.shape, edges.shape[0]
    slots, team = num_slots(indptr, E), power_of_two(-(-E * K // max(1, N)))
    out = array_module(edges).empty((E, K), edges.dtype)
    args = (queries, edges, indptr, i64(N), i64(slots), out)
    threads = (N + slots) * team
    launch("edge_features", "feature_dot", edges, threads, *args, K=K, B=B, TEAM=team)
    return out


def feature_sum(weights: Array, edges: Array, indptr: Array) -> Array:
    args, (E, B), K = (weights, edges, indptr), edges.shape, weights.shape[1]
    return sum_over_rows("edge_features", "feature_sum", weights, args, indptr, E, (B, K), K=K, B=B)


def edge_sum_forward(
    weights: Array, values: Array, edges: Array, projection: Array, slope: float, indptr: Array,
    indices: Array,
) -> Array:  # fmt: skip
    args = (weights, values, edges, projection, indptr, indices, values.dtype.type(slope))
    given = {"K": values.shape[1], "D": values.shape[2], "B": edges.shape[1]}
    rows = (values, args, indptr, indices.size)
    return sum_over_rows("edge_sum", "edge_sum_forward", *rows, beside=(projection,), **given)


def edge_sum_backward(
    grad: Array, weights: Array, values: Array, edges: Array, projection: Array, slope: float,
    needed: bool, indptr: Array, indices: Array, t_indptr: Array, t_indices: Array,
    t_edge_ids: Array,
) -> Grads:  # fmt: skip
    xp, dtype, (N, K, D), (E, B) = array_module(grad), grad.dtype, grad.shape, edges.shape
    slots, chunk = num_slots(indptr, E), _chunk(E)
    numbers, team, _ = share_out(grad, values, projection)
    slope = dtype.type(slope)
    args = (values, edges, projection, indptr, indices, slope)
    shape = {"K": K, "D": D, "B": B}
    given = {**shape, "numbers": numbers, "TEAM": team}

    grad_weights = xp.empty((E, K), dtype)
    by_row = (grad, *args, i64(N), i64(slots), grad_weights)
    launch("edge_sum", "edge_sum_weights", grad, (N + slots) * K * team, *by_row, **given)

    file, given["ID_BYTES"] = "edge_sum_gradients", t_edge_ids.itemsize
    shape["ID_BYTES"] = t_edge_ids.itemsize
    by_source = (grad, weights, values, edges, projection, t_indptr, t_indices, t_edge_ids, slope)
    rows = (grad, by_source, t_indptr, E)
    beside = (values, projection)
    grad_values = sum_over_rows(file, "edge_sum_values", *rows, beside=beside, **shape)

    partial = xp.empty((-(-E // chunk), B, K, D), dtype)
    by_chunk = (grad, weights, *args, i64(N), i64(E), i64(chunk), partial)
    threads = partial.shape[0] * -(-B // BATCH) * (K * D // numbers)
    launch(file, "edge_sum_projection", grad, threads, *by_chunk, **given)
    grad_projection = _add_chunks(partial)
    if not needed:
        return grad_weights, grad_values, grad_projection, None

    grad_edges = xp.empty((E, B), dtype)
    by_edge = (grad, weights, *args, i64(N), i64(slots), grad_edges)
    launch(file, "edge_sum_edges", grad, (N + slots) * team, *by_edge, **given)
    return grad_weights, grad_values, grad_projection, grad_edges


def edge_max_forward(
    values: Array, edges: Array, projection: Array, indptr: Array, indices: Array
) -> tuple[Array, Array]:
    xp, F, B = array_module(values), values.shape[1], edges.shape[1]
    N, slots = indptr.size - 1, num_slots(indptr, indices.size)
    numbers, team, teams = share_out(values, projection)
    out, partial = (xp.empty((rows, F), values.dtype) for rows in (N, slots))
    places, partial_places = (xp.empty((rows, F), i32) for rows in (N, slots))
    sizes, given = (i64(N), i64(slots)), {"numbers": numbers, "F": F, "TEAM": team}
    made = (out, places, partial, partial_places)
    args = (values, edges, projection, indptr, indices, *sizes, *made)
    threads = (N + slots) * teams * team
    launch("edge_max", "edge_max_forward", values, threads, *args, B=B, **given)
    pieces = (partial, partial_places, indptr, *sizes, out, places)
    launch("segment_max", "max_pieces", values, slots * F, *pieces, **given)
    return out, places


def edge_max_backward(
    grad: Array, places: Array, edges: Array, projection: Array, needed: bool, indptr: Array,
    indices: Array, t_indptr: Array, t_indices: Array, t_edge_ids: Array,
) -> tuple[Array, Array, Array | None]:  # fmt: skip
    xp, dtype, (N, F), (E, B) = array_module(grad), grad.dtype, grad.shape, edges.shape
    args, file = (grad, places, indptr, t_indptr, t_indices, t_edge_ids), "edge_max_gradients"
    rows, given = (grad, args, t_indptr, E), {"F": F, "B": B, "ID_BYTES": t_edge_ids.itemsize}
    grad_values = sum_over_rows(file, "edge_max_values", *rows, beside=(places,), **given)
    given["numbers"], given["TEAM"], _ = share_out(grad, places)
    chunk = _chunk(N)
    partial = xp.empty((-(-N // chunk), B, F), dtype)
    by_chunk = (grad, places, edges, indptr, i64(N), i64(chunk), partial)
    launch(file, "edge_max_projection", grad, partial.size, *by_chunk, **given)
    grad_projection = _add_chunks(partial)
    if not needed:
        return grad_values, grad_projection, None
    slots, team = num_slots(indptr, E), power_of_two(-(-E * B // max(1, N)))
    grad_edges = xp.empty((E, B), dtype)
    by_edge = (grad, places, projection, indptr, i64(N), i64(slots), i32(team), grad_edges)
    launch(file, "edge_max_edges", grad, (N + slots) * team, *by_edge, **given)
    return grad_values, grad_projection, grad_edges


class WithEdges(NamedTuple):
    """What the forward pass of attention keeps: its inputs, and the weight of each edge and head.

    Attention over edges with features is made of the kernels above; none of its own fuses them.
    """

    queries: Array  # (N, K, A)
    keys: Array  # (S, K, A)
    values: Array  # (S, K, D)
    edges: Array  # (E, B)
    to_keys: Array  # (B, K, A)
    to_values: Array  # (B, K, D)
    weights: Array  # (E, K)


def edge_attention_forward(
    queries: Array, keys: Array, values: Array, edges: Array, to_keys: Array, to_values: Array,
    indptr: Array, indices: Array, slope: float, scale: float, rate: float, seed: int,
) -> tuple[Array, WithEdges]:  # fmt: skip
    asked = array_module(queries).ascontiguousarray(_asked(queries, to_keys).transpose(0, 2, 1))
    scores = edge_dot(queries, keys, indptr, indices)
    scores += feature_dot(asked, edges, indptr)
    scores *= scores.dtype.type(scale)
    weights = segment_softmax_forward(scores, indptr)
    dropped = dropout(weights, rate, seed) if rate else weights
    out = edge_sum_forward(dropped, values, edges, to_values, slope, indptr, indices)
    return out, WithEdges(queries, keys, values, edges, to_keys, to_values, weights)


def edge_attention_backward(
    grad: Array, out: Array, saved: WithEdges, slope: float, scale: float, rate: float, seed: int,
    needed: bool, indptr: Array, indices: Array, t_indptr: Array, t_indices: Array,
    t_edge_ids: Array,
) -> tuple[Array | None, ...]:  # fmt: skip
    queries, keys, values, edges, to_keys, to_values, weights = saved
    xp, transposed = array_module(grad), (t_indptr, t_indices, t_edge_ids)
    dropped = dropout(weights, rate, seed) if rate else weights
    given = (grad, dropped, values, edges, to_values, slope, needed, indptr, indices)
    grad_weights, grad_v, grad_to_values, grad_edges = edge_sum_backward(*given, *transposed)
    if rate:
        grad_weights = dropout(grad_weights, rate, seed)
    grad_scores = segment_softmax_backward(weights, grad_weights, indptr)
    grad_scores *= grad_scores.dtype.type(scale)
    grad_q = segment_weighted_sum(grad_scores, keys, indptr, indices)
    grad_k = segment_weighted_sum(grad_scores, queries, *transposed)
    of_asked = xp.ascontiguousarray(feature_sum(grad_scores, edges, indptr).transpose(0, 2, 1))
    grad_to_keys = xp.zeros(to_keys.shape, to_keys.dtype)
    for k in range(queries.shape[1]):
        grad_q[:, k] += matmul(of_asked[:, k], to_keys[:, k])
        grad_to_keys[:, k] = matmul(of_asked[:, k].T, queries[:, k])
    if needed:
        grad_edges += feature_dot(_asked(queries, to_keys), grad_scores, indptr)
    return grad_q, grad_k, grad_v, grad_edges, grad_to_keys, grad_to_values


def _asked(queries: Array, to_keys: Array) -> Array:
    """What each query asks of the features of edges, (N, K, B)."""
    (N, K, _), B = queries.shape, to_keys.shape[0]
    asked = array_module(queries).zeros((N, K, B), queries.dtype)
    for k in range(K):
        asked[:, k] = matmul(queries[:, k], to_keys[:, k].T)
    return asked


def _chunk(count: int) -> int:
    """How many edges, or rows, one sum is made of."""
    return max(LEAST, -(-count // CHUNKS))


def _add_chunks(partial: Array) -> Array:
    """The sum of the chunks, in order: partial (chunks, ...)."""
    out = array_module(partial).empty(partial.shape[1:], partial.dtype)
    args = (partial, i64(partial.shape[0]), i32(out.size), out)
    launch("elementwise", "column_sums", partial, out.size, *args)
    return out
