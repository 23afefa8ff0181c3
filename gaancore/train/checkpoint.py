"""Saving and loading: safetensors files, replaced whole or not at all, and never pickle."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from gaancore.array import Array, to_numpy
from gaancore.errors import DataError


def write_whole(path: Path, content: bytes) -> None:
    """Write `content` beside `path`, flush it to the disk, and rename it into place.

    Whatever happens, `path` is the old file or the new one. Raises DataError if it cannot be
    written (the disk is full, say); the old file is then untouched and nothing is left beside it.
    """
    temporary = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise DataError(
            f"{path}: cannot be written ({error.strerror}); what was there before is untouched"
        ) from None


def write_json(path: Path, content: Any) -> None:
    """`content` as JSON for people and machines, written whole."""
    write_whole(path, (json.dumps(content, indent=2, allow_nan=False) + "\n").encode())


def read_json(path: Path) -> Any:
    """The content of a JSON file. Raises DataError if it is missing or damaged."""
    return _read(path, lambda: json.loads(path.read_text(encoding="utf-8")))


def save_checkpoint(path: Path, arrays: dict[str, Array], facts: dict[str, Any]) -> None:
    """Arrays by name, and `facts` (anything that JSON can hold; floats come back exactly)."""
    tensors = {name: np.ascontiguousarray(to_numpy(array)) for name, array in arrays.items()}
    write_whole(path, save(tensors, metadata={"facts": json.dumps(facts)}))


def load_checkpoint(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """What save_checkpoint wrote. Raises DataError if the file is missing or damaged."""

    def read() -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        with safe_open(path, framework="numpy") as file:
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            return arrays, json.loads(file.metadata()["facts"])

    return _read(path, read)


def _read(path: Path, read: Callable[[], Any]) -> Any:
    if not path.is_file():
        raise DataError(f"{path}: no such file; is {path.parent} the folder of a run?")
    try:
        return read()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from None
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path}: damaged or not written by gaancore ({error})") from None
