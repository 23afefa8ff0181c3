"""How far a run is, what it reports, and how it is asked to stop."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

from gaancore.errors import TrainingError


@dataclass
class Progress:
    """Where a run stands, beside weights and moments. Floats survive JSON exactly."""

    step: int = 0
    best_step: int = 0
    empty_steps: int = 0  # whose targets were all missing: nothing was learned from them
    seconds: float = 0.0
    loss_sum: float = 0.0  # over targets; this and what follows: since the last validation
    loss_count: int = 0  # of targets
    edges: int = 0
    training_seconds: float = 0.0

    def count_seconds(self, training: float) -> None:
        self.training_seconds += training
        self.seconds += training

    def count_loss(self, loss: float, targets: int) -> None:
        """Take in a step's mean loss: each target weighs the same, in short batches too."""
        self.empty_steps += not targets
        self.loss_sum += loss * targets
        self.loss_count += targets

    def share_of_training(self, seconds: float) -> float:
        """How much of the time of training that was."""
        return round(seconds / max(self.training_seconds, 1e-9), 4)


@dataclass
class Watcher:
    """What a caller may look at and ask for while a run goes on; the command line fills it in."""

    on_step: Callable[[dict[str, Any]], None] = lambda facts: None
    on_validation: Callable[[dict[str, Any]], None] = lambda line: None
    stop_requested: Callable[[], bool] = lambda: False


class Taken(NamedTuple):
    """A step whose work a device has: what is found in it may be known later.

    where   : its place in the run. step, epoch: counted from 1.
    found   : what gives the mean loss. norm: what gives that of the gradient.
    targets : how many they are over. Without any there is nothing to learn from.
    """

    where: str
    step: int
    epoch: int
    found: Callable[[], float]
    norm: Callable[[], float]
    targets: int

    def loss(self) -> float:
        """The mean loss; waits for the device. Raises TrainingError if it, or a gradient, is not
        finite.
        """
        loss = self.found()
        self.norm()
        if not math.isfinite(loss):
            raise TrainingError(f"the loss is {loss}; lower the learning rate")
        return loss


class Validation(NamedTuple):
    """What a task found on its validation part: `score` is to grow, `scores` are for people and
    the record, `logged` is what else a line of the log says."""

    score: float
    scores: dict[str, Any]
    logged: dict[str, Any]


def doubts_of_log(log: Sequence[Mapping[str, Any]]) -> list[str]:
    """What a reader of a run's log should know: a list with a warning if its loss grew by 5 %.

    The training loss of scheduled sampling may grow as the truth is withdrawn, so a run whose log
    has a `teacher_probability` that fell is not judged by it.
    """
    if len(log) < 2 or log[-1].get("teacher_probability") != log[0].get("teacher_probability"):
        return []
    first, last = log[0]["loss"], log[-1]["loss"]
    if not last > 1.05 * first:
        return []
    return [
        f"warning: the training loss at the end, {last:.4g}, is above the first one, {first:.4g}: "
        "the run did not learn; lower the learning rate (lr)"
    ]


class RunInterrupt(Exception):  # noqa: N818 (asked for, not an error)
    """The caller asked to stop; the state is saved and the run can be resumed."""


@contextmanager
def naming(where: str) -> Iterator[None]:
    """Begin a TrainingError from inside with the place in the run."""
    try:
        yield
    except TrainingError as error:
        raise TrainingError(f"{where}: {error}") from None
