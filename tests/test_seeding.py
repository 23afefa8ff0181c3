"""Seeds are a function of (run seed, purpose, counters) and of nothing else."""

import itertools
import random

import numpy as np

from gaancore.seeding import derive_seed, generator


def test_the_same_key_gives_the_same_seed_and_the_same_numbers():
    assert derive_seed(3, "dropout", 5, 7) == derive_seed(3, "dropout", 5, 7)
    draws = [generator(3, "sampler", 1).standard_normal(4).tolist() for _ in range(2)]
    assert draws[0] == draws[1]


def test_run_purpose_epoch_and_step_all_tell_seeds_apart():
    counters = [(), (0,), (1,), (0, 0), (0, 1), (1, 0), (1, 1)]
    keys = list(itertools.product(range(5), ["dropout", "sampler", "batches"], counters))
    assert len({derive_seed(run, purpose, *rest) for run, purpose, rest in keys}) == len(keys)


def test_seeds_fit_into_63_bits_and_use_them_evenly():
    seeds = np.array([derive_seed(0, "bits", i) for i in range(2000)], np.int64)
    assert seeds.min() >= 0
    ones = [(seeds >> bit & 1).mean() for bit in range(63)]
    assert np.abs(np.array(ones) - 0.5).max() < 5 * 0.5 / np.sqrt(2000)


def test_the_global_generators_are_not_touched():
    numpy_before, python_before = np.random.get_state(), random.getstate()  # noqa: NPY002
    generator(0, "init").standard_normal(10)
    numpy_after, python_after = np.random.get_state(), random.getstate()  # noqa: NPY002
    assert python_before == python_after
    assert numpy_before[2] == numpy_after[2]
    assert np.array_equal(numpy_before[1], numpy_after[1])
