"""Calls of the kernels on arrays of more than 2^31 numbers, for both backends.

Such arrays are zeros, of which a page takes memory once it is written. Only the last rows are. The
same call on few rows has the same last rows, and must give the same last numbers.
"""

from typing import Any

import numpy as np

WIDTH, WIDE = 64, 2**16  # numbers in a row
CUT = 256  # edges of every row but the last, where edges are many; 3 are left for that
FEW = 2 * CUT + 3
COMPARED = 64  # numbers at the end of a result


class Rows:
    """Makes arrays of `count` rows, the last three of them random, in the same order every time."""

    def __init__(self, count: int, xp: Any = np) -> None:
        self.count, self.xp, self._rng = count, xp, np.random.default_rng(0)

    def numbers(self, *shape: int, rows: int | None = None) -> Any:
        last = self._rng.standard_normal((3, *shape)).astype(np.float32)
        return self.array(last, rows or self.count)

    def array(self, last: np.ndarray, rows: int) -> Any:
        """Zeros but for the last rows."""
        x = self.xp.zeros((rows, *last.shape[1:]), last.dtype)
        x[-len(last) :] = self.xp.asarray(last)
        return x

    def two_edges(self) -> tuple[tuple[Any, Any], tuple[Any, Any, Any]]:
        """Links and transpose of `count` rows of which the last gathers from the last two."""
        n = self.count
        indptr = self.array(np.array([2]), n + 1)
        indices = self.xp.asarray(np.array([n - 1, n - 2], np.int32))
        t_indices = self.xp.asarray(np.array([n - 1, n - 1], np.int32))
        t_edge_ids = self.xp.asarray(np.array([1, 0], np.int32))
        return (indptr, indices), (self.array(np.array([1, 2]), n + 1), t_indices, t_edge_ids)

    def many_edges(self) -> tuple[tuple[Any, Any], tuple[Any, Any, Any]]:
        """Links and transpose of `count` edges, in rows of CUT, each row from itself; of those far
        from the end, which nobody looks at, all is 0.
        """
        n = self.count
        indptr = self.xp.asarray(np.append(np.arange(0, n, CUT), n))
        edges = np.arange(max(0, n - 20 * CUT), n)
        indices = self.array((edges // CUT).astype(np.int32), n)
        return (indptr, indices), (indptr, indices, self.array(edges.astype(np.int32), n))

    @property
    def nodes_of_many_edges(self) -> int:
        return -(-self.count // CUT)


def softmax(kernels: Any, rows: Rows) -> tuple[Any, ...]:
    (indptr, _), _ = rows.many_edges()
    weights = kernels.segment_softmax_forward(rows.numbers(WIDTH), indptr)
    given = rows.numbers(WIDTH), rows.numbers(WIDTH)
    return weights, kernels.segment_softmax_backward(*given, indptr)


def weighted_sum_of_many_edges(kernels: Any, rows: Rows) -> tuple[Any, ...]:
    links, transpose = rows.many_edges()
    weights = rows.numbers(WIDTH)
    values = rows.numbers(WIDTH, 1, rows=rows.nodes_of_many_edges)
    forward = kernels.segment_weighted_sum(weights, values, *links)
    return forward, kernels.segment_weighted_sum(weights, values, *transpose)


def weighted_sum_of_many_rows(kernels: Any, rows: Rows) -> tuple[Any, ...]:
    links, transpose = rows.two_edges()
    weights, values = rows.numbers(2, rows=3)[1:], rows.numbers(2, WIDTH // 2)
    forward = kernels.segment_weighted_sum(weights, values, *links)
    return forward, kernels.segment_weighted_sum(weights, values, *transpose)


def dots_of_many_edges(kernels: Any, rows: Rows) -> tuple[Any, ...]:
    links, _ = rows.many_edges()
    nodes = {"rows": rows.nodes_of_many_edges}
    queries, keys = rows.numbers(WIDTH, 1, **nodes), rows.numbers(WIDTH, 1, **nodes)
    return (kernels.edge_dot(queries, keys, *links),)


def dots_of_many_rows(kernels: Any, rows: Rows) -> tuple[Any, ...]:
    links, _ = rows.two_edges()
    given = rows.numbers(2, WIDTH // 2), rows.numbers(2, WIDTH // 2)
    return (kernels.edge_dot(*given, *links),)


def mean(kernels: Any, rows: Rows) -> tuple[Any, ...]:
    links, (t_indptr, t_indices, _) = rows.two_edges()
    out = kernels.segment_mean_forward(rows.numbers(WIDE), *links)
    return out, kernels.segment_mean_backward(rows.numbers(WIDE), links[0], t_indptr, t_indices)


def maximum(kernels: Any, rows: Rows) -> tuple[Any, ...]:
    links, _ = rows.two_edges()
    out, winners = kernels.segment_max_forward(rows.numbers(WIDE), *links)
    n = rows.count  # which rows are the last two depends on it
    return out, winners.reshape(-1)[-COMPARED:] - n


def features_of_many_edges(kernels: Any, rows: Rows) -> tuple[Any, ...]:
    (indptr, _), _ = rows.many_edges()
    queries, edges = rows.numbers(1, WIDTH, rows=rows.nodes_of_many_edges), rows.numbers(1)
    dots = kernels.feature_dot(queries, edges, indptr)
    return dots, kernels.feature_sum(rows.numbers(WIDTH), edges, indptr)


def edge_sum_of_many_edges(kernels: Any, rows: Rows) -> tuple[Any, ...]:
    links, _ = rows.many_edges()
    values = rows.numbers(WIDTH, 1, rows=rows.nodes_of_many_edges)
    given = rows.numbers(WIDTH), values, rows.numbers(1), rows.numbers(WIDTH, 1, rows=3)[2:]
    return (kernels.edge_sum_forward(*given, 0.1, *links),)


def edge_sum_of_many_rows(kernels: Any, rows: Rows) -> tuple[Any, ...]:
    links, _ = rows.two_edges()
    weights, edges = rows.numbers(2, rows=3)[1:], rows.numbers(1, rows=3)[1:]
    values, projection = rows.numbers(2, WIDTH // 2), rows.numbers(2, WIDTH // 2, rows=3)[2:]
    return (kernels.edge_sum_forward(weights, values, edges, projection, 0.1, *links),)


def edge_max_of_many_rows(kernels: Any, rows: Rows) -> tuple[Any, ...]:
    links, _ = rows.two_edges()
    edges, projection = rows.numbers(1, rows=3)[1:], rows.numbers(WIDE, rows=3)[2:]
    return (kernels.edge_max_forward(rows.numbers(WIDE), edges, projection, *links)[0],)


def scale_heads(kernels: Any, rows: Rows) -> tuple[Any, ...]:
    heads, gates = rows.numbers(2, WIDTH // 2), rows.numbers(2)
    out = kernels.scale_heads_forward(heads, gates)
    return out, *kernels.scale_heads_backward(rows.numbers(2, WIDTH // 2), heads, gates)


def gru_update(kernels: Any, rows: Rows) -> tuple[Any, ...]:
    given = [rows.numbers(WIDTH) for _ in range(7)]
    out, saved = kernels.gru_update_forward(*given, 0.1)
    kept = tuple(rows.numbers(WIDTH) for _ in range(3))
    grads = kernels.gru_update_backward(rows.numbers(WIDTH), *given[-2:], kept, 0.1)
    return out, *saved, *grads


def bce_with_logits(kernels: Any, rows: Rows) -> tuple[Any, ...]:
    targets = rows.array((np.arange(WIDTH)[None] % 2).astype(np.uint8), rows.count)
    return (kernels.bce_with_logits(rows.numbers(WIDTH), targets)[1],)


def softmax_cross_entropy(kernels: Any, rows: Rows) -> tuple[Any, ...]:
    targets = rows.array(np.array([WIDTH - 2]), rows.count)
    return (kernels.softmax_cross_entropy(rows.numbers(WIDTH), targets)[1],)


def adam_step(kernels: Any, rows: Rows) -> tuple[Any, ...]:
    arrays = [rows.numbers(WIDTH) for _ in range(3)]
    squares = rows.array(np.full((3, WIDTH), 0.5, np.float32), rows.count)
    kernels.adam_step(*arrays, squares, 0.01, 0.9, 0.99, 1e-8)
    return arrays[0], *arrays[2:], squares


# What every backend can be asked for, and how many numbers a row has
CALLS = {
    softmax: WIDTH,
    weighted_sum_of_many_edges: WIDTH,
    weighted_sum_of_many_rows: WIDTH,
    dots_of_many_edges: WIDTH,
    dots_of_many_rows: WIDTH,
    mean: WIDE,
    maximum: WIDE,
    features_of_many_edges: WIDTH,
    edge_sum_of_many_edges: WIDTH,
    edge_sum_of_many_rows: WIDTH,
    edge_max_of_many_rows: WIDE,
    scale_heads: WIDTH,
    gru_update: WIDTH,
    bce_with_logits: WIDTH,
    softmax_cross_entropy: WIDTH,
    adam_step: WIDTH,
}


def count_beyond(width: int) -> int:
    """So many rows that they have more than 2^31 numbers: 3 above a multiple of CUT, as FEW is."""
    return 2**31 // width + 3
