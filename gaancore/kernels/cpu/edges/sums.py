"""Weighted sum of what edges bring, features and all: host above, Numba loop below."""

from functools import cache
from typing import Any

import numpy as np

from gaancore.kernels.cpu.edges.parts import RUN, Cut, cut_into_parts
from gaancore.kernels.cpu.sharing import by_edges, edges_of, head_rows
from gaancore.kernels.cpu.vector.code import FAST
from gaancore.kernels.cpu.vector.moves import add, clear, dot, load, register, store
from gaancore.kernels.cpu.vector.register_moves import (
    add_outer,
    add_register,
    dot_registers,
    leak,
    prefetch,
)
from gaancore.system import threads
from gaancore.system.jit import jit

# A row of the next head but one is fetched into the cache while this one is worked on: with the
# rows of a gathered node being one after the other, it costs no look at the next edge.
HEADS_AHEAD = 2

Grads = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]


def edge_sum_forward(
    weights: np.ndarray, values: np.ndarray, edges: np.ndarray, projection: np.ndarray,
    slope: float, indptr: np.ndarray, indices: np.ndarray,
) -> np.ndarray:  # fmt: skip
    (_, K, D), B = values.shape, edges.shape[1]
    out = np.empty((indptr.size - 1, K, D), values.dtype)
    rows = (head_rows(values), edges, head_rows(projection), values.dtype.type(slope))
    args = (weights, *rows, indptr, indices, head_rows(out))
    by_edges(_sum_forward(K, D, B), indptr, (1 + B) * K * D, *args)
    return out


@cache
def _sum_forward(K: int, D: int, B: int) -> Any:
    """values, out: rows of (node, head); projection: rows of (feature, head)."""
    ahead = min(HEADS_AHEAD, K - 1)

    @jit
    def kernel(weights, values, edges, projection, slope, indptr, indices, out, start, stop):
        one = values.dtype.type(1)
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
    bounds, cut = cut_into_parts(t_indptr), Cut.of(D, B)
    parts = bounds.size - 1
    grad_weights, grad_values = np.empty_like(weights), np.empty_like(values)
    partial = np.empty((parts, B, K, D), dtype)
    grad_edges = np.zeros((E if needed else 0, B), dtype)
    given = (head_rows(grad), weights, head_rows(values), edges, head_rows(projection))
    static = (dtype.type(slope), t_indptr, t_indices, t_edge_ids, bounds)
    strips = (x.reshape(-1, cut.width) for x in (grad_values, partial))
    work = E * K * D * (1 + B) // parts
    kernel = _sum_backward(K, D, B)
    threads.share_rows(kernel, parts, work, *given, *static, grad_weights, *strips, grad_edges)
    return grad_weights, grad_values, partial.sum(axis=0), grad_edges if needed else None


@cache
def _sum_backward(K: int, D: int, B: int) -> Any:
    """All four gradients in one pass over the transposed block, whose rows are cut into parts.

    The edges of a source are taken in runs. What a run has of its edges is copied once for all
    heads. For each head one loop makes u, the gradient of the weight and that of h(u), times the
    weight, which lies in the L1 cache then; another adds products of it and the features to the
    gradient of the projection. A feature of 1 is put before them: its sum is the gradient of the
    values. In one loop, what is added to would not fit into registers.
    """
    G, groups, W, strips = Cut.of(D, B)
    in_block, C, blocks = G * W, G * groups, groups * strips
    ahead = min(HEADS_AHEAD, K - 1)

    @jit(fastmath=FAST)
    def kernel(
        grad, weights, values, edges, projection, slope, t_indptr, t_indices, t_edge_ids, bounds,
        grad_weights, grad_values, partial, grad_edges, start, stop,
    ):  # fmt: skip
        one = grad.dtype.type(1)
        u, g, row = register(grad, D), register(grad, D), register(grad, W)
        sums, heads = register(grad, in_block), register(grad, K)
        nodes, grads = np.empty(RUN, np.int64), np.empty((RUN, D), grad.dtype)
        given, dots = np.empty((RUN, K), grad.dtype), np.empty((RUN, K), grad.dtype)
        factors = np.ones((RUN, C), grad.dtype)
        totals = np.empty((K * blocks, in_block), grad.dtype)
        total_rows, grad_strips = totals.reshape(-1, W), grads.reshape(-1, W)
        factor_groups = factors.reshape(-1, G)
        for part in range(start, stop):
            totals[:] = 0
            for j in range(bounds[part], bounds[part + 1]):
                for begin in range(t_indptr[j], t_indptr[j + 1], RUN):
                    count = np.uintp(min(RUN, t_indptr[j + 1] - begin))
                    for n in range(count):
                        p = np.uintp(begin) + n
                        e = np.uintp(t_edge_ids[p])
                        nodes[n] = np.int64(t_indices[p]) * K
                        load(heads, weights, e, K)
                        store(given, n, one, heads, K)
                        for b in range(B):
                            factors[n, b + 1] = edges[e, b]
                    for k in range(K):
                        for n in range(count):
                            prefetch(grad, nodes[n] + k + ahead, D)
                            load(u, values, j * K + k, D)
                            for b in range(B):
                                add(u, factors[n, b + 1], projection, b * K + k, D)
                            load(g, grad, nodes[n] + k, D)
                            leak(g, u, slope, D)
                            dots[n, k] = dot_registers(u, g, D)
                            store(grads, n, given[n, k], g, D)
                        for block in range(blocks):
                            group, strip = block // strips, block % strips
                            load(sums, totals, k * blocks + block, in_block)
                            for n in range(count):
                                left, right = n * groups + group, n * strips + strip
                                add_outer(sums, factor_groups, left, grad_strips, right, G, W)
                            store(totals, k * blocks + block, one, sums, in_block)
                        if len(grad_edges) > 0:
                            for b in range(B):
                                load(u, projection, b * K + k, D)
                                for n in range(count):
                                    e = np.uintp(t_edge_ids[np.uintp(begin) + n])
                                    grad_edges[e, b] += dot(u, grads, n, D)
                    for n in range(count):
                        e = np.uintp(t_edge_ids[np.uintp(begin) + n])
                        load(heads, dots, n, K)
                        store(grad_weights, e, one, heads, K)
                for k in range(K):
                    for strip in range(strips):  # their first row is of the values of j alone
                        first = (k * blocks + strip) * G
                        load(row, total_rows, first, W)
                        store(grad_values, (j * K + k) * strips + strip, one, row, W)
                        clear(row, W)
                        store(total_rows, first, one, row, W)
            for b in range(B):
                group, c = (b + 1) // G, (b + 1) % G
                for k in range(K):
                    for strip in range(strips):
                        block = (k * groups + group) * strips + strip
                        load(row, total_rows, block * G + c, W)
                        target = ((part * B + b) * K + k) * strips + strip
                        store(partial, target, one, row, W)

    return kernel
