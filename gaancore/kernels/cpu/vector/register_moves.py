"""Moves between two register rows, for numbers that are made on the fly and never stored.

slopes(m, r, slope, width)           m = 1 where r > 0, else slope: the derivative of leaky ReLU
multiply(r, s, width)                r *= s
add_register(r, weight, s, width)    r += weight * s

r, s and m are rows made by `register`; see moves.py for the others.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types

from gaancore.kernels.cpu.vector.code import FLAGS, move, pieces, read, splat, write


@move(plain=lambda m, r, slope, width: np.copyto(m, np.where(r > 0, r.dtype.type(1), slope)))
def slopes(typingctx: Any, m: Any, r: Any, slope: Any, width: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        element = context.get_data_type(r.dtype)
        for offset, lanes in pieces(width.literal_value, element):
            zero, one = (splat(builder, ir.Constant(element, x), lanes) for x in (0, 1))
            positive = builder.fcmp_ordered(">", read(builder, values[1], offset, lanes), zero)
            chosen = builder.select(positive, one, splat(builder, values[2], lanes))
            write(builder, chosen, values[0], offset)
        return context.get_dummy_value()

    return types.void(m, r, r.dtype, width), codegen


@move(plain=lambda r, s, width: np.multiply(r, s, out=r))
def multiply(typingctx: Any, r: Any, s: Any, width: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        element = context.get_data_type(r.dtype)
        for offset, lanes in pieces(width.literal_value, element):
            factors = (read(builder, values[side], offset, lanes) for side in (0, 1))
            write(builder, builder.fmul(*factors, flags=FLAGS), values[0], offset)
        return context.get_dummy_value()

    return types.void(r, s, width), codegen


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
