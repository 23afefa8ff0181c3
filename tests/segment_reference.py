"""What the kernels compute, in plain loops over edges and heads: slow, obvious, in float64."""

import numpy as np

from gaancore.graph import Block


def edges(block: Block) -> list[tuple[int, int, int]]:
    """(e, destination, source) of every edge."""
    return [
        (e, i, int(block.indices[e]))
        for i in range(block.num_dst)
        for e in range(block.indptr[i], block.indptr[i + 1])
    ]


def softmax(scores: np.ndarray, block: Block) -> np.ndarray:
    weights = np.zeros(scores.shape)
    for i in range(block.num_dst):
        row = slice(block.indptr[i], block.indptr[i + 1])
        for k in range(scores.shape[1]):
            segment = scores[row, k].astype(np.float64)
            if segment.size and segment.max() > -np.inf:
                exps = np.exp(segment - segment.max())
                weights[row, k] = exps / exps.sum()
    return weights


def softmax_gradient(weights: np.ndarray, grad: np.ndarray, block: Block) -> np.ndarray:
    """Through the Jacobian dw_a/ds_b = w_a (1[a = b] - w_b), written out."""
    out = np.zeros(weights.shape)
    for i in range(block.num_dst):
        row = slice(block.indptr[i], block.indptr[i + 1])
        for k in range(weights.shape[1]):
            w = weights[row, k].astype(np.float64)
            out[row, k] = (np.diag(w) - np.outer(w, w)) @ grad[row, k]
    return out


def weighted_sum(weights: np.ndarray, values: np.ndarray, block: Block) -> np.ndarray:
    out = np.zeros((block.num_dst, *values.shape[1:]))
    for e, i, j in edges(block):
        for k in range(weights.shape[1]):
            out[i, k] += float(weights[e, k]) * values[j, k].astype(np.float64)
    return out


def weighted_sum_to_sources(weights: np.ndarray, grad: np.ndarray, block: Block) -> np.ndarray:
    """The adjoint in the values: each source gathers from the destinations it leads to."""
    out = np.zeros((block.num_src, *grad.shape[1:]))
    for e, i, j in edges(block):
        for k in range(weights.shape[1]):
            out[j, k] += float(weights[e, k]) * grad[i, k].astype(np.float64)
    return out


def edge_dot(queries: np.ndarray, keys: np.ndarray, block: Block) -> np.ndarray:
    out = np.zeros((block.num_edges, keys.shape[1]))
    for e, i, j in edges(block):
        for k in range(keys.shape[1]):
            out[e, k] = queries[i, k].astype(np.float64) @ keys[j, k].astype(np.float64)
    return out


def mean(values: np.ndarray, block: Block) -> np.ndarray:
    out = np.zeros((block.num_dst, values.shape[1]))
    for _, i, j in edges(block):
        out[i] += values[j].astype(np.float64) / (block.indptr[i + 1] - block.indptr[i])
    return out


def mean_gradient(grad: np.ndarray, block: Block) -> np.ndarray:
    out = np.zeros((block.num_src, grad.shape[1]))
    for _, i, j in edges(block):
        out[j] += grad[i].astype(np.float64) / (block.indptr[i + 1] - block.indptr[i])
    return out


def maximum(values: np.ndarray, block: Block) -> tuple[np.ndarray, np.ndarray]:
    """The maxima and the source of each: the first edge that has it; 0 and -1 without edges."""
    out = np.zeros((block.num_dst, values.shape[1]), values.dtype)
    winners = np.full(out.shape, -1)
    for _, i, j in edges(block):
        for f in range(values.shape[1]):
            if winners[i, f] < 0 or values[j, f] > out[i, f]:
                out[i, f], winners[i, f] = values[j, f], j
    return out, winners


def maximum_gradient(grad: np.ndarray, winners: np.ndarray, block: Block) -> np.ndarray:
    out = np.zeros((block.num_src, grad.shape[1]))
    for (i, f), j in np.ndenumerate(winners):
        if j >= 0:
            out[j, f] += grad[i, f]
    return out


def attention(
    queries: np.ndarray, keys: np.ndarray, values: np.ndarray, block: Block, scale: float
) -> np.ndarray:
    weights = softmax(scale * edge_dot(queries, keys, block), block)
    return weighted_sum(weights, values, block)


def attention_gradients(
    grad: np.ndarray,
    queries: np.ndarray,
    keys: np.ndarray,
    values: np.ndarray,
    block: Block,
    scale: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """With respect to queries, keys and values, by the chain rule through the three steps."""
    weights = softmax(scale * edge_dot(queries, keys, block), block)
    grad_weights = edge_dot(grad, values, block)
    grad_scores = scale * softmax_gradient(weights, grad_weights, block)
    return (
        weighted_sum(grad_scores, keys, block),
        weighted_sum_to_sources(grad_scores, queries, block),
        weighted_sum_to_sources(weights, grad, block),
    )
