"""A check of each kernel: how it is run, and what plain loops say of the same arrays."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from gaancore.array import to_numpy
from gaancore.doctor import plain_loops as plain
from gaancore.doctor.layer_checks import LAYER_CHECKS
from gaancore.graph.block import Block

DEGREES = (0, 1, 2, 31, 0, 33, 600, 5, 0)  # 600: long enough that a GPU cuts the row into pieces
SOURCES, K, A, D, F, G, H, C, B = 40, 2, 24, 32, 64, 48, 16, 7, 3
GRU_PARTS = ("x_u", "x_r", "x_c", "h_u", "h_r", "h_c")
SCALE, SLOPE, RATE, SEED = 1 / A, 0.1, 0.25, 7
ADAM = (0.01, 0.9, 0.999, 1e-8)  # rate, beta1, beta2, eps

Given = SimpleNamespace  # the arrays below by name, on the device or in float64 on the host
Results = tuple[Any, ...]


def _make_block() -> Block:
    indptr = np.cumsum([0, *DEGREES])
    return Block(indptr, np.random.default_rng(SEED).integers(0, SOURCES, indptr[-1]), SOURCES)


BLOCK = _make_block()


def make_arrays() -> dict[str, np.ndarray]:
    """What the kernels are given, by name, for the host; float32 where it is not an index."""
    rng = np.random.default_rng(SEED + 1)
    t_indptr, t_indices, t_edge_ids = BLOCK.transpose
    N, E = BLOCK.num_dst, BLOCK.num_edges

    def normal(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape, np.float32)

    return {
        "indptr": BLOCK.indptr,
        "indices": BLOCK.indices,
        "t_indptr": t_indptr,
        "t_indices": t_indices,
        "t_edge_ids": t_edge_ids,
        "scores": normal(E, K),
        "weights": rng.random((E, K), np.float32),
        "queries": normal(N, K, A),
        "keys": normal(SOURCES, K, A),
        "values": normal(SOURCES, K, D),
        "features": normal(SOURCES, F),
        "edges": normal(E, B),
        "edge_queries": normal(N, B, K),
        "projection": normal(B, K, D),
        "projection_to_features": normal(B, F),
        "grad_edges": normal(E, K),
        "grad_heads": normal(N, K, D),
        "grad_features": normal(N, F),
        "gates": rng.random((SOURCES, K), np.float32),
        "heads_grad": normal(SOURCES, K, D),
        "weight": normal(F + K, G),
        "mixer": normal(G, C),
        "bias": normal(G),
        "outputs_grad": normal(SOURCES, G),
        "logits": normal(SOURCES, C),
        "targets": rng.integers(0, 2, (SOURCES, C)).astype(np.uint8),
        "classes": rng.integers(0, C, SOURCES),
        **{name: normal(SOURCES, H) for name in GRU_PARTS},
        "state": normal(SOURCES, H),
        "state_grad": normal(SOURCES, H),
        "key_projection": normal(B, K, A),
    }


def _links(x: Given) -> tuple[Any, Any]:
    return x.indptr, x.indices


def _transposed(x: Given) -> tuple[Any, Any, Any]:
    return x.t_indptr, x.t_indices, x.t_edge_ids


def _maximum(kernels: Any, x: Given) -> Results:
    return kernels.segment_max_forward(x.features, *_links(x))


def _of_edges(x: Given) -> tuple[Any, Any, Any, Any, float]:
    return x.weights, x.values, x.edges, x.projection, SLOPE


def _edge_sum_backward(kernels: Any, x: Given) -> Results:
    links = (*_links(x), *_transposed(x))
    return kernels.edge_sum_backward(x.grad_heads, *_of_edges(x), True, *links)


def _edge_max(kernels: Any, x: Given) -> Results:
    given = (x.features, x.edges, x.projection_to_features)
    return kernels.edge_max_forward(*given, *_links(x))


def _edge_max_backward(kernels: Any, x: Given) -> Results:
    given = (_edge_max(kernels, x)[1], x.edges, x.projection_to_features)
    links = (*_links(x), *_transposed(x))
    return kernels.edge_max_backward(x.grad_features, *given, True, *links)


def _plain_edge_max_backward(x: Given) -> Results:
    given = (x.features, x.edges, x.projection_to_features)
    places = plain.edge_max(*given, BLOCK)[1]
    return plain.edge_max_gradients(x.grad_features, places, *given, BLOCK)


def _attention(kernels: Any, x: Given) -> Results:
    return kernels.attention_forward(x.queries, x.keys, x.values, *_links(x), SCALE, 0.0, SEED)


def _attention_backward(kernels: Any, x: Given) -> Results:
    out, saved = _attention(kernels, x)
    links = (*_links(x), *_transposed(x))
    return kernels.attention_backward(x.grad_heads, out, saved, SCALE, 0.0, SEED, *links)


def _over_edges(x: Given) -> tuple[Any, Any, Any, Any, Any, Any]:
    return x.queries, x.keys, x.values, x.edges, x.key_projection, x.projection


def _edge_attention(kernels: Any, x: Given) -> Results:
    static = (SLOPE, SCALE, 0.0, SEED)
    return kernels.edge_attention_forward(*_over_edges(x), *_links(x), *static)


def _edge_attention_backward(kernels: Any, x: Given) -> Results:
    out, saved = _edge_attention(kernels, x)
    given = (x.grad_heads, out, saved, SLOPE, SCALE, 0.0, SEED, True)
    return kernels.edge_attention_backward(*given, *_links(x), *_transposed(x))


def _gru_parts(x: Given) -> tuple[Any, Any, Any, Any, Any, Any]:
    return x.x_u, x.x_r, x.x_c, x.h_u, x.h_r, x.h_c


def _gru_backward(kernels: Any, x: Given) -> Results:
    _, saved = kernels.gru_update_forward(*_gru_parts(x), x.state, SLOPE)
    return kernels.gru_update_backward(x.state_grad, x.h_c, x.state, saved, SLOPE)


def _dropout(kernels: Any, x: Given) -> Results:
    """What each number was scaled by, times 1 - RATE; whether about 1 - RATE of them were kept."""
    factors = to_numpy(kernels.dropout(x.features, RATE, SEED)) / to_numpy(x.features) * (1 - RATE)
    share = np.count_nonzero(factors) / factors.size
    return np.unique(factors.round(4)), np.array(float(abs(share - (1 - RATE)) < 0.05))


def _adam_step(kernels: Any, x: Given) -> Results:
    parameter, moment1, moment2 = x.bias.copy(), x.outputs_grad[0].copy(), x.outputs_grad[0] ** 2
    kernels.adam_step(parameter, x.outputs_grad[0], moment1, moment2, *ADAM)
    return parameter, moment1, moment2


Check = tuple[Callable[[Any, Given], Results], Callable[[Given], Results]]
CHECKS: dict[str, Check] = {
    "segment_softmax_forward": (
        lambda k, x: (k.segment_softmax_forward(x.scores, x.indptr),),
        lambda x: (plain.softmax(x.scores, BLOCK),),
    ),
    "segment_softmax_backward": (
        lambda k, x: (k.segment_softmax_backward(x.weights, x.grad_edges, x.indptr),),
        lambda x: (plain.softmax_gradient(x.weights, x.grad_edges, BLOCK),),
    ),
    "segment_weighted_sum": (
        lambda k, x: (
            k.segment_weighted_sum(x.weights, x.values, *_links(x)),
            k.segment_weighted_sum(x.weights, x.grad_heads, *_transposed(x)),
        ),
        lambda x: (
            plain.weighted_sum(x.weights, x.values, BLOCK),
            plain.weighted_sum_to_sources(x.weights, x.grad_heads, BLOCK),
        ),
    ),
    "edge_dot": (
        lambda k, x: (k.edge_dot(x.queries, x.keys, *_links(x)),),
        lambda x: (plain.edge_dot(x.queries, x.keys, BLOCK),),
    ),
    "segment_mean_forward": (
        lambda k, x: (k.segment_mean_forward(x.features, *_links(x)),),
        lambda x: (plain.mean(x.features, BLOCK),),
    ),
    "segment_mean_backward": (
        lambda k, x: (k.segment_mean_backward(x.grad_features, x.indptr, x.t_indptr, x.t_indices),),
        lambda x: (plain.mean_gradient(x.grad_features, BLOCK),),
    ),
    "segment_max_forward": (_maximum, lambda x: plain.maximum(x.features, BLOCK)),
    "segment_max_backward": (
        lambda k, x: (
            k.segment_max_backward(x.grad_features, _maximum(k, x)[1], x.t_indptr, x.t_indices),
        ),
        lambda x: (
            plain.maximum_gradient(x.grad_features, plain.maximum(x.features, BLOCK)[1], BLOCK),
        ),
    ),
    "attention_forward": (
        lambda k, x: _attention(k, x)[:1],
        lambda x: (plain.attention(x.queries, x.keys, x.values, BLOCK, SCALE),),
    ),
    "attention_backward": (
        _attention_backward,
        lambda x: plain.attention_gradients(
            x.grad_heads, x.queries, x.keys, x.values, BLOCK, SCALE
        ),
    ),
    "feature_dot": (
        lambda k, x: (k.feature_dot(x.edge_queries, x.edges, x.indptr),),
        lambda x: (plain.feature_dot(x.edge_queries, x.edges, BLOCK),),
    ),
    "feature_sum": (
        lambda k, x: (k.feature_sum(x.weights, x.edges, x.indptr),),
        lambda x: (plain.feature_sum(x.weights, x.edges, BLOCK),),
    ),
    "edge_sum_forward": (
        lambda k, x: (k.edge_sum_forward(*_of_edges(x), *_links(x)),),
        lambda x: (plain.edge_sum(*_of_edges(x), BLOCK),),
    ),
    "edge_sum_backward": (
        _edge_sum_backward,
        lambda x: plain.edge_sum_gradients(x.grad_heads, *_of_edges(x), BLOCK),
    ),
    "edge_max_forward": (
        _edge_max,
        lambda x: plain.edge_max(x.features, x.edges, x.projection_to_features, BLOCK),
    ),
    "edge_max_backward": (_edge_max_backward, _plain_edge_max_backward),
    "sigmoid_forward": (
        lambda k, x: (k.sigmoid_forward(x.features),),
        lambda x: (1 / (1 + np.exp(-x.features)),),
    ),
    "sigmoid_backward": (
        lambda k, x: (k.sigmoid_backward(x.scores, x.weights),),
        lambda x: (x.scores * x.weights * (1 - x.weights),),
    ),
    "join_columns": (
        lambda k, x: (k.join_columns((x.features, x.gates, x.features)),),
        lambda x: (np.concatenate((x.features, x.gates, x.features), axis=1),),
    ),
    "split_columns": (
        lambda k, x: k.split_columns(x.features, (F - K, K)),
        lambda x: (x.features[:, :-K], x.features[:, -K:]),
    ),
    "edge_attention_forward": (
        lambda k, x: (_edge_attention(k, x)[0],),
        lambda x: (plain.edge_attention(*_over_edges(x), BLOCK, SLOPE, SCALE),),
    ),
    "edge_attention_backward": (
        _edge_attention_backward,
        lambda x: plain.edge_attention_gradients(
            x.grad_heads, *_over_edges(x), BLOCK, SLOPE, SCALE
        ),
    ),
    "scale_heads_forward": (
        lambda k, x: (k.scale_heads_forward(x.values, x.gates),),
        lambda x: (x.values * x.gates[:, :, None],),
    ),
    "scale_heads_backward": (
        lambda k, x: k.scale_heads_backward(x.heads_grad, x.values, x.gates),
        lambda x: (x.heads_grad * x.gates[:, :, None], (x.heads_grad * x.values).sum(axis=-1)),
    ),
    **LAYER_CHECKS,
    "matmul": (
        lambda k, x: (k.matmul(x.outputs_grad, x.mixer),),
        lambda x: (x.outputs_grad @ x.mixer,),
    ),
    "dropout": (_dropout, lambda x: (np.array([0, 1]), np.array(1.0))),
    "bce_with_logits": (
        lambda k, x: k.bce_with_logits(x.logits, x.targets),
        lambda x: plain.bce_with_logits(x.logits, x.targets),
    ),
    "softmax_cross_entropy": (
        lambda k, x: k.softmax_cross_entropy(x.logits, x.classes),
        lambda x: plain.softmax_cross_entropy(x.logits, x.classes),
    ),
    "gru_update_forward": (
        lambda k, x: k.gru_update_forward(*_gru_parts(x), x.state, SLOPE)[:1],
        lambda x: (plain.gru_update(*_gru_parts(x), x.state, SLOPE),),
    ),
    "gru_update_backward": (
        _gru_backward,
        lambda x: plain.gru_update_gradients(x.state_grad, *_gru_parts(x), x.state, SLOPE),
    ),
    "adam_step": (_adam_step, lambda x: plain.adam_step(x.bias, x.outputs_grad[0], *ADAM)),
}
