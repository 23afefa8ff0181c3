"""A batch of sequences in pieces, one to a thread: what a piece computes stays in its cache.

Kernels of one piece run on one thread, so threads meet once a step and not once a kernel. Pieces
do not depend on the number of threads, and their gradients are added up in order: the same bits for
any number of threads. Memory is that of as many pieces as there are threads.
"""

from collections.abc import Callable, Sequence
from typing import Any

from gaancore import threads
from gaancore.nn.module import Module
from gaancore.tensor import Tensor

ROWS = (
    640  # of a piece, at most (but at least one sequence): fewer cost time in Python, more memory
)


def pieces(count: int, rows: int) -> list[slice]:
    """`count` sequences of `rows` nodes each, cut into pieces."""
    size = max(1, ROWS // rows)
    return [slice(a, min(a + size, count)) for a in range(0, count, size)]


class PiecewiseGradient:
    """Gradients of a loss that is a sum over the pieces of a batch."""

    def __init__(self, model: Module) -> None:
        self.model: Any = model
        self.twins: list[Any] = []

    def learn(self, loss_of: Callable[[Any, slice], Tensor], parts: Sequence[slice]) -> float:
        """Add the gradients of the sum of loss_of(model, piece) to the model's; returns the sum."""
        while len(self.twins) < len(parts):
            self.twins.append(self.model.twin())
        losses = [0.0] * len(parts)

        def run(start: int, stop: int) -> None:
            with threads.on_one_thread():
                for number in range(start, stop):
                    self.twins[number].zero_grad()
                    loss = loss_of(self.twins[number], parts[number])
                    loss.backward()
                    losses[number] = float(loss.data)

        threads.run_ranges(run, threads.split_evenly(len(parts)))
        for parameter, *gathered in zip(
            self.model.parameters(), *(twin.parameters() for twin in self.twins), strict=True
        ):
            for twin in gathered[: len(parts)]:
                if twin.grad is not None:
                    grad = parameter.grad
                    parameter.grad = twin.grad if grad is None else grad + twin.grad
                twin.grad = None
        return sum(losses)
