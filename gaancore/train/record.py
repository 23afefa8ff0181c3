"""The folder of a run: what was asked for, what happened, and what came out.

settings.json        the effective settings and the data, written first
last.safetensors     everything needed to go on from here
best.safetensors     the weights of the best validation so far
log.jsonl            one line per validation
record.json          the outcome, written last
"""

import json
import platform
import zlib
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

import gaancore
from gaancore.data.dataset import NodeDataset
from gaancore.errors import DataError, SettingsError
from gaancore.train.checkpoint import read_json, write_json, write_whole
from gaancore.train.settings import Settings, with_changes


class RunFolder:
    """Paths and small files of one run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.settings_file = path / "settings.json"
        self.last = path / "last.safetensors"
        self.best = path / "best.safetensors"
        self.log_file = path / "log.jsonl"
        self.record_file = path / "record.json"

    def create(self, settings: Settings, data: dict[str, Any]) -> None:
        """Make the folder and write down what was asked for.

        Raises SettingsError if a run is there already, DataError if it cannot be written.
        """
        if self.settings_file.exists():
            raise SettingsError(
                f"{self.path}: there is a run in this folder already; continue it with --resume "
                "or choose another --out"
            )
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DataError(f"{self.path}: cannot be made ({error.strerror})") from None
        write_json(self.settings_file, {"settings": asdict(settings), "data": data})

    def read_settings(self) -> tuple[Settings, dict[str, Any]]:
        """The settings and the data of the run. Raises DataError if they cannot be read."""
        content = read_json(self.settings_file)
        try:
            settings = with_changes(Settings(), content["settings"], str(self.settings_file))
            return settings, dict(content["data"])
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"{self.settings_file}: damaged ({error})") from None

    def append_log(self, line: dict[str, Any]) -> None:
        """Add one line to log.jsonl. Raises DataError if it cannot be written."""
        try:
            with self.log_file.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
        except OSError as error:
            raise DataError(f"{self.log_file}: cannot be written ({error.strerror})") from None

    def forget_log_after(self, step: int) -> None:
        """Drop the lines of steps that are about to be done again."""
        if self.log_file.exists():
            kept = [line for line in self.read_log() if line["step"] <= step]
            write_whole(self.log_file, "".join(json.dumps(k) + "\n" for k in kept).encode())

    def read_log(self) -> list[dict[str, Any]]:
        """The lines so far; one that was cut off in the middle is left out."""
        lines = []
        for text in self.log_file.read_text(encoding="utf-8").splitlines():
            try:
                lines.append(json.loads(text))
            except json.JSONDecodeError:
                break
        return lines


def describe_data(dataset: NodeDataset) -> dict[str, Any]:
    """The `data` part of settings.json and record.json."""
    facts: dict[str, Any] = {
        "kind": dataset.kind,
        "path": dataset.path,
        "num_nodes": dataset.num_nodes,
        "num_edges": dataset.num_edges,
        "num_features": dataset.num_features,
        "num_classes": dataset.num_classes,
        "nodes_per_split": [int(dataset.nodes(split).size) for split in range(3)],
        "checksum": _checksum(dataset),
        "notes": list(dataset.notes),
    }
    if dataset.ceiling is not None:
        facts["ceiling_micro_f1"] = dataset.ceiling
    return facts


def _checksum(dataset: NodeDataset) -> str:
    """CRC-32 of graph, features, labels and split: a resumed run must see the same data."""
    arrays = (dataset.graph.indptr, dataset.graph.indices, dataset.features, dataset.labels)
    crc = 0
    for array in (*arrays, dataset.split):
        crc = zlib.crc32(array.view(np.uint8).data if array.size else b"", crc)
    return f"{crc:08x}"


def versions() -> dict[str, str]:
    """gaancore, Python and the libraries whose versions can change a number."""
    found = {"gaancore": gaancore.__version__, "python": platform.python_version()}
    for name in ("numpy", "scipy", "numba"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # vendored without metadata
            found[name] = "unknown"
    return found
