"""The matrix of features, dense or sparse: what the two have in common.

A matrix that comes sparse stays so if at least four fifths of its numbers are 0. One that comes
dense stays dense, whatever is in it.
"""

from typing import Any

import numpy as np
from scipy import sparse

from gaancore.system.mapped import forget_pages

# numpy.ndarray or scipy.sparse.csr_array: the two have no common static type
FeatureMatrix = Any
LOOKED_AT = 2_000  # rows
SPARSE = 0.8  # a share of zeros from which features are counts of words or the like


def sparse_rows(matrix: sparse.sparray | sparse.spmatrix) -> sparse.csr_array:
    """A sparse matrix of any format as float32 csr_array, each number in one entry, in the order of
    columns, and no entry for a 0. Numbers too large for float32 become inf. Never the same arrays.
    """
    with np.errstate(over="ignore"):
        found = sparse.csr_array(matrix, dtype=np.float32, copy=True)
    found.sum_duplicates()
    found.eliminate_zeros()
    return found


def is_mostly_zero(matrix: sparse.csr_array) -> bool:
    """Whether sparse rows are smaller and faster than dense ones."""
    return 1 - share_filled(matrix) >= SPARSE


def share_filled(features: FeatureMatrix) -> float:
    """The share of the numbers that are not 0; 0 if there are none."""
    rows, columns = features.shape
    filled = features.nnz if sparse.issparse(features) else np.count_nonzero(features)
    return float(filled / max(1, rows * columns))


def filled_in_some(features: FeatureMatrix) -> float:
    """The share that is not 0 of every n-th row, about LOOKED_AT of them."""
    return share_filled(features[:: max(1, features.shape[0] // LOOKED_AT)])


def first_rows(features: FeatureMatrix, count: int) -> FeatureMatrix:
    """The first rows, in the same memory."""
    if not sparse.issparse(features):
        return features[:count]
    stop = int(features.indptr[count])
    found = sparse.csr_array((count, features.shape[1]), dtype=features.dtype)
    # given to the constructor, arrays that are a small part of others would be copied
    found.data, found.indices = features.data[:stop], features.indices[:stop]
    found.indptr = features.indptr[: count + 1]
    return found


def dense_part(features: FeatureMatrix, rows: slice | np.ndarray) -> np.ndarray:
    """Some rows with all their zeros."""
    part = features[rows]
    return part.toarray() if sparse.issparse(part) else part


def chosen_columns(features: FeatureMatrix, columns: np.ndarray) -> FeatureMatrix:
    """Columns by number, float32; -1 stands for one of zeros."""
    rows = features.shape[0]
    if sparse.issparse(features):
        wider = sparse.hstack([features, sparse.csr_array((rows, 1), dtype=np.float32)])
        return sparse_rows(sparse.csr_array(wider)[:, columns])
    out = np.zeros((rows, columns.size), np.float32)
    there = columns >= 0
    out[:, there] = features[:, columns[there]]
    return out


def arrays_of(features: FeatureMatrix) -> list[np.ndarray]:
    """What it is made of: the matrix itself, or indptr (int64), indices (int32) and values."""
    if not sparse.issparse(features):
        return [features]
    indptr, indices = features.indptr, features.indices
    return [indptr.astype(np.int64, copy=False), indices.astype(np.int32, copy=False),
            features.data]  # fmt: skip


def forget(features: FeatureMatrix) -> None:
    """Give back the memory of what was read of a memory-mapped one, see `forget_pages`."""
    for array in (features.data, features.indices) if sparse.issparse(features) else (features,):
        forget_pages(array)
