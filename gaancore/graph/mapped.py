"""Memory-mapped arrays that are gone through once."""

import mmap

import numpy as np


def forget_pages(array: np.ndarray) -> None:
    """Give back the memory of what was read of, or written to, a memory-mapped array.

    Its content stays as it is, in the file and the system's cache, and is fetched again when it is
    needed; so a process that goes through a large file does not seem to hold all of it. Does
    nothing to other arrays, nor where the system has no such call.
    """
    owner: object = array
    while isinstance(owner, np.ndarray):
        owner = owner.base
    if isinstance(owner, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        owner.madvise(mmap.MADV_DONTNEED)
