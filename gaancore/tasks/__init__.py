"""The one place that asks which task it is.

The paper's tasks are `ppi`, `reddit` and `metr-la`. Data of one's own is `labels` (several labels a
node), `classes` (one class a node) or `forecast` (speeds of any sensors).
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gaancore.data import load_ppi, load_reddit, synthetic_ppi, synthetic_reddit
from gaancore.data.kind import look
from gaancore.errors import expect_choice
from gaancore.parallel import ALONE, Team
from gaancore.system.paths import user_path
from gaancore.tasks.nodes import NodeTask
from gaancore.tasks.task import Task
from gaancore.tasks.traffic import TrafficTask
from gaancore.trained.nodes import NodeRun
from gaancore.trained.traffic import TrafficRun
from gaancore.training.choices import Layer
from gaancore.training.nodes import suit as suit_nodes
from gaancore.training.run_folder import RunFolder
from gaancore.training.traffic import suit as suit_traffic

__all__ = ["TASKS", "Chosen", "Task", "choose", "open_run", "task_named", "task_of"]

SEVERAL, ONE, SPEEDS = "several labels a node", "one class a node", "speeds of sensors on roads"

PPI = NodeTask(
    "ppi",
    SEVERAL,
    files="GraphSAGE's ppi-*.json and .npy, GraphSAINT's or DGL's folder, or one .npz",
    epochs=80,
    load_data=load_ppi,
    make=synthetic_ppi,
)
REDDIT = NodeTask(
    "reddit",
    ONE,
    files="DGL's reddit_data.npz and reddit_graph.npz, GraphSAINT's or GraphSAGE's files, or a "
    "converted folder",
    epochs=40,
    load_data=load_reddit,
    make=synthetic_reddit,
)
METR_LA = TrafficTask(
    "metr-la",
    SPEEDS,
    files="metr-la.h5 and adj_mx.pkl, DCRNN's windows, or a .csv of speeds",
    epochs=6,
)
LABELS = NodeTask("labels", SEVERAL, suit=suit_nodes.suited)
CLASSES = NodeTask("classes", ONE, suit=suit_nodes.suited)
FORECAST = TrafficTask("forecast", SPEEDS, suit=suit_traffic.suited)

TASKS: dict[str, Task] = {
    task.name: task for task in (PPI, REDDIT, METR_LA, LABELS, CLASSES, FORECAST)
}


@dataclass(frozen=True)
class Chosen:
    """A task for data that named none, the data, and the reason in one line."""

    task: Task
    dataset: Any
    words: str


def task_named(name: str) -> Task:
    """The task of that name. Raises SettingsError if there is none."""
    expect_choice("task", name, tuple(TASKS))
    return TASKS[name]


def choose(
    data: str | Path | Any, layers: Sequence[Layer] = (), *, lenient: bool = False
) -> Chosen:
    """The task that fits data: a path in any layout, or a dataset.

    Data that have every count of one of the paper's sets are that set. Any other graph is `labels`
    or `classes`, by what its labels are; speeds of sensors are `forecast`.
    layers  : settings asked for, of which some say how files are read.
    lenient : read what training would refuse, such as nodes without a label, if it can be read.
    Raises DataError, SettingsError.
    """
    if not isinstance(data, str | Path):
        dataset = data
    elif look(data) == "traffic":
        dataset = FORECAST.load(str(data), FORECAST.settings(*layers))
    else:
        read = [("", CLASSES.lenient)] if lenient else []
        settings = CLASSES.settings(*read, *layers)
        dataset = CLASSES.read_any(user_path(data).absolute(), settings, multi_label=None)
    of_family = [task for task in TASKS.values() if task.family == dataset.family]
    for task in of_family:
        if task.is_paper_data(dataset):
            if (
                isinstance(data, str | Path) and not lenient
            ):  # the task's own reader says which copy it is
                dataset = task.load(str(data), task.settings(*layers))
            return Chosen(task, dataset, f"task: {task.name} (these are the paper's data)")
    fitting = FORECAST if FORECAST in of_family else LABELS if dataset.multi_label else CLASSES
    return Chosen(fitting, dataset, f"task: {fitting.name} (the data have {fitting.what})")


def task_of(folder: RunFolder) -> Task:
    """The task of the run in `folder`. Raises DataError if there is none."""
    return task_named(folder.read_settings()["settings"]["task"])


def open_run(
    path: str | os.PathLike[str],
    device: str = "auto",
    *,
    data: Any = None,
    team: Team = ALONE,
) -> NodeRun | TrafficRun:
    """The run in the folder `path`, finished or not, to be asked: a NodeRun or a TrafficRun.

    device : `auto` (a GPU if one works), `cpu` or `cuda:N`.
    data   : its data, a path or a dataset, if they have moved or came from memory.
    team   : the ranks that compute together what they all ask, by default this process alone; all
             of them then call the same methods in the same order.
    Raises DataError if there is no run, SettingsError if these are not its data.

    >>> import numpy as np
    >>> import gaancore
    >>> data = gaancore.from_scipy(np.ones((4, 4)), np.eye(4), [0, 1, 0, 1])
    >>> _ = gaancore.train(data, out="four", epochs=2, verbose=False)
    >>> run = gaancore.open_run("four", data=data)
    >>> run.predict_proba().shape
    (4, 2)
    """
    folder = RunFolder(user_path(path))
    opened = task_of(folder).opened(folder, device, team)
    if data is not None:
        opened.dataset = opened.own_data(data)
    return opened
