"""The CPU backend: allocates, cuts rows among threads, calls the Numba loops. See the contract."""

from functools import cache

import numpy as np

from gaancore.kernels.cpu import elementwise, segments
from gaancore.kernels.cpu.attention import attention_backward, attention_forward, dropout_constants
from gaancore.kernels.cpu.linear import linear_backward, linear_forward, matmul
from gaancore.kernels.cpu.sharing import CACHE_LINE, aligned, by_edges, flat_heads, rows
from gaancore.system import threads

WIDEST = 128  # numbers in one strip of a row: more do not fit into the vector registers

__all__ = [
    "adam_step",
    "attention_backward",
    "attention_forward",
    "bce_with_logits",
    "dropout",
    "edge_dot",
    "gru_update_backward",
    "gru_update_forward",
    "linear_backward",
    "linear_forward",
    "matmul",
    "scale_heads_backward",
    "scale_heads_forward",
    "segment_max_backward",
    "segment_max_forward",
    "segment_mean_backward",
    "segment_mean_forward",
    "segment_softmax_backward",
    "segment_softmax_forward",
    "segment_weighted_sum",
    "softmax_cross_entropy",
]

Pair = tuple[np.ndarray, np.ndarray]
Triple = tuple[np.ndarray, np.ndarray, np.ndarray]


@cache
def _strip_width(features: int) -> int:
    """The widest divisor of `features` up to WIDEST; the whole row where there is only 1."""
    widths = [w for w in range(min(features, WIDEST), 1, -1) if features % w == 0]
    return widths[0] if widths and (widths[0] >= 16 or features <= WIDEST) else features


def segment_softmax_forward(scores: np.ndarray, indptr: np.ndarray) -> np.ndarray:
    weights, heads = np.empty_like(scores), scores.shape[1]
    by_edges(segments.softmax_forward(heads), indptr, heads, scores, indptr, weights)
    return weights


def segment_softmax_backward(
    weights: np.ndarray, grad: np.ndarray, indptr: np.ndarray
) -> np.ndarray:
    out, heads = np.empty_like(weights), weights.shape[1]
    by_edges(segments.softmax_backward(heads), indptr, heads, weights, grad, indptr, out)
    return out


def segment_weighted_sum(
    weights: np.ndarray,
    values: np.ndarray,
    indptr: np.ndarray,
    indices: np.ndarray,
    edge_ids: np.ndarray | None = None,
) -> np.ndarray:
    _, K, D = values.shape
    out = np.empty((indptr.size - 1, K, D), values.dtype)
    args = (weights, rows(values), indptr, indices, edge_ids, rows(out))
    by_edges(segments.weighted_sum(D), indptr, K * D, *args)
    return out


def edge_dot(
    queries: np.ndarray, keys: np.ndarray, indptr: np.ndarray, indices: np.ndarray
) -> np.ndarray:
    _, K, D = keys.shape
    out = np.empty((indices.size, K), keys.dtype)
    args = (rows(queries), rows(keys), indptr, indices, out)
    by_edges(segments.edge_dot(D), indptr, K * D, *args)
    return out


def segment_mean_forward(values: np.ndarray, indptr: np.ndarray, indices: np.ndarray) -> np.ndarray:
    features = values.shape[1]
    width = _strip_width(features)
    out = np.empty((indptr.size - 1, features), values.dtype)
    args = (values.reshape(-1, width), indptr, indices, features // width, out.reshape(-1, width))
    by_edges(segments.mean_forward(width), indptr, features, *args)
    return out


def segment_mean_backward(
    grad: np.ndarray, indptr: np.ndarray, t_indptr: np.ndarray, t_indices: np.ndarray
) -> np.ndarray:
    features = grad.shape[1]
    width = _strip_width(features)
    inverse_degree = (1 / np.maximum(np.diff(indptr), 1)).astype(grad.dtype)
    out = np.empty((t_indptr.size - 1, features), grad.dtype)
    strips, grads = features // width, grad.reshape(-1, width)
    args = (grads, inverse_degree, t_indptr, t_indices, strips, out.reshape(-1, width))
    by_edges(segments.mean_backward(width), t_indptr, features, *args)
    return out


def segment_max_forward(values: np.ndarray, indptr: np.ndarray, indices: np.ndarray) -> Pair:
    features = values.shape[1]
    width = _strip_width(features)
    out = np.empty((indptr.size - 1, features), values.dtype)
    winners = np.empty(out.shape, np.int32)
    targets = (out.reshape(-1, width), winners.reshape(-1, width))
    args = (values.reshape(-1, width), indptr, indices, features // width, *targets)
    by_edges(segments.max_forward(width), indptr, features, *args)
    return out, winners


def segment_max_backward(
    grad: np.ndarray, winners: np.ndarray, t_indptr: np.ndarray, t_indices: np.ndarray
) -> np.ndarray:
    num_src, features = t_indptr.size - 1, grad.shape[1]
    out = aligned((num_src, features), grad.dtype)
    out[:] = 0
    line = CACHE_LINE // grad.itemsize  # columns are shared out by cache lines
    args = (grad, winners, line, out)
    threads.share_rows(segments.max_backward, -(-features // line), line * grad.shape[0], *args)
    return out


def scale_heads_forward(heads: np.ndarray, gates: np.ndarray) -> np.ndarray:
    out = np.empty_like(heads)
    args = (flat_heads(heads), gates, flat_heads(out))
    n, K, D = heads.shape
    if heads.size:
        threads.share_rows(elementwise.scale_heads_forward(K, D), n, K * D, *args)
    return out


def scale_heads_backward(grad: np.ndarray, heads: np.ndarray, gates: np.ndarray) -> Pair:
    grad_heads, grad_gates = np.empty_like(heads), np.zeros_like(gates)
    args = (flat_heads(grad), flat_heads(heads), gates, flat_heads(grad_heads), grad_gates)
    n, K, D = heads.shape
    if heads.size:
        threads.share_rows(elementwise.scale_heads_backward(K, D), n, K * D, *args)
    return grad_heads, grad_gates


def gru_update_forward(
    x_u: np.ndarray, x_r: np.ndarray, x_c: np.ndarray, h_u: np.ndarray, h_r: np.ndarray,
    h_c: np.ndarray, h: np.ndarray, slope: float,
) -> tuple[np.ndarray, Triple]:  # fmt: skip
    u, r, c, out = (np.empty_like(h) for _ in range(4))
    given = (part.reshape(-1) for part in (x_u, x_r, x_c, h_u, h_r, h_c, h))
    made = (part.reshape(-1) for part in (u, r, c, out))
    args = (*given, h.dtype.type(slope), *made)
    threads.share_rows(elementwise.gru_update_forward, h.size, 8, *args)
    return out, (u, r, c)


def gru_update_backward(
    grad: np.ndarray, h_c: np.ndarray, h: np.ndarray, saved: Triple, slope: float
) -> tuple[np.ndarray, ...]:
    grads = tuple(np.empty_like(h) for _ in range(5))
    given = (part.reshape(-1) for part in (grad, h_c, h, *saved))
    args = (*given, h.dtype.type(slope), *(part.reshape(-1) for part in grads))
    threads.share_rows(elementwise.gru_update_backward, h.size, 8, *args)
    return grads


def dropout(x: np.ndarray, rate: float, seed: int) -> np.ndarray:
    out = np.empty_like(x)
    args = (x.reshape(-1), out.reshape(-1), *dropout_constants(x.dtype, rate), np.uint64(seed))
    threads.share_rows(elementwise.dropout, x.size, 1, *args)
    return out


def bce_with_logits(logits: np.ndarray, targets: np.ndarray) -> tuple[float, np.ndarray]:
    grad = np.empty_like(logits)
    losses = np.empty(logits.shape[0], logits.dtype)
    threads.share_rows(elementwise.bce_with_logits, *logits.shape, logits, targets, grad, losses)
    return float(losses.sum(dtype=np.float64)), grad


def softmax_cross_entropy(logits: np.ndarray, targets: np.ndarray) -> tuple[float, np.ndarray]:
    grad = np.empty_like(logits)
    losses = np.empty(logits.shape[0], logits.dtype)
    args = (logits, targets, grad, losses)
    threads.share_rows(elementwise.softmax_cross_entropy, *logits.shape, *args)
    return float(losses.sum(dtype=np.float64)), grad


def adam_step(
    parameter: np.ndarray,
    grad: np.ndarray,
    moment1: np.ndarray,
    moment2: np.ndarray,
    rate: float,
    beta1: float,
    beta2: float,
    eps: float,
    step: int,
) -> None:
    kind = parameter.dtype.type
    correction = float(np.sqrt(1 - beta2**step))
    step_size = rate * correction / (1 - beta1**step)
    flat = (parameter.reshape(-1), grad.reshape(-1), moment1.reshape(-1), moment2.reshape(-1))
    constants = (kind(step_size), kind(beta1), kind(beta2), kind(eps * correction))
    threads.share_rows(elementwise.adam_step, parameter.size, 1, *flat, *constants)
