"""Products of matrices, a tile of the result at a time, that never leaves the registers.

BLAS copies both factors into an order of its own, and writes a result twice. That pays for large
products. A layer multiplies many rows by a small matrix, so here only the matrix is copied, once a
product (panels.py), and bias and activation are added before a number is written. Each number is a
sum in the order of the inner index, whatever the rows beside it: a row has the same bits alone, in
a batch, and with any number of threads.
"""

from typing import Any

import numpy as np
from llvmlite.binding import get_host_cpu_features

from gaancore.kernels.cpu.vector.tile_moves import (
    add_along,
    add_down,
    await_tile,
    leak_tile,
    load_tile,
    store_tile,
    tile,
)
from gaancore.system.jit import jit

BLOCK = 72  # rows that are taken through all panels, while they are in the cache


def _height() -> int:
    """Rows of a tile. Six of 64 bytes, and what is added to them, fill the 16 registers of AVX2.
    AVX-512 has 32 of twice the width, and needs more than six sums at once to be busy.
    """
    try:
        features = get_host_cpu_features()
    except RuntimeError:  # LLVM does not know this processor
        return 6
    return 12 if features.get("avx512f") else 6


HEIGHT = _height()


def _tiles_of_rows(rows: int) -> Any:
    """From row r on, as many tiles as there is room for; returns where the next would begin."""

    @jit
    def kernel(a, i, r, count, width, panels, base, bias, p, slope, out, o, j, add, leak):
        while r + rows <= count:
            t = tile(panels, rows)
            await_tile(out, o + r, j, rows)
            if add:
                load_tile(t, out, o + r, j, rows)
            for k in range(width):
                add_down(t, a, i + r, k, panels, base + k, 0, rows)
            if leak:
                leak_tile(t, bias, p, slope, rows)
            store_tile(t, out, o + r, j, rows)
            r += rows
        return r

    return kernel


_most_rows, _two_rows, _one_row = (_tiles_of_rows(rows) for rows in (HEIGHT, 2, 1))


@jit
def _rows_times_panel(a, i, count, width, panels, base, bias, p, slope, out, o, j, add, leak):
    r = _most_rows(a, i, 0, count, width, panels, base, bias, p, slope, out, o, j, add, leak)
    r = _two_rows(a, i, r, count, width, panels, base, bias, p, slope, out, o, j, add, leak)
    _one_row(a, i, r, count, width, panels, base, bias, p, slope, out, o, j, add, leak)


@jit
def rows_times_panels(a, i, count, width, panels, inner, at, bias, slope, out, o, add, leak):
    """out[o + r] = a[i + r, :width] @ matrix[at : at + width] for all r < count.

    panels : of the matrix, which has `inner` rows.
    add    : add to what stands in out. leak: then add the bias, which is in panels too, and apply
             a leaky ReLU.
    """
    G, line = out.shape[1], panels.shape[1]
    for p in range(G // line):
        base, j = p * inner + at, p * line
        _rows_times_panel(a, i, count, width, panels, base, bias, p, slope, out, o, j, add, leak)
    if G % line:
        p, j = G // line, G // line * line
        base, last = p * inner + at, np.zeros((count, line), out.dtype)
        for r in range(count if add else 0):
            for c in range(G - j):
                last[r, c] = out[o + r, j + c]
        zero = j - j  # of the type that j has
        _rows_times_panel(
            a, i, count, width, panels, base, bias, p, slope, last, zero, zero, add, leak
        )
        for r in range(count):
            for c in range(G - j):
                out[o + r, j + c] = last[r, c]


def _tiles_of_columns(columns: int) -> Any:
    """From column f on, as many tiles as there is room for; returns where the next would begin."""

    @jit
    def kernel(a, i, f, count, b, j, sums, place):
        while f + columns <= a.shape[1]:
            t = tile(b, columns)
            load_tile(t, sums, place + f, 0, columns)
            for r in range(count):
                add_along(t, a, i + r, f, b, r, j, columns)
            store_tile(t, sums, place + f, 0, columns)
            f += columns
        return f

    return kernel


_most_columns, _two_columns, _one_column = (_tiles_of_columns(n) for n in (HEIGHT, 2, 1))


@jit
def add_columns_times(a, i, count, b, sums, inner, at):
    """matrix[at + f] += sum over r < count of a[i + r, f] * b[r], for all columns f of `a`.

    sums : the panels of the matrix, which has `inner` rows. Rows of b are as wide as all of them.
    """
    line = sums.shape[1]
    for p in range(sums.shape[0] // max(1, inner)):
        place, j = p * inner + at, p * line
        f = _most_columns(a, i, 0, count, b, j, sums, place)
        f = _two_columns(a, i, f, count, b, j, sums, place)
        _one_column(a, i, f, count, b, j, sums, place)
