"""Moves for numbers that are made on the fly: between register rows, and before they are needed.

add_register(r, weight, s, width)         r += weight * s
leak(r, s, slope, width)                  r *= slope where s <= 0: leaky ReLU, and its derivative
dot_registers(r, s, width)                <r, s>
add_outer(r, a, i, rows, j, parts, width) r[c] += a[i, c] * rows[j] for each c of `parts`
prefetch(rows, i, width)                  rows[i] will be read soon: fetch it into the cache

r and s are rows made by `register`; that of add_outer has parts * width numbers. See moves.py for
the others.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types

from gaancore.kernels.cpu.vector.code import (
    FLAGS,
    INT32,
    WIDEST_DOT,
    fetch,
    move,
    pieces,
    read,
    row_of,
    size_of,
    splat,
    sum_of_products,
    write,
)

LINE = 64  # bytes that one prefetch brings


@move(plain=lambda r, weight, s, width: np.add(r, weight * s, out=r))
def add_register(typingctx: Any, r: Any, weight: Any, s: Any, width: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        element = context.get_data_type(r.dtype)
        for offset, lanes in pieces(width.literal_value, element):
            scale = splat(builder, values[1], lanes)
            product = builder.fmul(scale, read(builder, values[2], offset, lanes), flags=FLAGS)
            total = builder.fadd(read(builder, values[0], offset, lanes), product, flags=FLAGS)
            write(builder, total, values[0], offset)
        return context.get_dummy_value()

    return types.void(r, weight, s, width), codegen


@move(plain=lambda r, s, slope, width: np.copyto(r, np.where(s > 0, r, slope * r)))
def leak(typingctx: Any, r: Any, s: Any, slope: Any, width: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        element = context.get_data_type(r.dtype)
        for offset, lanes in pieces(width.literal_value, element):
            zero = splat(builder, ir.Constant(element, 0), lanes)
            positive = builder.fcmp_ordered(">", read(builder, values[1], offset, lanes), zero)
            old = read(builder, values[0], offset, lanes)
            less = builder.fmul(splat(builder, values[2], lanes), old)
            write(builder, builder.select(positive, old, less), values[0], offset)
        return context.get_dummy_value()

    return types.void(r, s, r.dtype, width), codegen


@move(plain=lambda r, s, width: r @ s)
def dot_registers(typingctx: Any, r: Any, s: Any, width: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        element = context.get_data_type(r.dtype)
        cut = pieces(width.literal_value, element, WIDEST_DOT)
        pairs = ([read(builder, side, *piece) for side in values[:2]] for piece in cut)
        return sum_of_products(builder, pairs, element)

    return r.dtype(r, s, width), codegen


def _add_outer(
    r: np.ndarray, a: np.ndarray, i: int, rows: np.ndarray, j: int, parts: int, width: int
) -> None:
    r += np.outer(a[i], rows[j]).ravel()


@move(plain=_add_outer)
def add_outer(
    typingctx: Any, r: Any, a: Any, i: Any, rows: Any, j: Any, parts: Any, width: Any
) -> Any:
    """A row is read once for all parts: of 5 parts and 16 numbers, all that is added to stays in
    the registers of AVX2.
    """

    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        element, W = context.get_data_type(rows.dtype), width.literal_value
        factors = row_of(context, builder, a, values[1], values[2], parts.literal_value)
        row = row_of(context, builder, rows, values[3], values[4], W)
        for offset, lanes in pieces(W, element):
            given = read(builder, row, offset, lanes)
            for c in range(parts.literal_value):
                factor = builder.load(builder.gep(factors, [ir.Constant(INT32, c)]))
                product = builder.fmul(splat(builder, factor, lanes), given, flags=FLAGS)
                old = read(builder, values[0], c * W + offset, lanes)
                total = builder.fadd(old, product, flags=FLAGS)
                write(builder, total, values[0], c * W + offset)
        return context.get_dummy_value()

    return types.void(r, a, i, rows, j, parts, width), codegen


@move(plain=lambda rows, i, width: None)
def prefetch(typingctx: Any, rows: Any, i: Any, width: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        element = context.get_data_type(rows.dtype)
        row = row_of(context, builder, rows, values[0], values[1], width.literal_value)
        for offset in range(0, width.literal_value, LINE // size_of(element)):
            fetch(builder, builder.gep(row, [ir.Constant(INT32, offset)]))
        return context.get_dummy_value()

    return types.void(rows, i, width), codegen
