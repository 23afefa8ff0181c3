"""Layers that read like the equations: they know Tensors and blocks, not files or epochs."""

from gaancore.nn.aggregator import Aggregator
from gaancore.nn.aggregators import (
    AggregatorSpec,
    Attention,
    GatedAttention,
    PairwiseSum,
    Pooling,
)
from gaancore.nn.embedding import Embedding
from gaancore.nn.gate import PaperGate, ReleasedGate
from gaancore.nn.graph_gru import GraphGRUCell
from gaancore.nn.linear import Linear
from gaancore.nn.module import Module, Parameter

__all__ = [
    "Aggregator",
    "AggregatorSpec",
    "Attention",
    "Embedding",
    "GatedAttention",
    "GraphGRUCell",
    "Linear",
    "Module",
    "PairwiseSum",
    "PaperGate",
    "Parameter",
    "Pooling",
    "ReleasedGate",
]
