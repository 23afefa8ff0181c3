"""Loops over the rows of a graph that need no memory beyond their result and a number per node."""

import numpy as np

from gaancore.system.jit import jit


@jit
def some_rows(
    indptr: np.ndarray, indices: np.ndarray, rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """indptr and indices of the given rows, one after the other."""
    starts = np.zeros(len(rows) + 1, np.int64)
    for i in range(len(rows)):
        starts[i + 1] = starts[i] + indptr[rows[i] + 1] - indptr[rows[i]]
    entries = np.empty(starts[-1], indices.dtype)
    for i in range(len(rows)):
        shift = indptr[rows[i]] - starts[i]
        for e in range(starts[i], starts[i + 1]):
            entries[e] = indices[e + shift]
    return starts, entries


@jit
def rows_ascend(indptr: np.ndarray, indices: np.ndarray) -> bool:
    """Whether the entries of every row are in order; equal ones are."""
    for row in range(len(indptr) - 1):
        for e in range(indptr[row] + 1, indptr[row + 1]):
            if indices[e] < indices[e - 1]:
                return False
    return True


@jit
def count_loops_and_repeats(indptr: np.ndarray, indices: np.ndarray) -> tuple[int, int]:
    """How many entries of ascending rows are their own row, and how many repeat the one before."""
    loops, repeats = 0, 0
    for row in range(len(indptr) - 1):
        for e in range(indptr[row], indptr[row + 1]):
            loops += indices[e] == row
            repeats += e > indptr[row] and indices[e] == indices[e - 1]
    return loops, repeats


@jit
def rows_are_symmetric(indptr: np.ndarray, indices: np.ndarray) -> bool:
    """Whether ascending rows hold each arc as often as its reverse.

    The loop takes rows in order, so the reverses of their arcs must come, within every row, in the
    order of its entries.
    """
    expected = indptr[:-1].copy()
    for row in range(len(indptr) - 1):
        for e in range(indptr[row], indptr[row + 1]):
            other = indices[e]
            place = expected[other]
            if place == indptr[other + 1] or indices[place] != row:
                return False
            expected[other] += 1
    return True


@jit
def count_inside(
    indptr: np.ndarray, indices: np.ndarray, ids: np.ndarray, new_id: np.ndarray
) -> np.ndarray:
    """Row pointers of the rows `ids` when only neighbours with new_id >= 0 stay."""
    inside = np.zeros(len(ids) + 1, np.int64)
    for row in range(len(ids)):
        count = 0
        for e in range(indptr[ids[row]], indptr[ids[row] + 1]):
            count += new_id[indices[e]] >= 0
        inside[row + 1] = inside[row] + count
    return inside


@jit
def fill_inside(
    indptr: np.ndarray,
    indices: np.ndarray,
    ids: np.ndarray,
    new_id: np.ndarray,
    neighbours: np.ndarray,
) -> None:
    """The new ids of the neighbours that `count_inside` counted, row after row."""
    place = 0
    for row in range(len(ids)):
        for e in range(indptr[ids[row]], indptr[ids[row] + 1]):
            if new_id[indices[e]] >= 0:
                neighbours[place] = new_id[indices[e]]
                place += 1
