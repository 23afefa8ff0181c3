"""The moves of gaancore/kernels/cpu/vector as plain Numba loops, for bench/why.py to compare with.

Each has the name, the arguments and the meaning of the move that it replaces: see the docstrings of
moves.py and head_moves.py. LLVM vectorises them as it sees fit.
"""

from types import ModuleType

import numpy as np

from gaancore.kernels.cpu import (
    attention_all_heads,
    attention_by_head,
    elementwise,
    pools,
    segments,
)
from gaancore.kernels.cpu.vector.code import FAST
from gaancore.system.jit import jit

KERNELS: tuple[ModuleType, ...] = (
    attention_all_heads,
    attention_by_head,
    elementwise,
    pools,
    segments,
)


def take_the_place_of_moves() -> None:
    """In every module of kernels. None may have been compiled yet, nor be found in a cache."""
    for name, loop in MOVES.items():
        users = [module for module in KERNELS if hasattr(module, name)]
        if not users:
            raise LookupError(f"no kernel uses the move {name}")
        for module in users:
            setattr(module, name, loop)


@jit
def register(rows, width):
    return np.empty(width, rows.dtype)


@jit
def clear(r, width):
    for n in range(width):
        r[n] = 0


@jit
def fill(r, value, width):
    for n in range(width):
        r[n] = value


@jit
def load(r, rows, i, width):
    for n in range(width):
        r[n] = rows[i, n]


@jit(fastmath=FAST)
def add(r, weight, rows, i, width):
    for n in range(width):
        r[n] += weight * rows[i, n]


@jit(fastmath=FAST)
def add_product(r, a, b, i, width):
    for n in range(width):
        r[n] += a[i, n] * b[i, n]


@jit(fastmath=FAST)
def larger(r, rows, i, width):
    for n in range(width):
        if rows[i, n] > r[n]:
            r[n] = rows[i, n]


@jit(fastmath=FAST)
def dot(r, rows, i, width):
    total = rows.dtype.type(0)
    for n in range(width):
        total += r[n] * rows[i, n]
    return total


@jit
def store(rows, i, scale, r, width):
    for n in range(width):
        rows[i, n] = scale * r[n]


@jit
def subtract(out, rows, i, r, width):
    for n in range(width):
        out[i, n] = rows[i, n] - r[n]


@jit
def divide(out, rows, i, r, width):
    for n in range(width):
        out[i, n] = rows[i, n] / r[n]


@jit
def take_larger(r, w, rows, i, j, width):
    for n in range(width):
        if not rows[i, n] <= r[n] and r[n] == r[n]:
            r[n], w[n] = rows[i, n], j


@jit
def store_int(rows, i, w, width):
    for n in range(width):
        rows[i, n] = w[n]


@jit(fastmath=FAST)
def head_dots(out, e, scale, r, rows, i, heads, width):
    for k in range(heads):
        total = rows.dtype.type(0)
        for n in range(k * width, (k + 1) * width):
            total += r[n] * rows[i, n]
        out[e, k] = scale * total


@jit(fastmath=FAST)
def add_heads(r, weights, e, rows, i, heads, width):
    for k in range(heads):
        for n in range(k * width, (k + 1) * width):
            r[n] += weights[e, k] * rows[i, n]


@jit
def prefetch(rows, i, width):
    """Of no meaning; a plain loop has nothing like it."""


MOVES = {
    move.__name__: move
    for move in (
        register, clear, fill, load, add, add_product, larger, dot, store, subtract, divide,
        take_larger, store_int, head_dots, add_heads, prefetch,
    )
}  # fmt: skip
