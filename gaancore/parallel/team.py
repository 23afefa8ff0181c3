"""The ranks of a run as one: they fail together, stop together, and know that they agree."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from gaancore import errors
from gaancore.errors import SettingsError, UserError
from gaancore.parallel.transport import Alone, Numbers, Transport
from gaancore.parallel.values import pack, unpack

FAILED = "failed"
NONE = np.empty(0, np.uint8)


class Team:
    """This rank among all. Where several ranks talk, each must call the same methods in the same
    order; of those it finds in another, the error is raised in all (see `together`).

    rank, size : which one of how many. first: whether it is rank 0, which alone writes and prints.
    host       : the name of its machine.
    agreed     : whether the last error is one that all ranks have raised, so that none waits.
    spoken     : a file that is there when a rank has said why it ends the others (see `watched`).
    """

    def __init__(self, transport: Transport, host: str = "") -> None:
        self.transport = transport
        self.rank, self.size = transport.rank, transport.size
        self.host = host
        self.agreed = False
        self.spoken: Path | None = None
        self._depth = 0
        self._numbers: dict[str, Numbers] = {"cpu": transport}

    @property
    def first(self) -> bool:
        return self.rank == 0

    @contextmanager
    def together(self) -> Iterator[None]:
        """What goes wrong inside for one rank is raised in all of them, where they next talk or at
        the end of the block, and says whom it happened to.

        That is UserError and MemoryError; any other error is a mistake of ours, see `leave`.
        """
        if self.size == 1:
            yield
            return
        if self._depth == 0:
            self.agreed = False
        self._depth += 1
        try:
            yield
        except (UserError, MemoryError) as error:
            if not self.agreed:
                self._gather(FAILED, _described(error))
            raise
        finally:
            self._depth -= 1
        self._gather("together", None)

    def from_first(self, make: Callable[[], Any]) -> Any:
        """What `make` returns to rank 0, who alone calls it, for all: what JSON can hold, and
        arrays in it.
        """
        if self.size == 1:
            return make()
        with self.together():
            try:
                value = make() if self.first else None
            except (UserError, MemoryError) as error:
                self._gather(FAILED, [*_described(error), "for all"])
            return self._gather("from first", value)[0]

    def all(self, value: Any) -> list[Any]:
        """The values of all ranks, in their order; as `from_first`."""
        return self._gather("all", value) if self.size > 1 else [value]

    def any(self, flag: bool) -> bool:
        """Whether any rank says so."""
        return any(self.all(flag))

    def rows(self, own: np.ndarray) -> np.ndarray:
        """The rows of all ranks, in their order."""
        return np.concatenate(self._gather("rows", own)) if self.size > 1 else own

    def trade(self, values: Sequence[Any]) -> list[Any]:
        """What each rank had for this one, in their order; values[r] is for rank r; as
        `from_first`. What it has for itself is neither copied nor sent.
        """
        if self.size == 1:
            return list(values)
        contents = [NONE if r == self.rank else pack(value) for r, value in enumerate(values)]
        sizes = self._gather("trade", [len(content) for content in contents])
        counts = [of_rank[self.rank] for of_rank in sizes]
        found = self.transport.trade(contents, counts)
        own = values[self.rank]
        return [own if r == self.rank else unpack(content) for r, content in enumerate(found)]

    def expect_same(self, facts: Mapping[str, Any]) -> None:
        """Raises SettingsError, in all ranks, unless each has the same facts as rank 0: it names
        the first that differs, and who has it.
        """
        if self.size == 1:
            return
        with self.together():
            all_facts = self._gather("facts", [self.name, dict(facts)])
            (first, wanted), *others = all_facts
            for name, found in others:
                differing = [key for key in wanted if found.get(key) != wanted[key]]
                if differing:
                    key = differing[0]
                    raise SettingsError(
                        f"{key}: {name} has {found.get(key)}, but {first} has {wanted[key]}; give "
                        "all ranks the same data, settings and versions"
                    )

    def numbers(self, device: str) -> Numbers:
        """What carries arrays on `device`: NCCL between GPUs that have it, else the hosts."""
        if device not in self._numbers:
            from gaancore.parallel.nccl import connect

            self._numbers[device] = connect(self, device) or self.transport
        return self._numbers[device]

    def abort(self, code: int) -> NoReturn:
        """End all ranks at once, after this one has said why."""
        sys.stdout.flush()
        sys.stderr.flush()
        if self.spoken is not None:
            with suppress(OSError):
                self.spoken.touch()
        self.transport.abort(code)

    @property
    def name(self) -> str:
        """Of this rank, for people."""
        return f"rank {self.rank} on {self.host}" if self.host else f"rank {self.rank}"

    def _gather(self, kind: str, value: Any) -> list[Any]:
        """The values of all ranks, unless one of them has failed on its way here."""
        found = [
            unpack(content) for content in self.transport.gather(pack([kind, self.name, value]))
        ]
        failed = [(name, value) for kind, name, value in found if kind == FAILED]
        if failed:
            self.agreed = True
            _raise(failed, everywhere=len(failed) == self.size)
        kinds = {kind for kind, *_ in found}
        if len(kinds) > 1:  # a mistake of ours: what follows would be of no meaning
            raise RuntimeError(f"ranks are at different places: {', '.join(sorted(kinds))}")
        return [value for *_, value in found]


def _described(error: Exception) -> list[str]:
    """Its class, the nearest that errors.py has, and its message."""
    names = (kind.__name__ for kind in type(error).__mro__)
    return [next(name for name in names if name in KINDS), str(error)]


KINDS = {"MemoryError": MemoryError} | {
    name: kind for name, kind in vars(errors).items() if isinstance(kind, type)
}


def _raise(failed: list[tuple[str, list[str]]], everywhere: bool) -> NoReturn:
    """The error of the first rank that has one. It names that rank if others have none or another,
    unless it did what it did for all.
    """
    name, (kind, message, *for_all) = failed[0]
    same = everywhere and all(description == failed[0][1] for _, description in failed)
    if not (same or for_all):
        message = f"{message} ({name})"
    raise KINDS[kind](message)


ALONE = Team(Alone())
