"""Arcs in any order to compressed sparse rows on disk, in memory that does not grow with the graph.

A distribution sort: each arc becomes one integer that sorts as (row, neighbour). The rows are cut
into buckets that fit in memory, every key is appended to the file of its bucket, and the buckets
are then sorted, freed of repeats and written out, one after the other.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gaancore.errors import GraphError
from gaancore.graph.arcs import ArcChunks
from gaancore.graph.checks import index_dtype
from gaancore.jit import jit

KEYS_AT_A_TIME = 16_000_000  # of a bucket, 8 bytes each; sorting one takes about three times that
MOST_NODES = np.iinfo(np.int32).max  # two node ids and a bit are one key of 64 bits

Progress = Callable[[float], None]  # told the share of the work that is done, 0 to 1


@dataclass(frozen=True)
class ArcCounts:
    """num_arcs: stored ones, a loop counts once. num_repeats: arcs given again and merged."""

    num_arcs: int
    num_self_loops: int
    num_repeats: int


def write_undirected(
    folder: Path,
    num_nodes: int,
    arcs: ArcChunks,
    *,
    keys_at_a_time: int = KEYS_AT_A_TIME,
    progress: Progress = lambda share: None,
) -> ArcCounts:
    """Write `indptr.npy` and `indices.npy` of the undirected simple graph that has all `arcs`.

    arcs : gone through twice; its ids are trusted to be in 0..num_nodes-1. Arcs may be given one
           way, both ways or repeatedly: the result has both directions of every edge once, rows
           ascending, and is the same for any order and any chunks.
    Memory is a few chunks, `keys_at_a_time` keys (or one row, if that is more) and the row
    pointers; the buckets take 16 bytes of disk for each arc given while they exist.
    Raises GraphError for 2^31 nodes or more.
    """
    if num_nodes > MOST_NODES:
        raise GraphError(f"write_undirected: at most {MOST_NODES:,} nodes, got {num_nodes:,}")
    keys_of_row = np.zeros(num_nodes, np.int64)
    for src, dst in arcs():
        _count(src, keys_of_row)
        _count(dst, keys_of_row)
    rows = _cut(keys_of_row, keys_at_a_time)
    progress(0.15)
    _distribute(folder, num_nodes, arcs, rows)
    progress(0.6)

    degrees = np.zeros(num_nodes, np.int64)
    num_arcs = num_loops = num_repeats = 0
    with (folder / "indices.npy").open("wb") as file:
        _write_header(file, num_arcs, num_nodes)
        for bucket in range(len(rows) - 1):
            path = _bucket(folder, bucket)
            keys = np.fromfile(path, np.int64) if path.exists() else np.empty(0, np.int64)
            path.unlink(missing_ok=True)
            keys.sort()
            dst, src, repeats = _without_repeats(keys, num_nodes)
            _count(dst, degrees)
            num_arcs += src.size
            num_loops += int(np.count_nonzero(src == dst))
            num_repeats += repeats
            src.tofile(file)
            progress(0.6 + 0.4 * (bucket + 1) / (len(rows) - 1))
        file.seek(0)
        _write_header(file, num_arcs, num_nodes)
    np.save(folder / "indptr.npy", np.concatenate([[0], np.cumsum(degrees)]))
    return ArcCounts(num_arcs, num_loops, num_repeats)


def _cut(keys_of_row: np.ndarray, most: int) -> np.ndarray:
    """Bounds of the buckets: runs of rows with at most `most` keys each, or of one row."""
    stops = np.cumsum(keys_of_row)
    bounds = [0]
    while bounds[-1] < keys_of_row.size:
        before = stops[bounds[-1] - 1] if bounds[-1] else 0
        stop = int(np.searchsorted(stops, before + most, side="right"))
        bounds.append(max(stop, bounds[-1] + 1))
    return np.array(bounds)


def _distribute(folder: Path, num_nodes: int, arcs: ArcChunks, rows: np.ndarray) -> None:
    """Append the keys of both directions of every arc to the files of their buckets.

    key = 2 (row N + neighbour), and 1 more if the arc was given the other way round.
    """
    first_keys = 2 * num_nodes * rows[1:-1]
    for src, dst in arcs():
        wide_src, wide_dst = src.astype(np.int64), dst.astype(np.int64)
        keys = np.concatenate(
            [2 * (wide_dst * num_nodes + wide_src), 2 * (wide_src * num_nodes + wide_dst) + 1]
        )
        keys.sort()
        for bucket, part in enumerate(np.split(keys, np.searchsorted(keys, first_keys))):
            if part.size:
                with _bucket(folder, bucket).open("ab") as file:
                    part.tofile(file)


def _without_repeats(keys: np.ndarray, num_nodes: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Row and neighbour of each distinct arc among sorted `keys`, and how many were given again."""
    forward_again = (keys[1:] == keys[:-1]) & (keys[1:] & 1 == 0)
    keys >>= 1
    new = np.ones(keys.size, bool)
    np.not_equal(keys[1:], keys[:-1], out=new[1:])
    dst, src = np.divmod(keys[new], num_nodes)
    dtype = index_dtype(num_nodes)
    return dst.astype(dtype), src.astype(dtype), int(np.count_nonzero(forward_again))


def _bucket(folder: Path, number: int) -> Path:
    return folder / f"bucket-{number}"


def _write_header(file, count: int, num_nodes: int) -> None:  # type: ignore[no-untyped-def]
    """NumPy pads headers so that one with another number of entries takes the same room."""
    descr = np.lib.format.dtype_to_descr(np.dtype(index_dtype(num_nodes)))
    header = {"descr": descr, "fortran_order": False, "shape": (count,)}
    np.lib.format.write_array_header_1_0(file, header)


@jit
def _count(ids: np.ndarray, counts: np.ndarray) -> None:
    for i in ids:
        counts[i] += 1
