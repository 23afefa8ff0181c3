"""One small pool of threads for compiled kernels that release the GIL.

Work is always cut into ranges of rows that do not depend on each other, so the result has the
same bits for any number of threads. Numba's own `prange` is not used: its threading layers abort
forked or concurrent callers.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from threading import Lock, Thread, local
from typing import Any

import numpy  # noqa: F401 (a BLAS has to be loaded before it can be limited)
from threadpoolctl import threadpool_limits

from gaancore.system.baton import Baton
from gaancore.system.jit import COMPILED

SMALLEST = 16_384  # numbers per thread below which waking another thread costs more than it gives

_blas_limit: threadpool_limits | None = None
_num_threads = max(1, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1)
_workers: "list[_Worker]" = []
_workers_in_use = Lock()


class _Here(local):
    """The state of each thread."""

    alone = False


_here = _Here()


def get_num_threads() -> int:
    """How many threads a kernel may use (at start: the CPUs this process may run on)."""
    return _num_threads


def set_num_threads(count: int) -> None:
    """Let kernels use `count` threads, the calling one included. Raises ValueError below 1."""
    global _num_threads
    if count < 1:
        raise ValueError(f"threads: expected 1 or more, got {count}")
    _num_threads = count


def limit_blas() -> None:
    """Leave BLAS one thread, for the whole process, so that its workers do not spin beside ours.

    Our own products do not need BLAS; a baseline that is fitted does. Commands and benchmarks call
    it once; a program that uses the layers beside other libraries may prefer not to.
    """
    global _blas_limit
    if _blas_limit is None:
        _blas_limit = threadpool_limits(1, user_api="blas")


@contextmanager
def on_one_thread() -> Iterator[None]:
    """Inside, this thread runs its kernels alone: its caller has work for the other threads."""
    before = _here.alone
    _here.alone = True
    try:
        yield
    finally:
        _here.alone = before


def runs_on_one_thread() -> bool:
    """Whether this thread is inside on_one_thread."""
    return _here.alone


def run_ranges(function: Callable[..., Any], bounds: Sequence[int], *args: Any) -> None:
    """Call `function(*args, start, stop)` for each neighbouring pair in `bounds`, in parallel.

    The calling thread takes the last range itself, and all of them while the workers are busy for
    another caller. An exception in any range is raised here, after all have ended.
    """
    pairs = [(a, b) for a, b in pairwise(bounds) if b > a]
    alone = len(pairs) < 2 or _num_threads == 1 or not COMPILED or runs_on_one_thread()
    if alone or not _workers_in_use.acquire(blocking=False):
        for start, stop in pairs:
            function(*args, start, stop)
        return
    try:
        while len(_workers) < len(pairs) - 1:
            _workers.append(_Worker())
        busy = _workers[: len(pairs) - 1]
        for worker, pair in zip(busy, pairs, strict=False):
            worker.begin(function, (*args, *pair))
        try:
            function(*args, *pairs[-1])
        finally:  # arrays must not be freed under a running kernel
            errors = [worker.finish() for worker in busy]
    except KeyboardInterrupt:  # perhaps while waiting: a worker that may still run is not reused
        _workers.clear()
        raise
    finally:
        _workers_in_use.release()
    for error in errors:
        if error is not None:
            raise error


class _Worker(Thread):
    """A thread that waits for one call at a time (a training step makes about eighty)."""

    def __init__(self) -> None:
        super().__init__(name="gaancore", daemon=True)
        self._begun, self._ended = Baton(), Baton()
        self._error: BaseException | None = None
        self.start()

    def begin(self, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self._function, self._args = function, args
        self._begun.give()

    def finish(self) -> BaseException | None:
        """Wait for the call to end; returns what it raised."""
        self._ended.take()
        error, self._error = self._error, None
        return error

    def run(self) -> None:
        self._begun.take()
        while True:
            try:
                self._function(*self._args)
            except BaseException as error:  # handed to the caller
                self._error = error
            del self._function, self._args  # they hold arrays
            self._begun.take_after_giving(self._ended)


def share_rows(function: Callable[..., Any], rows: int, work: int, *args: Any) -> None:
    """run_ranges over `rows` rows of `work` numbers each, shared out evenly."""
    if runs_on_one_thread():  # the short way, for this is asked at every kernel
        if rows:
            function(*args, 0, rows)
    else:
        run_ranges(function, split_evenly(rows, max(1, SMALLEST // max(1, work))), *args)


def split_evenly(count: int, smallest: int = 1) -> list[int]:
    """Bounds that cut `count` rows into at most one range per thread, each at least `smallest`."""
    if runs_on_one_thread():
        return [0, count]
    parts = max(1, min(_num_threads, count // max(1, smallest)))
    return [count * i // parts for i in range(parts + 1)]


def _forget_workers() -> None:
    """A forked child has none of its parent's threads: let it start its own."""
    global _workers_in_use
    _workers.clear()
    _workers_in_use = Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_workers)
