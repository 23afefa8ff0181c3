"""The segment ops in NumPy and SciPy: the reference in float64, a baseline in float32.

Written from the formulas alone. Like gaancore's ops, each returns its value and the function that
turns the gradient of the value into those of the inputs.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import sparse

CHUNK = 1 << 16  # edges whose rows are gathered together
SLOPE = 0.1  # of the leaky ReLU after what an edge brings
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

    def edge_attention(
        self, queries: np.ndarray, keys: np.ndarray, values: np.ndarray, edges: np.ndarray,
        to_keys: np.ndarray, to_values: np.ndarray,
    ) -> tuple[np.ndarray, Backward]:  # fmt: skip
        """A row of what each edge brings is made for a chunk of edges; no gradient of `edges`."""
        scale, slope = self.dtype(1 / queries.shape[2]), self.dtype(SLOPE)
        num_dst, num_src = self.shape
        asked = np.einsum("nka,bka->nbk", queries, to_keys)
        scores, through_dot = self.edge_dot(queries, keys)
        for part in self._chunks():
            scores[part] += np.einsum("ebk,eb->ek", asked[self.dst[part]], edges[part])
        weights, through_softmax = self.softmax(scores * scale)

        def brought(part: slice) -> tuple[np.ndarray, np.ndarray]:
            u = values[self.indices[part]] + np.tensordot(edges[part], to_values, 1)
            return u, np.where(u > 0, self.dtype(1), slope)

        def backward(grad: np.ndarray) -> tuple[np.ndarray, ...]:
            grad_weights, grad_values = np.empty_like(weights), np.zeros_like(values)
            grad_to_values, of_asked = np.zeros_like(to_values), np.zeros_like(asked)
            for part in self._chunks():
                u, slopes = brought(part)
                by_u = grad[self.dst[part]] * slopes
                grad_weights[part] = np.einsum("ekd,ekd->ek", by_u, u)
                by_u *= weights[part, :, None]
                grad_values += _added_up(by_u, self.indices[part], num_src)
                grad_to_values += np.tensordot(edges[part].T, by_u, 1)
            (grad_scores,) = through_softmax(grad_weights)
            grad_scores *= scale
            for part in self._chunks():
                products = grad_scores[part, None, :] * edges[part, :, None]
                of_asked += _added_up(products, self.dst[part], num_dst)
            grad_queries, grad_keys = through_dot(grad_scores)
            grad_queries += np.einsum("nbk,bka->nka", of_asked, to_keys)
            by_head = zip(of_asked.transpose(2, 1, 0), queries.transpose(1, 0, 2), strict=True)
            grad_to_keys = np.stack([of_head @ query for of_head, query in by_head], axis=1)
            return grad_queries, grad_keys, grad_values, grad_to_keys, grad_to_values

        out = np.zeros((num_dst, *values.shape[1:]), self.dtype)
        for part in self._chunks():
            u, slopes = brought(part)
            out += _added_up(weights[part, :, None] * (slopes * u), self.dst[part], num_dst)
        return out, backward

    def _chunks(self) -> Iterator[slice]:
        return (slice(n, n + CHUNK) for n in range(0, self.indices.size, CHUNK))

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
        for edges in self._chunks():
            ends = left[self.dst[edges]], right[self.indices[edges]]
            np.einsum("ekd,ekd->ek", *ends, out=out[edges])
        return out


def _added_up(rows: np.ndarray, targets: np.ndarray, count: int) -> np.ndarray:
    """Sums of rows that have the same target, (count, ...)."""
    ends = (targets, np.arange(targets.size))
    matrix = sparse.csr_array((np.ones(targets.size, rows.dtype), ends), (count, targets.size))
    return (matrix @ rows.reshape(targets.size, -1)).reshape(count, *rows.shape[1:])
