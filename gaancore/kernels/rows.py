"""A row of numbers held in vector registers: the moves that the segment kernels are made of.

LLVM's own vectoriser guesses well on long loops and badly on rows of 24 or 32 numbers that are
gathered one edge at a time. These intrinsics leave nothing to guess: each one is written out as
vector instructions for a width known when the kernel is compiled, and a register row that is
declared with `register` never touches memory between two edges.

    r = register(rows, width)            a register row with the element type of `rows`
    clear(r, width)                      r = 0
    load(r, rows, i, width)              r = rows[i]
    add(r, weight, rows, i, width)       r += weight * rows[i]
    dot(r, rows, i, width)               <r, rows[i]>
    store(rows, i, scale, r, width)      rows[i] = scale * r
    register_int(width)                  a register row of int32
    fill_int(w, value, width)            w = value
    take_larger(r, w, rows, i, j, width) where rows[i] > r: r = rows[i], w = j; a NaN wins and stays
    store_int(rows, i, w, width)         rows[i] = w

rows is a C-contiguous (n, width) array, i a row number that is trusted, width a compile-time
constant. Each move stands beside its meaning in NumPy, which is what runs with the JIT disabled.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from gaancore.jit import COMPILED

_WIDEST = 64  # bytes: a whole AVX-512 register; LLVM splits it where registers are narrower
_WIDEST_DOT = 32  # summing the lanes of a wider one costs more than its loads save (measured)
_INT32 = ir.IntType(32)
_FLAGS = ("reassoc", "contract", "nsz")


def _pieces(width: int, element: ir.Type, widest: int = _WIDEST) -> Iterator[tuple[int, int]]:
    """Cut a row into (offset, lanes), widest first: 24 floats are 16 + 8."""
    lanes, offset = widest // _size(element), 0
    while offset < width:
        while lanes > width - offset:
            lanes //= 2
        yield offset, lanes
        offset += lanes


def _size(element: ir.Type) -> int:
    return 8 if isinstance(element, ir.DoubleType) else 4


def _at(builder: Any, pointer: Any, offset: int, lanes: int) -> Any:
    """Address of `lanes` elements, `offset` behind `pointer`, as one vector."""
    vector = ir.VectorType(pointer.type.pointee, lanes)
    pointer = builder.gep(pointer, [ir.Constant(_INT32, offset)])
    return builder.bitcast(pointer, vector.as_pointer())


def _read(builder: Any, pointer: Any, offset: int, lanes: int) -> Any:
    return builder.load(_at(builder, pointer, offset, lanes), align=_size(pointer.type.pointee))


def _write(builder: Any, value: Any, pointer: Any, offset: int) -> None:
    address = _at(builder, pointer, offset, value.type.count)
    builder.store(value, address, align=_size(value.type.element))


def _splat(builder: Any, scalar: Any, lanes: int) -> Any:
    undefined = ir.Constant(ir.VectorType(scalar.type, lanes), ir.Undefined)
    first = builder.insert_element(undefined, scalar, ir.Constant(_INT32, 0))
    return builder.shuffle_vector(first, undefined, _lanes([0] * lanes))


def _lanes(numbers: list[int]) -> ir.Constant:
    return ir.Constant(ir.VectorType(_INT32, len(numbers)), numbers)


def _halve(builder: Any, vector: Any) -> Any:
    """Add the upper half of the lanes to the lower one."""
    lanes = vector.type.count
    undefined = ir.Constant(vector.type, ir.Undefined)
    low = builder.shuffle_vector(vector, undefined, _lanes(list(range(lanes // 2))))
    high = builder.shuffle_vector(vector, undefined, _lanes(list(range(lanes // 2, lanes))))
    return builder.fadd(low, high, flags=_FLAGS)


def _row_of(context: Any, builder: Any, kind: Any, array: Any, i: Any, width: int) -> Any:
    """Address of row i; the row stride is a constant, so no multiplication by a loaded shape."""
    data = context.make_array(kind)(context, builder, array).data
    return builder.gep(data, [builder.mul(i, ir.Constant(i.type, width))])


def _intrinsic(plain: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
    """An intrinsic of Numba, its meaning in NumPy beside it (used where the JIT is disabled)."""
    if not COMPILED:
        return lambda build: plain
    return intrinsic(prefer_literal=True)


def _take_larger(
    r: np.ndarray, w: np.ndarray, rows: np.ndarray, i: int, j: int, width: int
) -> None:
    larger = ~(rows[i] <= r) & (r == r)
    r[larger], w[larger] = rows[i][larger], j


@_intrinsic(plain=lambda rows, width: np.zeros(width, rows.dtype))
def register(typingctx: Any, rows: Any, width: Any) -> Any:
    """A row of registers (stack memory that LLVM promotes); declare it outside of every loop."""

    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        element = context.get_data_type(rows.dtype)
        return cgutils.alloca_once(builder, element, size=width.literal_value)

    return types.CPointer(rows.dtype)(rows, width), codegen


@_intrinsic(plain=lambda r, width: r.fill(0))
def clear(typingctx: Any, r: Any, width: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        element = context.get_data_type(r.dtype)
        for offset, lanes in _pieces(width.literal_value, element):
            _write(builder, _splat(builder, ir.Constant(element, 0), lanes), values[0], offset)
        return context.get_dummy_value()

    return types.void(r, width), codegen


@_intrinsic(plain=lambda r, rows, i, width: np.copyto(r, rows[i]))
def load(typingctx: Any, r: Any, rows: Any, i: Any, width: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        element = context.get_data_type(r.dtype)
        row = _row_of(context, builder, rows, values[1], values[2], width.literal_value)
        for offset, lanes in _pieces(width.literal_value, element):
            _write(builder, _read(builder, row, offset, lanes), values[0], offset)
        return context.get_dummy_value()

    return types.void(r, rows, i, width), codegen


@_intrinsic(plain=lambda r, weight, rows, i, width: np.add(r, weight * rows[i], out=r))
def add(typingctx: Any, r: Any, weight: Any, rows: Any, i: Any, width: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        element = context.get_data_type(r.dtype)
        row = _row_of(context, builder, rows, values[2], values[3], width.literal_value)
        for offset, lanes in _pieces(width.literal_value, element):
            scale = _splat(builder, values[1], lanes)
            product = builder.fmul(scale, _read(builder, row, offset, lanes), flags=_FLAGS)
            total = builder.fadd(_read(builder, values[0], offset, lanes), product, flags=_FLAGS)
            _write(builder, total, values[0], offset)
        return context.get_dummy_value()

    return types.void(r, weight, rows, i, width), codegen


@_intrinsic(plain=lambda rows, i, scale, r, width: np.multiply(scale, r, out=rows[i]))
def store(typingctx: Any, rows: Any, i: Any, scale: Any, r: Any, width: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        element = context.get_data_type(r.dtype)
        row = _row_of(context, builder, rows, values[0], values[1], width.literal_value)
        for offset, lanes in _pieces(width.literal_value, element):
            factor = _splat(builder, values[2], lanes)
            scaled = builder.fmul(factor, _read(builder, values[3], offset, lanes))
            _write(builder, scaled, row, offset)
        return context.get_dummy_value()

    return types.void(rows, i, scale, r, width), codegen


@_intrinsic(plain=lambda r, rows, i, width: r @ rows[i])
def dot(typingctx: Any, r: Any, rows: Any, i: Any, width: Any) -> Any:
    """<r, rows[i]>, summed over the lanes at the end."""

    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        element = context.get_data_type(r.dtype)
        row = _row_of(context, builder, rows, values[1], values[2], width.literal_value)
        total = None
        for offset, lanes in _pieces(width.literal_value, element, _WIDEST_DOT):
            left = _read(builder, values[0], offset, lanes)
            right = _read(builder, row, offset, lanes)
            product = builder.fmul(left, right, flags=_FLAGS)
            if total is None:
                total = product
                continue
            while total.type.count > lanes:
                total = _halve(builder, total)
            total = builder.fadd(total, product, flags=_FLAGS)
        assert total is not None
        while total.type.count > 1:
            total = _halve(builder, total)
        return builder.extract_element(total, ir.Constant(_INT32, 0))

    return r.dtype(r, rows, i, width), codegen


@_intrinsic(plain=lambda width: np.zeros(width, np.int32))
def register_int(typingctx: Any, width: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return cgutils.alloca_once(builder, _INT32, size=width.literal_value)

    return types.CPointer(types.int32)(width), codegen


@_intrinsic(plain=lambda w, value, width: w.fill(value))
def fill_int(typingctx: Any, w: Any, value: Any, width: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        for offset, lanes in _pieces(width.literal_value, _INT32):
            _write(builder, _splat(builder, values[1], lanes), values[0], offset)
        return context.get_dummy_value()

    return types.void(w, types.int32, width), codegen


@_intrinsic(plain=_take_larger)
def take_larger(typingctx: Any, r: Any, w: Any, rows: Any, i: Any, j: Any, width: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        element = context.get_data_type(r.dtype)
        row = _row_of(context, builder, rows, values[2], values[3], width.literal_value)
        for offset, lanes in _pieces(width.literal_value, element):
            old, new = _read(builder, values[0], offset, lanes), _read(builder, row, offset, lanes)
            ordered = builder.fcmp_ordered("ord", old, old)
            larger = builder.and_(builder.fcmp_unordered(">", new, old), ordered)
            _write(builder, builder.select(larger, new, old), values[0], offset)
            source = _splat(builder, values[4], lanes)
            winner = builder.select(larger, source, _read(builder, values[1], offset, lanes))
            _write(builder, winner, values[1], offset)
        return context.get_dummy_value()

    return types.void(r, w, rows, i, types.int32, width), codegen


@_intrinsic(plain=lambda rows, i, w, width: np.copyto(rows[i], w))
def store_int(typingctx: Any, rows: Any, i: Any, w: Any, width: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        row = _row_of(context, builder, rows, values[0], values[1], width.literal_value)
        for offset, lanes in _pieces(width.literal_value, _INT32):
            _write(builder, _read(builder, values[2], offset, lanes), row, offset)
        return context.get_dummy_value()

    return types.void(rows, i, w, width), codegen
