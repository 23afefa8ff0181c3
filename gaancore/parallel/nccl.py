"""NCCL, by way of CuPy: gradients go from GPU to GPU. Written for CuPy's API, and executed by a
test double that has its signatures; not run on GPUs yet.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from gaancore.array import Array, address, current_stream, empty, nccl
from gaancore.parallel.team import Team


class Nccl:
    """The numbers of ranks that have a CUDA device each; what else they say goes by their team.

    The calls return before the device has done what they ask for, and follow what it was asked
    before.
    """

    def __init__(self, team: Team, library: Any) -> None:
        self.rank, self.size = team.rank, team.size
        self._library = library
        identity = team.from_first(lambda: list(library.get_unique_id()))
        self._ranks = library.NcclCommunicator(team.size, tuple(identity), team.rank)

    def exchange(self, rows: Array, counts: Sequence[int]) -> Array:
        """As Transport.exchange."""
        width, stream = rows.shape[2], current_stream()
        found = empty((sum(counts), width), like=rows)
        bounds = np.cumsum([0, *counts]).tolist()
        self._library.groupStart()
        for peer, (start, stop) in enumerate(pairwise(bounds)):
            out, into = rows[peer], found[start:stop]
            if out.size:
                self._ranks.send(address(out), out.size, self._kind(out), peer, stream)
            if into.size:
                self._ranks.recv(address(into), into.size, self._kind(into), peer, stream)
        self._library.groupEnd()
        return found

    def collect(self, part: Array) -> Array:
        """As Transport.collect."""
        found = empty((self.size * part.size,), like=part)
        kind, stream = self._kind(part), current_stream()
        self._ranks.allGather(address(part), address(found), part.size, kind, stream)
        return found

    def _kind(self, x: Array) -> int:
        return int(getattr(self._library, f"NCCL_{x.dtype.name.upper()}"))


def connect(team: Team, device: str) -> Nccl | None:
    """The ranks by NCCL, where each has the library and a GPU of its own; None if not, and then
    gradients go by way of the hosts.
    """
    library = nccl()
    found = team.all([library is not None, team.host, device])
    places = {(host, place) for _, host, place in found}
    if not all(there for there, *_ in found) or len(places) < team.size:
        return None
    return Nccl(team, library)
