"""A road graph as a square matrix: DCRNN's `adj_mx.pkl`, or CSV. A[i, j] != 0 is an arc i -> j."""

from pathlib import Path

import numpy as np

from gaancore.data.files.number_table import read_number_table
from gaancore.data.files.plain_pickle import read_plain_pickle
from gaancore.data.traffic.make import RoadGraph
from gaancore.errors import DataError
from gaancore.graph import CSRGraph


def read_adjacency_pickle(path: Path, ids: tuple[str, ...] | None) -> RoadGraph:
    """DCRNN's [ids, id -> row, matrix], or a matrix alone, whose rows are then `ids` if they fit.

    Raises DataError for a damaged pickle, one that is anything else, and ids that disagree.
    """
    value = read_plain_pickle(path)
    if isinstance(value, np.ndarray):
        return _graph_of(path, value, ids)
    kinds = [type(item) for item in value] if isinstance(value, list) else []
    if kinds != [list, dict, np.ndarray]:
        raise DataError(f"{path}: expected [ids, id -> row, matrix] or a matrix alone")
    names, rows, matrix = value
    if not all(isinstance(name, str | bytes | int) for name in names):
        raise DataError(f"{path}: its first item is not a list of ids")
    if [rows.get(name) for name in names] != list(range(len(names))):
        raise DataError(f"{path}: its list of ids and its table id -> row disagree")
    if matrix.shape[:1] != (len(names),):
        raise DataError(f"{path}: {len(names):,} ids for a matrix of shape {matrix.shape}")
    own = tuple(name.decode("latin1") if isinstance(name, bytes) else str(name) for name in names)
    return _graph_of(path, matrix, own)


def read_adjacency_csv(path: Path, ids: tuple[str, ...] | None) -> RoadGraph:
    """A matrix with the sensor ids as its header (and first column), or bare: `ids` if they fit.

    Raises DataError naming the line of what is no number, and for ids that disagree.
    """
    table = read_number_table(path)
    if table.columns and table.index and table.columns != table.index:
        raise DataError(f"{path}: the ids of rows and columns differ; they must be in one order")
    return _graph_of(path, table.values, table.columns or ids, table.notes)


def _graph_of(
    path: Path, matrix: np.ndarray, ids: tuple[str, ...] | None, notes: tuple[str, ...] = ()
) -> RoadGraph:
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.dtype.kind not in "biuf":
        raise DataError(
            f"{path}: expected a square matrix of numbers, got {matrix.dtype} {matrix.shape}; "
            "a list of edges needs a header such as from,to"
        )
    bad = np.argwhere(~np.isfinite(matrix))
    if bad.size:
        raise DataError(f"{path}: row {bad[0, 0]}, column {bad[0, 1]} is not a finite number")
    src, dst = np.nonzero(matrix)
    graph = CSRGraph.from_edges(src, dst, len(matrix), duplicates="merge")
    fits = ids is not None and len(ids) == len(matrix)
    notes = (f"graph: matrix {path.name}", *notes)
    return RoadGraph(str(path), graph, ids if fits else None, notes)
