"""Philox4x32-10: random bits as a pure function of a key and a counter, with no state to carry.

Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011). Words of 32
bits are stored in uint64, where a product of two of them fits, so nothing ever overflows.
"""

import numpy as np

from gaancore.system.jit import jit

LOW = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)
MULTIPLIER_0, MULTIPLIER_2 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
KEY_STEP_0, KEY_STEP_1 = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)


@jit
def philox(
    key: np.uint64, word_0: int, word_1: int, word_2: int, word_3: int
) -> tuple[np.uint64, np.uint64]:
    """128 random bits for a 64-bit key and a counter of four 32-bit words."""
    k0, k1 = key & LOW, key >> HALF
    c0, c1, c2, c3 = np.uint64(word_0), np.uint64(word_1), np.uint64(word_2), np.uint64(word_3)
    for _ in range(10):
        p0, p2 = MULTIPLIER_0 * c0, MULTIPLIER_2 * c2
        c0, c1, c2, c3 = (p2 >> HALF) ^ c1 ^ k0, p2 & LOW, (p0 >> HALF) ^ c3 ^ k1, p0 & LOW
        k0, k1 = (k0 + KEY_STEP_0) & LOW, (k1 + KEY_STEP_1) & LOW
    return c0 | (c1 << HALF), c2 | (c3 << HALF)
