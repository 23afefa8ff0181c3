"""exp and log1p that LLVM can vectorise, and the counter-based bits behind dropout.

Numba's own `math.exp` is a call per element and keeps a loop scalar. The float32 versions here
are straight-line arithmetic; float64, which only gradient checks use, calls the C library.
"""

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic, overload

from gaancore.system.jit import jit

_ZERO, _ONE = np.float32(0), np.float32(1)
_HALF = np.float32(0.5)
_LOWEST = np.float32(-87.0)  # exp(-87) = 1.6e-38, the last normal number
_LOG2_E = np.float32(1.44269504)
_LN2_HIGH = np.float32(0.693359375)  # few bits: n * _LN2_HIGH is exact
_LN2_LOW = np.float32(-2.12194440e-4)
_EXP = tuple(np.float32(1 / math.factorial(n)) for n in range(7, 1, -1))  # Taylor, |r| <= ln(2)/2
_ATANH = tuple(np.float32(1 / n) for n in range(13, 2, -2))
_E7, _E6, _E5, _E4, _E3, _E2 = _EXP
_A13, _A11, _A9, _A7, _A5, _A3 = _ATANH


@intrinsic
def _power_of_two(typingctx: Any, n: Any) -> Any:
    """2^n for an int32 n in [-126, 127], by writing the exponent field of a float32."""

    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        int32 = ir.IntType(32)
        biased = builder.add(values[0], ir.Constant(int32, 127))
        return builder.bitcast(builder.shl(biased, ir.Constant(int32, 23)), ir.FloatType())

    return types.float32(types.int32), codegen


def exp_nonpositive(x: float) -> float:
    """e^x for x <= 0, of the type of x; 0 below -87 in float32, where numbers lose precision.

    Relative error in float32 under 2e-7. NaN stays NaN.
    """
    if isinstance(x, np.float32) and x < _LOWEST:
        return _ZERO
    return type(x)(math.exp(x))


# Not inlined by Numba: a caller's fastmath flags must not reach the range reduction (LLVM inlines).
@overload(exp_nonpositive)
def _exp_nonpositive(x):
    if x != types.float32:
        return lambda x: math.exp(x)

    def polynomial(x):
        tiny = x < _LOWEST  # this way round a NaN stays what it is
        if tiny:
            x = _LOWEST
        n = np.floor(x * _LOG2_E + _HALF)
        r = (x - n * _LN2_HIGH) - n * _LN2_LOW
        p = ((((_E7 * r + _E6) * r + _E5) * r + _E4) * r + _E3) * r + _E2
        y = ((p * r) * r + r + _ONE) * _power_of_two(np.int32(n))
        return _ZERO if tiny else y

    return polynomial


def log1p_unit(t: float) -> float:
    """log(1 + t) for 0 <= t <= 1, of the type of t; relative error in float32 under 3e-7."""
    return type(t)(math.log1p(t))


@overload(log1p_unit)
def _log1p_unit(t):
    if t != types.float32:
        return lambda t: math.log1p(t)

    def series(t):
        s = t / (np.float32(2) + t)  # log(1 + t) = 2 atanh(s), s <= 1/3
        q = s * s
        p = ((((_A13 * q + _A11) * q + _A9) * q + _A7) * q + _A5) * q + _A3
        return np.float32(2) * (s + s * q * p)

    return series


_LOW = np.uint64(0xFFFFFFFF)
_MIX_1, _MIX_2 = np.uint64(0x85EBCA6B), np.uint64(0xC2B2AE35)
_S13, _S16, _S32 = np.uint64(13), np.uint64(16), np.uint64(32)


@jit(inline="always")
def _mix(h):
    """Avalanche 32 bits (MurmurHash3's finaliser), held in uint64 so that nothing overflows."""
    h ^= h >> _S16
    h = (h * _MIX_1) & _LOW
    h ^= h >> _S13
    h = (h * _MIX_2) & _LOW
    return h ^ (h >> _S16)


@jit(inline="always")
def random_word(key, position):
    """32 random bits (in a uint64), a pure function of a position and a key (see dropout_key)."""
    p = np.uint64(position)
    return _mix(_mix((p & _LOW) ^ (key & _LOW)) ^ (p >> _S32) ^ (key >> _S32))
