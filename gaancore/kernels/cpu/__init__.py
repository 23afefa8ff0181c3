"""The CPU backend, in Numba. See the contract in gaancore.kernels."""

from gaancore.kernels.arguments import check_if_asked
from gaancore.kernels.cpu.attention import attention_backward, attention_forward
from gaancore.kernels.cpu.columns import join_columns, split_columns
from gaancore.kernels.cpu.edges import (
    edge_attention_backward,
    edge_attention_forward,
    edge_max_backward,
    edge_max_forward,
    edge_sum_backward,
    edge_sum_forward,
    feature_dot,
    feature_sum,
)
from gaancore.kernels.cpu.elementwise import (
    adam_step,
    dropout,
    gru_update_backward,
    gru_update_forward,
    scale_heads_backward,
    scale_heads_forward,
    sigmoid_backward,
    sigmoid_forward,
)
from gaancore.kernels.cpu.losses import bce_with_logits, softmax_cross_entropy
from gaancore.kernels.cpu.pools import (
    segment_max_backward,
    segment_max_forward,
    segment_mean_backward,
    segment_mean_forward,
)
from gaancore.kernels.cpu.products import (
    linear_backward,
    linear_each_backward,
    linear_each_forward,
    linear_forward,
    matmul,
)
from gaancore.kernels.cpu.segments import (
    edge_dot,
    segment_softmax_backward,
    segment_softmax_forward,
    segment_weighted_sum,
)

__all__ = [
    "adam_step",
    "attention_backward",
    "attention_forward",
    "bce_with_logits",
    "dropout",
    "edge_attention_backward",
    "edge_attention_forward",
    "edge_dot",
    "edge_max_backward",
    "edge_max_forward",
    "edge_sum_backward",
    "edge_sum_forward",
    "feature_dot",
    "feature_sum",
    "gru_update_backward",
    "gru_update_forward",
    "join_columns",
    "linear_backward",
    "linear_each_backward",
    "linear_each_forward",
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
    "sigmoid_backward",
    "sigmoid_forward",
    "softmax_cross_entropy",
    "split_columns",
]
check_if_asked(globals(), __all__)
