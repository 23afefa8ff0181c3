"""A batch in pieces, one to a thread: a step holds the tapes of as many pieces as threads.

A METR-LA step then takes 1.1 GB on two threads, and 2.8 GB in pieces of 4,096 rows; its time is the
same (bench/why.py shows both). Pieces do not depend on the number of threads, and their gradients
are added up in order: the same bits for any number of threads.

A CUDA device takes one piece after the other. Only its memory asks for them, so a piece is as large
as its memory allows: the same for every run on one device.
"""

from collections.abc import Callable, Sequence
from typing import Any

from gaancore.array import Array, memory_of
from gaancore.nn.module import Module
from gaancore.system import threads

# Of a piece, at most (but at least one sequence): fewer cost time in Python, more memory
ROWS = 640
ROW_BYTES = 600_000  # of GaAN on METR-LA, going by what a row takes on a CPU; untried on a GPU
SHARE = 0.75  # of a device's memory that a piece may take
WHOLE = None  # the only piece of a batch that is not cut: its kernels use all threads


def pieces(count: int, rows: int, device: str = "cpu", first: int = 0) -> list[slice]:
    """`count` sequences of `rows` nodes each, numbered from `first`, cut into pieces."""
    most = ROWS if device == "cpu" else int(SHARE * memory_of(device)[1] / ROW_BYTES)
    size, stop = max(1, most // rows), first + count
    return [slice(a, min(a + size, stop)) for a in range(first, stop, size)]


def share_pieces(work: Callable[[int, int], None], count: int, device: str = "cpu") -> None:
    """Call work(start, stop) for ranges of `count` pieces, one range to a thread; on a CUDA device
    for all of them in this thread, whose device it is.
    """
    if device != "cpu":
        work(0, count)
        return

    def alone(start: int, stop: int) -> None:
        with threads.on_one_thread():
            work(start, stop)

    threads.run_ranges(alone, threads.split_evenly(count))


class Gradients:
    """Gradients of a loss that is a sum over the pieces of a batch, of a model on `device`."""

    def __init__(self, model: Module, device: str = "cpu") -> None:
        self.model: Any = model
        self.device = device
        self.twins: list[Any] = []

    def of(self, learn: Callable[[Any, Any], Array], parts: Sequence[Any]) -> list[Array]:
        """Add to the model's gradients what learn(model, piece) leaves in those of the model it is
        given, which shares all weights; returns what it returned for each piece, in order.
        """
        if list(parts) == [WHOLE]:
            return [learn(self.model, WHOLE)]
        while len(self.twins) < len(parts):
            self.twins.append(self.model.twin())
        losses: list[Array] = [None] * len(parts)

        def run(start: int, stop: int) -> None:
            for number in range(start, stop):
                self.twins[number].zero_grad()
                losses[number] = learn(self.twins[number], parts[number])

        share_pieces(run, len(parts), self.device)
        for parameter, *gathered in zip(
            self.model.parameters(), *(twin.parameters() for twin in self.twins), strict=True
        ):
            for twin in gathered[: len(parts)]:
                if twin.grad is not None:
                    grad = parameter.grad
                    parameter.grad = twin.grad if grad is None else grad + twin.grad
                twin.grad = None
        return losses
