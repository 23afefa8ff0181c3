"""What the shares of a step have to do: edges and nodes, drawn as training draws them."""

from copy import copy
from pathlib import Path
from typing import Any

import numpy as np
from scale_parts import Reading

from gaancore.data.parts.dataset import PartedDataset, parted_at
from gaancore.parallel import Shares
from gaancore.tasks import task_named
from gaancore.training.nodes.settings import NodeSettings, task_settings
from gaancore.training.run_folder import RunFolder

NEVER = 1_000_000_000  # steps between two validations: none is timed


def settings_of(task: str, shares: int) -> NodeSettings:
    """Those of the task, with so many shares of a step."""
    return task_settings(task, ("bench", {"shares": shares, "validate_every": NEVER}))


def run_of(task: str, data: str, shares: int, folder: Path, **of_team: Any) -> Any:
    """A run that has not begun. Raises UserError if the data are not the task's."""
    what, settings = task_named(task), settings_of(task, shares)
    dataset = parted_at(data)
    if not isinstance(dataset, PartedDataset):
        dataset = what.load(data, settings)
    return what.run(settings, dataset, RunFolder(folder), "cpu", 0, **of_team)


class Sampler:
    """Draws the steps of a task without fetching features.

    num_seeds : training nodes. batch_size: of them in a step of the task.
    most      : ranks that the data are enough for; a store in parts has a part for each.
    hits      : of a store in parts on several ranks, the share of others' rows that a rank had
                kept, in what was last drawn; else None.
    """

    hits: float | None = None

    def __init__(self, task: str, data: str) -> None:
        run = run_of(task, data, 1, Path("nothing is written"))
        self.batches, self.parts = run.batches, run.parts
        self.num_seeds = int(self.batches.nodes.size)
        self.batch_size = int(self.batches.size)
        self.most = self.parts.dataset.num_parts if self.parts else None

    def work(
        self, shares: int, steps: int, first: int = 0, batch_size: int = 0, ranks: int = 1
    ) -> np.ndarray:
        """(steps, shares, 3): edges of each share, nodes whose features it reads, and bytes that
        its rank reads of others' (all with the first of its shares), of steps number `first` on; of
        another size if there is one.
        """
        batches = copy(self.batches)
        batches.shares, batches.size = Shares(shares), batch_size or self.batch_size
        batches.table = np.zeros(0)  # so that a batch has the rows of its nodes there, not features
        found = np.zeros((steps, shares, 3))
        reading = Reading(self.parts, ranks) if self.parts and ranks > 1 else None
        for number in range(steps):
            of_shares = batches.step(first + number).batches
            found[number, :, :2] = [[batch.edges, batch.x.size] for batch in of_shares]
            for rank in range(ranks if reading else 0):
                own = slice(shares * rank // ranks, shares * (rank + 1) // ranks)
                found[number, own.start, 2] = reading.bytes(of_shares[own], rank)
        self.hits = reading and reading.kept / max(1, reading.kept + reading.fetched)
        return found
