"""One step of a run: its shares, and what comes of them on all ranks."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from gaancore.array import Array, array_module, device_of, to_device, to_host_later, to_numpy
from gaancore.errors import TrainingError
from gaancore.nn.module import Module, Parameter
from gaancore.optim.flat import end_to_end, views
from gaancore.parallel import Shares, Team
from gaancore.system.disk import checksum
from gaancore.training.pieces import Gradients


@dataclass(frozen=True)
class Step:
    """What this rank has of a step: a batch for each of its shares.

    count : targets of all shares, also those of other ranks.
    """

    batches: Sequence[Any]
    count: int

    def to(self, device: str) -> "Step":
        return replace(self, batches=[batch.to(device) for batch in self.batches])


class StepGradients:
    """The gradient of a loss that is a sum over the shares of a step.

    Each share's gradient is made alone, and they are added in the order of shares (see
    `Shares.add`), so neither the number of ranks nor who has which share changes a bit. One share
    on one rank leaves its gradient where it was made.
    """

    def __init__(self, model: Module, device: str, shares: Shares) -> None:
        self.model = model
        self.shares = shares
        self.pieces = Gradients(model, device)
        self.exchanged = 0.0  # seconds spent on adding, and on waiting for other ranks

    def of(
        self, learn: Callable[[Any, Any, Any], Array], step: Step, launched: Callable[[], None]
    ) -> tuple[Callable[[], float], int]:
        """Leave the gradient in the model; returns what gives the loss, which a single GPU is not
        waited for before, and the edges that all shares go over.

        learn    : learn(batch, model, piece) leaves the gradient of a piece of a batch in a model,
                   and returns its part in the loss.
        launched : called when a GPU has all its work, before it is waited for.
        """
        alone = self.shares.count == self.shares.team.size == 1
        losses, gradients = [], []
        for batch in step.batches:
            self.model.zero_grad()
            losses.append(self.pieces.of(partial(learn, batch), batch.parts if step.count else ()))
            if not alone:
                gradients.append(_row(self.model.parameters()))
        later = [[to_host_later(part) for part in parts] for parts in losses]
        launched()
        if alone:
            return lambda: _sum(later[0]), step.batches[0].edges
        own = [[_sum(parts), b.edges] for parts, b in zip(later, step.batches, strict=True)]
        clock = time.perf_counter()
        found = self.shares.team.rows(np.array(own, np.float64).reshape(-1, 2))
        _put(self.model.parameters(), self.shares.add(self._stacked(gradients)))
        self.exchanged += time.perf_counter() - clock
        loss = sum(found[:, 0].tolist())
        return lambda: loss, int(found[:, 1].sum())

    def _stacked(self, gradients: list[Array]) -> Array:
        """(shares of this rank, numbers of one)."""
        if gradients:
            return array_module(gradients[0]).stack(gradients)
        parameters = self.model.parameters()
        size = self.model.num_parameters + len(parameters)
        data = parameters[0].data
        return array_module(data).zeros((0, size), dtype=data.dtype)


def _sum(parts: Sequence[Callable[[], np.ndarray]]) -> float:
    return sum(float(part()) for part in parts)


def _row(parameters: Sequence[Parameter]) -> Array:
    """All gradients in one row, 0 where there is none; then a 1 for each that is there."""
    xp, there = array_module(parameters[0].data), [p.grad is not None for p in parameters]
    grads = [xp.zeros_like(p.data) if p.grad is None else p.grad for p in parameters]
    flags = to_device(np.array(there, parameters[0].dtype), device_of(parameters[0].data))
    return end_to_end([*grads, flags])


def _put(parameters: Sequence[Parameter], row: Array) -> None:
    """Gradients out of a sum of such rows; none where no share had one."""
    *grads, there = views(row, [*(p.shape for p in parameters), (len(parameters),)])
    for p, grad, having in zip(parameters, grads, to_numpy(there), strict=True):
        p.grad = grad.copy() if having else None


def weights_checksum(model: Module) -> int:
    """CRC-32 of all weights."""
    return checksum(np.ascontiguousarray(to_numpy(p.data)) for p in model.parameters())


def expect_same_weights(model: Module, team: Team) -> None:
    """Raises TrainingError if the weights of another rank have come to differ from rank 0's."""
    if team.size == 1:
        return
    sums = team.all(weights_checksum(model))
    if sums != sums[:1] * team.size:
        rank = next(rank for rank, found in enumerate(sums) if found != sums[0])
        raise TrainingError(
            f"the weights of rank {rank} are no longer those of rank 0: their machines compute "
            "differently; start all ranks on machines with the same processors"
        )
