"""How arrays lie for the loops, and how edges are cut among threads and walked."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gaancore.system import threads
from gaancore.system.jit import jit

CACHE_LINE = 64  # bytes
AHEAD = np.uintp(8)  # edges


def by_edges(kernel: Callable[..., Any], indptr: np.ndarray, work: int, *args: Any) -> None:
    """Run over the rows of `indptr`. All threads get as many edges; `work`: numbers per edge."""
    count = indptr.size - 1
    if threads.runs_on_one_thread():
        threads.run_ranges(kernel, [0, count], *args)
        return
    edges = int(indptr[-1])
    parts = min(threads.get_num_threads(), 1 + (edges + count) * work // threads.SMALLEST)
    bounds = np.searchsorted(indptr, [edges * i // parts for i in range(1, parts)])
    threads.run_ranges(kernel, [0, *bounds.tolist(), count], *args)


@jit(inline="always")
def edges_of(indptr, i):
    """Unsigned, so that LLVM need not ask whether an index is counted from the end."""
    return range(np.uintp(indptr[i]), np.uintp(indptr[i + 1]))


@jit(inline="always")
def soon(indices, e):
    """The entry of `indices` a few edges behind e, whose row is fetched while e is worked on."""
    return indices[min(np.uintp(e) + AHEAD, np.uintp(indices.size) - np.uintp(1))]


def head_rows(x: np.ndarray) -> np.ndarray:
    """(n, K, D) as (n * K, D), without a copy: a row for each node and head."""
    n, K, D = x.shape
    return x.reshape(n * K, D)


def node_rows(x: np.ndarray) -> np.ndarray:
    """(n, K, D) as (n, K * D), without a copy: a row for each node, all heads in it."""
    n, K, D = x.shape
    return x.reshape(n, K * D)


def aligned(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """An empty array that starts a cache line, so that its rows span as few as they can."""
    size = math.prod(shape)
    room = np.empty(size + CACHE_LINE // dtype.itemsize, dtype)
    skip = -room.__array_interface__["data"][0] % CACHE_LINE // dtype.itemsize
    return room[skip : skip + size].reshape(shape)
