"""Ranks that are threads of this process: what MPI does for processes, in plain Python."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any, NoReturn

import numpy as np

from gaancore.array import Array, device_of, to_device, to_numpy
from gaancore.parallel import Team

PATIENCE = 60.0  # seconds that a rank waits for the others: then some test is wrong


class Place:
    """Where `size` ranks meet."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.barrier = Barrier(size, timeout=PATIENCE)
        self.slots: list[Any] = [None] * size
        self.calls: list[str] = []  # of rank 0
        self.aborted: list[tuple[int, int]] = []  # rank and exit code


class ThreadTransport:
    """One rank of a place."""

    def __init__(self, place: Place, rank: int) -> None:
        self.place = place
        self.rank, self.size = rank, place.size

    def gather(self, content: np.ndarray) -> list[np.ndarray]:
        return [of_rank.copy() for of_rank in self._meet("gather", content)]

    def trade(self, contents: Sequence[np.ndarray], counts: Sequence[int]) -> list[np.ndarray]:
        given = self._meet("trade", list(contents))
        found = [of_rank[self.rank].copy() for of_rank in given]
        assert [len(content) for content in found] == list(counts)
        return found

    def exchange(self, rows: Array, counts: Sequence[int]) -> Array:
        assert rows.shape[:2] == (self.size, counts[self.rank])
        given = self._meet("exchange", to_numpy(rows))
        found = np.concatenate([of_rank[self.rank] for of_rank in given])
        return to_device(found, device_of(rows))

    def collect(self, part: Array) -> Array:
        found = np.concatenate(self._meet("collect", to_numpy(part)))
        return to_device(found, device_of(part))

    def abort(self, code: int) -> NoReturn:
        self.place.aborted.append((self.rank, code))
        self.place.barrier.abort()
        raise SystemExit(code)

    def _meet(self, call: str, given: Any) -> list[Any]:
        if self.rank == 0:
            self.place.calls.append(call)
        self.place.slots[self.rank] = given
        self.place.barrier.wait()
        found = list(self.place.slots)
        self.place.barrier.wait()
        return found


def on_ranks(
    size: int, work: Callable[[Team], Any], place: Place | None = None, hosts: Sequence[str] = ()
) -> list[Any]:
    """What work(team) returns in each of `size` threads, or the exception that it raises there."""
    place = place or Place(size)

    def of_rank(rank: int) -> Any:
        try:
            return work(Team(ThreadTransport(place, rank), hosts[rank] if hosts else ""))
        except BaseException as error:
            if not isinstance(error, Exception):
                place.barrier.abort()
            return error

    with ThreadPoolExecutor(size) as threads:
        return list(threads.map(of_rank, range(size)))


def results(found: list[Any]) -> list[Any]:
    """What `on_ranks` returned; raises the first exception in it."""
    for result in found:
        if isinstance(result, BaseException):
            raise result
    return found
