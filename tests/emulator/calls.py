"""What is asked of the emulated device, counted: launches and copies, by their names.

Counted are our kernels, CuPy's elementwise kernels, reductions and products, fills, and copies in
every direction: what a step waits for if each costs some microseconds. Views are free.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

_counting: list[Counter[str]] = []


def count(name: str, times: int = 1) -> None:
    """Note that the device was asked for `name`."""
    for calls in _counting:
        calls[name] += times


@contextmanager
def counting() -> Iterator[Counter[str]]:
    """Inside, calls are counted in what it gives."""
    calls: Counter[str] = Counter()
    _counting.append(calls)
    try:
        yield calls
    finally:
        _counting.remove(calls)
