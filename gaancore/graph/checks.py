"""Everything a graph or block must satisfy, checked here once; compiled loops trust it afterwards.

`what` is the name that an error message starts with, such as "sample_blocks: seeds".
"""

import mmap
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gaancore.errors import GraphError
from gaancore.graph.hash_set import first_repeat
from gaancore.system.jit import CompiledMemory
from gaancore.system.mapped import forget_pages

# What the memory of an array may belong to, besides an array, when it is not written any more: a
# mapped file, bytes, or a compiled loop that has returned it
FINAL = (mmap.mmap, bytes, CompiledMemory)


def read_only(array: np.ndarray) -> np.ndarray:
    """The same array, no longer writeable: later writes cannot undo a check."""
    array.flags.writeable = False
    return array


def owned(array: np.ndarray, dtype: type) -> np.ndarray:
    """`array` as a contiguous read-only array that nobody else can write to.

    Copied if the caller could still write to it, also through an array that it is a view of, or if
    the dtype differs. A read-only array of the right dtype is shared if it has its own memory or
    that of a file it is mapped from.
    """
    copy = None if _is_final(array) else True
    return read_only(np.array(array, dtype=dtype, order="C", copy=copy))


def _is_final(array: np.ndarray) -> bool:
    """Whether nothing that `array` is a view of can be written to, as far as can be known."""
    owner: object = array
    while isinstance(owner, np.ndarray):
        if owner.flags.writeable:
            return False
        owner = owner.base
    return owner is None or isinstance(owner, FINAL)


def index_dtype(count: int) -> type:
    """The narrowest of int32 and int64 that can number `count` things."""
    return np.int32 if count <= np.iinfo(np.int32).max else np.int64


def whole_number(what: str, value: int, smallest: int) -> int:
    """`value` as a Python int of at least `smallest`."""
    try:
        number = operator.index(value)
    except TypeError:
        raise GraphError(f"{what}: expected an integer, got {value!r}") from None
    if number < smallest:
        raise GraphError(f"{what}: expected {smallest} or more, got {number}")
    return number


def integers(what: str, values: ArrayLike) -> np.ndarray:
    """`values` as a one-dimensional array of native integers, int32 kept, all others int64.

    Any integer dtype and byte order is accepted, and an empty list. Unsigned numbers above 2^63
    turn negative here, so that the range check which follows refuses them.
    """
    array = np.asarray(values)
    if array.ndim != 1:
        raise GraphError(f"{what}: expected one dimension, got shape {array.shape}")
    if array.size and array.dtype.kind not in "iu":
        raise GraphError(f"{what}: expected integers, got dtype {array.dtype}")
    dtype = np.int32 if array.dtype.kind == "i" and array.dtype.itemsize == 4 else np.int64
    return array.astype(dtype, copy=False)


def first_outside(ids: np.ndarray, count: int) -> int | None:
    """Position of the first id that is not in 0..count-1; None if there is no such id."""
    if not ids.size or (ids.min() >= 0 and ids.max() < count):
        return None
    return int(np.argmax((ids < 0) | (ids >= count)))


def offsets(what: str, indptr: ArrayLike, num_entries: int) -> np.ndarray:
    """`indptr` as owned int64: from 0 to `num_entries`, never decreasing."""
    array = owned(integers(what, indptr), np.int64)
    if not array.size or array[0] != 0:
        start = f"starts at {array[0]}" if array.size else "is empty"
        raise GraphError(f"{what}: expected offsets that start at 0, but it {start}")
    drops = np.flatnonzero(array[1:] < array[:-1])
    if drops.size:
        row = int(drops[0])
        raise GraphError(
            f"{what}: offsets must not decrease: row {row} goes from {array[row]} "
            f"to {array[row + 1]}"
        )
    if array[-1] != num_entries:
        raise GraphError(f"{what}: the last offset is {array[-1]}, but indices has {num_entries}")
    return array


def columns(
    what: str, indices: np.ndarray, indptr: np.ndarray, count: int, dtype: type
) -> np.ndarray:
    """`indices` as an owned array of `dtype`, each of them in 0..count-1."""
    bad = first_outside(indices, count)
    if bad is not None:
        row = int(np.searchsorted(indptr, bad, side="right")) - 1
        raise GraphError(
            f"{what}[{bad}] (row {row}): {indices[bad]} is out of range, expected {_span(count)}"
        )
    return owned(indices, dtype)


def edge_rows(what: str, edge_attr: Any, num_edges: int) -> Any:
    """`edge_attr` as an owned float array (num_edges, B), float64 kept, all others float32.

    What is no array or list, but has a shape and gives rows for edge ids, is kept as it is.
    """
    if edge_attr is None:
        return None
    if isinstance(edge_attr, np.ndarray | list | tuple):
        array = np.asarray(edge_attr)
        if array.dtype.kind not in "biuf":
            raise GraphError(f"{what}: expected numbers, got dtype {array.dtype}")
        edge_attr = owned(array, np.float64 if array.dtype == np.float64 else np.float32)
    if len(edge_attr.shape) != 2 or edge_attr.shape[0] != num_edges:
        raise GraphError(
            f"{what}: expected ({num_edges}, B), a row for each edge, got {edge_attr.shape}"
        )
    return edge_attr


def node_ids(what: str, nodes: ArrayLike, num_nodes: int, *, repeats: bool = False) -> np.ndarray:
    """`nodes`, ids or a bool mask over all nodes, as owned int64 ids; distinct unless `repeats`."""
    array = np.asarray(nodes)
    if array.dtype == bool:
        if array.shape != (num_nodes,):
            raise GraphError(f"{what}: a mask must have shape ({num_nodes},), got {array.shape}")
        array = np.flatnonzero(array)
    ids = owned(integers(what, array), np.int64)
    bad = first_outside(ids, num_nodes)
    if bad is not None:
        raise GraphError(
            f"{what}[{bad}]: node {ids[bad]} is not in the graph, expected {_span(num_nodes)}"
        )
    again = -1 if repeats else first_repeat(ids)
    if again >= 0:
        raise GraphError(f"{what}[{again}]: node {ids[again]} is listed twice; list it once")
    return ids


def expect_ends(
    what: str, src: ArrayLike, dst: ArrayLike, num_nodes: int
) -> tuple[np.ndarray, np.ndarray]:
    """`src` and `dst` of each edge, of equal length and each in 0..num_nodes-1."""
    src, dst = integers(f"{what}: src", src), integers(f"{what}: dst", dst)
    if src.size != dst.size:
        raise GraphError(f"{what}: src has {src.size} entries, dst has {dst.size}")
    outside = []
    for ids in (src, dst):
        if (bad := first_outside(ids, num_nodes)) is not None:
            outside.append(bad)
        forget_pages(ids)
    if outside:
        edge = min(outside)
        one_based = min(src.min(), dst.min()) == 1 and max(src.max(), dst.max()) == num_nodes
        raise GraphError(
            f"{what}: edge {edge} ({src[edge]} -> {dst[edge]}) leaves the graph, expected "
            f"{_span(num_nodes)}" + ("; ids look 1-based, subtract 1" if one_based else "")
        )
    return src, dst


def edge_ends(
    what: str, src: ArrayLike, dst: ArrayLike, num_nodes: int
) -> tuple[np.ndarray, np.ndarray]:
    """The same, in the narrowest dtype that can number the nodes."""
    src, dst = expect_ends(what, src, dst, num_nodes)
    dtype = index_dtype(num_nodes)
    return src.astype(dtype, copy=False), dst.astype(dtype, copy=False)


def fanout_list(what: str, fanouts: Sequence[int]) -> list[int]:
    """`fanouts` as Python ints of at least -1, at least one of them."""
    try:
        counts = [whole_number(f"{what}[{step}]", f, -1) for step, f in enumerate(fanouts)]
    except TypeError:
        raise GraphError(f"{what}: expected a list such as [25, 10], got {fanouts!r}") from None
    if not counts:
        raise GraphError(f"{what}: expected one fan-out per layer, got none")
    return counts


def key_of(what: str, seed: int) -> np.uint64:
    """`seed` as the 64-bit key of a random stream."""
    number = whole_number(what, seed, 0)
    if number >= 2**64:
        raise GraphError(f"{what}: expected less than 2^64, got {number}")
    return np.uint64(number)


def _span(count: int) -> str:
    return f"ids 0 to {count - 1}" if count else "no ids, as there are no nodes"
