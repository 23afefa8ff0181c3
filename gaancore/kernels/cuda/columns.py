"""Columns of several arrays as those of one, and back: allocates and launches."""

from collections.abc import Iterator, Sequence

import numpy as np

from gaancore.array import Array, array_module
from gaancore.kernels.cuda.launcher import launch

AT_ONCE = 4  # arrays that one launch joins

i64, i32 = np.int64, np.int32


def join_columns(parts: tuple[Array, ...]) -> Array:
    rows, width = parts[0].shape[0], sum(part.shape[1] for part in parts)
    out = array_module(parts[0]).empty((rows, width), parts[0].dtype)
    for at, four, widths in _fours(parts):
        args = (*four, *widths, i64(rows), i32(width), i32(at), out)
        launch("columns", "join_columns", out, rows * int(sum(widths)), *args)
    return out


def split_columns(x: Array, widths: tuple[int, ...]) -> tuple[Array, ...]:
    rows, width = x.shape
    parts = tuple(array_module(x).empty((rows, each), x.dtype) for each in widths)
    for at, four, these in _fours(parts):
        args = (x, i64(rows), i32(width), i32(at), *these, *four)
        launch("columns", "split_columns", x, rows * int(sum(these)), *args)
    return parts


def _fours(parts: Sequence[Array]) -> Iterator[tuple[int, list[Array], list[np.int32]]]:
    """First column, arrays and widths of each launch: four of them, of which some may have 0."""
    at = 0
    for first in range(0, len(parts), AT_ONCE):
        some = parts[first : first + AT_ONCE]
        widths = [part.shape[1] for part in some] + [0] * (AT_ONCE - len(some))
        yield at, [*some, *[some[-1]] * (AT_ONCE - len(some))], list(map(i32, widths))
        at += sum(widths)
