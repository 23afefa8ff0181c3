"""Training in one call, from data to an opened run."""

import gc
import os
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from gaancore import parallel
from gaancore.data.nodes.dataset import NodeDataset
from gaancore.data.nodes.inputs import NodeInputs
from gaancore.data.traffic.dataset import TrafficDataset
from gaancore.errors import DataError, SettingsError
from gaancore.system.interrupts import interrupts
from gaancore.system.process import give_memory_back, prepare_process
from gaancore.tasks.begin import Begun, begin, resume
from gaancore.trained.nodes import NodeRun
from gaancore.trained.traffic import TrafficRun
from gaancore.training.choices import Layer, read_config
from gaancore.training.progress import RunInterrupt, Watcher, doubts_of_log
from gaancore.training.record import LogLine

# Settings that say how files are read: of data in memory it is too late for them
READING = (
    "self_loops",
    "unflagged",
    "nan",
    "unknown_edges",
    "label",
    "split_column",
    "repeated_edges",
    "split_shares",
    "split_seed",
    "graph",
    "sensor_ids",
    "start",
    "graph_kind",
)
SECONDS_BETWEEN_LINES = 5.0

Data = str | os.PathLike[str] | NodeDataset | NodeInputs | TrafficDataset


def train(
    data: Data | None = None,
    task: str | None = None,
    *,
    out: str | os.PathLike[str] | None = None,
    resume_from: str | os.PathLike[str] | None = None,
    config: str | os.PathLike[str] | None = None,
    device: str = "auto",
    prefetch: int | None = None,
    tensorboard: bool = False,
    verbose: bool = True,
    on_validation: Callable[[LogLine], None] | None = None,
    **settings: Any,
) -> NodeRun | TrafficRun:
    """Train one model; returns its finished run, to be asked for predictions, scores and pictures.

    data          : a path in any layout, a dataset, or None: the task's data in the user's data
                    folder, else its built-in look-alike.
    task          : `ppi`, `reddit`, `metr-la`, `labels`, `classes` or `forecast`; by default what
                    fits the data. Data of your own get settings that suit their size.
    out           : the run's folder; by default runs/TASK-MODEL-VARIANT-seedN, with a number where
                    that is taken.
    resume_from   : the folder of a run that goes on from its last saved step, with the same bits as
                    if it had never stopped. It keeps its settings, except for `epochs`. Data that
                    came from memory are given again.
    config        : a TOML file of settings, or a shipped one such as `small-graph`; weaker than
                    those that are given here.
    device        : `auto` (a GPU if one works), `cpu` or `cuda:N`.
    prefetch      : batches that are made ahead of time, by as many threads; by default two on a
                    GPU, and none on a CPU.
    tensorboard   : write the log for TensorBoard too, into `tensorboard` in the run's folder.
    verbose       : print what was chosen, scores now and then, and the result.
    on_validation : called with every line of the log; what it raises ends the run.
    settings      : by name, such as model="gaan", epochs=50, num_heads=4, seed=1; see
                    `NodeSettings` and `ForecastSettings`.

    In a program that `mpiexec -n N` starts, the N processes train one run together; each gets it.

    Ctrl-C finishes the step, saves the state, and raises KeyboardInterrupt with the folder to
    resume from. BLAS is left one thread, for the whole process: see `limit_blas`.
    Raises SettingsError, DataError, DeviceError and TrainingError, each one line.

    >>> import numpy as np
    >>> import scipy.sparse
    >>> import gaancore
    >>> group = np.repeat([0, 1], 50)
    >>> same = scipy.sparse.coo_array(group[:, None] == group)
    >>> data = gaancore.from_scipy(same, np.eye(100), group)
    >>> run = gaancore.train(data, out="two-groups", epochs=20, seed=1, verbose=False)
    >>> run.predict().shape
    (100,)
    """
    layers = _layers(data, config, settings)
    if isinstance(data, NodeInputs):
        raise DataError("train: data: no labels to learn from; name them when you make the dataset")
    source = os.fspath(data) if isinstance(data, os.PathLike) else data
    how: dict[str, Any] = {
        "device": device, "prefetch": prefetch, "tensorboard": tensorboard, "layers": layers
    }  # fmt: skip
    if resume_from is None:
        begun = begin(source, task=task, out=out, **how)
    elif out is not None or task is not None:
        raise SettingsError("train: resume_from: a resumed run keeps its folder and its task")
    else:
        begun = resume(resume_from, source, **how)
    team = begun.run.team
    say = print if verbose and team.first else _nothing
    for line in begun.opening():
        say(line)
    with _prepared(team), interrupts() as stop_requested:
        watched = _Validations(begun, say, on_validation)
        begun.run.watcher = Watcher(on_validation=watched, stop_requested=stop_requested)
        try:
            record = begun.run.train()
        except RunInterrupt:
            raise KeyboardInterrupt(
                f"interrupted at step {begun.run.progress.step}; the state is saved, go on with "
                f"resume_from={str(begun.run.folder.path)!r}"
            ) from None
    say(
        f"{begun.task.words.result(record)}; best epoch {record['best_epoch']:g}, "
        f"{record['seconds']:.1f} s; written: {begun.run.folder.path}"
    )
    log = begun.run.folder.read_log()
    for doubt in [*begun.task.words.doubts(record), *doubts_of_log(log)]:
        say(doubt)
    opened = begun.task.opened(begun.run.folder, begun.run.device)
    opened.dataset = begun.run.dataset
    return opened


class _Validations:
    """Passes every line of the log on, and prints one of them every few seconds."""

    def __init__(
        self,
        begun: Begun,
        say: Callable[[str], None],
        then: Callable[[LogLine], None] | None,
    ) -> None:
        self.validated = begun.task.words.validated
        self.say = say
        self.then = then
        self.clock = time.monotonic()

    def __call__(self, line: Any) -> None:
        if time.monotonic() - self.clock >= SECONDS_BETWEEN_LINES:
            self.clock = time.monotonic()
            self.say(f"epoch {line['epoch']:g}: loss {line['loss']:.4f}, {self.validated(line)}")
        if self.then is not None:
            self.then(line)


def _nothing(line: str) -> None:
    """Say nothing."""


def _layers(data: Any, config: Any, settings: dict[str, Any]) -> list[Layer]:
    layers: list[Layer] = []
    if config is not None:
        layers.append((str(config), read_config(os.fspath(config))))
    layers.append(("train", settings))
    if data is not None and not isinstance(data, str | os.PathLike):
        of_nodes = ("features",) if isinstance(data, NodeDataset | NodeInputs) else ()
        late = [name for name in (*READING, *of_nodes) if name in settings]
        if late:
            raise SettingsError(
                f"train: {late[0]}: these data are read already; give it where they are made"
            )
    return layers


@contextmanager
def _prepared(team: parallel.Team) -> Iterator[None]:
    """A process that is set up for training; its warnings and collector are left as they were."""
    thresholds = gc.get_threshold()
    with warnings.catch_warnings():
        prepare_process(parallel.num_threads(team))
        try:
            yield
        finally:
            gc.set_threshold(*thresholds)
            give_memory_back()
