"""Differentiable ops: one op is one function, with its gradient right below its value."""

from gaancore.ops.edges import (
    edge_attention,
    edge_max,
    edge_mean,
    edge_queries,
    edge_scores,
    edge_total,
    edge_weighted_sum,
)
from gaancore.ops.elementwise import (
    add,
    dropout,
    leaky_relu,
    multiply,
    negative,
    scale_heads,
    sigmoid,
    subtract,
    tanh,
)
from gaancore.ops.linalg import linear, linear_each, matmul, sparse_matmul
from gaancore.ops.loss import (
    bce_with_logits,
    masked_absolute_error,
    soft_bce_with_logits,
    soft_cross_entropy,
    softmax_cross_entropy,
)
from gaancore.ops.operators import install as _install_operators
from gaancore.ops.recurrent import gru_update
from gaancore.ops.segment import (
    divide_by_degree,
    edge_dot,
    segment_attention,
    segment_max,
    segment_mean,
    segment_softmax,
    segment_weighted_sum,
)
from gaancore.ops.shape import (
    beside,
    concat,
    concat_rows,
    first_rows,
    reshape,
    split_columns,
    split_rows,
    total,
)

__all__ = [
    "add",
    "bce_with_logits",
    "beside",
    "concat",
    "concat_rows",
    "divide_by_degree",
    "dropout",
    "edge_attention",
    "edge_dot",
    "edge_max",
    "edge_mean",
    "edge_queries",
    "edge_scores",
    "edge_total",
    "edge_weighted_sum",
    "first_rows",
    "gru_update",
    "leaky_relu",
    "linear",
    "linear_each",
    "masked_absolute_error",
    "matmul",
    "multiply",
    "negative",
    "reshape",
    "scale_heads",
    "segment_attention",
    "segment_max",
    "segment_mean",
    "segment_softmax",
    "segment_weighted_sum",
    "sigmoid",
    "soft_bce_with_logits",
    "soft_cross_entropy",
    "softmax_cross_entropy",
    "sparse_matmul",
    "split_columns",
    "split_rows",
    "subtract",
    "tanh",
    "total",
]

_install_operators()
