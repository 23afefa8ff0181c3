"""Weighted sum of what edges bring, features and all: host above, Numba loop below."""

from functools import cache
from typing import Any

import numpy as np

from gaancore.kernels import dropout_constants
from gaancore.kernels.cpu.edges.columns import HEADS_AHEAD, Cut, backward_columns, cut_into_parts
from gaancore.kernels.cpu.sharing import by_edges, edges_of, head_rows
from gaancore.kernels.cpu.vector.moves import add, clear, load, register, store
from gaancore.kernels.cpu.vector.register_moves import add_register, leak, prefetch
from gaancore.system import threads
from gaancore.system.jit import jit

Grads = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]


def edge_sum_forward(
    weights: np.ndarray, values: np.ndarray, edges: np.ndarray, projection: np.ndarray,
    slope: float, indptr: np.ndarray, indices: np.ndarray,
) -> np.ndarray:  # fmt: skip
    (_, K, D), B = values.shape, edges.shape[1]
    out = np.empty((indptr.size - 1, K, D), values.dtype)
    rows = (head_rows(values), edges, head_rows(projection), values.dtype.type(slope))
    args = (weights, *rows, indptr, indices, head_rows(out))
    by_edges(_sum_forward(D, B), indptr, (1 + B) * K * D, *args)
    return out


@cache
def _sum_forward(D: int, B: int) -> Any:
    """values, out: rows of (node, head); projection: rows of (feature, head)."""

    @jit
    def kernel(weights, values, edges, projection, slope, indptr, indices, out, start, stop):
        one, K = values.dtype.type(1), weights.shape[1]
        ahead = min(HEADS_AHEAD, K - 1)
        total, u = register(out, D), register(out, D)
        for i in range(start, stop):
            for k in range(K):
                clear(total, D)
                for e in edges_of(indptr, i):
                    row = np.int64(indices[e]) * K + k
                    prefetch(values, row + ahead, D)
                    load(u, values, row, D)
                    for b in range(B):
                        add(u, edges[e, b], projection, b * K + k, D)
                    leak(u, u, slope, D)
                    add_register(total, weights[e, k], u, D)
                store(out, i * K + k, one, total, D)

    return kernel


def edge_sum_backward(
    grad: np.ndarray, weights: np.ndarray, values: np.ndarray, edges: np.ndarray,
    projection: np.ndarray, slope: float, needed: bool, indptr: np.ndarray, indices: np.ndarray,
    t_indptr: np.ndarray, t_indices: np.ndarray, t_edge_ids: np.ndarray,
) -> Grads:  # fmt: skip
    (E, K), (_, B), D, dtype = weights.shape, edges.shape, values.shape[2], values.dtype
    bounds, cut, none = cut_into_parts(t_indptr), Cut.of(D, B), np.empty((0, 0), dtype)
    parts = bounds.size - 1
    grad_weights, grad_values = np.empty_like(weights), np.empty_like(values)
    partial = np.empty((parts, B, K, D), dtype)
    grad_edges = np.zeros((E if needed else 0, B), dtype)
    given = (head_rows(grad), weights, head_rows(values), edges, head_rows(projection))
    links = (none, none, t_indptr, t_indices, t_edge_ids, bounds)
    static = (dtype.type(slope), dtype.type(1), *dropout_constants(dtype, 0.0, 0))
    of_values, of_partial = (x.reshape(-1, cut.width) for x in (grad_values, partial))
    targets = (grad_weights, of_values, none, of_partial, grad_edges)
    work = E * K * D * (1 + B) // parts
    kernel = backward_columns(K, 0, D, B, attention=False)
    threads.share_rows(kernel, parts, work, *given, *links, *static, *targets)
    return grad_weights, grad_values, partial.sum(axis=0), grad_edges if needed else None
