"""Saving and loading: safetensors files, replaced whole or not at all, and never pickle."""

import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from gaancore.array import Array, to_numpy
from gaancore.errors import DataError, SettingsError, TrainingError
from gaancore.system.disk import checksum, write_whole

Groups = dict[str, dict[str, Array]]


def save_checkpoint(path: Path, groups: Groups, facts: dict[str, Any]) -> None:
    """Arrays by group and name, and `facts` (what JSON can hold; floats come back exactly).

    Raises TrainingError, with the old file untouched, for an array that is not finite.
    """
    tensors = {
        f"{group}.{name}": np.ascontiguousarray(to_numpy(array))
        for group, arrays in groups.items()
        for name, array in arrays.items()
    }
    for name, tensor in tensors.items():
        if not np.isfinite(tensor).all():
            raise TrainingError(
                f"{path}: {name} is not finite; the file keeps the last good state; "
                "lower the learning rate"
            )
    note = {"facts": facts, "checksum": _checksum(tensors, facts)}
    write_whole(path, save(tensors, metadata={"gaancore": json.dumps(note)}))


def load_checkpoint(path: Path) -> tuple[Groups, dict[str, Any]]:
    """What save_checkpoint wrote. Raises DataError if the file is missing or damaged."""

    if not path.is_file():
        raise DataError(f"{path}: no such file; is {path.parent} the folder of a run?")
    try:
        with safe_open(path, framework="numpy") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            note = json.loads((file.metadata() or {})["gaancore"])
        if note["checksum"] != _checksum(tensors, note["facts"]):
            raise ValueError("its checksum does not match")
        groups: Groups = {}
        for full_name, tensor in tensors.items():
            group, _, name = full_name.partition(".")
            groups.setdefault(group, {})[name] = tensor
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from None
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path}: damaged or not written by gaancore ({error})") from None
    return groups, note["facts"]


def checkpoint_facts(path: Path) -> dict[str, Any]:
    """The facts of a checkpoint without its arrays, unchecked; {} if they cannot be read."""
    try:
        with safe_open(path, framework="numpy") as file:
            return dict(json.loads((file.metadata() or {})["gaancore"])["facts"])
    except (OSError, SafetensorError, ValueError, KeyError, TypeError):
        return {}  # whoever loads it will say what is wrong


@contextmanager
def belongs_to_the_run(path: Path) -> Iterator[None]:
    """Turn what goes wrong when a whole checkpoint is put in place into one line about its file."""
    try:
        yield
    except (DataError, SettingsError):  # of the data or the settings, not of the file
        raise
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{path}: not a checkpoint of this run ({error})") from None


def _checksum(tensors: dict[str, np.ndarray], facts: dict[str, Any]) -> int:
    names = sorted(tensors)
    header = [facts, [[name, tensors[name].shape, tensors[name].dtype.str] for name in names]]
    return zlib.crc32(json.dumps(header).encode(), checksum(tensors[name] for name in names))
