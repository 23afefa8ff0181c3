"""Loops over the rows of a graph that need no memory beyond their result and a number per node."""

from collections.abc import Iterator, Sequence
from typing import Any, Literal, cast, get_args

import numpy as np

from gaancore.errors import GraphError
from gaancore.system.jit import jit
from gaancore.system.mapped import forget_pages, room_for_part

Reduction = Literal["sum", "mean", "max", "first"]  # of the features of equal edges
ENTRIES_AT_A_TIME = 4_000_000  # whose features are copied


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
def places_of_rows(indptr: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The positions of the entries of the given rows, one row after the other: (n,) int64."""
    count = 0
    for row in rows:
        count += indptr[row + 1] - indptr[row]
    places, at = np.empty(count, np.int64), 0
    for row in rows:
        for e in range(indptr[row], indptr[row + 1]):
            places[at] = e
            at += 1
    return places


@jit
def mark_neighbours(
    indptr: np.ndarray, indices: np.ndarray, rows: np.ndarray, marks: np.ndarray
) -> None:
    """Set marks[j] for every neighbour j of the given rows."""
    for row in rows:
        for e in range(indptr[row], indptr[row + 1]):
            marks[indices[e]] = True


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


@jit
def places_inside(
    indptr: np.ndarray, indices: np.ndarray, ids: np.ndarray, new_id: np.ndarray, count: int
) -> np.ndarray:
    """The positions of the `count` entries that `count_inside` counted, row after row."""
    places, at = np.empty(count, np.int64), 0
    for row in range(len(ids)):
        for e in range(indptr[ids[row]], indptr[ids[row] + 1]):
            if new_id[indices[e]] >= 0:
                places[at] = e
                at += 1
    return places


def runs_of_rows(indptr: np.ndarray, most: int) -> Iterator[tuple[int, int]]:
    """(row, stop) of consecutive runs of rows with about `most` entries (or one row) each."""
    row = 0
    while row < indptr.size - 1:
        enough = np.searchsorted(indptr[1:], indptr[row] + most, side="right")
        stop = max(row + 1, int(enough))
        yield row, stop
        row = stop


def one_below_another(
    parts: Sequence[tuple[np.ndarray, np.ndarray]], dtype: type
) -> tuple[np.ndarray, np.ndarray]:
    """indptr and indices of all parts, (indptr, indices) each; the ids of rows go on."""
    rows = np.cumsum([0, *(indptr.size - 1 for indptr, _ in parts)])
    entries = np.cumsum([0, *(indices.size for _, indices in parts)])
    stops = [indptr[1:] + start for (indptr, _), start in zip(parts, entries[:-1], strict=True)]
    ids = [
        indices.astype(dtype) + dtype(start)
        for (_, indices), start in zip(parts, rows[:-1], strict=True)
    ]
    return (
        np.concatenate([np.zeros(1, np.int64), *stops]),
        np.concatenate([np.zeros(0, dtype), *ids]),
    )


# ---- features of edges, a row for each entry --------------------------------------------------


def merge_repeats(
    indptr: np.ndarray, indices: np.ndarray, attr: np.ndarray | None, how: Reduction | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """The same rows, ascending, with equal neighbours merged, and their features."""
    rows = np.repeat(np.arange(indptr.size - 1), np.diff(indptr))
    new = np.ones(indices.size, bool)
    new[1:] = (indices[1:] != indices[:-1]) | (rows[1:] != rows[:-1])
    merged = np.searchsorted(rows[new], np.arange(indptr.size))
    if attr is not None and (repeats := int(indices.size - new.sum())):
        if how not in get_args(Reduction):
            raise GraphError(
                f"from_edges: reduce: {repeats:,} edges repeat another one and have features: "
                f"expected one of {', '.join(get_args(Reduction))}, got {how!r}"
            )
        attr = _reduce_runs(attr, np.flatnonzero(new), cast(Reduction, how))
    return merged, indices[new], attr


def _reduce_runs(values: np.ndarray, starts: np.ndarray, how: Reduction) -> np.ndarray:
    """One row for each run values[starts[r]:starts[r + 1]] of rows; sums are made in float64."""
    if how == "first":
        return values[starts]
    if how == "max":
        return np.maximum.reduceat(values, starts, axis=0)
    sums = np.add.reduceat(values, starts, axis=0, dtype=np.float64)
    if how == "mean":
        sums /= np.diff(starts, append=len(values))[:, None]
    with np.errstate(over="ignore"):  # inf, which makers of data refuse
        return sums.astype(values.dtype)


def rows_both_ways(attr: np.ndarray | None, direction: bool) -> np.ndarray | None:
    """The features of all arcs, then of their reverses; with `direction` one more: 1, then 0."""
    if attr is None:
        return None
    rows = np.concatenate([attr, attr])
    if not direction:
        return rows
    return np.column_stack([rows, np.repeat(np.array([1, 0], rows.dtype), len(attr))])


def rows_inside(
    indptr: np.ndarray,
    indices: np.ndarray,
    ids: np.ndarray,
    new_id: np.ndarray,
    inside: np.ndarray,
    attr: Any,
) -> Any:
    """The features of the entries of which `count_inside` made the row pointers `inside`: mapped
    as those of all entries are, a part at a time.
    """
    if not isinstance(attr, np.ndarray):
        part = (indptr, indices, ids, new_id, int(inside[-1]))
        return None if attr is None else attr[places_inside(*part)]
    rows = room_for_part(attr, int(inside[-1]))
    for first, stop in runs_of_rows(inside, ENTRIES_AT_A_TIME):
        part = (indptr, indices, ids[first:stop], new_id, int(inside[stop] - inside[first]))
        rows[inside[first] : inside[stop]] = attr[places_inside(*part)]
        forget_pages(attr)
        forget_pages(rows)
    rows.flags.writeable = False
    return rows


def rows_with_loops(
    attr: np.ndarray | None, src: np.ndarray, proper: np.ndarray, num_loops: int
) -> np.ndarray | None:
    """The features of the `proper` arcs, and then of a loop at each node 0 .. num_loops - 1: those
    of the first that is there, else the mean of all arcs.
    """
    if attr is None:
        return None
    loops = np.zeros((num_loops, attr.shape[1]), attr.dtype)
    if num_loops and len(attr):
        loops[:] = attr.mean(axis=0, dtype=np.float64)
        there = np.flatnonzero(~proper)[::-1]  # of several, the first is written last
        loops[src[there]] = attr[there]
    return np.concatenate([attr[proper], loops])


def rows_of_all(attrs: Sequence[np.ndarray | None]) -> np.ndarray | None:
    """The features of the arcs of several graphs, one graph after the other."""
    given = [attr for attr in attrs if attr is not None]
    if not given:
        return None
    if len(given) < len(attrs):
        raise GraphError("disjoint_union: some graphs have edge_attr and others have none")
    return np.concatenate(given)
