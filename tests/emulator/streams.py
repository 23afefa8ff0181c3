"""cupy.cuda without a GPU: its devices, streams and events. See device.py.

A stream of its own copies late, as on a GPU: what is uploaded on one holds 0xFF bytes until
somebody waits for an event that was recorded behind the copy. So does what is downloaded into
page-locked memory without waiting.
"""

import threading
from collections import deque
from typing import NamedTuple

import numpy as np


def copied(array: np.ndarray) -> np.ndarray:
    """A copy; what nobody can change is as good as one, and may be larger than the memory."""
    return array.copy() if array.flags.writeable else array


class Event(NamedTuple):
    """A place in a stream: behind its first `copies` copies."""

    stream: "Stream"
    copies: int

    def synchronize(self) -> None:
        self.stream._copy(self.copies)


class Stream:
    """The default stream, which does everything at once, or one that copies late."""

    current: "Stream"

    def __init__(self, null: bool = False, non_blocking: bool = False) -> None:
        self._late = non_blocking
        self._waiting: deque[tuple[np.ndarray, np.ndarray]] = deque()
        self._sent = self._made = 0
        self.ptr = 0 if null else id(self)

    def record(self) -> Event:
        return Event(self, self._sent)

    def wait_event(self, event: Event) -> None:
        event.stream._copy(event.copies)

    def __enter__(self) -> "Stream":
        self._before, Stream.current = Stream.current, self
        return self

    def __exit__(self, *raised: object) -> None:
        Stream.current = self._before

    def upload(self, source: np.ndarray) -> np.ndarray:
        if not self._late:
            return copied(source)
        target = np.full(source.nbytes, 0xFF, np.uint8).view(source.dtype).reshape(source.shape)
        self.copy_later(target, source)
        return target

    def copy_later(self, target: np.ndarray, source: np.ndarray) -> None:
        self._waiting.append((target, source.copy()))
        self._sent += 1

    def _copy(self, copies: int) -> None:
        while self._made < copies:
            target, source = self._waiting.popleft()
            target[...] = source
            self._made += 1


Stream.current = Stream(null=True)


class OutOfMemoryError(MemoryError):
    """Worded as CuPy words it."""


OutOfMemoryError.__module__ = "cupy.cuda.memory"


class _Current(threading.local):
    number = 0  # of the device where a thread allocates and launches


current = _Current()


class Device:
    """One of several; a thread begins with number 0."""

    def __init__(self, device: int) -> None:
        self.id = device

    def use(self) -> None:
        current.number = self.id

    def __enter__(self) -> "Device":
        self._before = current.number
        self.use()
        return self

    def __exit__(self, *raised: object) -> None:
        current.number = self._before
