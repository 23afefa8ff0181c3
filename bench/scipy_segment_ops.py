"""The segment ops in NumPy and SciPy: the reference in float64, a baseline in float32.

Written from the formulas alone. Like gaancore's ops, each returns its value and the function that
turns the gradient of the value into those of the inputs.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

CHUNK = 1 << 16  # edges whose rows are gathered together
Backward = Callable[[np.ndarray], tuple[np.ndarray, ...]]


class ScipySegmentOps:
    """Ops over one block. E edges, N destinations, S sources, K heads; see gaancore.ops.segment."""

    def __init__(self, block: Any, dtype: Any) -> None:
        self.indptr, self.indices = block.indptr.astype(np.int32), block.indices
        self.shape, self.dtype = (block.num_dst, block.num_src), dtype
        degrees = np.diff(block.indptr)
        self.dst = np.repeat(np.arange(block.num_dst, dtype=np.int32), degrees)
        self.filled = np.flatnonzero(degrees)
        self.starts = block.indptr[self.filled]
        self.filled_row = np.repeat(np.arange(self.filled.size), degrees[self.filled])
        self.share = (1 / np.maximum(degrees, 1)).astype(dtype)[self.dst]

    def softmax(self, scores: np.ndarray) -> tuple[np.ndarray, Backward]:
        exps = np.exp(scores - np.maximum.reduceat(scores, self.starts)[self.filled_row])
        weights = exps / np.add.reduceat(exps, self.starts)[self.filled_row]

        def backward(grad: np.ndarray) -> tuple[np.ndarray]:
            share = weights * grad
            totals = np.add.reduceat(share, self.starts)
            return (share - weights * totals[self.filled_row],)

        return weights, backward

    def weighted_sum(self, weights: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, Backward]:
        def backward(grad: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return self._dots(grad, values), self._products(weights, grad, transposed=True)

        return self._products(weights, values), backward

    def edge_dot(self, queries: np.ndarray, keys: np.ndarray) -> tuple[np.ndarray, Backward]:
        def backward(grad: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return self._products(grad, keys), self._products(grad, queries, transposed=True)

        return self._dots(queries, keys), backward

    def mean(self, features: np.ndarray) -> tuple[np.ndarray, Backward]:
        matrix = self._matrix(self.share)
        return matrix @ features, lambda grad: (matrix.T @ grad,)

    def maximum(self, features: np.ndarray) -> tuple[np.ndarray, Backward]:
        """The gradient takes it that no column of `features` holds a number twice."""
        out = np.zeros((self.shape[0], features.shape[1]), self.dtype)
        out[self.filled] = np.maximum.reduceat(features[self.indices], self.starts)

        def backward(grad: np.ndarray) -> tuple[np.ndarray]:
            grad_features = np.empty(features.shape, self.dtype)
            order = np.argsort(features, axis=0)
            for f in range(features.shape[1]):
                ascending = features[order[:, f], f]
                winners = order[np.searchsorted(ascending, out[self.filled, f]), f]
                taken = grad[self.filled, f]
                grad_features[:, f] = np.bincount(winners, taken, self.shape[1])
            return (grad_features,)

        return out, backward

    def attention(
        self, queries: np.ndarray, keys: np.ndarray, values: np.ndarray
    ) -> tuple[np.ndarray, Backward]:
        scale = self.dtype(1 / queries.shape[2])
        scores, through_dot = self.edge_dot(queries, keys)
        weights, through_softmax = self.softmax(scores * scale)
        out, through_sum = self.weighted_sum(weights, values)

        def backward(grad: np.ndarray) -> tuple[np.ndarray, ...]:
            grad_weights, grad_values = through_sum(grad)
            (grad_scores,) = through_softmax(grad_weights)
            return *through_dot(grad_scores * scale), grad_values

        return out, backward

    def _matrix(self, entries: np.ndarray) -> sparse.csr_array:
        return sparse.csr_array((entries, self.indices, self.indptr), shape=self.shape)

    def _products(
        self, weights: np.ndarray, rows: np.ndarray, transposed: bool = False
    ) -> np.ndarray:
        """One sparse product for each head."""
        heads = []
        for k in range(weights.shape[1]):
            matrix = self._matrix(np.ascontiguousarray(weights[:, k]))
            heads.append((matrix.T if transposed else matrix) @ rows[:, k])
        return np.stack(heads, axis=1)

    def _dots(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        out = np.empty((self.indices.size, left.shape[1]), self.dtype)
        for start in range(0, self.indices.size, CHUNK):
            edges = slice(start, start + CHUNK)
            ends = left[self.dst[edges]], right[self.indices[edges]]
            np.einsum("ekd,ekd->ek", *ends, out=out[edges])
        return out
