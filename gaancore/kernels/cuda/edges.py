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

Grads = tuple[Array, Array, Array, Array | None]
i64, i32 = np.int64, np.int32


def feature_dot(queries: Array, edges: Array, indptr: Array) -> Array:
    (N, B, K), E = queries.shape, edges.shape[0]
    slots, team = num_slots(indptr, E), power_of_two(-(-E * K // max(1, N)))
    out = array_module(edges).empty((E, K), edges.dtype)
    sizes = (i64(N), i64(slots), i32(B), i32(K), i32(team))
    launch("edge_features", "feature_dot", edges, (N + slots) * team, queries, edges, indptr,
           *sizes, out)  # fmt: skip
    return out


def feature_sum(weights: Array, edges: Array, indptr: Array) -> Array:
    sizes, given = (edges.shape[1], weights.shape[1]), (weights, edges, indptr)
    E = edges.shape[0]
    return sum_over_rows("edge_features", "feature_sum", weights, given, indptr, E, sizes)


def edge_sum_forward(
    weights: Array, values: Array, edges: Array, projection: Array, slope: float, indptr: Array,
    indices: Array,
) -> Array:  # fmt: skip
    static = (i32(edges.shape[1]), values.dtype.type(slope))
    given = (weights, values, edges, projection, indptr, indices, *static)
    rows = (values, given, indptr, indices.size)
    return sum_over_rows("edge_sum", "edge_sum_forward", *rows, beside=(projection,))


def edge_sum_backward(
    grad: Array, weights: Array, values: Array, edges: Array, projection: Array, slope: float,
    needed: bool, indptr: Array, indices: Array, t_indptr: Array, t_indices: Array,
    t_edge_ids: Array,
) -> Grads:  # fmt: skip
    xp, dtype, (N, K, D), (E, B) = array_module(grad), grad.dtype, grad.shape, edges.shape
    slots, chunk = num_slots(indptr, E), _chunk(E)
    numbers, team, _ = share_out(grad, values, projection)
    static = (i32(B), dtype.type(slope))
    given = (values, edges, projection, indptr, indices, *static)
    sizes = (i64(N), i64(slots), i32(K), i32(D), i32(team))
    pack = {"numbers": numbers}

    grad_weights = xp.empty((E, K), dtype)
    by_row = (*sizes, grad_weights)
    threads = (N + slots) * K * team
    launch("edge_sum", "edge_sum_weights", grad, threads, grad, *given, *by_row, **pack)

    transposed = (t_indptr, t_indices, t_edge_ids, i32(t_edge_ids.itemsize))
    by_source = (grad, weights, values, edges, projection, *transposed, *static)
    rows = (grad, by_source, t_indptr, E)
    grad_values = sum_over_rows("edge_sum", "edge_sum_values", *rows, beside=(values, projection))

    partial = xp.empty((-(-E // chunk), B, K, D), dtype)
    by_chunk = (grad, weights, *given, i64(N), i64(E), i64(chunk), i32(K), i32(D), partial)
    launch("edge_sum", "edge_sum_projection", grad, partial.size // numbers, *by_chunk, **pack)
    grad_projection = _add_chunks(partial)
    if not needed:
        return grad_weights, grad_values, grad_projection, None

    grad_edges = xp.empty((E, B), dtype)
    by_edge = (grad, weights, *given, *sizes, grad_edges)
    launch("edge_sum", "edge_sum_edges", grad, (N + slots) * team, *by_edge, **pack)
    return grad_weights, grad_values, grad_projection, grad_edges


def edge_max_forward(
    values: Array, edges: Array, projection: Array, indptr: Array, indices: Array
) -> tuple[Array, Array]:
    xp, F, B = array_module(values), values.shape[1], edges.shape[1]
    N, slots = indptr.size - 1, num_slots(indptr, indices.size)
    numbers, team, teams = share_out(values, projection)
    out, partial = (xp.empty((rows, F), values.dtype) for rows in (N, slots))
    places, partial_places = (xp.empty((rows, F), i32) for rows in (N, slots))
    sizes = (i64(N), i64(slots), i32(F))
    made = (out, places, partial, partial_places)
    args = (values, edges, projection, indptr, indices, i32(B), *sizes, i32(team), *made)
    threads = (N + slots) * teams * team
    launch("edge_max", "edge_max_forward", values, threads, *args, numbers=numbers)
    pieces = (partial, partial_places, indptr, *sizes, out, places)
    launch("segment_max", "max_pieces", values, slots * F, *pieces, numbers=numbers)
    return out, places


def edge_max_backward(
    grad: Array, places: Array, edges: Array, projection: Array, needed: bool, indptr: Array,
    indices: Array, t_indptr: Array, t_indices: Array, t_edge_ids: Array,
) -> tuple[Array, Array, Array | None]:  # fmt: skip
    xp, dtype, (N, F), (E, B) = array_module(grad), grad.dtype, grad.shape, edges.shape
    given = (grad, places, indptr, t_indptr, t_indices, t_edge_ids, i32(t_edge_ids.itemsize))
    rows = (grad, given, t_indptr, E)
    grad_values = sum_over_rows("edge_max", "edge_max_values", *rows, beside=(places,))
    chunk = _chunk(N)
    partial = xp.empty((-(-N // chunk), B, F), dtype)
    by_chunk = (grad, places, edges, indptr, i32(B), i64(N), i64(chunk), i32(F), partial)
    launch("edge_max", "edge_max_projection", grad, partial.size, *by_chunk)
    grad_projection = _add_chunks(partial)
    if not needed:
        return grad_values, grad_projection, None
    slots, team = num_slots(indptr, E), power_of_two(-(-E * B // max(1, N)))
    grad_edges = xp.empty((E, B), dtype)
    sizes = (i32(B), i64(N), i64(slots), i32(F), i32(team))
    by_edge = (grad, places, projection, indptr, *sizes, grad_edges)
    launch("edge_max", "edge_max_edges", grad, (N + slots) * team, *by_edge)
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
