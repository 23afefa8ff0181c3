"""The runs of a table: where each lives, how far it is, and its record."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gaancore.errors import DataError, SettingsError
from gaancore.reproduce.tables import Row
from gaancore.system.disk import read_json
from gaancore.tasks import Task, task_named, task_of
from gaancore.training.choices import differences, with_changes
from gaancore.training.record import LogLine, Record
from gaancore.training.run_folder import RunFolder


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
    checksum: str,
    settings_of: Callable[[Row, int], Any],
) -> list[TableRun]:
    """Every row with every seed, seed 0 of all rows first.

    A run that exists already, under whatever name, is found by its settings, so tables share
    runs. Raises SettingsError if a run's own folder holds one with other settings or data.
    """
    there = {path.parent: _stored(path.parent) for path in sorted(folder.glob("*/settings.json"))}
    planned = []
    for seed in range(seeds):
        for row in rows:
            settings = settings_of(row, seed)
            own = folder / f"{row.name}-{settings.variant}-seed{seed}"
            if own in there:
                _expect_same(own, settings, checksum, *there[own])
                found = own
            else:
                same = [path for path in there if there[path] == (settings, checksum)]
                found = same[0] if same else own
            planned.append(TableRun(row, seed, settings, RunFolder(found)))
    return planned


def _stored(path: Path) -> tuple[Any, str]:
    folder = RunFolder(path)
    settings, facts = task_of(folder).stored(folder)
    return settings, facts["checksum"]


def _expect_same(path: Path, asked: Any, checksum: str, found: Any, found_checksum: str) -> None:
    wrong = differences(found, asked) if type(found) is type(asked) else ["task"]
    if found_checksum != checksum:
        wrong.append(f"data checksum: {found_checksum} -> {checksum}")
    if wrong:
        raise SettingsError(
            f"{path}: a run with other settings is there: {'; '.join(wrong)}; choose another "
            "folder (out)"
        )
