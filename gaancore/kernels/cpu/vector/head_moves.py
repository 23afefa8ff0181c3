"""Moves for rows that hold several heads side by side: `heads` of them, `width` numbers each.

head_dots(out, e, scale, r, rows, i, heads, width)   out[e, k] = scale * <r[k], rows[i, k]>
add_heads(r, weights, e, rows, i, heads, width)      r[k] += weights[e, k] * rows[i, k]
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types

from gaancore.kernels.cpu.vector.code import (
    FLAGS,
    INT32,
    halve,
    interleave_halves,
    move,
    pieces,
    read,
    row_of,
    splat,
    take,
    write,
)


def _head_dots(
    out: np.ndarray, e: int, scale: float, r: np.ndarray, rows: np.ndarray, i: int,
    heads: int, width: int,
) -> None:  # fmt: skip
    out[e] = scale * (r * rows[i]).reshape(heads, width).sum(axis=1)


def _add_heads(
    r: np.ndarray, weights: np.ndarray, e: int, rows: np.ndarray, i: int, heads: int, width: int
) -> None:
    r += np.repeat(weights[e], width) * rows[i]


@move(plain=_head_dots)
def head_dots(
    typingctx: Any, out: Any, e: Any, scale: Any, r: Any, rows: Any, i: Any, heads: Any, width: Any
) -> Any:
    """Lanes of different heads are summed together: halves of two vectors fill one, and so on."""

    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        element, K, D = context.get_data_type(rows.dtype), heads.literal_value, width.literal_value
        target = row_of(context, builder, out, values[0], values[1], K)
        row = row_of(context, builder, rows, values[4], values[5], K * D)
        products = [_product(builder, values[3], row, k * D, D, element) for k in range(K)]
        lanes = products[0].type.count if products else 1
        for first in range(0, K, lanes):
            sums, groups = products[first : first + lanes], 1
            while groups < lanes:
                pairs = zip(sums[::2], sums[1::2] + sums[-1:], strict=False)
                sums = [interleave_halves(builder, a, b, groups) for a, b in pairs]
                groups *= 2
            dots = take(builder, sums[0], min(lanes, K - first))
            factor = splat(builder, values[2], dots.type.count)
            write(builder, builder.fmul(factor, dots), target, first)
        return context.get_dummy_value()

    return types.void(out, e, rows.dtype, r, rows, i, heads, width), codegen


def _product(builder: Any, left: Any, right: Any, start: int, width: int, element: Any) -> Any:
    """left * right of one head, summed down to one vector."""
    total = None
    for offset, lanes in pieces(width, element):
        a, b = (read(builder, side, start + offset, lanes) for side in (left, right))
        product = builder.fmul(a, b, flags=FLAGS)
        if total is None:
            total = product
            continue
        while total.type.count > lanes:
            total = halve(builder, total)
        total = builder.fadd(total, product, flags=FLAGS)
    return splat(builder, ir.Constant(element, 0), 1) if total is None else total


@move(plain=_add_heads)
def add_heads(
    typingctx: Any, r: Any, weights: Any, e: Any, rows: Any, i: Any, heads: Any, width: Any
) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        element, K, D = context.get_data_type(rows.dtype), heads.literal_value, width.literal_value
        weight_row = row_of(context, builder, weights, values[1], values[2], K)
        row = row_of(context, builder, rows, values[3], values[4], K * D)
        for k in range(K):
            weight = builder.load(builder.gep(weight_row, [ir.Constant(INT32, k)]))
            for offset, lanes in pieces(D, element):
                at = k * D + offset
                scale = splat(builder, weight, lanes)
                product = builder.fmul(scale, read(builder, row, at, lanes), flags=FLAGS)
                total = builder.fadd(read(builder, values[0], at, lanes), product, flags=FLAGS)
                write(builder, total, values[0], at)
        return context.get_dummy_value()

    return types.void(r, weights, e, rows, i, heads, width), codegen
