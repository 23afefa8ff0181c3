"""The CPU's random words, for the tests of what is made of them."""

import numpy as np

from gaancore.kernels import dropout_key
from gaancore.kernels.cpu.vector.math import random_word
from gaancore.system.jit import jit


@jit
def _words(key, positions, out):
    for i in range(positions.size):
        out[i] = random_word(key, positions[i])


def words(seed: int, positions: np.ndarray) -> np.ndarray:
    """The word of each position under a seed, as uint64."""
    out = np.empty(positions.size, np.uint64)
    _words(dropout_key(seed), positions, out)
    return out
