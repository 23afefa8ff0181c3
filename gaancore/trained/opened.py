"""What every opened run can tell, whatever it has learned."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

from gaancore.array import resolve_device
from gaancore.display import Shown
from gaancore.errors import DataError
from gaancore.nn.module import Module
from gaancore.parallel import ALONE, Team
from gaancore.report import NODES, write
from gaancore.system.disk import read_json
from gaancore.training.record import DataFacts, LogLine, Record
from gaancore.training.run_folder import REMEDY, RunFolder
from gaancore.training.same_data import Facts, alike_on_ranks, expect_same_data, not_compared
from gaancore.training.step import weights_checksum

DEFAULT_SPLITS = ("validation", "test")


class Scored(dict[str, Any]):
    """Scores by what was scored; `notes` say what was assumed or left out, a line each.

    kind : `real` or `synthetic`: that of the data, if they are not the run's own.
    """

    notes: tuple[str, ...] = ()
    kind: str | None = None


class OpenedRun(Shown, ABC):
    """A run in its folder, finished or not, with its best weights so far.

    path     : the folder. settings: the run's, frozen. facts: what it wrote down about its data.
    load     : load(path, **changes) gives the data at a path, or None for the run's own, read as
               in training with some settings changed.
    device   : `auto` (a GPU if one works), `cpu` or `cuda:N`.
    team     : the ranks that compute together what they all ask. All then call the same methods in
               the same order, and each gets the whole answer.
    """

    kind_of_data: ClassVar[type]
    words: ClassVar[ModuleType]  # how its scores are spoken of

    def __init__(
        self,
        folder: RunFolder,
        settings: Any,
        facts: DataFacts,
        load: Callable[..., Any],
        device: str = "auto",
        team: Team = ALONE,
    ) -> None:
        self.folder = folder
        self.settings = settings
        self.facts = facts
        self.device = resolve_device(device)
        self.team = team
        self._load = load

    @property
    def path(self) -> Path:
        return self.folder.path

    @property
    def record(self) -> Record:
        """What came out, as in record.json. Raises DataError if the run has not finished."""
        if not self.folder.record_file.exists():
            raise DataError(f"{self.path}: the run has not finished; resume it")
        return read_json(self.folder.record_file, REMEDY)

    @property
    def log(self) -> list[LogLine]:
        """A line for each validation so far. Raises DataError if the file is damaged."""
        return self.folder.read_log()

    @cached_property
    def dataset(self) -> Any:
        """The run's own data, read again. Raises DataError if it is gone, SettingsError if it has
        changed."""
        return self.own_data(None)

    def own_data(self, data: Any) -> Any:
        """The same, from a path if the files have moved, or the dataset if it came from memory."""
        dataset = self._given(data)
        expect_same_data(self.path, self.facts, dataset.facts())
        return dataset

    def _given(self, data: Any) -> Any:
        """The dataset that a caller means, read as in training if it is a path."""
        if data is None or isinstance(data, str | Path):
            return self._load(None if data is None else str(data))
        if not isinstance(data, self.kind_of_data):
            raise DataError(
                f"{self.path}: data: expected a path or a {self.kind_of_data.__name__}, got a "
                f"{type(data).__name__}"
            )
        return data

    def _expect_same(self, model: Module, data: Callable[[], Facts]) -> None:
        """Raises SettingsError, in all ranks, unless each has the same run, with `model` as its
        best weights, the same data, whose facts are asked for, and the same versions.
        """
        if self.team.size > 1:
            of_run = {"weights": weights_checksum(model), "the run's data": self.facts["checksum"]}
            facts = alike_on_ranks(self.settings, self.device, data())
            self.team.expect_same(of_run | facts)

    @property
    def not_compared(self) -> str | None:
        """A line on what a run of an older version did not write down about its data."""
        return not_compared(self.facts)

    @abstractmethod
    def evaluate(self, splits: Sequence[str] | None = None, *, data: Any = None) -> Scored:
        """Scores of the best weights on some splits, by name; by default of validation and test.

        data : the same data, if they have moved or came from memory.
        """

    @abstractmethod
    def plot(self, folder: str | Path | None = None, *, data: Any = None) -> list[Path]:
        """Draw the run; returns the files, by default in `plots` in the run's folder."""

    def report(self, path: str | Path, *, nodes: int = NODES, seed: int = 0) -> Path:
        """Write one HTML page about what the run has learned; see `gaancore.report.write`."""
        return write(self, path, nodes=nodes, seed=seed)

    def _shown(self) -> dict[str, Any]:
        s = self.settings
        origin = "built in" if self.facts["kind"] == "synthetic" else "from memory"
        return {
            "path": str(self.path),
            "task": s.task,
            "model": s.model,
            "variant": s.variant,
            "seed": s.seed,
            "device": self.device,
            "data": self.facts["path"] or origin,
            **self._outcome(),
        }

    def _outcome(self) -> dict[str, Any]:
        """What came out; a run that has not finished, or is damaged, can be looked at too."""
        file = self.folder.record_file
        if not file.exists():
            return {"result": "not finished"}
        try:
            record = self.record
            return {
                "result": self.words.result(record),
                "best_epoch": record["best_epoch"],
                "epochs": record["epochs"],
                "num_parameters": record["num_parameters"],
                "seconds": record["seconds"],
            }
        except (AttributeError, KeyError, TypeError, ValueError):  # DataError is a ValueError
            return {"result": f"{file.name} is damaged"}
