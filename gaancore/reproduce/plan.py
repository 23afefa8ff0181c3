"""The runs of a table: where each lives, how far it is, and its record."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gaancore.errors import DataError, SettingsError
from gaancore.reproduce.report.data import FILES, Facts
from gaancore.reproduce.tables import Row
from gaancore.system.disk import read_json
from gaancore.tasks import Task, task_named, task_of
from gaancore.training.choices import differences, with_changes
from gaancore.training.record import LogLine, Record
from gaancore.training.run_folder import RunFolder
from gaancore.training.same_data import data_differences


@dataclass(frozen=True)
class TableRun:
    """One row with one seed, in its folder."""

    row: Row
    seed: int
    settings: Any
    folder: RunFolder

    @property
    def name(self) -> str:
        return f"{self.row.name} seed {self.seed}"

    @property
    def task(self) -> Task:
        return task_named(self.settings.task)

    @property
    def begun(self) -> bool:
        return self.folder.settings_file.exists()

    @property
    def finished(self) -> bool:
        return self.folder.record_file.exists()

    def record(self) -> Record:
        """record.json. Raises DataError if it is damaged or of another run."""
        path = self.folder.record_file
        try:
            record: Any = read_json(path)
            same = with_changes(self.task.settings(), ("settings", record["settings"]))
            if same != self.settings:
                raise ValueError("other settings than settings.json")
            for key in ("test", "data", "num_parameters", "device", "epochs", "seconds"):
                record[key]
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            what = str(error).removeprefix(f"{path}: ")
            raise DataError(
                f"{path}: damaged ({what}); remove {path.parent} to run it again"
            ) from None
        return record

    def last_validation(self) -> LogLine | None:
        """The last line of the log, if there is one that can be read."""
        try:
            log = self.folder.read_log()
        except DataError:  # the run is just writing it
            return None
        return log[-1] if log else None


def runs_folder(out: Path, task: str, checksum: str) -> Path:
    """Where the runs on one data set live."""
    return out / "runs" / f"{task}-{checksum}"


def plan(
    rows: Sequence[Row],
    seeds: int,
    folder: Path,
    facts: Facts,
    settings_of: Callable[[Row, int], Any],
) -> list[TableRun]:
    """Every row with every seed, seed 0 of all rows first.

    A run that exists already, under whatever name, is found by its settings and by its data, of
    which `facts` are written down, so tables share runs. It may have read the same files from
    elsewhere. Raises SettingsError if a run's own folder holds one with other settings or data.
    """
    there = {path.parent: _stored(path.parent) for path in sorted(folder.glob("*/settings.json"))}
    planned = []
    for seed in range(seeds):
        for row in rows:
            settings = settings_of(row, seed)
            own = folder / f"{row.name}-{settings.variant}-seed{seed}"
            same = [path for path in there if not _differences(*there[path], settings, facts)]
            found = same[0] if same and own not in there else own
            if own in there and (wrong := _differences(*there[own], settings, facts)):
                raise SettingsError(
                    f"{own}: a run with other settings is there: {'; '.join(wrong)}; choose "
                    "another folder (out)"
                )
            stored, _ = there.get(found, (settings, facts))
            planned.append(TableRun(row, seed, stored, RunFolder(found)))
    return planned


def _stored(path: Path) -> tuple[Any, Facts]:
    folder = RunFolder(path)
    return task_of(folder).stored(folder)


def _differences(found: Any, then: Facts, asked: Any, now: Facts) -> list[str]:
    """What tells a run that is there from one that is asked for; not where its files lay."""
    if type(found) is not type(asked):
        return ["task"]
    return differences(_named(found), _named(asked)) + data_differences(then, now)


def _named(settings: Any) -> Any:
    """Settings with the last part of each path; what the files hold is compared as data."""
    there = {name: Path(path).name for name in FILES if (path := getattr(settings, name, ""))}
    return replace(settings, **there)
