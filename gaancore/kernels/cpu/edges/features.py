"""Products of features of edges with what rows ask of them: host above, Numba loop below."""

from functools import cache
from typing import Any

import numpy as np

from gaancore.kernels.cpu.sharing import by_edges, edges_of, head_rows
from gaancore.kernels.cpu.vector.moves import add, clear, register, store
from gaancore.system.jit import jit


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
