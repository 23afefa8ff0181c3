"""The moves of matrix products: a tile of a few rows, each a cache line long, held in registers.

    t = tile(x, rows)                    a tile of 0, of x's type, row after row
    await_tile(x, i, j, rows)            fetches x[i + r, j : j + LINE], to be written
    load_tile(t, x, i, j, rows)          t[r] = x[i + r, j : j + LINE]
    store_tile(t, x, i, j, rows)         x[i + r, j : j + LINE] = t[r]
    leak_tile(t, bias, p, slope, rows)   t[r] = leaky_relu(t[r] + bias[p])
    add_down(t, a, i, k, b, q, j, rows)  t[r] += a[i + r, k] * b[q, j : j + LINE]
    add_along(t, a, i, k, b, q, j, rows) t[r] += a[i, k + r] * b[q, j : j + LINE]

LINE is the numbers of x's type in a cache line, 16 floats or 8 doubles; rows is a constant.

A number of `a` is read once for all columns of the tile, one of `b` once for all its rows. Products
are added one after the other and never reordered, so a sum has the same bits in a tile of any
height. Rows of x, a and b have any length; otherwise they are as in moves.py.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types

from gaancore.kernels.cpu.vector.code import INT64, WIDEST, fetch, move, read, size_of, splat, write

ONE_BY_ONE = ("contract",)  # a product and its sum may be one instruction; no sum is reordered


def _address(context: Any, builder: Any, kind: Any, array: Any, i: Any, j: Any) -> Any:
    """Of array[i, j], and the length of a row."""
    made = context.make_array(kind)(context, builder, array)
    length = cgutils.unpack_tuple(builder, made.shape)[1]
    i, j = (builder.sext(n, INT64) if n.type.width < INT64.width else n for n in (i, j))
    return builder.gep(made.data, [builder.add(builder.mul(i, length), j)]), length


def _down(builder: Any, first: Any, length: Any, rows: int) -> list[Any]:
    """Addresses one below the other."""
    return [builder.gep(first, [builder.mul(length, ir.Constant(INT64, r))]) for r in range(rows)]


def _line(t: np.ndarray) -> int:
    return WIDEST // t.itemsize


def _block(t: np.ndarray, x: np.ndarray, i: int, j: int, rows: int) -> np.ndarray:
    return x[i : i + rows, j : j + _line(t)]


def _leak(t: np.ndarray, bias: np.ndarray, p: int, slope: float, rows: int) -> None:
    t += np.tile(bias[p], rows)
    np.copyto(t, np.where(t > 0, t, slope * t))


@move(plain=lambda x, rows: np.zeros(rows * (WIDEST // x.itemsize), x.dtype))
def tile(typingctx: Any, x: Any, rows: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        element = context.get_data_type(x.dtype)
        line = WIDEST // size_of(element)
        space = cgutils.alloca_once(builder, element, size=rows.literal_value * line)
        for r in range(rows.literal_value):
            write(builder, splat(builder, ir.Constant(element, 0), line), space, r * line)
        return space

    return types.CPointer(x.dtype)(x, rows), codegen


@move(plain=lambda x, i, j, rows: None)
def await_tile(typingctx: Any, x: Any, i: Any, j: Any, rows: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        line = WIDEST // size_of(context.get_data_type(x.dtype))
        first, length = _address(context, builder, x, *values[:3])
        for row in _down(builder, first, length, rows.literal_value):
            for end in (0, line - 1):  # a row of a tile may lie across two lines of the cache
                fetch(builder, builder.gep(row, [ir.Constant(INT64, end)]), to_write=True)
        return context.get_dummy_value()

    return types.void(x, i, j, rows), codegen


def _copying(to_tile: bool, plain: Callable[..., None]) -> Any:
    """The move between a tile and x[i : i + rows, j : j + LINE]."""

    @move(plain=plain)
    def copy(typingctx: Any, t: Any, x: Any, i: Any, j: Any, rows: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            line = WIDEST // size_of(context.get_data_type(x.dtype))
            first, length = _address(context, builder, x, *values[1:4])
            for r, row in enumerate(_down(builder, first, length, rows.literal_value)):
                if to_tile:
                    write(builder, read(builder, row, 0, line), values[0], r * line)
                else:
                    write(builder, read(builder, values[0], r * line, line), row, 0)
            return context.get_dummy_value()

        return types.void(t, x, i, j, rows), codegen

    return copy


load_tile = _copying(True, lambda t, *place: np.copyto(t, _block(t, *place).ravel()))
store_tile = _copying(
    False, lambda t, *place: np.copyto(_block(t, *place), t.reshape(-1, _line(t)))
)


@move(plain=_leak)
def leak_tile(typingctx: Any, t: Any, bias: Any, p: Any, slope: Any, rows: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        space, added, row, factor, _ = values
        element = context.get_data_type(bias.dtype)
        line = WIDEST // size_of(element)
        start, _ = _address(context, builder, bias, added, row, ir.Constant(INT64, 0))
        more, factor = read(builder, start, 0, line), splat(builder, factor, line)
        zero = splat(builder, ir.Constant(element, 0), line)
        for offset in range(0, rows.literal_value * line, line):
            x = builder.fadd(read(builder, space, offset, line), more)
            positive, less = builder.fcmp_ordered(">", x, zero), builder.fmul(factor, x)
            write(builder, builder.select(positive, x, less), space, offset)
        return context.get_dummy_value()

    return types.void(t, bias, p, bias.dtype, rows), codegen


def _adding(
    factors: Callable[[Any, Any, Any, int], list[Any]], plain: Callable[..., np.ndarray]
) -> Any:
    """The move t[r] += (factor r of a) * b[q, j : j + LINE]."""

    def meaning(
        t: np.ndarray, a: np.ndarray, i: int, k: int, b: np.ndarray, q: int, j: int, rows: int
    ) -> None:
        t += np.outer(plain(a, i, k, rows), b[q, j : j + _line(t)]).ravel()

    @move(plain=meaning)
    def add(
        typingctx: Any, t: Any, a: Any, i: Any, k: Any, b: Any, q: Any, j: Any, rows: Any
    ) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            line, space = WIDEST // size_of(context.get_data_type(b.dtype)), values[0]
            first, length = _address(context, builder, a, *values[1:4])
            at = factors(builder, first, length, rows.literal_value)
            row = read(builder, _address(context, builder, b, *values[4:7])[0], 0, line)
            for r, address in enumerate(at):
                factor = splat(builder, builder.load(address), line)
                product = builder.fmul(factor, row, flags=ONE_BY_ONE)
                old = read(builder, space, r * line, line)
                write(builder, builder.fadd(old, product, flags=ONE_BY_ONE), space, r * line)
            return context.get_dummy_value()

        return types.void(t, a, i, k, b, q, j, rows), codegen

    return add


add_down = _adding(_down, lambda a, i, k, rows: a[i : i + rows, k])
add_along = _adding(
    lambda builder, first, length, rows: _down(builder, first, ir.Constant(INT64, 1), rows),
    lambda a, i, k, rows: a[i, k : k + rows],
)
