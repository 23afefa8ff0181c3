"""What each kernel computes, edge by edge and row by row in float64: slow and obvious.

The self-test of the doctor and the tests of the kernels trust these functions. They take a Block,
and arrays with the shapes of the contract: N destinations, S sources, E edges, K heads.
"""

import numpy as np

from gaancore.graph.block import Block

Array = np.ndarray


def edges(block: Block) -> list[tuple[int, int, int]]:
    """(e, destination, source) of every edge."""
    return [
        (e, i, int(block.indices[e]))
        for i in range(block.num_dst)
        for e in range(block.indptr[i], block.indptr[i + 1])
    ]


def softmax(scores: Array, block: Block) -> Array:
    weights = np.zeros(scores.shape)
    for i in range(block.num_dst):
        row = slice(block.indptr[i], block.indptr[i + 1])
        for k in range(scores.shape[1]):
            segment = scores[row, k].astype(np.float64)
            if segment.size and segment.max() > -np.inf:
                exps = np.exp(segment - segment.max())
                weights[row, k] = exps / exps.sum()
    return weights


def softmax_gradient(weights: Array, grad: Array, block: Block) -> Array:
    """Through the Jacobian dw_a/ds_b = w_a (1[a = b] - w_b), written out."""
    out = np.zeros(weights.shape)
    for i in range(block.num_dst):
        row = slice(block.indptr[i], block.indptr[i + 1])
        for k in range(weights.shape[1]):
            w = weights[row, k].astype(np.float64)
            out[row, k] = (np.diag(w) - np.outer(w, w)) @ grad[row, k]
    return out


def weighted_sum(weights: Array, values: Array, block: Block) -> Array:
    out = np.zeros((block.num_dst, *values.shape[1:]))
    for e, i, j in edges(block):
        for k in range(weights.shape[1]):
            out[i, k] += float(weights[e, k]) * values[j, k].astype(np.float64)
    return out


def weighted_sum_to_sources(weights: Array, grad: Array, block: Block) -> Array:
    """The adjoint in the values: each source gathers from the destinations it leads to."""
    out = np.zeros((block.num_src, *grad.shape[1:]))
    for e, i, j in edges(block):
        for k in range(weights.shape[1]):
            out[j, k] += float(weights[e, k]) * grad[i, k].astype(np.float64)
    return out


def edge_dot(queries: Array, keys: Array, block: Block) -> Array:
    out = np.zeros((block.num_edges, keys.shape[1]))
    for e, i, j in edges(block):
        for k in range(keys.shape[1]):
            out[e, k] = queries[i, k].astype(np.float64) @ keys[j, k].astype(np.float64)
    return out


def mean(values: Array, block: Block) -> Array:
    out = np.zeros((block.num_dst, values.shape[1]))
    for _, i, j in edges(block):
        out[i] += values[j].astype(np.float64) / (block.indptr[i + 1] - block.indptr[i])
    return out


def mean_gradient(grad: Array, block: Block) -> Array:
    out = np.zeros((block.num_src, grad.shape[1]))
    for _, i, j in edges(block):
        out[j] += grad[i].astype(np.float64) / (block.indptr[i + 1] - block.indptr[i])
    return out


def maximum(values: Array, block: Block) -> tuple[Array, Array]:
    """The maxima and the source of each: the first edge that has it; 0 and -1 without edges."""
    out = np.zeros((block.num_dst, values.shape[1]), values.dtype)
    winners = np.full(out.shape, -1)
    for _, i, j in edges(block):
        for f in range(values.shape[1]):
            if winners[i, f] < 0 or values[j, f] > out[i, f]:
                out[i, f], winners[i, f] = values[j, f], j
    return out, winners


def maximum_gradient(grad: Array, winners: Array, block: Block) -> Array:
    out = np.zeros((block.num_src, grad.shape[1]))
    for (i, f), j in np.ndenumerate(winners):
        if j >= 0:
            out[j, f] += grad[i, f]
    return out


def attention(queries: Array, keys: Array, values: Array, block: Block, scale: float) -> Array:
    weights = softmax(scale * edge_dot(queries, keys, block), block)
    return weighted_sum(weights, values, block)


def attention_gradients(
    grad: Array, queries: Array, keys: Array, values: Array, block: Block, scale: float
) -> tuple[Array, Array, Array]:
    """With respect to queries, keys and values, by the chain rule through the three steps."""
    weights = softmax(scale * edge_dot(queries, keys, block), block)
    grad_weights = edge_dot(grad, values, block)
    grad_scores = scale * softmax_gradient(weights, grad_weights, block)
    return (
        weighted_sum(grad_scores, keys, block),
        weighted_sum_to_sources(grad_scores, queries, block),
        weighted_sum_to_sources(weights, grad, block),
    )


def feature_dot(queries: Array, features: Array, block: Block) -> Array:
    out = np.zeros((block.num_edges, queries.shape[2]))
    for e, i, _ in edges(block):
        out[e] = features[e].astype(np.float64) @ queries[i]
    return out


def feature_sum(weights: Array, features: Array, block: Block) -> Array:
    out = np.zeros((block.num_dst, features.shape[1], weights.shape[1]))
    for e, i, _ in edges(block):
        out[i] += np.outer(features[e].astype(np.float64), weights[e])
    return out


def brought(values: Array, features: Array, projection: Array, block: Block) -> Array:
    """A row for each edge, which no kernel makes: values[j] + features[e] @ projection."""
    out = np.zeros((block.num_edges, *values.shape[1:]))
    for e, _, j in edges(block):
        out[e] = values[j] + np.tensordot(features[e].astype(np.float64), projection, 1)
    return out


def edge_sum(
    weights: Array, values: Array, features: Array, projection: Array, slope: float, block: Block
) -> Array:
    out = np.zeros((block.num_dst, *values.shape[1:]))
    u = brought(values, features, projection, block)
    for e, i, _ in edges(block):
        out[i] += weights[e, :, None] * np.where(u[e] > 0, u[e], slope * u[e])
    return out


def edge_sum_gradients(
    grad: Array, weights: Array, values: Array, features: Array, projection: Array, slope: float,
    block: Block,
) -> tuple[Array, ...]:  # fmt: skip
    """With respect to weights, values, projection and the features of edges."""
    u = brought(values, features, projection, block)
    arrays = (weights, values, projection, features)
    by_weights, by_values, by_projection, by_features = (np.zeros(x.shape) for x in arrays)
    for e, i, j in edges(block):
        by_weights[e] = (grad[i] * np.where(u[e] > 0, u[e], slope * u[e])).sum(axis=-1)
        by_u = weights[e, :, None] * grad[i] * np.where(u[e] > 0, 1, slope)
        by_values[j] += by_u
        by_projection += np.multiply.outer(features[e], by_u)
        by_features[e] = np.tensordot(projection, by_u, 2)
    return by_weights, by_values, by_projection, by_features


def edge_attention(
    queries: Array, keys: Array, values: Array, features: Array, to_keys: Array, to_values: Array,
    block: Block, slope: float, scale: float,
) -> Array:  # fmt: skip
    asked = np.einsum("nka,bka->nbk", queries.astype(np.float64), to_keys)
    scores = edge_dot(queries, keys, block) + feature_dot(asked, features, block)
    return edge_sum(softmax(scale * scores, block), values, features, to_values, slope, block)


def edge_attention_gradients(
    grad: Array, queries: Array, keys: Array, values: Array, features: Array, to_keys: Array,
    to_values: Array, block: Block, slope: float, scale: float,
) -> tuple[Array, ...]:  # fmt: skip
    """With respect to the six arrays in their order, by the chain rule through the three steps."""
    asked = np.einsum("nka,bka->nbk", queries.astype(np.float64), to_keys)
    scores = edge_dot(queries, keys, block) + feature_dot(asked, features, block)
    weights = softmax(scale * scores, block)
    by_sum = edge_sum_gradients(grad, weights, values, features, to_values, slope, block)
    by_weights, by_values, by_to_values, by_features = by_sum
    by_scores = scale * softmax_gradient(weights, by_weights, block)
    by_asked = feature_sum(by_scores, features, block)
    for e, i, _ in edges(block):
        by_features[e] += asked[i] @ by_scores[e]
    return (
        weighted_sum(by_scores, keys, block) + np.einsum("nbk,bka->nka", by_asked, to_keys),
        weighted_sum_to_sources(by_scores, queries, block),
        by_values,
        by_features,
        np.einsum("nbk,nka->bka", by_asked, queries),
        by_to_values,
    )


def edge_max(
    values: Array, features: Array, projection: Array, block: Block
) -> tuple[Array, Array]:
    """The maxima, and which of the row's edges is the first that has each; 0 and -1 without."""
    u = brought(values, features, projection, block)
    out = np.zeros((block.num_dst, values.shape[1]))
    places = np.full(out.shape, -1)
    for i in range(block.num_dst):
        row = u[block.indptr[i] : block.indptr[i + 1]]
        if len(row):
            out[i], places[i] = row.max(axis=0), row.argmax(axis=0)
    return out, places


def edge_max_gradients(
    grad: Array, places: Array, values: Array, features: Array, projection: Array, block: Block
) -> tuple[Array, Array, Array]:
    """With respect to values, projection and the features of edges."""
    arrays = (values, projection, features)
    by_values, by_projection, by_features = (np.zeros(x.shape) for x in arrays)
    for (i, f), place in np.ndenumerate(places):
        if place >= 0:
            e = block.indptr[i] + place
            by_values[block.indices[e], f] += grad[i, f]
            by_projection[:, f] += grad[i, f] * features[e]
            by_features[e] += grad[i, f] * projection[:, f]
    return by_values, by_projection, by_features


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
    parameter: Array, grad: Array, rate: float, beta1: float, beta2: float, eps: float
) -> tuple[Array, Array, Array]:
    """Parameter and moments after a step whose moments were grad and grad^2 before it."""
    moment1 = beta1 * grad + (1 - beta1) * grad
    moment2 = beta2 * grad**2 + (1 - beta2) * grad**2
    return parameter - rate * moment1 / (np.sqrt(moment2) + eps), moment1, moment2
