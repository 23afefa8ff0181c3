"""A row of numbers held in vector registers: the moves that the segment kernels are made of.

LLVM's own vectoriser guesses well on long loops and badly on rows of 24 or 32 numbers that are
gathered one edge at a time. These intrinsics leave nothing to guess: each one is written out as
vector instructions for a width known when the kernel is compiled, and a register row that is
declared with `register` never touches memory between two edges.

    r = register(rows, width)            a register row with the element type of `rows`
    clear(r, width)                      r = 0
    fill(r, value, width)                r = value
    load(r, rows, i, width)              r = rows[i]
    add(r, weight, rows, i, width)       r += weight * rows[i]
    add_product(r, a, b, i, width)       r += a[i] * b[i]
    larger(r, rows, i, width)            r = max(r, rows[i]); a NaN loses
    dot(r, rows, i, width)               <r, rows[i]>
    store(rows, i, scale, r, width)      rows[i] = scale * r
    subtract(out, rows, i, r, width)     out[i] = rows[i] - r
    divide(out, rows, i, r, width)       out[i] = rows[i] / r
    take_larger(r, w, rows, i, j, width) where rows[i] > r: r = rows[i], w = j; a NaN wins and stays
    store_int(rows, i, w, width)         rows[i] = w

rows is a C-contiguous (n, width) array, i a row number that is trusted, width a compile-time
constant. Each move stands beside its meaning in NumPy, which is what runs with the JIT disabled.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types

from gaancore.kernels.cpu.vector.code import (
    FLAGS,
    INT32,
    WIDEST_DOT,
    move,
    pieces,
    read,
    row_of,
    splat,
    sum_of_products,
    write,
)


def _take_larger(
    r: np.ndarray, w: np.ndarray, rows: np.ndarray, i: int, j: int, width: int
) -> None:
    larger = ~(rows[i] <= r) & (r == r)
    r[larger], w[larger] = rows[i][larger], j


@move(plain=lambda rows, width: np.zeros(width, rows.dtype))
def register(typingctx: Any, rows: Any, width: Any) -> Any:
    """A row of registers (stack memory that LLVM promotes); declare it outside of every loop."""

    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        element = context.get_data_type(rows.dtype)
        return cgutils.alloca_once(builder, element, size=width.literal_value)

    return types.CPointer(rows.dtype)(rows, width), codegen


@move(plain=lambda r, width: r.fill(0))
def clear(typingctx: Any, r: Any, width: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        element = context.get_data_type(r.dtype)
        for offset, lanes in pieces(width.literal_value, element):
            write(builder, splat(builder, ir.Constant(element, 0), lanes), values[0], offset)
        return context.get_dummy_value()

    return types.void(r, width), codegen


@move(plain=lambda r, value, width: r.fill(value))
def fill(typingctx: Any, r: Any, value: Any, width: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        element = context.get_data_type(r.dtype)
        for offset, lanes in pieces(width.literal_value, element):
            write(builder, splat(builder, values[1], lanes), values[0], offset)
        return context.get_dummy_value()

    return types.void(r, r.dtype, width), codegen


@move(plain=lambda r, rows, i, width: np.copyto(r, rows[i]))
def load(typingctx: Any, r: Any, rows: Any, i: Any, width: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        element = context.get_data_type(r.dtype)
        row = row_of(context, builder, rows, values[1], values[2], width.literal_value)
        for offset, lanes in pieces(width.literal_value, element):
            write(builder, read(builder, row, offset, lanes), values[0], offset)
        return context.get_dummy_value()

    return types.void(r, rows, i, width), codegen


@move(plain=lambda r, weight, rows, i, width: np.add(r, weight * rows[i], out=r))
def add(typingctx: Any, r: Any, weight: Any, rows: Any, i: Any, width: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        element = context.get_data_type(r.dtype)
        row = row_of(context, builder, rows, values[2], values[3], width.literal_value)
        for offset, lanes in pieces(width.literal_value, element):
            scale = splat(builder, values[1], lanes)
            product = builder.fmul(scale, read(builder, row, offset, lanes), flags=FLAGS)
            total = builder.fadd(read(builder, values[0], offset, lanes), product, flags=FLAGS)
            write(builder, total, values[0], offset)
        return context.get_dummy_value()

    return types.void(r, weight, rows, i, width), codegen


@move(plain=lambda r, a, b, i, width: np.add(r, a[i] * b[i], out=r))
def add_product(typingctx: Any, r: Any, a: Any, b: Any, i: Any, width: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        element = context.get_data_type(r.dtype)
        left, right = (
            row_of(context, builder, kind, array, values[3], width.literal_value)
            for kind, array in ((a, values[1]), (b, values[2]))
        )
        for offset, lanes in pieces(width.literal_value, element):
            factors = read(builder, left, offset, lanes), read(builder, right, offset, lanes)
            product = builder.fmul(*factors, flags=FLAGS)
            total = builder.fadd(read(builder, values[0], offset, lanes), product, flags=FLAGS)
            write(builder, total, values[0], offset)
        return context.get_dummy_value()

    return types.void(r, a, b, i, width), codegen


@move(plain=lambda r, rows, i, width: np.fmax(r, rows[i], out=r))
def larger(typingctx: Any, r: Any, rows: Any, i: Any, width: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        element = context.get_data_type(r.dtype)
        row = row_of(context, builder, rows, values[1], values[2], width.literal_value)
        for offset, lanes in pieces(width.literal_value, element):
            old, new = read(builder, values[0], offset, lanes), read(builder, row, offset, lanes)
            write(
                builder,
                builder.select(builder.fcmp_ordered(">", new, old), new, old),
                values[0],
                offset,
            )
        return context.get_dummy_value()

    return types.void(r, rows, i, width), codegen


@move(plain=lambda rows, i, scale, r, width: np.multiply(scale, r, out=rows[i]))
def store(typingctx: Any, rows: Any, i: Any, scale: Any, r: Any, width: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        element = context.get_data_type(r.dtype)
        row = row_of(context, builder, rows, values[0], values[1], width.literal_value)
        for offset, lanes in pieces(width.literal_value, element):
            factor = splat(builder, values[2], lanes)
            scaled = builder.fmul(factor, read(builder, values[3], offset, lanes))
            write(builder, scaled, row, offset)
        return context.get_dummy_value()

    return types.void(rows, i, scale, r, width), codegen


def _row_with_register(instruction: str, ufunc: np.ufunc) -> Any:
    """The move out[i] = rows[i] op r, for one instruction of LLVM and its ufunc."""

    @move(plain=lambda out, rows, i, r, width: ufunc(rows[i], r, out=out[i]))
    def between(typingctx: Any, out: Any, rows: Any, i: Any, r: Any, width: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            element = context.get_data_type(r.dtype)
            target, row = (
                row_of(context, builder, kind, array, values[2], width.literal_value)
                for kind, array in ((out, values[0]), (rows, values[1]))
            )
            for offset, lanes in pieces(width.literal_value, element):
                right = read(builder, values[3], offset, lanes)
                result = getattr(builder, instruction)(read(builder, row, offset, lanes), right)
                write(builder, result, target, offset)
            return context.get_dummy_value()

        return types.void(out, rows, i, r, width), codegen

    return between


subtract = _row_with_register("fsub", np.subtract)
divide = _row_with_register("fdiv", np.divide)


@move(plain=lambda r, rows, i, width: r @ rows[i])
def dot(typingctx: Any, r: Any, rows: Any, i: Any, width: Any) -> Any:
    """<r, rows[i]>, summed over the lanes at the end."""

    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        element = context.get_data_type(r.dtype)
        row = row_of(context, builder, rows, values[1], values[2], width.literal_value)
        cut = pieces(width.literal_value, element, WIDEST_DOT)
        pairs = ([read(builder, side, *piece) for side in (values[0], row)] for piece in cut)
        return sum_of_products(builder, pairs, element)

    return r.dtype(r, rows, i, width), codegen


@move(plain=_take_larger)
def take_larger(typingctx: Any, r: Any, w: Any, rows: Any, i: Any, j: Any, width: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        element = context.get_data_type(r.dtype)
        row = row_of(context, builder, rows, values[2], values[3], width.literal_value)
        for offset, lanes in pieces(width.literal_value, element):
            old, new = read(builder, values[0], offset, lanes), read(builder, row, offset, lanes)
            ordered = builder.fcmp_ordered("ord", old, old)
            larger = builder.and_(builder.fcmp_unordered(">", new, old), ordered)
            write(builder, builder.select(larger, new, old), values[0], offset)
            source = splat(builder, values[4], lanes)
            winner = builder.select(larger, source, read(builder, values[1], offset, lanes))
            write(builder, winner, values[1], offset)
        return context.get_dummy_value()

    return types.void(r, w, rows, i, types.int32, width), codegen


@move(plain=lambda rows, i, w, width: np.copyto(rows[i], w))
def store_int(typingctx: Any, rows: Any, i: Any, w: Any, width: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        row = row_of(context, builder, rows, values[0], values[1], width.literal_value)
        for offset, lanes in pieces(width.literal_value, INT32):
            write(builder, read(builder, values[2], offset, lanes), row, offset)
        return context.get_dummy_value()

    return types.void(rows, i, w, width), codegen
