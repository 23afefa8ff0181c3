"""Rows of a matrix on the host, fetched by number: the first thing that happens to a batch."""

from collections.abc import Iterable
from functools import cache

import numpy as np

from gaancore.system.jit import jit
from gaancore.system.threads import share_rows


def gather_rows(
    matrix: np.ndarray, rows: np.ndarray, mean: np.ndarray, scale: np.ndarray
) -> np.ndarray:
    """(matrix[rows] - mean) / scale in float64, as float32 (n, F), in one pass over those rows.

    matrix (N, F) float32 or float16, which may be memory-mapped: only the pages of `rows` are read.
    rows (n,) integers in 0..N-1, not checked here. mean, scale (F,) float64.
    """
    return gather_pieces([(matrix, rows, np.arange(rows.size))], rows.size, mean, scale)


def gather_pieces(
    pieces: Iterable[tuple[np.ndarray, np.ndarray, np.ndarray]],
    n: int,
    mean: np.ndarray,
    scale: np.ndarray,
) -> np.ndarray:
    """(n, F) from rows of several matrices: out[places] = (matrix[rows] - mean) / scale.

    pieces : (matrix, rows, places) of each, matrix and rows as of `gather_rows`. The places of all
             are 0..n-1, each once; that is not checked here.
    """
    out = np.empty((n, mean.size), np.float32)
    for matrix, rows, places in pieces:
        given: tuple[np.ndarray, ...] = (np.asarray(matrix),)
        gather = _gather
        if matrix.dtype == np.float16:  # which compiled loops do not know
            gather, given = _gather_half, (np.asarray(matrix).view(np.uint16), _every_half())
        share_rows(gather, rows.size, mean.size, *given, rows, places, mean, scale, out)
    return out


@cache
def _every_half() -> np.ndarray:
    """(2^16,) float32: the number that each pattern of bits is in float16."""
    return np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float32)


def gather_sparse_rows(
    indptr: np.ndarray,
    indices: np.ndarray,
    values: np.ndarray,
    rows: np.ndarray,
    scale: np.ndarray,
    by_row: bool,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """indptr (n + 1,) int64, indices (E,) int32 and values (E,) float32 of some rows of a matrix in
    compressed sparse rows, each value divided by the `scale` of its column, in float64.

    by_row : each is then divided by the sum of the absolute values of its row.
    The arrays may be memory-mapped, as for gather_rows.
    """
    starts = np.zeros(rows.size + 1, np.int64)
    np.cumsum(indptr[rows + 1] - indptr[rows], out=starts[1:])
    out_indices = np.empty(starts[-1], np.int32)
    out_values = np.empty(starts[-1], np.float32)
    given = (np.asarray(indptr), np.asarray(indices), np.asarray(values), rows, scale, by_row)
    width = 1 + starts[-1] // max(1, rows.size)
    share_rows(_gather_sparse, rows.size, width, *given, starts, out_indices, out_values)
    return starts, out_indices, out_values


@jit
def _gather_sparse(
    indptr, indices, values, rows, scale, by_row, starts, out_indices, out_values, start, stop
):
    for i in range(start, stop):
        shift, total = indptr[rows[i]] - starts[i], 0.0
        for e in range(starts[i], starts[i + 1]):
            column = indices[e + shift]
            out_indices[e] = column
            out_values[e] = values[e + shift] / scale[column]
            total += abs(np.float64(out_values[e]))
        if by_row and total > 0:
            for e in range(starts[i], starts[i + 1]):
                out_values[e] = out_values[e] / total


@jit
def _gather(
    matrix: np.ndarray,
    rows: np.ndarray,
    places: np.ndarray,
    mean: np.ndarray,
    scale: np.ndarray,
    out: np.ndarray,
    start: int,
    stop: int,
) -> None:
    for i in range(start, stop):
        row, place = matrix[rows[i]], places[i]
        for f in range(len(mean)):
            out[place, f] = (row[f] - mean[f]) / scale[f]


@jit
def _gather_half(
    matrix: np.ndarray,
    numbers: np.ndarray,
    rows: np.ndarray,
    places: np.ndarray,
    mean: np.ndarray,
    scale: np.ndarray,
    out: np.ndarray,
    start: int,
    stop: int,
) -> None:
    for i in range(start, stop):
        row, place = matrix[rows[i]], places[i]
        for f in range(len(mean)):
            out[place, f] = (numbers[row[f]] - mean[f]) / scale[f]
