"""What carries bytes and numbers between ranks: the few words of it that the room needs."""

from collections.abc import Sequence
from typing import NoReturn, Protocol

import numpy as np

from gaancore.array import Array


class Numbers(Protocol):
    """What adding gradients needs. Every rank calls the same methods in the same order."""

    def exchange(self, rows: Array, counts: Sequence[int]) -> Array:
        """rows (size, k, width), k = counts[rank] -> (sum(counts), width): what each rank has in
        rows[this rank], in the order of ranks.
        """

    def collect(self, part: Array) -> Array:
        """part (width,) -> (size * width,): the parts of all ranks, in their order."""


class Transport(Numbers, Protocol):
    """Everything. rank, size: which one of how many. Contents are (n,) uint8."""

    rank: int
    size: int

    def gather(self, content: np.ndarray) -> list[np.ndarray]:
        """What each rank gave, in their order."""

    def trade(self, contents: Sequence[np.ndarray], counts: Sequence[int]) -> list[np.ndarray]:
        """What each rank had for this one, in their order. contents[r] is for rank r, and
        counts[r] how many bytes come from it; of this one both are empty.
        """

    def abort(self, code: int) -> NoReturn:
        """End all ranks at once, whatever they are doing."""


class Alone:
    """One rank, which has nobody to talk to."""

    rank, size = 0, 1

    def gather(self, content: np.ndarray) -> list[np.ndarray]:
        return [content]

    def trade(self, contents: Sequence[np.ndarray], counts: Sequence[int]) -> list[np.ndarray]:
        return list(contents)

    def exchange(self, rows: Array, counts: Sequence[int]) -> Array:
        return rows[0]

    def collect(self, part: Array) -> Array:
        return part

    def abort(self, code: int) -> NoReturn:
        raise SystemExit(code)
