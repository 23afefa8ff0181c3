"""Arcs in any order to compressed sparse rows on disk, in memory that does not grow with the graph.

A counting sort, a piece of the rows at a time: one pass over the arcs counts what each row will
hold, and one more pass for each run of rows that fits in memory fills them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import IO

import numpy as np

from gaancore.errors import GraphError
from gaancore.graph.arcs import EdgeChunks
from gaancore.system.jit import jit
from gaancore.system.threads import run_ranges, split_evenly

ENTRIES_AT_A_TIME = 100_000_000  # of the rows being filled, 4 bytes each
MOST_NODES = np.iinfo(np.int32).max  # an entry is a node and a bit, 32 together

Progress = Callable[[float], None]  # called with the share of the work that is done, 0 to 1


@dataclass(frozen=True)
class ArcCounts:
    """num_arcs: stored ones, a loop counts once. num_repeats: arcs given again and merged."""

    num_arcs: int
    num_self_loops: int
    num_repeats: int


def write_undirected(
    folder: Path,
    num_nodes: int,
    arcs: EdgeChunks,
    *,
    entries_at_a_time: int = ENTRIES_AT_A_TIME,
    progress: Progress = lambda share: None,
) -> ArcCounts:
    """Write `indptr.npy` and `indices.npy` of the undirected simple graph that has all `arcs`.

    arcs : read several times; its ids are trusted to be in 0..num_nodes-1. Arcs may be
           given one way, both ways or repeatedly: the result has both directions of every edge
           once, rows ascending, and is the same for any order and any chunks.
    Memory is a few chunks, `entries_at_a_time` entries (or one row, if that has more) and two
    numbers per node; an arc gives an entry to each of its ends. Nothing else is put on the disk.
    Raises GraphError for 2^31 nodes or more.
    """
    if num_nodes > MOST_NODES:
        raise GraphError(f"write_undirected: at most {MOST_NODES:,} nodes, got {num_nodes:,}")
    entries = np.zeros(num_nodes + 1, np.int64)
    for src, dst in arcs():
        _count(src, entries)
        _count(dst, entries)
    first_entry = np.cumsum(entries, out=entries)
    pieces = _cut(first_entry, entries_at_a_time)
    rounds = len(pieces) - 1
    progress(1 / (1 + rounds))

    degrees = np.zeros(num_nodes, np.int64)
    num_loops = num_repeats = 0
    with (folder / "indices.npy").open("wb") as file:
        _write_header(file, 0)
        for number, (first, stop) in enumerate(pairwise(pieces)):
            bounds = first_entry[first : stop + 1] - first_entry[first]
            rows = np.empty(bounds[-1], np.uint32)
            free = bounds[:-1].copy()
            for src, dst in arcs():
                _fill(rows, free, src, dst, first, stop)
            run_ranges(_sort_rows, split_evenly(stop - first), rows, bounds)
            loops, repeats = _merge_rows(rows, bounds, first, degrees[first:stop])
            num_loops, num_repeats = num_loops + loops, num_repeats + repeats
            rows[: degrees[first:stop].sum()].tofile(file)
            del rows  # before there are those of the next piece
            progress((2 + number) / (1 + rounds))
        num_arcs = int(degrees.sum())
        file.seek(0)
        _write_header(file, num_arcs)
    np.save(folder / "indptr.npy", np.concatenate([[0], np.cumsum(degrees)]))
    return ArcCounts(num_arcs, num_loops, num_repeats)


def _cut(first_entry: np.ndarray, most: int) -> list[int]:
    """Bounds of the pieces: runs of rows with at most `most` entries, or of one row."""
    bounds = [0]
    while bounds[-1] < first_entry.size - 1:
        limit = first_entry[bounds[-1]] + most
        stop = int(np.searchsorted(first_entry, limit, side="right")) - 1
        bounds.append(max(stop, bounds[-1] + 1))
    return bounds


def _write_header(file: IO[bytes], count: int) -> None:
    """NumPy pads headers so that one with another number of entries takes the same room."""
    header = {"descr": "<i4", "fortran_order": False, "shape": (count,)}
    np.lib.format.write_array_header_1_0(file, header)


@jit
def _count(ids: np.ndarray, entries: np.ndarray) -> None:
    for i in ids:
        entries[i + 1] += 1


@jit
def _fill(
    rows: np.ndarray, free: np.ndarray, src: np.ndarray, dst: np.ndarray, first: int, stop: int
) -> None:
    """Put both ends of each arc into the rows first..stop-1: 2 src into dst's, 2 dst + 1 into
    src's, to tell an arc and its reverse from an arc that is given twice.
    """
    for e in range(len(src)):
        a, b = np.int64(src[e]), np.int64(dst[e])
        if first <= b < stop:
            rows[free[b - first]] = 2 * a
            free[b - first] += 1
        if first <= a < stop:
            rows[free[a - first]] = 2 * b + 1
            free[a - first] += 1


@jit
def _sort_rows(rows: np.ndarray, bounds: np.ndarray, start: int, stop: int) -> None:
    for row in range(start, stop):
        rows[bounds[row] : bounds[row + 1]].sort()


@jit
def _merge_rows(
    rows: np.ndarray, bounds: np.ndarray, first: int, degrees: np.ndarray
) -> tuple[int, int]:
    """Move each row's distinct neighbours to the front, row after row, and count them.

    Returns the number of self-loops, and of arcs given again.
    """
    loops, repeats, place = 0, 0, 0
    for row in range(len(degrees)):
        begin = place
        last = np.int64(-1)
        for e in range(bounds[row], bounds[row + 1]):
            entry = np.int64(rows[e])
            repeats += entry == last and entry % 2 == 0
            if entry // 2 != last // 2:
                rows[place] = entry // 2
                place += 1
                loops += entry // 2 == first + row
            last = entry
        degrees[row] = place - begin
    return loops, repeats
