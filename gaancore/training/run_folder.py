"""The folder of a run: what was asked for, what happened, and what came out.

settings.json        the effective settings and the data, written first
last.safetensors     everything needed to go on from here
best.safetensors     the weights of the best validation so far
log.jsonl            one line per validation
log.csv              the same as a table
tensorboard/         the same for TensorBoard, where it was asked for
record.json          the outcome, written last
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gaancore.errors import DataError, SettingsError
from gaancore.system.disk import hold, read_json, read_json_lines, write_json, write_whole
from gaancore.training.checkpoint import checkpoint_facts
from gaancore.training.record import SCHEMA, SettingsFile
from gaancore.training.scalars import EventFile, csv_text

REMEDY = "take the file from a copy of the run, or train again"
# what every line of the log has, and of which type
IN_LOG: dict[str, Any] = {
    "step": int, "epoch": int | float, "loss": int | float, "validation": dict, "best": bool,
}  # fmt: skip
NAMES = ("sensor_ids", "class_names", "feature_names")  # in the data of a run, where there are any


def remembered(settings: Any) -> dict[str, Any]:
    """What checkpoints keep of a run's settings: all that never changes, as JSON has it."""
    kept = asdict(settings)
    del kept["epochs"]
    return dict(json.loads(json.dumps(kept)))


class FolderTakenError(SettingsError):
    """Another run, or another process, has the folder."""


class RunFolder:
    """Paths and small files of one run.

    tensorboard : write the log for TensorBoard too. Raises SettingsError if that cannot be.
    """

    def __init__(self, path: Path, *, tensorboard: bool = False) -> None:
        self.path = path
        self.events = EventFile(path / "tensorboard") if tensorboard else None
        self.settings_file = path / "settings.json"
        self.last = path / "last.safetensors"
        self.best = path / "best.safetensors"
        self.log_file = path / "log.jsonl"
        self.csv_file = path / "log.csv"
        self.record_file = path / "record.json"
        self.lock_file = path / ".lock"

    def create(self, settings: Any, data: dict[str, Any], *, alone: bool = False) -> None:
        """Make the folder and write down what was asked for.

        alone : take no folder that is there already, so that of two processes that choose the same
                name at once one gets it, on a file system without locks too.
        Raises FolderTakenError if a run, or with `alone` a folder, is there already, DataError if
        it cannot be written.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=not alone)
        except OSError as error:
            if alone and self.path.exists():
                raise FolderTakenError(
                    f"{self.path}: it is there already; choose another"
                ) from None
            raise DataError(f"{self.path}: cannot be made ({error.strerror})") from None
        with self.held():  # of two that begin at once, one is refused
            if self.settings_file.exists():
                raise FolderTakenError(
                    f"{self.path}: there is a run in this folder already; continue it (resume) "
                    "or choose another folder (out)"
                )
            self._sweep()
            content = {"schema": SCHEMA, "settings": asdict(settings), "data": data}
            write_json(self.settings_file, content)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Inside, this process alone writes to the run; the system lets go of it if we die.

        On a file system without locks it is the user's to start a run only once.
        Raises FolderTakenError if another process holds it, DataError if the folder cannot be
        written.
        """
        try:
            lock = hold(self.lock_file)
        except BlockingIOError:
            raise FolderTakenError(
                f"{self.path}: another process is training in this folder; wait for it, or choose "
                "another folder (out)"
            ) from None
        except OSError as error:
            raise DataError(f"{self.lock_file}: cannot be written ({error.strerror})") from None
        try:
            yield
        finally:
            if lock is not None:
                os.close(lock)

    def read_settings(self) -> SettingsFile:
        """What was asked for, and on which data; their names are None where there are none.

        Raises DataError if there is no run, or its settings are damaged or of a later version.
        """
        if not self.settings_file.is_file():
            raise DataError(f"{self.path}: no run here (no {self.settings_file.name})")
        content = read_json(self.settings_file, REMEDY)
        try:
            schema, settings, data = content.get("schema", 0), content["settings"], content["data"]
            dict(settings)["task"], data["path"], data["checksum"]
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise DataError(f"{self.settings_file}: damaged ({error})") from None
        if schema > SCHEMA:
            raise DataError(
                f"{self.settings_file}: written by a later gaancore (schema {schema}, this one "
                f"reads up to {SCHEMA}); install that version"
            )
        self._expect_trained_with(settings)
        data = dict.fromkeys(NAMES) | data
        return {"schema": schema, "settings": settings, "data": data}

    def _expect_trained_with(self, settings: dict[str, Any]) -> None:
        """Raises DataError if the checkpoints remember other settings.

        They are compared before anything is made from them: a damaged width may ask for any memory.
        """
        for path in (self.last, self.best):
            then = checkpoint_facts(path).get("settings", {}) if path.exists() else {}
            for name, value in then.items():
                if name in settings and settings[name] != value:
                    raise DataError(
                        f"{path}: trained with {name} {value!r:.40}, but {self.settings_file.name} "
                        f"says {settings[name]!r:.40}: one of the two is damaged or not of this "
                        f"run; {REMEDY}"
                    )

    def set_epochs(self, epochs: int) -> None:
        """Let the run end after so many epochs. What it says of an earlier end is no longer so.

        Raises SettingsError if another process trains in the folder, DataError as read_settings.
        """
        with self.held():
            content = read_json(self.settings_file, REMEDY)
            content["settings"]["epochs"] = epochs
            write_json(self.settings_file, content)
            self.record_file.unlink(missing_ok=True)

    def append_log(self, line: dict[str, Any]) -> None:
        """Add one line to log.jsonl, and to what is made of it. Raises DataError if one of the
        files cannot be written.
        """
        with _writing(self.log_file), self.log_file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
            file.flush()
            os.fsync(file.fileno())
        self._add_row(line)
        if self.events is not None:
            with _writing(self.events.folder):
                self.events.add(line)

    def _add_row(self, line: dict[str, Any]) -> None:
        """Add a line to log.csv: the file is replaced, so that nobody ever reads half a row."""
        there = self.csv_file.read_bytes() if self.csv_file.exists() else b""
        header, row = csv_text([line]).encode().split(b"\n", maxsplit=1)
        if there.startswith(header + b"\n"):
            write_whole(self.csv_file, there + row)
        else:  # the first line, or one with other columns than those before
            write_whole(self.csv_file, csv_text(self._log()).encode())

    def rewind(self, step: int) -> None:
        """Forget what a killed process did after `step`: lines of the log, half-written files."""
        self._sweep()
        kept = [line for line in self._log("step") if line["step"] <= step]
        write_whole(self.log_file, "".join(json.dumps(line) + "\n" for line in kept).encode())
        write_whole(self.csv_file, csv_text(kept).encode())
        if self.events is not None:
            with _writing(self.events.folder):
                self.events.rewrite(kept)

    def _sweep(self) -> None:
        """Remove half-written files: while this process holds the folder, nobody writes them."""
        for part in self.path.glob("*.part"):
            part.unlink(missing_ok=True)

    def read_log(self) -> list[Any]:
        """The lines so far, none if there is no log.

        Raises DataError, naming the line, if they cannot be read or one lacks what each has.
        """
        return self._log(*IN_LOG)

    def _log(self, *names: str) -> list[Any]:
        log = read_json_lines(self.log_file, REMEDY) if self.log_file.exists() else []
        for number, line in enumerate(log, start=1):
            for name in names:
                if not isinstance(line.get(name), IN_LOG[name]):
                    what = (
                        f"line {number}: {name}: got {line[name]!r}"
                        if name in line
                        else (f"line {number}: no {name}")
                    )
                    raise DataError(f"{self.log_file}: {what}; {REMEDY}")
        return log

    def lost_lines(self, best_step: int) -> str | None:
        """What to tell if the log does not reach back to a validation that the state knows of."""
        steps = {line["step"] for line in self.read_log()}
        if not best_step or best_step in steps:
            return None
        return (
            f"note: {self.log_file}: the line of step {best_step}, the best so far, is gone; the "
            "run goes on with the same bits, but pictures of its training lack what is gone"
        )


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Raises DataError, which names `path`, where the system refuses to write to it."""
    try:
        yield
    except OSError as error:
        raise DataError(f"{path}: cannot be written ({error.strerror})") from None
