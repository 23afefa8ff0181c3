"""A new store, which appears when it is whole."""

import fcntl
import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from gaancore.data.store import FORMAT, META, OPTIONAL, REQUIRED, VERSION, file_checksum
from gaancore.errors import DataError


class StoreWriter:
    """Fills a folder beside the store, which takes the store's name when everything is in it.

    with store_writer(path) as writer:
        writer.save("split", split)                           # small arrays
        features = writer.create("features", (N, F), np.float32)   # a large one, to be filled
        write_undirected(writer.folder, N, arcs)              # indptr.npy and indices.npy
        writer.finish(name=..., kind=..., ...)
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def save(self, name: str, array: np.ndarray) -> None:
        """Write `name`.npy."""
        np.save(self.folder / f"{name}.npy", array, allow_pickle=False)

    def create(self, name: str, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        """A memory-mapped `name`.npy to write to."""
        return np.lib.format.open_memmap(
            self.folder / f"{name}.npy", mode="w+", dtype=np.dtype(dtype), shape=shape
        )

    def finish(self, **facts: Any) -> None:
        """Write meta.json: `name`, `kind`, `num_classes`, `notes`, `ceiling`, what is there, and
        `class_names` and `feature_names` if there are any."""
        names = [name for name in (*REQUIRED, *OPTIONAL) if self._file(name).exists()]
        arrays = {name: np.load(self._file(name), mmap_mode="r") for name in names}
        files = {
            name: {
                "dtype": array.dtype.str,
                "shape": list(array.shape),
                "bytes": self._file(name).stat().st_size,
                "crc32": file_checksum(self._file(name)),
            }
            for name, array in arrays.items()
        }
        meta = {
            "format": FORMAT,
            "version": VERSION,
            "task": "multi-label" if arrays["labels"].ndim == 2 else "single-label",
            "num_nodes": arrays["indptr"].size - 1,
            "num_arcs": arrays["indices"].size,
            "nodes_per_split": [int((arrays["split"] == split).sum()) for split in range(3)],
            **facts,
            "files": files,
        }
        (self.folder / META).write_text(json.dumps(meta, indent=2) + "\n", encoding="utf-8")

    def _file(self, name: str) -> Path:
        return self.folder / f"{name}.npy"


@contextmanager
def store_writer(path: str | os.PathLike[str]) -> Iterator[StoreWriter]:
    """A writer whose store appears at `path` when the block ends well, and never in part.

    What a writer that was killed has left there is removed first.
    Raises DataError if something is at `path` already, or if the disk is full or not writeable.
    """
    target = Path(path)
    expect_free(target)
    folder = target.with_name(f"{target.name}.{os.getpid()}.part")
    lock = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _remove_leftovers(target)
        folder.mkdir()
        with suppress(OSError):  # not every file system has locks
            lock = _lock(folder)
        yield StoreWriter(folder)
        folder.rename(target)
    except OSError as error:
        raise DataError(f"{target}: cannot be written ({error.strerror or error})") from error
    finally:
        with suppress(OSError):  # gone after the rename
            shutil.rmtree(folder)
        if lock is not None:
            os.close(lock)


def _remove_leftovers(target: Path) -> None:
    """Remove the folders that nobody fills any longer: whoever did was killed."""
    name = re.compile(re.escape(target.name) + r"\.\d+\.part")
    for folder in target.parent.iterdir():
        if name.fullmatch(folder.name):
            with suppress(OSError):  # somebody fills it, or it is not ours
                lock = _lock(folder)
                shutil.rmtree(folder)
                os.close(lock)


def _lock(folder: Path) -> int:
    """Hold `folder` until the result is closed, or this process ends in whatever way.

    Raises OSError if another writer holds it.
    """
    lock = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        raise
    return lock


def expect_free(target: Path) -> None:
    """Raises DataError if something is at `target`: nothing is ever written over."""
    if target.exists():
        raise DataError(f"{target}: there is something of that name; remove it or choose another")
