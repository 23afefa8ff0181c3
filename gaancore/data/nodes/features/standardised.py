"""Features of nodes, standardised where they are fetched: the matrix itself is never copied."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import get_args

import numpy as np
from scipy import sparse

from gaancore.choices import Normalize
from gaancore.data.nodes.dataset import TRAIN, NodeDataset
from gaancore.data.nodes.features.matrix import FeatureMatrix, dense_part
from gaancore.errors import ShapeError, expect_choice
from gaancore.graph.checks import read_only
from gaancore.kernels.cpu.gather import gather_rows, gather_sparse_rows
from gaancore.progress import told
from gaancore.sparse import CSRMatrix

ROWS_AT_A_TIME = 16_384  # of a pass over the training nodes


class Features:
    """Stands for the matrix (x - mean) / scale, (N, F) float32; index it with node ids.

    matrix      : (N, F) float32 or float16, or SciPy's csr_array of float32, in memory or
                  memory-mapped; only rows asked for are read.
    mean, scale : (F,) float64, from feature_statistics: store them with a model, and give them
                  here for any other graph. Computed in float64.
    by_row      : divide each row by the sum of its absolute values, so that counts become shares;
                  a row of zeros stays.
    Raises ShapeError unless the matrix has as many columns as mean and scale.

    >>> import numpy as np
    >>> from gaancore.data import Features
    >>> features = Features(np.array([[1.0], [3.0]], np.float32), np.array([2.0]), np.array([0.5]))
    >>> features[np.array([1])].tolist()
    [[2.0]]
    """

    def __init__(
        self, matrix: FeatureMatrix, mean: np.ndarray, scale: np.ndarray, *, by_row: bool = False
    ) -> None:
        if matrix.ndim != 2 or matrix.shape[1:] != mean.shape:
            raise ShapeError(
                f"Features: matrix: expected (N, {mean.size}), got {matrix.shape}; "
                "the statistics belong to data with other features"
            )
        self.matrix = matrix
        self.mean = mean
        self.scale = scale
        self.by_row = by_row

    @property
    def shape(self) -> tuple[int, int]:
        return self.matrix.shape[0], self.matrix.shape[1]

    def __getitem__(self, nodes: np.ndarray) -> np.ndarray | CSRMatrix:
        """The rows of `nodes` (n,), which are not checked: (n, F) float32.

        Those of a sparse matrix are sparse, unless a mean is subtracted from its zeros.
        """
        matrix = self.matrix
        if sparse.issparse(matrix):
            if not self.mean.any():
                given = (matrix.indptr, matrix.indices, matrix.data, nodes, self.scale, self.by_row)
                indptr, indices, values = gather_sparse_rows(*given)
                return CSRMatrix(read_only(indptr), read_only(indices), values, self.shape[1])
            matrix, nodes = dense_part(matrix, nodes), np.arange(nodes.size)
        x = gather_rows(matrix, nodes, self.mean, self.scale)
        return shares_in_place(x) if self.by_row else x


def shares_in_place(x: np.ndarray) -> np.ndarray:
    """x (n, F), each row divided by the sum of its absolute values; a row of zeros stays."""
    sums = np.abs(x).sum(axis=1, keepdims=True, dtype=np.float64)
    return np.divide(x, sums, out=x, where=sums > 0, casting="same_kind")


def feature_statistics(dataset: NodeDataset, how: Normalize) -> tuple[np.ndarray, np.ndarray]:
    """mean and scale of each feature, (F,) float64 each.

    how : `none` leaves features as they are (0 and 1). `standard` gives the TRAINING nodes mean 0
          and population standard deviation 1. A feature that is constant there (deviation below
          1e-12 of |mean|) keeps scale 1 and is only centred. `row` needs no statistics: see
          `by_row` of Features.
    A sparse matrix is divided by the deviation but never centred, so that its zeros stay zeros: its
    mean is given as 0.
    Two passes over the training nodes' rows, a few at a time. Raises SettingsError for another
    `how`.

    >>> from gaancore.data import Features, feature_statistics, synthetic_reddit
    >>> data = synthetic_reddit(scale=0.001)
    >>> mean, scale = feature_statistics(data, "standard")
    >>> Features(data.features, mean, scale).shape
    (233, 602)
    """
    expect_choice("normalize", how, get_args(Normalize))
    mean, scale = np.zeros(dataset.num_features), np.ones(dataset.num_features)
    if how != "standard":
        return mean, scale
    nodes = dataset.nodes(TRAIN)
    parts = np.split(nodes, range(ROWS_AT_A_TIME, nodes.size, ROWS_AT_A_TIME))
    of = statistics_of_sparse if sparse.issparse(dataset.features) else statistics_of
    pieces = partial(told, "mean and deviation of the features", parts)
    return of(dataset.features, pieces, nodes.size)


def statistics_of(
    matrix: np.ndarray, parts: Callable[[], Iterable[np.ndarray]], count: int
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and deviation of each column, 1 for the deviation of a constant, over the `count` rows
    whose numbers `parts` gives, the same ones at each call.
    """
    mean = sum(matrix[part].sum(axis=0, dtype=np.float64) for part in parts()) / count
    squares = sum(((matrix[part] - mean) ** 2).sum(axis=0) for part in parts())
    deviation = np.sqrt(squares / count)
    return mean, np.where(deviation <= 1e-12 * np.abs(mean), 1.0, deviation)


def statistics_of_sparse(
    matrix: sparse.csr_array, parts: Callable[[], Iterable[np.ndarray]], count: int
) -> tuple[np.ndarray, np.ndarray]:
    """The same with a mean of 0: deviations are those about the true mean."""
    width = matrix.shape[1]
    mean, squares, filled = np.zeros((3, width))
    for rows in (matrix[part] for part in parts()):
        mean += np.bincount(rows.indices, rows.data, width) / count
    for rows in (matrix[part] for part in parts()):
        squares += np.bincount(rows.indices, (rows.data - mean[rows.indices]) ** 2, width)
        filled += np.bincount(rows.indices, minlength=width)
    squares += (count - filled) * mean**2
    deviation = np.sqrt(squares / count)
    return np.zeros(width), np.where(deviation <= 1e-12 * np.abs(mean), 1.0, deviation)
