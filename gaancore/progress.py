"""How far a long piece of work has got: told to whoever listens, or to nobody."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")
Listener = Callable[[str, float], None]  # what is being done, and the share of it that is done

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Inside, `listener` is told what is being done in this thread."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def tell(what: str, share: float = 0.0) -> None:
    """Say what is being done; a share of 0 may stay so, where nothing is known until the end."""
    if (listener := _listener.get()) is not None:
        listener(what, share)


def told(what: str, items: Sequence[T]) -> Iterator[T]:
    """The items one by one, of which it is told how many are done."""
    for number, item in enumerate(items):
        tell(what, number / len(items))
        yield item
