"""Memory-mapped arrays: what to do so that a graph may be larger than memory."""

import errno
import math
import mmap
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gaancore.errors import DataError

LARGE = 1 << 28  # bytes from which an array that is computed goes to a file


@dataclass
class Scratch:
    """Where temporary files lie, and how many bytes all of them had together."""

    folder: Path
    bytes: int = 0


_scratch: ContextVar[Scratch | None] = ContextVar("scratch", default=None)


@contextmanager
def scratch_in(folder: Path) -> Iterator[Scratch]:
    """Inside, the temporary files of large arrays lie in `folder`, or where that is to be made.
    Elsewhere they lie where the system has its temporary files, which $TMPDIR moves.
    """
    scratch = Scratch(next(place for place in (folder, *folder.parents) if place.is_dir()))
    token = _scratch.set(scratch)
    try:
        yield scratch
    finally:
        _scratch.reset(token)


def scratch_folder() -> Path:
    """Where temporary files lie."""
    scratch = _scratch.get()
    return scratch.folder if scratch else Path(tempfile.gettempdir())


def room_for(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """An array to be filled: in memory, or from LARGE bytes on in a temporary file."""
    if math.prod(shape) * np.dtype(dtype).itemsize < LARGE:
        return np.empty(shape, dtype)
    return in_a_file(shape, dtype)


def in_a_file(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """An array of zeros, to be filled, in a temporary file without a name, which goes when the
    array does, however this process ends.

    Raises DataError if the disk has no room for it: a mapping that finds none ends the process.
    """
    scratch, folder = _scratch.get(), scratch_folder()
    size = math.prod(shape) * np.dtype(dtype).itemsize
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            _reserve(file.fileno(), size)
            array = np.memmap(file, dtype, "w+", shape=shape)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT):
            raise
        raise DataError(
            f"{folder}: no room for a temporary file of {size / 1e9:,.1f} GB "
            f"({error.strerror}); free some, or set TMPDIR to a folder of another disk"
        ) from None
    if scratch:
        scratch.bytes += size
    return array


def _reserve(file: int, size: int) -> None:
    """Let the disk set so many bytes aside, where the system and the file system can."""
    if not hasattr(os, "posix_fallocate"):
        return
    try:
        os.posix_fallocate(file, 0, size)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EOPNOTSUPP):
            raise


def room_for_part(array: np.ndarray, size: int) -> np.ndarray:
    """An array for `size` of the entries, or rows, of `array`, to be filled.

    If `array` is memory-mapped, so is its part, in a temporary file. Else it is in memory.
    """
    shape = (size, *array.shape[1:])
    if not math.prod(shape) or not _mapping(array):
        return np.empty(shape, array.dtype)
    return in_a_file(shape, array.dtype)


def forget_pages(array: np.ndarray) -> None:
    """Give back the memory of what was read of, or written to, a memory-mapped array.

    Its content stays as it is, in the file and the system's cache, and is fetched again when it is
    needed; so a process that goes through a large file does not seem to hold all of it. Does
    nothing to other arrays, nor where the system has no such call.
    """
    mapping = _mapping(array)
    if mapping and hasattr(mmap, "MADV_DONTNEED"):
        mapping.madvise(mmap.MADV_DONTNEED)


def _mapping(array: np.ndarray) -> mmap.mmap | None:
    owner: object = array
    while isinstance(owner, np.ndarray):
        owner = owner.base
    return owner if isinstance(owner, mmap.mmap) else None
