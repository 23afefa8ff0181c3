"""The values of a dataset, checked once; every refusal names the file, the row and the node."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy import sparse

from gaancore.choices import RepeatedEdges
from gaancore.data.nodes.features.matrix import (
    FeatureMatrix,
    forget,
    is_mostly_zero,
    sparse_rows,
)
from gaancore.errors import DataError, GraphError
from gaancore.system.mapped import forget_pages

VALUES_AT_A_TIME = 16_000_000  # of features, while they are checked or copied
BYTES_OF_WEIGHTS = 1024  # of a feature: 64 weights, their gradients and Adam's two moments


def check_features(where: str, features: FeatureMatrix, node_ids: np.ndarray) -> FeatureMatrix:
    """`features` as finite float32 (N, F) with N = len(node_ids), N and F >= 1: in C order, or
    sparse as they are.
    """
    expect_features(where, features, node_ids)
    if sparse.issparse(features):
        return features
    return np.ascontiguousarray(features, dtype=np.float32)


def expect_features(where: str, features: FeatureMatrix, node_ids: np.ndarray) -> None:
    """Raises DataError unless `features` can be such an array; never copies all of it."""
    if features.ndim != 2 or features.dtype.kind not in "biuf" or 0 in features.shape:
        raise DataError(
            f"{where}: features: expected numbers in shape (nodes, features), neither of them 0; "
            f"got {features.dtype} {features.shape}"
        )
    expect_rows(where, "features", features, node_ids)
    count, first = (_bad_of_sparse if sparse.issparse(features) else _bad_of_dense)(features)
    if count:
        raise DataError(
            f"{where}: features: {count:,} values are not finite in float32, first "
            f"{features[first]} at row {first[0]}, column {first[1]} "
            f"(node id {node_ids[first[0]]}); correct them; nan: zero or mean fills those that are "
            "NaN"
        )


def _bad_of_dense(features: np.ndarray) -> tuple[int, tuple[int, int]]:
    """How many values are not finite in float32, and the place of the first."""
    count, first = 0, (0, 0)
    step = max(1, VALUES_AT_A_TIME // features.shape[1])
    for start in range(0, len(features), step):
        bad = ~np.isfinite(as_float32(features[start : start + step]))
        if not count and bad.any():
            row, column = np.argwhere(bad)[0]
            first = (start + int(row), int(column))
        count += int(np.count_nonzero(bad))
        forget(features)
    return count, first


def _bad_of_sparse(features: sparse.csr_array) -> tuple[int, tuple[int, int]]:
    bad = np.flatnonzero(~np.isfinite(features.data))
    if not bad.size:
        return 0, (0, 0)
    row = int(np.searchsorted(features.indptr, bad[0], side="right")) - 1
    return bad.size, (row, int(features.indices[bad[0]]))


def check_edge_features(
    where: str, edge_attr: np.ndarray, names: tuple[str, ...] | None
) -> list[str]:
    """What to say about the features (E, B) of edges: which are the same on every edge.

    Raises DataError naming the first that is not finite in float32.
    """
    called = names or tuple(f"number {n}" for n in range(1, 1 + edge_attr.shape[1]))
    if not edge_attr.size:
        return []
    count, first, constant = 0, (0, 0), np.ones(edge_attr.shape[1], bool)
    step = max(1, VALUES_AT_A_TIME // edge_attr.shape[1])
    for start in range(0, len(edge_attr), step):
        part = as_float32(edge_attr[start : start + step])
        bad = ~np.isfinite(part)
        if not count and bad.any():
            row, column = np.argwhere(bad)[0]
            first = (start + int(row), int(column))
        count += int(np.count_nonzero(bad))
        constant &= (part == as_float32(edge_attr[0])).all(axis=0)
        forget_pages(edge_attr)
    if count:
        raise DataError(
            f"{where}: features of edges: {count:,} values are not finite in float32, first "
            f"{edge_attr[first]} in {called[first[1]]}; correct them"
        )
    return [
        f"feature of edges {name}: the same on every edge, so of no use"
        for name, same in zip(called, constant, strict=True)
        if same
    ]


def expect_one_of_each(where: str, repeats: int, repeated_edges: RepeatedEdges) -> None:
    """Raises DataError if edges that have features repeat others and nothing says what then."""
    if repeats and repeated_edges == "error":
        raise DataError(
            f"{where}: {repeats:,} edges repeat another one, and have features; say what becomes "
            "of these (repeated_edges): their sum, mean or max, or those of the first"
        )


def beyond_float32(where: str, repeated_edges: RepeatedEdges) -> str:
    """What is said where features of repeated edges were finite, and are not when merged."""
    return (
        f"{where}: features of edges: the {repeated_edges} of repeated edges is beyond float32; "
        "scale them, or choose what else becomes of them (repeated_edges)"
    )


def as_float32(numbers: np.ndarray) -> np.ndarray:
    """float32, not copied if they are: what is beyond it is inf, and refused as such."""
    with np.errstate(over="ignore", invalid="ignore"):  # some NaN are signals
        return numbers.astype(np.float32, copy=False)


def check_split(where: str, split: np.ndarray, node_ids: np.ndarray) -> np.ndarray:
    """`split` as int8 (N,) of -1, 0, 1, 2 (a fresh copy)."""
    _expect_integers(where, "split", split, node_ids)
    bad = (split < -1) | (split > 2)
    if bad.any():
        row = int(np.argmax(bad))
        raise DataError(
            f"{where}: split: {split[row]} at row {row} (node id {node_ids[row]}); "
            "expected 0 train, 1 validation, 2 test or -1 for none"
        )
    return split.astype(np.int8)


def check_graph_ids(where: str, graph_ids: np.ndarray, node_ids: np.ndarray) -> np.ndarray:
    """`graph_ids` as int64 (N,)."""
    _expect_integers(where, "graph ids", graph_ids, node_ids)
    if graph_ids.size and graph_ids.max() > np.iinfo(np.int64).max:
        raise DataError(f"{where}: graph ids: {graph_ids.max()} is 2^63 or more; number the graphs")
    return graph_ids.astype(np.int64)


def feature_rows(where: str, name: str, matrix: Any, num_nodes: int) -> FeatureMatrix:
    """The matrix (N, F) of features: sparse if it comes so and most of it is 0, else dense.

    Raises DataError as `dense_rows`.
    """
    if not sparse.issparse(matrix) or matrix.dtype.kind not in "biuf":
        return dense_rows(where, name, matrix, num_nodes)
    _expect_nodes(where, name, matrix, num_nodes)
    _expect_room(where, name, matrix, BYTES_OF_WEIGHTS * matrix.shape[1], "their weights take")
    found = sparse_rows(matrix)
    return found if is_mostly_zero(found) else dense_rows(where, name, found, num_nodes)


def dense_rows(where: str, name: str, matrix: Any, num_nodes: int) -> np.ndarray:
    """The matrix (N, F), sparse or not, with all its zeros.

    Raises DataError if it has not a row for each node, or if memory cannot hold them.
    """
    _expect_nodes(where, name, matrix, num_nodes)
    if not sparse.issparse(matrix):
        return np.asarray(matrix)
    _expect_room(where, name, matrix, 4 * num_nodes * matrix.shape[1], "numbers take")
    with np.errstate(over="ignore"):  # too large for float32 is inf, and reported as such
        return sparse.csr_array(matrix, dtype=np.float32).toarray()


def _expect_room(where: str, name: str, matrix: Any, size: int, what: str) -> None:
    if size > os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"):
        raise DataError(
            f"{where}: {name}: {matrix.shape[0]:,} x {matrix.shape[1]:,} {what} {size / 1e9:,.0f} "
            "GB, more than this machine has; leave out columns"
        )


def _expect_nodes(where: str, name: str, matrix: Any, num_nodes: int) -> None:
    if matrix.shape[0] != num_nodes:
        raise DataError(
            f"{where}: {name}: expected {num_nodes:,} rows (one per node), got {matrix.shape[0]:,}"
        )


@contextmanager
def naming_file(where: str) -> Iterator[None]:
    """Turn a GraphError inside into a DataError that also says which file the graph is from."""
    try:
        yield
    except GraphError as error:
        raise DataError(f"{where}: {error}") from error


def expect_rows(where: str, what: str, values: FeatureMatrix, node_ids: np.ndarray) -> None:
    """Raises DataError unless there is a row for each node."""
    if (rows := values.shape[0]) != len(node_ids):
        raise DataError(
            f"{where}: {what}: expected {len(node_ids):,} rows (one per node), got {rows:,}"
        )


def _expect_integers(where: str, what: str, values: np.ndarray, node_ids: np.ndarray) -> None:
    if values.ndim != 1 or values.dtype.kind not in "iu":
        raise DataError(
            f"{where}: {what}: expected integers in shape (nodes,); got {values.dtype} "
            f"{values.shape}"
        )
    expect_rows(where, what, values, node_ids)
