"""The folder of a run: what was asked for, what happened, and what came out.

settings.json        the effective settings and the data, written first
last.safetensors     everything needed to go on from here
best.safetensors     the weights of the best validation so far
log.jsonl            one line per validation
record.json          the outcome, written last
"""

import fcntl
import json
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import gaancore
from gaancore.data.nodes.dataset import NodeDataset
from gaancore.data.traffic.dataset import TrafficDataset
from gaancore.errors import DataError, SettingsError
from gaancore.system.disk import checksum, read_json, read_json_lines, write_json, write_whole
from gaancore.train.choices import with_changes
from gaancore.train.nodes.settings import Settings, task_settings
from gaancore.train.traffic.settings import ForecastSettings

NAMES = ("sensor_ids", "class_names", "feature_names")  # in the data of a run, where there are any

AnySettings = Settings | ForecastSettings


class RunFolder:
    """Paths and small files of one run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.settings_file = path / "settings.json"
        self.last = path / "last.safetensors"
        self.best = path / "best.safetensors"
        self.log_file = path / "log.jsonl"
        self.record_file = path / "record.json"
        self.lock_file = path / ".lock"

    def create(self, settings: AnySettings, data: dict[str, Any]) -> None:
        """Make the folder and write down what was asked for.

        Raises SettingsError if a run is there already, DataError if it cannot be written.
        """
        try:
            taken = self.settings_file.exists()
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DataError(f"{self.path}: cannot be made ({error.strerror})") from None
        if taken:
            raise SettingsError(
                f"{self.path}: there is a run in this folder already; continue it with --resume "
                "or choose another --out"
            )
        write_json(self.settings_file, {"settings": asdict(settings), "data": data})

    @contextmanager
    def held(self) -> Iterator[None]:
        """Inside, this process alone writes to the run; the system lets go of it if we die.

        Raises SettingsError if another process holds it, DataError if the folder cannot be written.
        """
        try:
            lock = self.lock_file.open("ab")  # network file systems lock only what may be written
        except OSError as error:
            raise DataError(f"{self.lock_file}: cannot be written ({error.strerror})") from None
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise SettingsError(
                    f"{self.path}: another process is training in this folder; wait for it, or "
                    "choose another --out"
                ) from None
            except OSError:
                pass  # a file system without locks: it is the user's to start a run but once
            yield

    def read_settings(self) -> tuple[AnySettings, dict[str, Any]]:
        """The settings and the data of the run. Raises DataError if they cannot be read."""
        content = read_json(self.settings_file)
        try:
            data = {name: content["data"][name] for name in ("path", "checksum")}
            data |= {name: content["data"].get(name) for name in NAMES}
            default = default_settings(content["settings"]["task"])
            return with_changes(default, ("settings", content["settings"])), data
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise DataError(f"{self.settings_file}: damaged ({error})") from None

    def set_epochs(self, epochs: int) -> None:
        """Let the run end after so many epochs. What it says of an earlier end is no longer so.

        Raises SettingsError if another process trains in the folder, DataError as read_settings.
        """
        with self.held():
            content = read_json(self.settings_file)
            content["settings"]["epochs"] = epochs
            write_json(self.settings_file, content)
            self.record_file.unlink(missing_ok=True)

    def append_log(self, line: dict[str, Any]) -> None:
        """Add one line to log.jsonl. Raises DataError if it cannot be written."""
        try:
            with self.log_file.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise DataError(f"{self.log_file}: cannot be written ({error.strerror})") from None

    def rewind(self, step: int) -> None:
        """Forget what a killed process did after `step`: lines of the log, half-written files."""
        for part in self.path.glob("*.part"):
            part.unlink(missing_ok=True)
        kept = [line for line in self.read_log() if line["step"] <= step]
        write_whole(self.log_file, "".join(json.dumps(line) + "\n" for line in kept).encode())

    def read_log(self) -> list[dict[str, Any]]:
        """The lines so far. Raises DataError if they cannot be read."""
        return read_json_lines(self.log_file) if self.log_file.exists() else []


def default_settings(task: str, *layers: tuple[str, dict[str, Any]]) -> AnySettings:
    """The settings of a task as the paper has them, with the changes of `layers`.

    Raises SettingsError for a change that is not valid, or that is of another task.
    """
    for where, changes in layers:
        if (other := changes.get("task", task)) != task:
            raise SettingsError(
                f"{where}: task: got {other!r}, but the task is {task}; name it with --task"
            )
    if task == "metr-la":
        return with_changes(ForecastSettings(), *layers)
    return task_settings(task, *layers)


def describe_data(dataset: NodeDataset | TrafficDataset) -> dict[str, Any]:
    """The `data` part of settings.json and record.json."""
    if isinstance(dataset, TrafficDataset):
        return _describe_traffic(dataset)
    graph = dataset.graph
    nodes = [dataset.features, dataset.labels, dataset.split]
    if dataset.graph_ids is not None:
        nodes.append(dataset.graph_ids)
    facts: dict[str, Any] = {
        "kind": dataset.kind,
        "path": dataset.path,
        "num_nodes": dataset.num_nodes,
        "num_edges": dataset.num_edges,
        "num_features": dataset.num_features,
        "num_classes": dataset.num_classes,
        "nodes_per_split": [int(dataset.nodes(split).size) for split in range(3)],
        "checksum": f"{checksum((graph.indptr, graph.indices, *nodes)):08x}",
        "notes": list(dataset.notes),
    }
    for name in ("class_names", "feature_names"):
        if (names := getattr(dataset, name)) is not None:
            facts[name] = list(names)
    if dataset.ceiling is not None:
        facts["ceiling_micro_f1"] = dataset.ceiling
    return facts


def _describe_traffic(dataset: TrafficDataset) -> dict[str, Any]:
    graph = dataset.graph
    arrays = [graph.indptr, graph.indices, dataset.speeds, dataset.valid, dataset.stretches]
    if dataset.time_of_day is not None:
        arrays.append(dataset.time_of_day)
    return {
        "kind": dataset.kind,
        "path": dataset.path,
        "sensor_ids": list(dataset.sensor_ids),
        "num_sensors": dataset.num_sensors,
        "num_edges": graph.num_edges,
        "num_steps": dataset.num_steps,
        "missing_share": round(1 - float(dataset.valid.mean()), 6),
        "checksum": f"{checksum(arrays):08x}",
        "notes": list(dataset.notes),
    }


def versions() -> dict[str, str]:
    """gaancore, Python and the libraries whose versions can change a number."""
    found = {"gaancore": gaancore.__version__, "python": platform.python_version()}
    for name in ("numpy", "scipy", "numba", "cupy-cuda12x", "cupy-cuda13x"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # not installed, or vendored without metadata
            continue
    return found
