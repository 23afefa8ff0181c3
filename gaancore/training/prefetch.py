"""Things made ahead of their use, by threads, in the order in which they are asked for."""

import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import count, islice
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from gaancore.array import Uploads
from gaancore.system.threads import get_num_threads, on_one_thread

T = TypeVar("T")
ON_A_GPU = 2  # batches made ahead of the step that the device is at


def made_ahead(asked: int | None, device: str) -> int:
    """How many batches: as many as asked for, by default ON_A_GPU, and none on a CPU.

    The threads of a CPU are busy with the step itself: batches that others make meanwhile cost a
    Reddit epoch a tenth of its time on two threads, and save 3 % on one (bench/why.py).
    """
    if asked is not None:
        return asked
    return 0 if device == "cpu" else ON_A_GPU


class Prefetch(Generic[T]):
    """Iterates over make(n) for the given numbers, with up to `depth` of them made ahead.

    with Prefetch(make, count(step), depth=2) as batches:
        for batch in batches: ...

    make  : a function of its number alone, so that order and bits do not depend on who makes what
            when. It should spend its time where the GIL is released, as compiled loops do.
    depth : results that wait or are being made; as many threads make them, but no more than
            kernels may use. 0 makes each when it is asked for, in the calling thread.

    What `make` raises is raised when its turn comes. Leaving the block, in whatever way, lets the
    threads finish what they are at and ends them. `waited` is how long the caller has waited, in
    seconds.
    """

    def __init__(self, make: Callable[[int], T], numbers: Iterator[int], *, depth: int) -> None:
        self.waited = 0.0
        self._make = make
        self._numbers = numbers
        self._depth = depth
        self._ahead: deque[Future[T]] = deque()
        self._threads = ThreadPoolExecutor(max(1, min(depth, get_num_threads())), "gaancore-ahead")

    def __enter__(self) -> Self:
        self._fill()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._threads.shutdown(cancel_futures=True)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> T:
        clock = time.perf_counter()
        if self._depth == 0:
            result = self._make(next(self._numbers))
        elif self._ahead:
            result = self._ahead.popleft().result()
            self._fill()
        else:
            raise StopIteration
        self.waited += time.perf_counter() - clock
        return result

    def _fill(self) -> None:
        for number in islice(self._numbers, self._depth - len(self._ahead)):
            self._ahead.append(self._threads.submit(self._make_beside, number))

    def _make_beside(self, number: int) -> T:
        """On one thread: the pool of the kernels is the caller's, who computes meanwhile."""
        with on_one_thread():
            return self._make(number)


class Fetch(Prefetch[T]):
    """The batches of a run, from step `start` on: made ahead by threads, and put on `device`.

    make : step number -> batch, whose `to(device)` is the same batch there.
    """

    def __init__(self, make: Callable[[int], T], start: int, *, depth: int, device: str) -> None:
        super().__init__(make, count(start), depth=depth)
        self._device = device
        self._uploads = Uploads(device)
        self._upcoming: T | None = None

    def __next__(self) -> T:
        batch, self._upcoming = self._upcoming or self._upload(), None
        return batch

    def prepare(self) -> None:
        """Copy the next batch to a GPU, which computes meanwhile what was launched."""
        if self._device != "cpu":
            self._upcoming = self._upload()

    def _upload(self) -> T:
        batch: Any = super().__next__()
        with self._uploads.beside():
            return batch.to(self._device)
