"""Segment kernels that read features of edges: host above, Numba loop below.

What an edge e from source j brings is u[e] = values[j] + edges[e] @ projection: made in registers
where it is needed, and made again in the backward pass. No array has a row of it for each edge.
"""

from functools import cache
from typing import Any

import numpy as np

from gaancore.kernels.cpu.pools import strip_width
from gaancore.kernels.cpu.sharing import CACHE_LINE, aligned, by_edges, edges_of, head_rows
from gaancore.kernels.cpu.vector.moves import (
    add,
    clear,
    dot,
    fill,
    load,
    register,
    store,
    store_int,
    take_larger,
)
from gaancore.kernels.cpu.vector.register_moves import add_register, multiply, slopes
from gaancore.system import threads
from gaancore.system.jit import jit

PARTS = 64  # of the edges, at most: each leaves a sum, and these are added in order
EDGES_PER_PART = 1024
RUN = 32  # edges whose gradients are kept in the L1 cache, to meet all features one by one

Triple = tuple[np.ndarray, np.ndarray, np.ndarray]
Grads = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]


def feature_dot(queries: np.ndarray, edges: np.ndarray, indptr: np.ndarray) -> np.ndarray:
    _, B, K = queries.shape
    out = np.empty((edges.shape[0], K), edges.dtype)
    by_edges(_feature_dot(K), indptr, B * K, head_rows(queries), edges, indptr, out)
    return out


@cache
def _feature_dot(heads: int) -> Any:
    """queries as rows of (node, feature), so that the heads of an edge are one row."""

    @jit
    def kernel(queries, edges, indptr, out, start, stop):
        one, B = edges.dtype.type(1), edges.shape[1]
        r = register(out, heads)
        for i in range(start, stop):
            for e in edges_of(indptr, i):
                clear(r, heads)
                for b in range(B):
                    add(r, edges[e, b], queries, i * B + b, heads)
                store(out, e, one, r, heads)

    return kernel


def feature_sum(weights: np.ndarray, edges: np.ndarray, indptr: np.ndarray) -> np.ndarray:
    K, B = weights.shape[1], edges.shape[1]
    out = np.empty((indptr.size - 1, B, K), edges.dtype)
    by_edges(_feature_sum(K), indptr, B * K, weights, edges, indptr, head_rows(out))
    return out


@cache
def _feature_sum(heads: int) -> Any:
    @jit
    def kernel(weights, edges, indptr, out, start, stop):
        one, B = edges.dtype.type(1), edges.shape[1]
        r = register(out, heads)
        for i in range(start, stop):
            for b in range(B):
                clear(r, heads)
                for e in edges_of(indptr, i):
                    add(r, edges[e, b], weights, e, heads)
                store(out, i * B + b, one, r, heads)

    return kernel


def edge_sum_forward(
    weights: np.ndarray, values: np.ndarray, edges: np.ndarray, projection: np.ndarray,
    slope: float, indptr: np.ndarray, indices: np.ndarray,
) -> np.ndarray:  # fmt: skip
    (_, K, D), B = values.shape, edges.shape[1]
    out = np.empty((indptr.size - 1, K, D), values.dtype)
    rows = (head_rows(values), edges, head_rows(projection), values.dtype.type(slope))
    args = (weights, *rows, indptr, indices, head_rows(out))
    by_edges(_sum_forward(D), indptr, (1 + B) * K * D, *args)
    return out


@cache
def _sum_forward(width: int) -> Any:
    """values, out: rows of (node, head); projection: rows of (feature, head)."""

    @jit
    def kernel(weights, values, edges, projection, slope, indptr, indices, out, start, stop):
        one, K, B = values.dtype.type(1), weights.shape[1], edges.shape[1]
        total, u, m = register(out, width), register(out, width), register(out, width)
        for i in range(start, stop):
            for k in range(K):
                clear(total, width)
                for e in edges_of(indptr, i):
                    load(u, values, np.int64(indices[e]) * K + k, width)
                    for b in range(B):
                        add(u, edges[e, b], projection, b * K + k, width)
                    slopes(m, u, slope, width)
                    multiply(u, m, width)
                    add_register(total, weights[e, k], u, width)
                store(out, i * K + k, one, total, width)

    return kernel


def edge_sum_backward(
    grad: np.ndarray, weights: np.ndarray, values: np.ndarray, edges: np.ndarray,
    projection: np.ndarray, slope: float, needed: bool, indptr: np.ndarray, indices: np.ndarray,
    t_indptr: np.ndarray, t_indices: np.ndarray, t_edge_ids: np.ndarray,
) -> Grads:  # fmt: skip
    (E, K), (_, B), D, dtype = weights.shape, edges.shape, values.shape[2], values.dtype
    parts = min(PARTS, 1 + E // EDGES_PER_PART)
    bounds = np.searchsorted(t_indptr, [E * part // parts for part in range(parts)])
    bounds = np.append(bounds, t_indptr.size - 1)
    bounds[0] = 0
    grad_weights, grad_values = np.empty_like(weights), np.empty_like(values)
    partial = np.zeros((parts * B, K, D), dtype)
    grad_edges = np.zeros((E if needed else 0, B), dtype)
    rows = (head_rows(grad), weights, head_rows(values), edges, head_rows(projection))
    static = (dtype.type(slope), t_indptr, t_indices, t_edge_ids, bounds)
    targets = (grad_weights, head_rows(grad_values), head_rows(partial), grad_edges)
    work = E * K * D * (1 + B) // parts
    threads.share_rows(_sum_backward(D), parts, work, *rows, *static, *targets)
    grad_projection = partial.reshape(parts, B, K, D).sum(axis=0)
    return grad_weights, grad_values, grad_projection, grad_edges if needed else None


@cache
def _sum_backward(width: int) -> Any:
    """All four gradients in one pass over the transposed block, whose rows are cut into parts.

    The same parts for any number of threads: each has a sum of the projection's gradient.
    """

    @jit
    def kernel(
        grad, weights, values, edges, projection, slope, t_indptr, t_indices, t_edge_ids, bounds,
        grad_weights, grad_values, partial, grad_edges, start, stop,
    ):  # fmt: skip
        one, K, B = grad.dtype.type(1), weights.shape[1], edges.shape[1]
        total, u, m = register(grad, width), register(grad, width), register(grad, width)
        grads = np.empty((RUN, width), grad.dtype)  # of u, for the edges of a run
        for part in range(start, stop):
            for j in range(bounds[part], bounds[part + 1]):
                for k in range(K):
                    clear(total, width)
                    for first in range(t_indptr[j], t_indptr[j + 1], RUN):
                        count = min(RUN, t_indptr[j + 1] - first)
                        for n in range(count):
                            i, e = np.int64(t_indices[first + n]), np.uintp(t_edge_ids[first + n])
                            load(u, values, j * K + k, width)
                            for b in range(B):
                                add(u, edges[e, b], projection, b * K + k, width)
                            slopes(m, u, slope, width)
                            multiply(u, m, width)
                            grad_weights[e, k] = dot(u, grad, i * K + k, width)
                            load(u, grad, i * K + k, width)
                            multiply(u, m, width)
                            store(grads, n, weights[e, k], u, width)
                            add(total, one, grads, n, width)
                        for b in range(B):
                            load(u, partial, (part * B + b) * K + k, width)
                            for n in range(count):
                                e = np.uintp(t_edge_ids[first + n])
                                add(u, edges[e, b], grads, n, width)
                            store(partial, (part * B + b) * K + k, one, u, width)
                        if len(grad_edges) > 0:
                            for b in range(B):
                                load(u, projection, b * K + k, width)
                                for n in range(count):
                                    e = np.uintp(t_edge_ids[first + n])
                                    grad_edges[e, b] += dot(u, grads, n, width)
                    store(grad_values, j * K + k, one, total, width)

    return kernel


def edge_max_forward(
    values: np.ndarray, edges: np.ndarray, projection: np.ndarray, indptr: np.ndarray,
    indices: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    features, B = values.shape[1], edges.shape[1]
    width = strip_width(features)
    out = np.empty((indptr.size - 1, features), values.dtype)
    places = np.empty(out.shape, np.int32)
    rows = (values.reshape(-1, width), edges, projection.reshape(-1, width))
    targets = (out.reshape(-1, width), places.reshape(-1, width))
    args = (*rows, indptr, indices, features // width, *targets)
    by_edges(_max_forward(width), indptr, (1 + B) * features, *args)
    return out, places


@cache
def _max_forward(width: int) -> Any:
    """A node is `strips` rows of `width` numbers. A place is counted from its row's first edge."""

    @jit
    def kernel(values, edges, projection, indptr, indices, strips, out, places, start, stop):
        one, B = values.dtype.type(1), edges.shape[1]
        r, u, w = register(values, width), register(values, width), register(places, width)
        made = np.empty((1, width), values.dtype)
        for i in range(start, stop):
            first = indptr[i]
            for s in range(strips):
                clear(r, width)
                fill(w, np.int32(-1), width)
                for e in range(first, indptr[i + 1]):
                    load(u, values, np.int64(indices[e]) * strips + s, width)
                    for b in range(B):
                        add(u, edges[e, b], projection, b * strips + s, width)
                    store(made, 0, one, u, width)
                    if e == first:
                        load(r, made, 0, width)
                        fill(w, np.int32(0), width)
                    else:
                        take_larger(r, w, made, 0, np.int32(e - first), width)
                store(out, i * strips + s, one, r, width)
                store_int(places, i * strips + s, w, width)

    return kernel


def edge_max_backward(
    grad: np.ndarray, places: np.ndarray, edges: np.ndarray, projection: np.ndarray, needed: bool,
    indptr: np.ndarray, indices: np.ndarray, t_indptr: np.ndarray, t_indices: np.ndarray,
    t_edge_ids: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:  # fmt: skip
    features, (E, B), dtype = grad.shape[1], edges.shape, grad.dtype
    grad_values = aligned((t_indptr.size - 1, features), dtype)
    grad_projection = aligned((B, features), dtype)
    grad_values[:], grad_projection[:] = 0, 0
    line = CACHE_LINE // grad.itemsize  # columns are shared out by cache lines
    args = (grad, places, edges, indptr, indices, line, grad_values, grad_projection)
    threads.share_rows(_max_backward, -(-features // line), line * grad.shape[0], *args)
    if not needed:
        return grad_values, grad_projection, None
    grad_edges = np.zeros((E, B), dtype)
    by_edges(_max_to_edges, indptr, features, grad, places, projection, indptr, grad_edges)
    return grad_values, grad_projection, grad_edges


@jit
def _max_backward(
    grad, places, edges, indptr, indices, line, grad_values, grad_projection, start, stop
):
    """Cache lines [start, stop) of each row are this thread's: it adds up in row order."""
    for i in range(grad.shape[0]):
        for f in range(start * line, min(stop * line, grad.shape[1])):
            if places[i, f] >= 0:
                e = indptr[i] + places[i, f]
                grad_values[indices[e], f] += grad[i, f]
                for b in range(edges.shape[1]):
                    grad_projection[b, f] += grad[i, f] * edges[e, b]


@jit
def _max_to_edges(grad, places, projection, indptr, grad_edges, start, stop):
    for i in range(start, stop):
        for f in range(grad.shape[1]):
            if places[i, f] >= 0:
                e = indptr[i] + places[i, f]
                for b in range(projection.shape[0]):
                    grad_edges[e, b] += grad[i, f] * projection[b, f]
