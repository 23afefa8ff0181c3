"""How the moves of moves.py are written for LLVM: a row, cut into vectors of a fixed width."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from llvmlite import ir
from numba.extending import intrinsic

from gaancore.system.jit import COMPILED

WIDEST = 64  # bytes: a whole AVX-512 register; LLVM splits it where registers are narrower
WIDEST_DOT = 32  # summing the lanes of a wider one costs more than its loads save (measured)
INT32, INT64 = ir.IntType(32), ir.IntType(64)
# LLVM may reorder a sum when it compiles a kernel; every run then adds in that order
FAST = {"reassoc", "contract", "nsz"}
FLAGS = tuple(sorted(FAST))


def pieces(width: int, element: ir.Type, widest: int = WIDEST) -> Iterator[tuple[int, int]]:
    """Cut a row into (offset, lanes), widest first: 24 floats are 16 + 8."""
    lanes, offset = widest // size_of(element), 0
    while offset < width:
        while lanes > width - offset:
            lanes //= 2
        yield offset, lanes
        offset += lanes


def size_of(element: ir.Type) -> int:
    return 8 if isinstance(element, ir.DoubleType) else 4


def _at(builder: Any, pointer: Any, offset: int, lanes: int) -> Any:
    """Address of `lanes` elements, `offset` behind `pointer`, as one vector."""
    vector = ir.VectorType(pointer.type.pointee, lanes)
    pointer = builder.gep(pointer, [ir.Constant(INT32, offset)])
    return builder.bitcast(pointer, vector.as_pointer())


def read(builder: Any, pointer: Any, offset: int, lanes: int) -> Any:
    return builder.load(_at(builder, pointer, offset, lanes), align=size_of(pointer.type.pointee))


def write(builder: Any, value: Any, pointer: Any, offset: int) -> None:
    address = _at(builder, pointer, offset, value.type.count)
    builder.store(value, address, align=size_of(value.type.element))


def fetch(builder: Any, pointer: Any, to_write: bool = False) -> None:
    """Ask for the line of the cache that `pointer` is in."""
    byte = ir.IntType(8).as_pointer()
    kind = ir.FunctionType(ir.VoidType(), [byte, INT32, INT32, INT32])
    prefetch = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
    into_all_caches, of_data = 3, 1
    options = [ir.Constant(INT32, n) for n in (int(to_write), into_all_caches, of_data)]
    builder.call(prefetch, [builder.bitcast(pointer, byte), *options])


def splat(builder: Any, scalar: Any, lanes: int) -> Any:
    undefined = ir.Constant(ir.VectorType(scalar.type, lanes), ir.Undefined)
    first = builder.insert_element(undefined, scalar, ir.Constant(INT32, 0))
    return builder.shuffle_vector(first, undefined, _lanes([0] * lanes))


def _lanes(numbers: list[int]) -> ir.Constant:
    return ir.Constant(ir.VectorType(INT32, len(numbers)), numbers)


def halve(builder: Any, vector: Any) -> Any:
    """Add the upper half of the lanes to the lower one."""
    lanes = vector.type.count
    undefined = ir.Constant(vector.type, ir.Undefined)
    low = builder.shuffle_vector(vector, undefined, _lanes(list(range(lanes // 2))))
    high = builder.shuffle_vector(vector, undefined, _lanes(list(range(lanes // 2, lanes))))
    return builder.fadd(low, high, flags=FLAGS)


def sum_of_products(builder: Any, pairs: Iterable[list[Any]], element: ir.Type) -> Any:
    """Vectors multiplied pair by pair, widest first, and summed over pairs and lanes."""
    total = None
    for left, right in pairs:
        product = builder.fmul(left, right, flags=FLAGS)
        if total is None:
            total = product
            continue
        while total.type.count > product.type.count:
            total = halve(builder, total)
        total = builder.fadd(total, product, flags=FLAGS)
    if total is None:
        return ir.Constant(element, 0)
    while total.type.count > 1:
        total = halve(builder, total)
    return builder.extract_element(total, ir.Constant(INT32, 0))


def interleave_halves(builder: Any, a: Any, b: Any, groups: int) -> Any:
    """Two vectors of `groups` equal groups of lanes each: every group added to half its size, those
    of `a` first. The result has as many lanes, and twice as many groups.
    """
    lanes = a.type.count
    half = lanes // groups // 2
    first = [2 * half * group + n for group in range(2 * groups) for n in range(half)]
    low = builder.shuffle_vector(a, b, _lanes(first))
    high = builder.shuffle_vector(a, b, _lanes([lane + half for lane in first]))
    return builder.fadd(low, high, flags=FLAGS)


def take(builder: Any, vector: Any, lanes: int) -> Any:
    """The first lanes of a vector."""
    undefined = ir.Constant(vector.type, ir.Undefined)
    return builder.shuffle_vector(vector, undefined, _lanes(list(range(lanes))))


def row_of(context: Any, builder: Any, kind: Any, array: Any, i: Any, width: int) -> Any:
    """Address of row i; the row stride is a constant, so no multiplication by a loaded shape.

    Indices have 32 bits, but the product passes 2^31: it is one of 64.
    """
    data = context.make_array(kind)(context, builder, array).data
    if i.type.width < INT64.width:
        i = builder.sext(i, INT64)
    return builder.gep(data, [builder.mul(i, ir.Constant(INT64, width))])


def move(plain: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
    """An intrinsic of Numba, its meaning in NumPy beside it (which runs with the JIT disabled)."""
    if not COMPILED:
        return lambda build: plain
    return intrinsic(prefer_literal=True)
