"""A fixed number of shares of a piece of work, dealt out to the ranks in runs."""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from gaancore.array import Array, array_module, device_of, to_device, to_numpy
from gaancore.parallel.team import ALONE, Team

T = TypeVar("T")


class Shares:
    """`count` shares, of which each rank has a run: rank r of R has count r // R .. count (r + 1)
    // R, so some have one more than others where R does not divide `count`.

    own : the numbers of this rank's shares.

    >>> shares = Shares(3)
    >>> list(shares.own), shares.cut(10)
    ([0, 1, 2], [slice(0, 3, None), slice(3, 6, None), slice(6, 10, None)])
    """

    def __init__(self, count: int, team: Team = ALONE) -> None:
        self.count = count
        self.team = team
        bounds = [count * rank // team.size for rank in range(team.size + 1)]
        self.own = range(bounds[team.rank], bounds[team.rank + 1])
        self._counts = np.diff(bounds).tolist()

    def cut(self, rows: int) -> list[slice]:
        """Which of `rows` rows each own share has. A share may have none."""
        n = self.count
        return [slice(rows * i // n, rows * (i + 1) // n) for i in self.own]

    def run(self, rows: int) -> slice:
        """Those of all own shares together."""
        own = self.cut(rows)
        return slice(own[0].start, own[-1].stop) if own else slice(0, 0)

    def rows(self, own: Array) -> Array:
        """The rows of all shares from those of the own ones, in their order, on one device."""
        if self.team.size == 1:
            return own
        return to_device(self.team.rows(to_numpy(own)), device_of(own))

    def add(self, own: Array) -> Array:
        """own (len(self.own), n), a row for each own share -> (n,): the sum over all shares.

        out = ((row_0 + row_1) + row_2) + ...

        Each rank adds a slice of all columns, then they are put together. An MPI's own sum may
        depend on the number of ranks, and from run to run on which arrives first.
        """
        if self.team.size == 1:
            return _in_order(own)
        ranks, n, xp = self.team.size, own.shape[1], array_module(own)
        width = -(-n // ranks)
        padded = xp.zeros((len(own), ranks * width), dtype=own.dtype)
        padded[:, :n] = own
        columns = padded.reshape(len(own), ranks, width).transpose(1, 0, 2)
        numbers = self.team.numbers(device_of(own))
        mine = numbers.exchange(xp.ascontiguousarray(columns), self._counts)
        return numbers.collect(_in_order(mine))[:n]


def dealt(items: Sequence[T], team: Team) -> Sequence[T]:
    """The run of `items` that this rank has, as `Shares` deals out shares.

    >>> dealt(range(3), ALONE)
    range(0, 3)
    """
    return items[Shares(len(items), team).run(len(items))]


def _in_order(rows: Sequence[Array]) -> Array:
    total = rows[0].copy()
    for number in range(1, len(rows)):
        total += rows[number]
    return total


ONE_SHARE = Shares(1)
