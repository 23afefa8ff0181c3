"""Clipping without waiting for the device: allocates and launches. Only this backend has it."""

import numpy as np

from gaancore.array import Array, array_module, on_device_of
from gaancore.kernels.cuda.launcher import launch, num_blocks

NORM_BLOCKS = 512  # blocks at most, each of which leaves one sum

i64, i32 = np.int64, np.int32


def clip_to_norm(x: Array, max_norm: float) -> Array:
    """The 2-norm of x, a float64 of no axes; x is scaled in place so that it is at most `max_norm`.

    0 does not scale. If the norm is not finite, all of x becomes NaN.
    """
    with on_device_of(x):
        blocks = max(1, num_blocks(x.size, NORM_BLOCKS))
        sums = array_module(x).empty(blocks, np.float64)
        norm = array_module(x).empty((), np.float64)
        size, threads, most = i64(x.size), max(1, x.size), NORM_BLOCKS
        launch("clip", "squares", x, threads, x, size, sums, most=most)
        given = (x, size, sums, i32(blocks), np.float64(max_norm), norm)
        launch("clip", "clip_to_norm", x, threads, *given, most=most)
        return norm
