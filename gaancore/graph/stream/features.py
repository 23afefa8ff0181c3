"""Features of arcs in any order, to the rows that their graph has on disk: see rows.py.

The order of the rows is known by then. So the features of a run of rows that fits in memory are
filled by one pass over the arcs, each of which looks up its place in its own row.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import get_args

import numpy as np

from gaancore.errors import GraphError
from gaancore.graph.ordered_rows import Reduction, runs_of_rows
from gaancore.graph.stream.rows import Progress
from gaancore.system.jit import jit
from gaancore.system.mapped import forget_pages

VALUES_AT_A_TIME = 25_000_000  # of the features being filled, 8 bytes each
SUM, MEAN, MAX = (get_args(Reduction).index(how) for how in ("sum", "mean", "max"))

# As EdgeChunks, and with the ends of some arcs their features (n, B)
FeatureChunks = Callable[[], Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]]


def write_edge_attr(
    folder: Path,
    arcs: FeatureChunks,
    edge_dim: int,
    reduce: Reduction,
    *,
    values_at_a_time: int = VALUES_AT_A_TIME,
    progress: Progress = lambda share: None,
) -> None:
    """Write `edge_attr.npy`, (E, B) float32, beside the `indptr.npy` and `indices.npy` that
    `write_undirected` wrote of the same `arcs`: the features of `CSRGraph.undirected`.

    A direction that is given keeps its own features, another takes those of its reverse. An arc
    that is given again is merged as `reduce` says (see `CSRGraph.from_edges`).
    Memory is a few chunks and `values_at_a_time` numbers (or those of one row, if it has more).
    Raises GraphError where merged features are beyond float32.
    """
    indptr = np.load(folder / "indptr.npy")
    indices = np.load(folder / "indices.npy", mmap_mode="r")
    out = np.lib.format.open_memmap(
        folder / "edge_attr.npy", mode="w+", dtype=np.float32, shape=(indices.size, edge_dim)
    )
    how = get_args(Reduction).index(reduce)
    for first, stop in runs_of_rows(indptr, max(1, values_at_a_time // max(1, edge_dim))):
        part = slice(int(indptr[first]), int(indptr[stop]))
        bounds, neighbours = indptr[first : stop + 1] - indptr[first], np.array(indices[part])
        values = np.zeros((neighbours.size, edge_dim))
        given = np.zeros(neighbours.size, np.int64)
        for src, dst, rows in arcs():
            _take(values, given, bounds, neighbours, src, dst, rows, first, stop, how)
        if reduce == "mean":
            values /= np.abs(given)[:, None]
        with np.errstate(over="ignore"):
            out[part] = values
        if not np.isfinite(out[part]).all():
            raise GraphError(f"write_edge_attr: reduce: a {reduce} of features is beyond float32")
        forget_pages(out)
        forget_pages(indices)
        progress(part.stop / indices.size if indices.size else 1.0)


@jit
def _take(
    values: np.ndarray,
    given: np.ndarray,
    bounds: np.ndarray,
    neighbours: np.ndarray,
    src: np.ndarray,
    dst: np.ndarray,
    rows: np.ndarray,
    first: int,
    stop: int,
    how: int,
) -> None:
    """Add arcs to the rows first..stop-1. given[p] counts the arcs that were merged into entry p:
    above 0 they have its direction, below 0 the other, and make way for the first that has it.
    """
    for e in range(len(src)):
        a, b = np.int64(src[e]), np.int64(dst[e])
        if first <= b < stop:
            place = _place(bounds, neighbours, b - first, a)
            if given[place] < 0:
                given[place] = 0
            _merge(values[place], rows[e], given[place], how)
            given[place] += 1
        if first <= a < stop and a != b:
            place = _place(bounds, neighbours, a - first, b)
            if given[place] <= 0:
                _merge(values[place], rows[e], given[place], how)
                given[place] -= 1


@jit
def _place(bounds: np.ndarray, neighbours: np.ndarray, row: int, neighbour: int) -> int:
    """Where the neighbour, which is there, stands in its row."""
    low, high = bounds[row], bounds[row + 1]
    while low < high:
        middle = (low + high) // 2
        if neighbours[middle] < neighbour:
            low = middle + 1
        else:
            high = middle
    return low


@jit
def _merge(value: np.ndarray, row: np.ndarray, count: int, how: int) -> None:
    """`row` into the `value` of so many rows; none yet is `row` itself."""
    for b in range(len(value)):
        if count == 0:
            value[b] = row[b]
        elif how in (SUM, MEAN):
            value[b] += row[b]
        elif how == MAX:
            value[b] = max(value[b], row[b])
