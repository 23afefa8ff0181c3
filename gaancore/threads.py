"""One small pool of threads for compiled kernels that release the GIL.

Work is always cut into ranges of rows that do not depend on each other, so the result has the
same bits for any number of threads. Numba's own `prange` is not used: its threading layers abort
forked or concurrent callers, and they cannot be told apart from BLAS's threads.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import pairwise
from typing import Any

import numpy  # noqa: F401 (its BLAS has to be loaded before it can be limited)
from threadpoolctl import threadpool_limits

SMALLEST = 16_384  # numbers per thread below which waking another thread costs more than it gives

_blas_limit: threadpool_limits | None = None
_num_threads = max(1, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1)
_pool: ThreadPoolExecutor | None = None


def get_num_threads() -> int:
    """How many threads a kernel may use (at start: the CPUs this process may run on)."""
    return _num_threads


def set_num_threads(count: int) -> None:
    """Let kernels use `count` threads, the calling one included. Raises ValueError below 1."""
    global _num_threads, _pool
    if count < 1:
        raise ValueError(f"threads: expected 1 or more, got {count}")
    if count != _num_threads:
        _num_threads, _pool = count, None


def limit_blas() -> None:
    """Leave BLAS one thread, for the whole process, so that its workers do not spin beside ours.

    Products are then cut among this pool. Commands and benchmarks call it once; a program that
    uses the layers beside other libraries may prefer not to.
    """
    global _blas_limit
    if _blas_limit is None:
        _blas_limit = threadpool_limits(1, user_api="blas")


def blas_is_single_threaded() -> bool:
    """Whether limit_blas was called."""
    return _blas_limit is not None


def run_ranges(function: Callable[..., Any], bounds: Sequence[int], *args: Any) -> None:
    """Call `function(*args, start, stop)` for each neighbouring pair in `bounds`, in parallel.

    The calling thread takes the last range itself. An exception in any range is raised here.
    """
    pairs = [(a, b) for a, b in pairwise(bounds) if b > a]
    if not pairs:
        return
    if len(pairs) == 1 or _num_threads == 1:
        for start, stop in pairs:
            function(*args, start, stop)
        return
    futures = [_workers().submit(function, *args, start, stop) for start, stop in pairs[:-1]]
    try:
        function(*args, *pairs[-1])
    finally:
        wait(futures)  # arrays must not be freed under a running kernel
    for future in futures:
        future.result()


def share_rows(function: Callable[..., Any], rows: int, work: int, *args: Any) -> None:
    """run_ranges over `rows` rows of `work` numbers each, shared out evenly."""
    run_ranges(function, split_evenly(rows, max(1, SMALLEST // max(1, work))), *args)


def split_evenly(count: int, smallest: int = 1) -> list[int]:
    """Bounds that cut `count` rows into at most one range per thread, each at least `smallest`."""
    parts = max(1, min(_num_threads, count // max(1, smallest)))
    return [count * i // parts for i in range(parts + 1)]


def _workers() -> ThreadPoolExecutor:
    global _pool
    if _pool is None:
        _pool = ThreadPoolExecutor(max(1, _num_threads - 1), thread_name_prefix="gaancore")
    return _pool


def _forget_pool() -> None:
    """A forked child has none of its parent's threads: let it start its own."""
    global _pool
    _pool = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)
