"""Saving and loading: safetensors files, replaced whole or not at all, and never pickle."""

import json
import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from gaancore.array import Array, to_numpy
from gaancore.errors import DataError, TrainingError

Groups = dict[str, dict[str, Array]]


def write_whole(path: Path, content: bytes) -> None:
    """Replace the file at `path` by one that holds `content`, see `writing_whole`."""
    with writing_whole(path) as file:
        file.write(content)


@contextmanager
def writing_whole(path: Path) -> Iterator[BinaryIO]:
    """A file beside `path` to write to; at the end it is flushed to the disk and renamed to it.

    Whatever happens, `path` is the old file or the new one. Raises DataError if it cannot be
    written (the disk is full, say); the old file is then untouched and nothing is left beside it.
    """
    temporary = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with temporary.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        raise DataError(
            f"{path}: cannot be written ({error.strerror}); what was there before is untouched"
        ) from None
    finally:
        with suppress(OSError):  # gone after the rename; never there if it could not be opened
            temporary.unlink()


def write_json(path: Path, content: Any) -> None:
    """`content` as JSON for people and machines, written whole."""
    write_whole(path, (json.dumps(content, indent=2, allow_nan=False) + "\n").encode())


def read_json(path: Path) -> Any:
    """The content of a JSON file. Raises DataError if it is missing or damaged."""
    return _read(path, lambda: json.loads(path.read_text(encoding="utf-8")))


def read_json_lines(path: Path) -> list[dict[str, Any]]:
    """The objects in a file of one a line; a last line that was cut off is left out.

    Raises DataError if the file is missing or damaged.
    """
    return _read(path, lambda: [dict(json.loads(x)) for x in path.read_bytes().split(b"\n")[:-1]])


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

    def read() -> tuple[Groups, dict[str, Any]]:
        with safe_open(path, framework="numpy") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            note = json.loads((file.metadata() or {})["gaancore"])
        if note["checksum"] != _checksum(tensors, note["facts"]):
            raise ValueError("its checksum does not match")
        groups: Groups = {}
        for full_name, tensor in tensors.items():
            group, _, name = full_name.partition(".")
            groups.setdefault(group, {})[name] = tensor
        return groups, note["facts"]

    return _read(path, read)


@contextmanager
def belongs_to_the_run(path: Path) -> Iterator[None]:
    """Turn what goes wrong when a whole checkpoint is put in place into one line about its file."""
    try:
        yield
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{path}: not a checkpoint of this run ({error})") from None


def checksum(arrays: Iterable[np.ndarray]) -> int:
    """CRC-32 of the bytes of C-contiguous arrays, one after the other."""
    crc = 0
    for array in arrays:
        crc = zlib.crc32(array.reshape(-1).view(np.uint8).data, crc)
    return crc


def _checksum(tensors: dict[str, np.ndarray], facts: dict[str, Any]) -> int:
    names = sorted(tensors)
    header = [facts, [[name, tensors[name].shape, tensors[name].dtype.str] for name in names]]
    return zlib.crc32(json.dumps(header).encode(), checksum(tensors[name] for name in names))


def _read(path: Path, read: Callable[[], Any]) -> Any:
    if not path.is_file():
        raise DataError(f"{path}: no such file; is {path.parent} the folder of a run?")
    try:
        return read()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from None
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path}: damaged or not written by gaancore ({error})") from None
