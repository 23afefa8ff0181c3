"""A new store, which appears when it is whole."""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from gaancore.data.nodes.store.features import DENSE, SPARSE
from gaancore.data.nodes.store.reader import (
    FORMAT,
    META,
    OPTIONAL,
    REQUIRED,
    VERSION,
    file_checksum,
)
from gaancore.system.new_folder import new_folder


class StoreWriter:
    """Fills a temporary folder, which takes the store's name when it is complete.

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
        `class_names`, `feature_names` and `edge_names` if there are any."""
        names = [
            name for name in (*REQUIRED, *DENSE, *SPARSE, *OPTIONAL) if self._file(name).exists()
        ]
        arrays = {name: np.load(self._file(name), mmap_mode="r") for name in names}
        files = self.described(names)
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
        self.write_meta(meta)

    def described(self, names: Sequence[str]) -> dict[str, Any]:
        """What meta.json says of files: type, shape, bytes and checksum of each."""
        found = {}
        for name in names:
            array, file = np.load(self._file(name), mmap_mode="r"), self._file(name)
            found[name] = {
                "dtype": array.dtype.str,
                "shape": list(array.shape),
                "bytes": file.stat().st_size,
                "crc32": file_checksum(file),
            }
        return found

    def write_meta(self, meta: dict[str, Any]) -> None:
        """Write meta.json."""
        (self.folder / META).write_text(json.dumps(meta, indent=2) + "\n", encoding="utf-8")

    def _file(self, name: str) -> Path:
        return self.folder / f"{name}.npy"


@contextmanager
def store_writer(path: str | os.PathLike[str]) -> Iterator[StoreWriter]:
    """A writer whose store appears at `path` when the block ends well, and never in part.

    Raises DataError, see `new_folder`.
    """
    with new_folder(Path(path)) as folder:
        yield StoreWriter(folder)
