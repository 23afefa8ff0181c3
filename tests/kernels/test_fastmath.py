"""exp and log1p over their whole range, and the bits behind dropout, against independent sums."""

import numpy as np
import pytest
from dropout_words import words
from emulator.module import EmulatedModule

from gaancore.kernels import dropout_key
from gaancore.kernels.cpu.vector.math import exp_nonpositive, log1p_unit
from gaancore.kernels.cuda import launcher as cuda_launch
from gaancore.system.jit import jit

FLAGS = pytest.mark.parametrize("fast", [False, True], ids=["strict", "as the kernels compile it"])


def _exponentials(x, out):
    for i in range(x.size):
        out[i] = exp_nonpositive(x[i])


def _logarithms(t, out):
    for i in range(t.size):
        out[i] = log1p_unit(t[i])


def applied(function, fast: bool, x: np.ndarray) -> np.ndarray:
    compiled = jit(function, fastmath={"reassoc", "contract", "nsz"} if fast else False)
    out = np.empty_like(x)
    compiled(x, out)
    return out


@FLAGS
def test_exp_is_within_2e_7_from_minus_87_to_0_in_float32(fast):
    x = np.concatenate([np.linspace(-87, 0, 300_001), -np.logspace(-40, 1.9, 50_000)])
    x = x.astype(np.float32)
    exact = np.exp(x.astype(np.float64))
    assert np.max(np.abs(applied(_exponentials, fast, x) / exact - 1)) < 2e-7


@FLAGS
def test_exp_of_zero_is_one_and_of_very_negative_numbers_zero(fast):
    x = np.array([0.0, -0.0, -87.1, -88, -1e4, -3e38, -np.inf], np.float32)
    assert applied(_exponentials, fast, x).tolist() == [1, 1, 0, 0, 0, 0, 0]


@FLAGS
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exp_and_log1p_of_nan_are_nan(fast, dtype):
    x = np.full(20, np.nan, dtype)
    x[::3] = 0
    assert np.array_equal(np.isnan(applied(_exponentials, fast, x)), np.isnan(x))
    assert np.array_equal(np.isnan(applied(_logarithms, fast, x)), np.isnan(x))


@FLAGS
def test_log1p_is_within_3e_7_from_0_to_1_in_float32(fast):
    t = np.concatenate([np.linspace(0, 1, 300_001)[1:], np.logspace(-37, 0, 50_000)])
    t = t.astype(np.float32)
    exact = np.log1p(t.astype(np.float64))
    assert np.max(np.abs(applied(_logarithms, fast, t) / exact - 1)) < 3e-7
    assert applied(_logarithms, fast, np.zeros(1, np.float32)) == 0


def test_float64_is_as_exact_as_the_c_library():
    x = -np.logspace(-10, 2.5, 1000)
    assert np.allclose(applied(_exponentials, False, x), np.exp(x), rtol=1e-15, atol=0)
    t = np.linspace(0, 1, 1000)
    assert np.allclose(applied(_logarithms, False, t), np.log1p(t), rtol=1e-15, atol=0)


def mixed(h: int) -> int:
    """MurmurHash3's finaliser, in Python's own integers."""
    h = (h ^ (h >> 16)) * 0x85EBCA6B % 2**32
    h = (h ^ (h >> 13)) * 0xC2B2AE35 % 2**32
    return h ^ (h >> 16)


# Around the places where a product or a half of the position would be lost
POSITIONS = np.array(
    [0, 1, 2, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**32 + 1, 2**33 + 5, 2**40 + 7, 2**62 + 3],
    np.int64,
)


@pytest.mark.parametrize("seed", [0, 1, 2**32 + 5, 2**63 - 1, 2**64 - 1])
def test_random_words_are_the_documented_function_of_key_and_position(seed):
    """Fixed for good: another backend, or a later version, must drop the same elements."""
    low, high = int(dropout_key(seed)) % 2**32, int(dropout_key(seed)) >> 32
    expected = [mixed(mixed(p % 2**32 ^ low) ^ p >> 32 ^ high) for p in map(int, POSITIONS)]
    assert words(seed, POSITIONS).tolist() == expected


def test_the_first_keys_are_those_of_splitmix64():
    """Its published generator, begun at 0, gives these numbers first; ours begins anew for each."""
    assert [int(dropout_key(n * 0x9E3779B97F4A7C15 % 2**64)) for n in range(3)] == [
        0xE220A8397B1DCDAF,
        0x6E789E6AA1B965F4,
        0x06C45D188009454F,
    ]


def test_cuda_makes_the_same_words(emulated):
    """Also above 2^32, where no test could afford an array."""
    code = cuda_launch.source("elementwise", np.dtype(np.float32), 1, cuda_launch.PIECE)
    code += """extern "C" __global__ void words(unsigned long long key, const offset* positions,
                                              int count, unsigned long long* out) {
        for (int i = 0; i < count; ++i) out[i] = random_word(key, positions[i]);
    }"""
    for seed in (0, 1, 2**40 + 3):
        out = np.zeros(POSITIONS.size, np.uint64)
        kernel = EmulatedModule(code, checked=True).get_function("words")
        kernel((1,), (1,), (dropout_key(seed), POSITIONS, np.int32(POSITIONS.size), out))
        assert out.tolist() == words(seed, POSITIONS).tolist()


COUNT = 1 << 14


@pytest.mark.parametrize("start", [0, 2**32 - 64, 2**33, 2**40])
def test_masks_of_the_seeds_0_to_63_are_independent(start):
    """At rate 1/2 two masks agree in half of the places, and each keeps half: all within five and a
    half standard deviations, which one in a million such tests would miss. As many are kept in
    every window of 64, too, as a coin would.
    """
    positions = start + np.arange(COUNT)
    kept = np.array([words(seed, positions) >= 2**31 for seed in range(64)], np.float64)
    signs = 2 * kept - 1
    limit = 5.5 * np.sqrt(COUNT)
    agreement = signs @ signs.T
    assert np.abs(agreement - COUNT * np.eye(64)).max() < limit
    assert np.abs(signs.sum(axis=1)).max() < limit
    windows = kept.reshape(64, -1, 64).sum(axis=2)
    assert 0.9 < windows.var() / 16 < 1.1  # of 64 coins
    # the counts in one window are no copy of those in another, nor of another seed's
    assert len({tuple(row) for row in windows}) == 64
    assert len({row.tobytes() for row in np.sort(windows, axis=1)}) == 64


@pytest.mark.parametrize("size", [64, 1024])
def test_no_mask_is_another_seeds_mask_in_other_order(size):
    """Seeds that were mixed into the position bit by bit kept equally many of the first 2^n."""
    counts = [np.count_nonzero(words(seed, np.arange(size)) >= 2**31) for seed in range(64)]
    assert np.var(counts) > size / 4 * 0.5


def test_random_words_are_spread_evenly_and_differ_from_seed_to_seed():
    found = np.array([words(seed, np.arange(100_000)) for seed in (0, 1)])
    for row in found:
        counts = np.bincount((row >> np.uint64(28)).astype(np.int64), minlength=16)
        assert np.abs(counts - 6250).max() < 5 * np.sqrt(6250)  # five standard deviations
    high = found.astype(np.float64) / 2**32
    assert abs(np.corrcoef(high)[0, 1]) < 5 / np.sqrt(100_000)
    assert abs(np.corrcoef(high[0, :-1], high[0, 1:])[0, 1]) < 5 / np.sqrt(100_000)
