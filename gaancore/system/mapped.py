"""Memory-mapped arrays: what to do so that a graph may be larger than memory."""

import mmap
import tempfile

import numpy as np


def forget_pages(array: np.ndarray) -> None:
    """Give back the memory of what was read of, or written to, a memory-mapped array.

    Its content stays as it is, in the file and the system's cache, and is fetched again when it is
    needed; so a process that goes through a large file does not seem to hold all of it. Does
    nothing to other arrays, nor where the system has no such call.
    """
    mapping = _mapping(array)
    if mapping and hasattr(mmap, "MADV_DONTNEED"):
        mapping.madvise(mmap.MADV_DONTNEED)


def room_for_part(array: np.ndarray, size: int) -> np.ndarray:
    """An array for `size` of the entries, or rows, of `array`, to be filled.

    If `array` is memory-mapped, so is its part: in a temporary file without a name, which goes
    when the part does. Else it is in memory.
    """
    shape = (size, *array.shape[1:])
    if not size or not _mapping(array):
        return np.empty(shape, array.dtype)
    with tempfile.TemporaryFile() as file:
        return np.memmap(file, array.dtype, "w+", shape=shape)


def _mapping(array: np.ndarray) -> mmap.mmap | None:
    owner: object = array
    while isinstance(owner, np.ndarray):
        owner = owner.base
    return owner if isinstance(owner, mmap.mmap) else None
