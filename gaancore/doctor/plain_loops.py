"""What each kernel computes, edge by edge and row by row in float64: what the self-test trusts.

A block is (indptr, indices); N destinations, S sources, E edges, K heads, as in the contract.
"""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

Array = np.ndarray


def edges(indptr: Array, indices: Array) -> Iterator[tuple[int, int, int]]:
    """(edge, destination, source) of every edge."""
    for i in range(indptr.size - 1):
        for e in range(indptr[i], indptr[i + 1]):
            yield e, i, int(indices[e])


def softmax(scores: Array, indptr: Array) -> Array:
    weights = np.zeros(scores.shape)
    for start, stop in pairwise(indptr):
        if start < stop:
            exps = np.exp(scores[start:stop] - scores[start:stop].max(axis=0))
            weights[start:stop] = exps / exps.sum(axis=0)
    return weights


def softmax_gradient(weights: Array, grad: Array, indptr: Array) -> Array:
    out = np.zeros(grad.shape)
    for start, stop in pairwise(indptr):
        w, g = weights[start:stop], grad[start:stop]
        out[start:stop] = w * (g - (w * g).sum(axis=0))
    return out


def weighted_sum(weights: Array, values: Array, indptr: Array, indices: Array) -> Array:
    out = np.zeros((indptr.size - 1, *values.shape[1:]))
    for e, i, j in edges(indptr, indices):
        out[i] += weights[e, :, None] * values[j]
    return out


def sum_to_sources(
    weights: Array, rows: Array, indptr: Array, indices: Array, sources: int
) -> Array:
    """The adjoint of weighted_sum in the values."""
    out = np.zeros((sources, *rows.shape[1:]))
    for e, i, j in edges(indptr, indices):
        out[j] += weights[e, :, None] * rows[i]
    return out


def edge_dot(queries: Array, keys: Array, indptr: Array, indices: Array) -> Array:
    out = np.zeros((indices.size, keys.shape[1]))
    for e, i, j in edges(indptr, indices):
        out[e] = (queries[i] * keys[j]).sum(axis=-1)
    return out


def mean(values: Array, indptr: Array, indices: Array) -> Array:
    out = np.zeros((indptr.size - 1, values.shape[1]))
    for _, i, j in edges(indptr, indices):
        out[i] += values[j] / (indptr[i + 1] - indptr[i])
    return out


def mean_gradient(grad: Array, indptr: Array, indices: Array, sources: int) -> Array:
    out = np.zeros((sources, grad.shape[1]))
    for _, i, j in edges(indptr, indices):
        out[j] += grad[i] / (indptr[i + 1] - indptr[i])
    return out


def maximum(values: Array, indptr: Array, indices: Array) -> tuple[Array, Array]:
    """Values and, for each, the source of the first edge that has it; 0 and -1 without edges."""
    out = np.zeros((indptr.size - 1, values.shape[1]))
    winners = np.full(out.shape, -1)
    for _, i, j in edges(indptr, indices):
        larger = (winners[i] < 0) | (values[j] > out[i])
        out[i, larger], winners[i, larger] = values[j, larger], j
    return out, winners


def maximum_gradient(grad: Array, winners: Array, sources: int) -> Array:
    out = np.zeros((sources, grad.shape[1]))
    for i, f in zip(*np.nonzero(winners >= 0), strict=True):
        out[winners[i, f], f] += grad[i, f]
    return out


def attention(
    queries: Array, keys: Array, values: Array, indptr: Array, indices: Array, scale: float
) -> Array:
    weights = softmax(scale * edge_dot(queries, keys, indptr, indices), indptr)
    return weighted_sum(weights, values, indptr, indices)


def attention_gradients(
    grad: Array,
    queries: Array,
    keys: Array,
    values: Array,
    indptr: Array,
    indices: Array,
    scale: float,
) -> tuple[Array, Array, Array]:
    """With respect to queries, keys and values."""
    links = (indptr, indices)
    weights = softmax(scale * edge_dot(queries, keys, *links), indptr)
    by_score = scale * softmax_gradient(weights, edge_dot(grad, values, *links), indptr)
    return (
        weighted_sum(by_score, keys, *links),
        sum_to_sources(by_score, queries, *links, len(keys)),
        sum_to_sources(weights, grad, *links, len(values)),
    )


def leaky_linear(parts: tuple[Array, ...], weight: Array, bias: Array, slope: float) -> Array:
    """Of the parts side by side."""
    y = np.hstack(parts) @ weight + bias
    return np.where(y > 0, y, slope * y)


def leaky_linear_gradients(
    grad: Array, parts: tuple[Array, ...], weight: Array, bias: Array, slope: float
) -> tuple[Array, ...]:
    """With respect to each part, weight and bias."""
    x = np.hstack(parts)
    before = np.where(x @ weight + bias > 0, grad, slope * grad)
    ends = np.cumsum([part.shape[1] for part in parts])[:-1]
    grad_parts = np.split(before @ weight.T, ends, axis=1)
    return *grad_parts, x.T @ before, before.sum(axis=0)


def bce_with_logits(logits: Array, targets: Array) -> tuple[Array, Array]:
    """The sum of the losses, and its gradient."""
    losses = np.maximum(logits, 0) - logits * targets + np.log1p(np.exp(-np.abs(logits)))
    return losses.sum(), 1 / (1 + np.exp(-logits)) - targets


def softmax_cross_entropy(logits: Array, classes: Array) -> tuple[Array, Array]:
    """The sum of the losses, and its gradient."""
    weights = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    chosen = np.eye(logits.shape[1])[classes]
    return -np.log(weights[chosen == 1]).sum(), weights - chosen


def gru_update(
    xu: Array, xr: Array, xc: Array, hu: Array, hr: Array, hc: Array, state: Array, slope: float
) -> Array:
    """(1 - u) c + u h."""
    u, r = 1 / (1 + np.exp(-xu - hu)), 1 / (1 + np.exp(-xr - hr))
    c = xc + r * hc
    return (1 - u) * np.where(c > 0, c, slope * c) + u * state


def gru_update_gradients(
    grad: Array, xu: Array, xr: Array, xc: Array, hu: Array, hr: Array, hc: Array, state: Array,
    slope: float,
) -> tuple[Array, ...]:  # fmt: skip
    """With respect to xu (and hu), xr (and hr), xc, hc and the state."""
    u, r = 1 / (1 + np.exp(-xu - hu)), 1 / (1 + np.exp(-xr - hr))
    before = xc + r * hc
    c = np.where(before > 0, before, slope * before)
    by_c = grad * (1 - u) * np.where(before > 0, 1, slope)
    by_u, by_r = grad * (state - c) * u * (1 - u), by_c * hc * r * (1 - r)
    return by_u, by_r, by_c, by_c * r, grad * u


def adam_step(
    parameter: Array, grad: Array, rate: float, beta1: float, beta2: float, eps: float, step: int
) -> tuple[Array, Array, Array]:
    """Parameter and moments after a step whose moments were grad and grad^2 before it."""
    moment1 = beta1 * grad + (1 - beta1) * grad
    moment2 = beta2 * grad**2 + (1 - beta2) * grad**2
    unbiased1, unbiased2 = moment1 / (1 - beta1**step), moment2 / (1 - beta2**step)
    return parameter - rate * unbiased1 / (np.sqrt(unbiased2) + eps), moment1, moment2
