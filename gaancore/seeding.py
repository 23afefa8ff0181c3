"""Randomness as a function of (run seed, purpose, epoch, step), so nothing has to be saved.

A run that is killed and resumed asks for the same keys and draws the same numbers; no generator
state is kept, and the global generators are never touched.
"""

import zlib

import numpy as np


def derive_seed(run_seed: int, purpose: str, *counters: int) -> int:
    """A 63-bit seed for one purpose ("dropout", "sampler", ...) at the given epoch, step, ...

    Different purposes or counters give independent streams (NumPy's SeedSequence mixes them).
    """
    # Their number is mixed in because SeedSequence pads with zeros: (a,) would be (a, 0).
    entropy = (run_seed, zlib.crc32(purpose.encode()), len(counters), *counters)
    return int(np.random.SeedSequence(entropy).generate_state(1, np.uint64)[0] >> np.uint64(1))


def generator(run_seed: int, purpose: str, *counters: int) -> np.random.Generator:
    """A fresh NumPy generator for the same key."""
    return np.random.default_rng(derive_seed(run_seed, purpose, *counters))
