"""Ctrl-C as a wish to stop soon, so that work can be saved first."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interrupts(
    numbers: tuple[signal.Signals, ...] = (signal.SIGINT,),
) -> Iterator[Callable[[], bool]]:
    """Inside, the first of these signals is noted, the second raises KeyboardInterrupt.

    Yields the function that says whether one came. Only the main thread can handle signals; in any
    other nothing changes.
    """
    asked: list[int] = []

    def handler(number: int, frame: FrameType | None) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(number)

    here = numbers if threading.current_thread() is threading.main_thread() else ()
    before = {number: signal.signal(number, handler) for number in here}
    try:
        yield lambda: bool(asked)
    finally:
        for number, old in before.items():
            signal.signal(number, old)
