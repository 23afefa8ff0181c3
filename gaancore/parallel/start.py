"""Joining the ranks of this program at its first question, and leaving them."""

import os
import platform
import sys
from functools import cache
from types import TracebackType
from typing import NoReturn

from gaancore.launcher import launch
from gaancore.parallel.team import ALONE, Team


@cache
def team() -> Team:
    """The ranks that a launcher has started; ALONE if there was none, without a look at MPI.

    Raises DeviceError if MPI cannot be used, or is another than that of the launcher.
    """
    found = launch()
    if found is None:
        return ALONE
    from gaancore.parallel.mpi import Mpi

    joined = Team(Mpi(found), platform.node())
    if joined.size > 1:
        _end_all_where_one_breaks(joined)
    return joined


def agreed() -> bool:
    """Whether all ranks know of the error at hand: it was raised in all of them, or none has joined
    the others yet, and each finds the same.
    """
    return not team.cache_info().currsize or team().size == 1 or team().agreed


def leave(code: int) -> NoReturn:
    """End this process after an error, and the other ranks if they do not know of it."""
    if not agreed():
        team().abort(code)
    sys.exit(code)


def _end_all_where_one_breaks(joined: Team) -> None:
    """An error that nobody catches ends all ranks: the others would wait for this one for ever."""
    before = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        before(kind, error, trace)
        joined.abort(1)

    sys.excepthook = hook


def num_threads(joined: Team) -> int:
    """How many threads suit this rank: its part of the CPUs that it may use, of which others on its
    machine may use the same. 0 if it is alone, and may use all.
    """
    if joined.size == 1:
        return 0
    mine = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    mine = mine or list(range(os.cpu_count() or 1))
    here = [set(cpus) for host, cpus in joined.all([joined.host, mine]) if host == joined.host]
    return max(1, int(sum(1 / sum(cpu in cpus for cpus in here) for cpu in mine) + 1e-9))
