"""What a task knows: its settings, data, look-alike, run, and words."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

from gaancore.data import find_dataset
from gaancore.data.paper import NAMES, is_whole
from gaancore.errors import DataError, SettingsError
from gaancore.nn.module import Module
from gaancore.parallel import ALONE, Team
from gaancore.system.paths import user_path
from gaancore.trained.nodes import NodeRun
from gaancore.trained.traffic import TrafficRun
from gaancore.training.choices import Layer, with_changes
from gaancore.training.record import SettingsFile
from gaancore.training.run import Run
from gaancore.training.run_folder import RunFolder


@dataclass(frozen=True)
class Task(ABC):
    """One task.

    name   : as in settings and file names. what: the data it is for, in words.
    files  : the layouts of the paper's data, in words; empty for data of one's own.
    epochs : of a run on the built-in look-alike that names no number of them.
    suit   : gives settings that suit a dataset of one's own, and one line about them.
    words  : how its data and scores are spoken of; a module with what training/nodes/words.py has.
    family : `nodes` or `traffic`, as of the datasets that it takes.
    score_groups : the scores of reports, as {words: names}; those of a group share a
                   column. headline: the most telling one, and its words.
    """

    family: ClassVar[str]
    lenient: ClassVar[dict[str, Any]]  # settings that read as much of any data as can be read
    words: ClassVar[ModuleType]
    score_groups: ClassVar[dict[str, tuple[str, ...]]]
    headline: ClassVar[tuple[str, str]]

    name: str
    what: str
    files: str = ""
    epochs: int = 0
    suit: Callable[[Any], tuple[dict[str, Any], str]] | None = None

    @property
    def title(self) -> str:
        """The paper's name of the data, or what the task is for."""
        return NAMES.get(self.name, self.what)

    @property
    def of_paper(self) -> bool:
        """Whether it is one of the paper's own."""
        return self.name in NAMES

    def is_paper_data(self, dataset: Any) -> bool:
        """Whether a dataset is the paper's whole set that this task is about."""
        return self.of_paper and dataset.kind == "real" and is_whole(self.name, dataset.counts())

    @abstractmethod
    def settings(self, *layers: Layer) -> Any:
        """The settings of the task with the changes of `layers`, see `with_changes`."""

    @abstractmethod
    def read(self, path: Path, settings: Any) -> Any:
        """The dataset at `path`."""

    @abstractmethod
    def look_alike(self) -> Any:
        """The built-in dataset."""

    @abstractmethod
    def summarize(self, dataset: Any) -> dict[str, Any]:
        """What is in a dataset, in numbers."""

    @abstractmethod
    def kept(self, settings: Any, dataset: Any) -> Any:
        """Settings as a run keeps them: paths that hold in any folder, choices that are settled."""

    @abstractmethod
    def run(
        self,
        settings: Any,
        dataset: Any,
        folder: RunFolder,
        device: str,
        prefetch: int | None,
        team: Team = ALONE,
    ) -> Run:
        """A run that is about to begin, or to be resumed, on the ranks of a team."""

    @abstractmethod
    def opened(self, folder: RunFolder, device: str, team: Team = ALONE) -> NodeRun | TrafficRun:
        """The run in `folder`, to be asked, by the ranks of a team together."""

    @abstractmethod
    def paper_model(self, settings: Any) -> Module:
        """The model of `settings` on the paper's data, for counting its parameters."""

    @abstractmethod
    def scores_in(self, test: Any) -> dict[str, float]:
        """The scores of `score_groups` in the `test` of a record, as the paper prints them."""

    @abstractmethod
    def size(self, facts: Any) -> str:
        """How large data are, in a phrase."""

    def expect(self, layers: tuple[Layer, ...]) -> None:
        """Raises SettingsError if a layer is meant for another task."""
        for where, changes in layers:
            if (other := changes.get("task", self.name)) != self.name:
                raise SettingsError(f"{where}: task: got {other!r}, but the task is {self.name}")

    def load(self, path: str | None, settings: Any, synthetic: bool = False) -> Any:
        """The data at `path`, else in the user's data folder, else the built-in look-alike.

        Raises DataError, SettingsError; also where a task of one's own is given no data.
        """
        if not path and not self.of_paper:
            raise SettingsError(f"data: task {self.name} has no data of its own; give a path")
        source = path or (None if synthetic else find_dataset(self.name))
        if source is None:
            return replace(self.look_alike(), notes=self.synthetic_notes)
        # absolute, so that the run can be gone on with from any folder
        return self.read(user_path(source).absolute(), settings)

    @property
    def synthetic_notes(self) -> tuple[str, str]:
        """What is said where the built-in look-alike stands in."""
        return (
            f"SYNTHETIC data: no data was given and no {self.title} was found; this is a built-in "
            f"look-alike, and its scores say nothing about {self.title}.",
            f"For real scores, give the path of {self.title} ({self.files}), or put it into "
            f"~/.local/share/gaancore/{self.name} or $GAANCORE_DATA/{self.name}.",
        )

    def settled(
        self, dataset: Any, *layers: Layer, named: frozenset[str]
    ) -> tuple[Any, str | None]:
        """Settings of a new run on `dataset`, and one line about those that were chosen for it.

        named : settings that the user asked for. Built-in data are trained on for a few epochs
                unless a number was named, and validated after each: the paper's patience is made
                for sets that are far larger. Data of one's own get settings that suit them.
        """
        words: str | None = None
        changes: dict[str, Any] = {}
        if self.suit is not None:
            changes, words = self.suit(dataset)
        settings = self.settings(("", changes), *layers)
        if other := _differing(settings, self.settings(("", changes)), changes):
            words = f"{words}; asked for instead: {other}"
        if dataset.kind == "synthetic" and not ("epochs" in named and settings.epochs):
            settings = self.shortened(settings)
        return self.kept(settings, dataset), words

    def shortened(self, settings: Any) -> Any:
        """Settings for a look at built-in data."""
        return replace(settings, epochs=self.epochs) if self.epochs else settings

    def stored(self, folder: RunFolder) -> tuple[Any, Any]:
        """The settings, and the facts of the data, of the run in `folder`."""
        return self.understood(folder, folder.read_settings())

    def understood(self, folder: RunFolder, content: SettingsFile) -> tuple[Any, Any]:
        """The same of what was read there."""
        try:
            settings = with_changes(self.settings(), ("settings", content["settings"]))
        except ValueError as error:
            raise DataError(f"{folder.settings_file}: damaged ({error})") from None
        return settings, content["data"]

    def load_again(self, folder: RunFolder, settings: Any, facts: Any, path: str | None) -> Any:
        """The data of the run in `folder`, from `path` if they have moved.

        Raises DataError if they are no longer where they were.
        """
        if not path and facts["path"] and not Path(facts["path"]).exists():
            raise DataError(
                f"{folder.path}: its data is no longer at {facts['path']}; say where it is (data)"
            )
        if not path and not facts["path"] and facts["kind"] != "synthetic":
            raise DataError(f"{folder.path}: its data came from memory; give them again (data)")
        return self.load(path or facts["path"], settings, synthetic=facts["path"] is None)


def _differing(settings: Any, suited: Any, names: Iterable[str]) -> str:
    """What `settings` have for those of `names` in which `suited` have something else."""
    pairs = [(name, getattr(settings, name)) for name in names]
    return ", ".join(
        f"{name} {','.join(map(str, value)) if isinstance(value, tuple) else value}"
        for name, value in pairs
        if value != getattr(suited, name)
    )
