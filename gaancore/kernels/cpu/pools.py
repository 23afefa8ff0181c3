"""Mean and maximum over the segments of a block: host above, Numba loop below.

A row of many features is walked in strips that fit into the vector registers. Each loop owns the
rows (the maximum's gradient: the columns) [start, stop) of what it writes.
"""

from functools import cache
from typing import Any

import numpy as np

from gaancore.kernels.cpu.sharing import CACHE_LINE, aligned, by_edges, edges_of, soon
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
from gaancore.kernels.cpu.vector.register_moves import prefetch
from gaancore.system import threads
from gaancore.system.jit import jit

WIDEST = 128  # numbers in one strip of a row: more do not fit into the vector registers

Pair = tuple[np.ndarray, np.ndarray]


@cache
def strip_width(features: int) -> int:
    """The widest divisor of `features` up to WIDEST; the whole row where there is only 1; 1 where
    there are none, so that a row of none has 0 strips."""
    widths = [w for w in range(min(features, WIDEST), 1, -1) if features % w == 0]
    return widths[0] if widths and (widths[0] >= 16 or features <= WIDEST) else max(1, features)


def segment_mean_forward(values: np.ndarray, indptr: np.ndarray, indices: np.ndarray) -> np.ndarray:
    features = values.shape[1]
    width = strip_width(features)
    out = np.empty((indptr.size - 1, features), values.dtype)
    args = (values.reshape(-1, width), indptr, indices, features // width, out.reshape(-1, width))
    by_edges(_mean_forward(width), indptr, features, *args)
    return out


@cache
def _mean_forward(width: int) -> Any:
    """values and out as strips: `strips` rows of `width` numbers make one node."""

    @jit
    def kernel(values, indptr, indices, strips, out, start, stop):
        one = values.dtype.type(1)
        r = register(values, width)
        for i in range(start, stop):
            degree = indptr[i + 1] - indptr[i]
            scale = one / max(degree, 1)
            for s in range(strips):
                clear(r, width)
                for e in edges_of(indptr, i):
                    add(r, one, values, np.int64(indices[e]) * strips + s, width)
                store(out, i * strips + s, values.dtype.type(scale), r, width)

    return kernel


def segment_mean_backward(
    grad: np.ndarray, indptr: np.ndarray, t_indptr: np.ndarray, t_indices: np.ndarray
) -> np.ndarray:
    features = grad.shape[1]
    width = strip_width(features)
    inverse_degree = (1 / np.maximum(np.diff(indptr), 1)).astype(grad.dtype)
    out = np.empty((t_indptr.size - 1, features), grad.dtype)
    strips, grads = features // width, grad.reshape(-1, width)
    args = (grads, inverse_degree, t_indptr, t_indices, strips, out.reshape(-1, width))
    by_edges(_mean_backward(width), t_indptr, features, *args)
    return out


@cache
def _mean_backward(width: int) -> Any:
    """out[j] = sum of grad[i] / |N_i| over the destinations i of source j."""

    @jit
    def kernel(grad, inverse_degree, t_indptr, t_indices, strips, out, start, stop):
        one = grad.dtype.type(1)
        r = register(grad, width)
        for j in range(start, stop):
            for s in range(strips):
                clear(r, width)
                for p in edges_of(t_indptr, j):
                    i = np.int64(t_indices[p])
                    add(r, inverse_degree[i], grad, i * strips + s, width)
                store(out, j * strips + s, one, r, width)

    return kernel


def segment_max_forward(values: np.ndarray, indptr: np.ndarray, indices: np.ndarray) -> Pair:
    features = values.shape[1]
    width = strip_width(features)
    out = np.empty((indptr.size - 1, features), values.dtype)
    winners = np.empty(out.shape, np.int32)
    targets = (out.reshape(-1, width), winners.reshape(-1, width))
    args = (values.reshape(-1, width), indptr, indices, features // width, *targets)
    by_edges(_max_forward(width), indptr, features, *args)
    return out, winners


@cache
def _max_forward(width: int) -> Any:
    @jit
    def kernel(values, indptr, indices, strips, out, winners, start, stop):
        one = values.dtype.type(1)
        r = register(values, width)
        w = register(winners, width)
        for i in range(start, stop):
            first, last = indptr[i], indptr[i + 1]
            for s in range(strips):
                if first == last:
                    clear(r, width)
                    fill(w, np.int32(-1), width)
                else:
                    load(r, values, np.int64(indices[first]) * strips + s, width)
                    fill(w, indices[first], width)
                    for e in range(first + 1, last):
                        prefetch(values, np.int64(soon(indices, e)) * strips + s, width)
                        j = indices[e]
                        take_larger(r, w, values, np.int64(j) * strips + s, j, width)
                store(out, i * strips + s, one, r, width)
                store_int(winners, i * strips + s, w, width)

    return kernel


def segment_max_backward(
    grad: np.ndarray, winners: np.ndarray, t_indptr: np.ndarray, t_indices: np.ndarray
) -> np.ndarray:
    num_src, features = t_indptr.size - 1, grad.shape[1]
    out = aligned((num_src, features), grad.dtype)
    out[:] = 0
    line = CACHE_LINE // grad.itemsize  # columns are shared out by cache lines
    args = (grad, winners, line, out)
    threads.share_rows(_max_backward, -(-features // line), line * grad.shape[0], *args)
    return out


@jit
def _max_backward(grad, winners, line, out, start, stop):
    """Cache lines [start, stop) of each row are this thread's: it adds up in row order."""
    for i in range(grad.shape[0]):
        for f in range(start * line, min(stop * line, grad.shape[1])):
            j = winners[i, f]
            if j >= 0:
                out[j, f] += grad[i, f]
