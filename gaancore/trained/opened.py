"""What every opened run can tell, whatever it has learned."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from gaancore.array import resolve_device
from gaancore.errors import DataError, SettingsError
from gaancore.system.disk import read_json
from gaancore.training.record import DataFacts, LogLine, Record
from gaancore.training.run_folder import REMEDY, RunFolder


class OpenedRun(ABC):
    """A run in its folder, finished or not, with its best weights so far.

    path     : the folder. settings: the run's, frozen. facts: what it wrote down about its data.
    load     : gives the run's own data, from a path if the files have moved.
    device   : `auto` (a GPU if one works), `cpu` or `cuda:N`.
    """

    def __init__(
        self,
        folder: RunFolder,
        settings: Any,
        facts: DataFacts,
        load: Callable[[str | None], Any],
        device: str = "auto",
    ) -> None:
        self.folder = folder
        self.settings = settings
        self.facts = facts
        self.device = resolve_device(device)
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
        in_memory = data is not None and not isinstance(data, str | Path)
        dataset = data if in_memory else self._load(None if data is None else str(data))
        if (found := dataset.facts()["checksum"]) != self.facts["checksum"]:
            raise SettingsError(
                f"{self.path}: the data has changed since the run began (checksum {found}, then "
                f"{self.facts['checksum']}); give it the same files (data)"
            )
        return dataset

    @abstractmethod
    def evaluate(self, splits: Sequence[str], *, data: Any = None) -> dict[str, Any]:
        """Scores of the best weights on some splits of the run's data, by name.

        data : the same data, if they have moved or came from memory.
        """

    @abstractmethod
    def plot(self, folder: str | Path | None = None, *, data: Any = None) -> list[Path]:
        """Draw the run; returns the files, by default in `plots` in the run's folder."""

    def __repr__(self) -> str:
        s = self.settings
        return f"{type(self).__name__}({str(self.path)!r}: {s.model}, task {s.task}, seed {s.seed})"
