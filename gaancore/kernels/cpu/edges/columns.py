"""The gradients of a weighted sum of what edges bring, source by source: the Numba loop, and how
what it adds up is cut.

Names: grad, values and queries are rows of (node, head), row i * K + k; the projection has rows of
(feature, head).
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from gaancore.kernels.cpu.vector.code import FAST
from gaancore.kernels.cpu.vector.math import random_word
from gaancore.kernels.cpu.vector.moves import add, add_product, clear, dot, load, register, store
from gaancore.kernels.cpu.vector.register_moves import add_outer, dot_registers, leak, prefetch
from gaancore.system.jit import jit

PARTS = 64  # of the edges, at most: each leaves a sum, and these are added in order
EDGES_PER_PART = 1024
RUN = 32  # edges whose gradients are kept in the L1 cache, to meet all features
ROWS, COLUMNS = 5, 16  # of a block of sums that stays in registers, at most
# The row of the next head but one is fetched into the cache while a row is worked on: the rows of
# a node lie one after the other, so that this costs no look at the next edge.
HEADS_AHEAD = 2


def cut_into_parts(indptr: np.ndarray) -> np.ndarray:
    """Bounds of the rows of each part: by the number of edges alone, never by that of threads."""
    E = int(indptr[-1])
    parts = min(PARTS, 1 + E // EDGES_PER_PART)
    bounds = np.searchsorted(indptr, [E * part // parts for part in range(parts)])
    bounds = np.append(bounds, indptr.size - 1)
    bounds[0] = 0
    return bounds


class Cut(NamedTuple):
    """How 1 + B sums of D numbers are cut into blocks: groups of `rows`, strips of `width`."""

    rows: int
    groups: int
    width: int
    strips: int

    @classmethod
    def of(cls, D: int, B: int) -> "Cut":
        rows, widest = min(ROWS, 1 + B), min(D, COLUMNS)
        widths = [w for w in range(widest, 0, -1) if D % w == 0 and 2 * w > widest]
        width = widths[0] if widths else max(1, D)
        return cls(rows, -(-(1 + B) // rows), width, D // width)


@cache
def backward_columns(K: int, A: int, D: int, B: int, attention: bool) -> Any:
    """Gradients of values, features, their projection and each edge's weight; for attention, whose
    `means` are -<grad, out>, those of keys and of each edge's score.

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
        grad, weights, values, edges, projection, queries, means, t_indptr, t_indices, t_edge_ids,
        bounds, slope, scale, threshold, keep_scale, key, grad_weights, grad_values, grad_keys,
        partial, grad_edges, start, stop,
    ):  # fmt: skip
        zero, one = grad.dtype.type(0), grad.dtype.type(1)
        u, g, row = register(grad, D), register(grad, D), register(grad, W)
        sums, total_k, heads = register(grad, in_block), register(grad, A), register(grad, K)
        nodes, ids = np.empty(RUN, np.int64), np.empty(RUN, np.uintp)
        given, shares = np.empty((RUN, K), grad.dtype), np.empty((RUN, K), grad.dtype)
        pulls, mean_of = np.empty((RUN, K), grad.dtype), np.empty((RUN, K), grad.dtype)
        grads, factors = np.empty((RUN, D), grad.dtype), np.ones((RUN, C), grad.dtype)
        totals = np.empty((K * blocks, in_block), grad.dtype)
        total_rows, grad_strips = totals.reshape(-1, W), grads.reshape(-1, W)
        factor_groups = factors.reshape(-1, G)
        clear(total_k, A)
        for part in range(start, stop):
            totals[:] = 0
            for j in range(bounds[part], bounds[part + 1]):
                first_edge, last_edge = t_indptr[j], t_indptr[j + 1]
                if attention and first_edge == last_edge:
                    for k in range(K):
                        store(grad_keys, j * K + k, zero, total_k, A)
                for begin in range(first_edge, last_edge, RUN):
                    count = np.uintp(min(RUN, last_edge - begin))
                    for n in range(count):
                        p = np.uintp(begin) + n
                        e = np.uintp(t_edge_ids[p])
                        nodes[n], ids[n] = np.int64(t_indices[p]) * K, e
                        load(heads, weights, e, K)
                        store(shares, n, one, heads, K)
                        if attention:
                            store(given, n, one, heads, K)
                            load(heads, means, t_indices[p], K)
                            store(mean_of, n, one, heads, K)
                        for b in range(B):
                            factors[n, b + 1] = edges[e, b]
                        if threshold > 0:
                            for k in range(K):
                                kept = random_word(key, np.int64(e) * K + k) >= threshold
                                shares[n, k] *= keep_scale if kept else zero
                    for k in range(K):
                        for n in range(count):
                            prefetch(grad, nodes[n] + k + ahead, D)
                            load(u, values, j * K + k, D)
                            for b in range(B):
                                add(u, factors[n, b + 1], projection, b * K + k, D)
                            load(g, grad, nodes[n] + k, D)
                            leak(g, u, slope, D)
                            pulls[n, k] = dot_registers(u, g, D)
                            store(grads, n, shares[n, k], g, D)
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
                                    grad_edges[ids[n], b] += dot(u, grads, n, D)
                    for n in range(count):
                        if attention:
                            clear(heads, K)
                            add_product(heads, shares, pulls, n, K)
                            add_product(heads, given, mean_of, n, K)
                            store(pulls, n, scale, heads, K)
                        load(heads, pulls, n, K)
                        store(grad_weights, ids[n], one, heads, K)
                    if attention:
                        for k in range(K):
                            if begin == first_edge:
                                clear(total_k, A)
                            else:
                                load(total_k, grad_keys, j * K + k, A)
                            for n in range(count):
                                prefetch(queries, nodes[n] + k + ahead, A)
                                add(total_k, pulls[n, k], queries, nodes[n] + k, A)
                            store(grad_keys, j * K + k, one, total_k, A)
                for k in range(K):
                    for strip in range(strips):  # their first row is of the values of j alone
                        first = (k * blocks + strip) * G
                        load(row, total_rows, first, W)
                        store(grad_values, (j * K + k) * strips + strip, one, row, W)
                        store(total_rows, first, zero, row, W)
            for b in range(B):
                group, c = (b + 1) // G, (b + 1) % G
                for k in range(K):
                    for strip in range(strips):
                        block = (k * groups + group) * strips + strip
                        load(row, total_rows, block * G + c, W)
                        target = ((part * B + b) * K + k) * strips + strip
                        store(partial, target, one, row, W)

    return kernel
