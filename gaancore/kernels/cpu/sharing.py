"""The host's side of kernels over rows: how arrays lie, and how edges are cut among threads."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gaancore.system import threads

CACHE_LINE = 64  # bytes


def by_edges(kernel: Callable[..., Any], indptr: np.ndarray, work: int, *args: Any) -> None:
    """Run over the rows of `indptr`, each thread with as many edges; `work` numbers per edge."""
    rows = indptr.size - 1
    if threads.runs_on_one_thread():
        threads.run_ranges(kernel, [0, rows], *args)
        return
    edges = int(indptr[-1])
    parts = min(threads.get_num_threads(), 1 + (edges + rows) * work // threads.SMALLEST)
    bounds = np.searchsorted(indptr, [edges * i // parts for i in range(1, parts)])
    threads.run_ranges(kernel, [0, *bounds.tolist(), rows], *args)


def rows(x: np.ndarray) -> np.ndarray:
    """(n, K, D) as (n * K, D), without a copy: every kernel sees rows of numbers."""
    return x.reshape(-1, x.shape[-1])


def flat_heads(x: np.ndarray) -> np.ndarray:
    """(n, K, D) as (n, K * D), without a copy: a row holds all heads."""
    n, K, D = x.shape
    return x.reshape(n, K * D)


def aligned(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """An empty array that starts a cache line, so that its rows span as few as they can."""
    size = math.prod(shape)
    room = np.empty(size + CACHE_LINE // dtype.itemsize, dtype)
    skip = -room.ctypes.data % CACHE_LINE // dtype.itemsize
    return room[skip : skip + size].reshape(shape)
