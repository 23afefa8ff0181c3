"""Ctrl-C and SIGTERM as a question that a loop asks between two steps."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interrupts() -> Iterator[Callable[[], bool]]:
    """Inside, the first Ctrl-C (or SIGTERM) lets the loop stop after its step, the second stops at
    once. Yields the function that says whether one came."""
    asked: list[int] = []

    def handler(number: int, frame: FrameType | None) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(number)

    before = {number: signal.signal(number, handler) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: bool(asked)
    finally:
        for number, old in before.items():
            signal.signal(number, old)
