"""Maximum of what edges bring, features and all: host above, Numba loop below."""

from functools import cache
from typing import Any

import numpy as np

from gaancore.kernels.cpu.pools import strip_width
from gaancore.kernels.cpu.sharing import CACHE_LINE, aligned, by_edges
from gaancore.kernels.cpu.vector.moves import (
    add,
    clear,
    fill,
    load,
    register,
    store,
    store_int,
    take_larger,
)
from gaancore.system import threads
from gaancore.system.jit import jit


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
