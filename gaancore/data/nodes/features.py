"""Features of nodes, standardised where they are fetched: the matrix itself is never copied."""

from collections.abc import Callable, Iterable, Iterator
from typing import Literal, get_args

import numpy as np

from gaancore.data.nodes.dataset import TRAIN, NodeDataset
from gaancore.errors import ShapeError, expect_choice
from gaancore.graph import CSRGraph
from gaancore.kernels.cpu.gather import gather_rows
from gaancore.system.mapped import forget_pages

Normalize = Literal["none", "standard", "row"]
ROWS_AT_A_TIME = 16_384  # of a pass over the training nodes
# At most 1 / FAR^2 of any training set lies beyond FAR deviations of its mean (Chebyshev).
FAR, NARROW, SHOWN = 5.0, 0.05, 3


class Features:
    """Stands for the matrix (x - mean) / scale, (N, F) float32; index it with node ids.

    matrix      : (N, F) float32, in memory or memory-mapped; only rows asked for are read.
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
        self, matrix: np.ndarray, mean: np.ndarray, scale: np.ndarray, *, by_row: bool = False
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

    def __getitem__(self, nodes: np.ndarray) -> np.ndarray:
        """The rows of `nodes` (n,), which are not checked: (n, F) float32."""
        x = gather_rows(self.matrix, nodes, self.mean, self.scale)
        if self.by_row:
            sums = np.abs(x).sum(axis=1, keepdims=True, dtype=np.float64)
            np.divide(x, sums, out=x, where=sums > 0, casting="same_kind")
        return x


def feature_statistics(dataset: NodeDataset, how: Normalize) -> tuple[np.ndarray, np.ndarray]:
    """mean and scale of each feature, (F,) float64 each.

    how : `none` leaves features as they are (0 and 1). `standard` gives the TRAINING nodes mean 0
          and population standard deviation 1. A feature that is constant there (deviation below
          1e-12 of |mean|) keeps scale 1 and is only centred. `row` needs no statistics: see
          `by_row` of Features.
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
    return _statistics(dataset.features, lambda: parts, nodes.size)


def edge_statistics(dataset: NodeDataset) -> tuple[np.ndarray, np.ndarray] | None:
    """mean and scale (B,) of the features of edges, None where edges have none.

    As `standard` above, over the arcs that training sees (see NodeDataset.view).
    """
    graph = dataset.graph
    if graph.edge_attr is None:
        return None
    seen = dataset.split <= TRAIN
    count = sum(part.size for part in _arcs_among(graph, seen))
    if not count:
        return np.zeros(graph.edge_dim), np.ones(graph.edge_dim)
    return _statistics(graph.edge_attr, lambda: _arcs_among(graph, seen), count)


def _arcs_among(graph: CSRGraph, nodes: np.ndarray) -> Iterator[np.ndarray]:
    """The positions of the arcs between the `nodes` (N,) bool, ROWS_AT_A_TIME at a time."""
    found, start = np.zeros(0, np.int64), 0
    for src, dst in graph.edge_chunks():
        found = np.concatenate([found, start + np.flatnonzero(nodes[src] & nodes[dst])])
        start += src.size
        whole = found.size - found.size % ROWS_AT_A_TIME
        yield from found[:whole].reshape(-1, ROWS_AT_A_TIME)
        found = found[whole:]
    if found.size:
        yield found


def standardised_edges(
    graph: CSRGraph, statistics: tuple[np.ndarray, np.ndarray] | None
) -> CSRGraph:
    """The graph whose blocks carry standardised features of edges; none, without statistics."""
    if statistics is None or graph.edge_attr is None:
        return graph if graph.edge_attr is None else graph.with_edge_attr(None)
    return graph.with_edge_attr(Features(graph.edge_attr, *statistics))


def _statistics(
    matrix: np.ndarray, parts: Callable[[], Iterable[np.ndarray]], count: int
) -> tuple[np.ndarray, np.ndarray]:
    """Over the `count` rows whose numbers `parts` gives, the same ones at each call."""
    mean = sum(matrix[part].sum(axis=0, dtype=np.float64) for part in parts()) / count
    squares = sum(((matrix[part] - mean) ** 2).sum(axis=0) for part in parts())
    deviation = np.sqrt(squares / count)
    return mean, np.where(deviation <= 1e-12 * np.abs(mean), 1.0, deviation)


def far_from_training(
    features: np.ndarray,
    mean: np.ndarray,
    scale: np.ndarray,
    names: tuple[str, ...] | None = None,
) -> str | None:
    """A line on features (N, F) that cannot have the units of the training nodes; else None.

    mean, scale : (F,) of the training nodes, from feature_statistics(..., "standard").
    A feature is far where more than half of the nodes lie beyond 5 deviations of the training
    nodes, of which at most 4 % can; or where its own deviation, if it has one, is below a twentieth
    of theirs (among 20 nodes or more). Where features were not standardised nothing is known of
    them: mean 0 and scale 1 of all say nothing, and None comes back.

    >>> import numpy as np
    >>> metres = np.array([[3000.0], [4000.0], [5000.0]])
    >>> far_from_training(metres, np.array([4.0]), np.array([1.0]), ("distance",))  # kilometres
    '1 of 1 features is far from what the run was trained on: distance (mean 4000, in training 4)'
    """
    count = len(features)
    if not count or (not mean.any() and (scale == 1).all()):
        return None
    beyond, total, squares = np.zeros((3, mean.size))
    for start in range(0, count, ROWS_AT_A_TIME):
        part = (np.asarray(features[start : start + ROWS_AT_A_TIME], np.float64) - mean) / scale
        forget_pages(features)
        beyond += (np.abs(part) > FAR).sum(axis=0)
        total += part.sum(axis=0)
        squares += (part**2).sum(axis=0)
    deviation = np.sqrt(np.maximum(squares / count - (total / count) ** 2, 0))
    narrow = (deviation > 1e-6) & (deviation < NARROW) if count >= 20 else np.zeros(mean.size, bool)
    far = np.flatnonzero((beyond > count / 2) | narrow)
    if not far.size:
        return None
    own = total / count * scale + mean
    called = [names[at] if names else f"feature {at}" for at in far[:SHOWN].tolist()]
    some = ", ".join(
        f"{name} (mean {own[at]:.4g}, in training {mean[at]:.4g})"
        for name, at in zip(called, far, strict=False)
    )
    return (
        f"{far.size:,} of {mean.size:,} features {'is' if far.size == 1 else 'are'} far from what "
        f"the run was trained on: {some}{', ...' if far.size > SHOWN else ''}"
    )
