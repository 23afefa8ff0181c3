"""What the shares of a step have to do: edges and nodes, drawn as training draws them."""

from copy import copy
from pathlib import Path
from typing import Any

import numpy as np

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
    dataset = what.load(data, settings)
    return what.run(settings, dataset, RunFolder(folder), "cpu", 0, **of_team)


class Sampler:
    """Draws the steps of a task without fetching features.

    num_seeds : training nodes. batch_size: of them in a step of the task.
    """

    def __init__(self, task: str, data: str) -> None:
        self.batches = run_of(task, data, 1, Path("nothing is written")).batches
        self.num_seeds = int(self.batches.nodes.size)
        self.batch_size = int(self.batches.size)

    def work(self, shares: int, steps: int, first: int = 0, batch_size: int = 0) -> np.ndarray:
        """(steps, shares, 2): edges of each share, and nodes whose features it reads, of steps
        number `first` on; of another size if there is one.
        """
        batches = copy(self.batches)
        batches.shares, batches.size = Shares(shares), batch_size or self.batch_size
        batches.table = np.zeros(0)  # so that a batch has the rows of its nodes there, not features
        made = (batches.step(number).batches for number in range(first, first + steps))
        return np.array([[[batch.edges, batch.x.size] for batch in step] for step in made], float)
