"""The runs of a table: where each lives, how far it is, and its record."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gaancore.errors import DataError, SettingsError
from gaancore.reproduce.tables import Row
from gaancore.system.disk import read_json
from gaancore.train.choices import differences, with_changes
from gaancore.train.run_folder import AnySettings, RunFolder, default_settings


@dataclass(frozen=True)
class TableRun:
    """One row with one seed, in its folder."""

    row: Row
    seed: int
    settings: AnySettings
    folder: RunFolder

    @property
    def name(self) -> str:
        return f"{self.row.name} seed {self.seed}"

    @property
    def begun(self) -> bool:
        return self.folder.settings_file.exists()

    @property
    def finished(self) -> bool:
        return self.folder.record_file.exists()

    def record(self) -> dict[str, Any]:
        """record.json. Raises DataError if it is damaged or of another run."""
        path = self.folder.record_file
        record = read_json(path)
        try:
            settings = record["settings"]
            same = with_changes(default_settings(settings["task"]), ("settings", settings))
            if same != self.settings:
                raise ValueError("other settings than settings.json")
            for key in ("test", "data", "num_parameters", "device", "epochs", "seconds"):
                record[key]
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise DataError(
                f"{path}: damaged ({error}); remove {path.parent} to run it again"
            ) from None
        return record


def runs_folder(out: Path, task: str, checksum: str) -> Path:
    """Where the runs on one data set live."""
    return out / "runs" / f"{task}-{checksum}"


def plan(
    rows: Sequence[Row],
    seeds: int,
    folder: Path,
    checksum: str,
    settings_of: Callable[[Row, int], AnySettings],
) -> list[TableRun]:
    """Every row with every seed, seed 0 of all rows first.

    A run that exists already, under whatever name, is found by its settings, so tables share
    runs. Raises SettingsError if a run's own folder holds one with other settings or data.
    """
    there = {path.parent: _opened(path.parent) for path in sorted(folder.glob("*/settings.json"))}
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


def _opened(path: Path) -> tuple[AnySettings, str]:
    settings, data = RunFolder(path).read_settings()
    return settings, data["checksum"]


def _expect_same(
    path: Path, asked: AnySettings, checksum: str, found: AnySettings, found_checksum: str
) -> None:
    wrong = differences(found, asked) if asdict(found).keys() == asdict(asked).keys() else ["task"]
    if found_checksum != checksum:
        wrong.append(f"data checksum: {found_checksum} -> {checksum}")
    if wrong:
        raise SettingsError(
            f"{path}: a run with other settings is there: {'; '.join(wrong)}; choose another --out"
        )
