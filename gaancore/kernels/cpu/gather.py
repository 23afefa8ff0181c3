"""Rows of a matrix on the host, fetched by number: the first thing that happens to a batch."""

import numpy as np

from gaancore.system.jit import jit
from gaancore.system.threads import share_rows


def gather_rows(
    matrix: np.ndarray, rows: np.ndarray, mean: np.ndarray, scale: np.ndarray
) -> np.ndarray:
    """(matrix[rows] - mean) / scale in float64, as float32 (n, F), in one pass over those rows.

    matrix (N, F) float32, which may be memory-mapped: only the pages of `rows` are read.
    rows (n,) integers in 0..N-1, not checked here. mean, scale (F,) float64.
    """
    out = np.empty((rows.size, matrix.shape[1]), np.float32)
    share_rows(_gather, *out.shape, np.asarray(matrix), rows, mean, scale, out)
    return out


@jit
def _gather(
    matrix: np.ndarray,
    rows: np.ndarray,
    mean: np.ndarray,
    scale: np.ndarray,
    out: np.ndarray,
    start: int,
    stop: int,
) -> None:
    for i in range(start, stop):
        row = matrix[rows[i]]
        for f in range(len(mean)):
            out[i, f] = (row[f] - mean[f]) / scale[f]
