"""Segment kernels that read features of edges.

What an edge e from source j brings is u[e] = values[j] + edges[e] @ projection: made in registers
where it is needed, and made again in the backward pass. No array has a row of it for each edge.
"""

from gaancore.kernels.cpu.edges.attention import edge_attention_backward, edge_attention_forward
from gaancore.kernels.cpu.edges.features import feature_dot, feature_sum
from gaancore.kernels.cpu.edges.maxima import edge_max_backward, edge_max_forward
from gaancore.kernels.cpu.edges.sums import edge_sum_backward, edge_sum_forward

__all__ = [
    "edge_attention_backward",
    "edge_attention_forward",
    "edge_max_backward",
    "edge_max_forward",
    "edge_sum_backward",
    "edge_sum_forward",
    "feature_dot",
    "feature_sum",
]
