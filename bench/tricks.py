"""The tricks of gaancore, and how a process switches each one off in itself, for bench/why.py."""

import sys
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import reddit_epoch

from gaancore.kernels.cpu import attention, attention_all_heads, attention_by_head, pools
from gaancore.nn import graph_gru
from gaancore.system import threads
from gaancore.training import pieces


class LockBaton:
    """A hand-over from thread to thread by a lock: who waits, sleeps at once."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._lock.acquire()

    def give(self) -> None:
        self._lock.release()

    def take(self) -> None:
        self._lock.acquire()

    def take_after_giving(self, other: "LockBaton") -> None:
        other.give()
        self.take()


class Alone:
    """The aggregators of a Graph GRU, each computed by itself."""

    def __init__(self, aggregators: list[Any]) -> None:
        self.aggregators = aggregators

    def __call__(self, x: Any, z: Any, block: Any) -> list[Any]:
        return [aggregator(x, z, block) for aggregator in self.aggregators]


def replace(owner: Any, name: str, other: Any) -> None:
    """Put `other` in the place of owner.name, which must be there."""
    getattr(owner, name)
    setattr(owner, name, other)


def _no_baton(num_threads: int) -> None:
    replace(threads, "Baton", LockBaton)


def _no_moves(num_threads: int) -> None:
    import plain_moves

    plain_moves.take_the_place_of_moves()


def _no_head_by_head(num_threads: int) -> None:
    replace(attention, "all_heads_are_faster", lambda *shapes: True)


def _no_all_heads(num_threads: int) -> None:
    replace(attention, "all_heads_are_faster", lambda *shapes: False)


def _no_fetching_ahead(num_threads: int) -> None:
    import plain_moves

    for module in (attention_all_heads, attention_by_head, pools):
        replace(module, "prefetch", plain_moves.prefetch)


def _no_side_by_side(num_threads: int) -> None:
    replace(graph_gru, "SideBySide", Alone)


def _no_tiles(num_threads: int) -> None:
    import blas_products

    blas_products.take_the_place_of_tiles()


def _no_batch_pieces(num_threads: int) -> None:
    """As on a CUDA device: few large pieces, one after the other, each kernel on all threads."""
    replace(pieces, "ROWS", 4096)
    replace(pieces, "share_pieces", lambda work, count, device="cpu": work(0, count))


def _no_prefetch(num_threads: int) -> None:
    ahead: Any = reddit_epoch.Prefetch
    when_asked_for = lambda make, numbers, depth: ahead(make, numbers, depth=0)  # noqa: E731
    replace(reddit_epoch, "Prefetch", when_asked_for)


class Trick(NamedTuple):
    """What the other process does to itself, and where the trick is at work at all."""

    off: Callable[[int], None]
    instead: str
    tasks: tuple[str, ...]
    least_threads: int = 1
    compiled: bool = False  # kernels are other machine code: none may come from the user's cache


TRICKS = {
    "baton": Trick(_no_baton, "a lock wakes a thread", ("ppi", "reddit", "metr-la"), 2),
    "vector-moves": Trick(
        _no_moves, "plain Numba loops", ("ppi", "reddit", "metr-la"), compiled=True
    ),
    # Reddit drops attention weights, which the walk of all heads cannot do
    "head-by-head": Trick(
        _no_head_by_head, "all heads of an edge at once", ("ppi", "attention", "attention-large")
    ),
    "all-heads": Trick(_no_all_heads, "head by head over packed copies", ("metr-la",)),
    "fetch-ahead": Trick(
        _no_fetching_ahead,
        "a row is fetched when it is read",
        ("ppi", "metr-la", "attention", "attention-large"),
        compiled=True,
    ),
    "side-by-side": Trick(_no_side_by_side, "each aggregator alone", ("metr-la",)),
    "tiles": Trick(_no_tiles, "products by BLAS", ("ppi", "reddit", "metr-la")),
    "batch-pieces": Trick(_no_batch_pieces, "4,096 rows in turn, on all threads", ("metr-la",)),
    "prefetch": Trick(_no_prefetch, "a batch is made when it is asked for", ("reddit",)),
}
