"""The paper's aggregators (section 3 and 4): y_i from x_i and the z_j of its neighbours.

Each is called as `aggregator(x, z, block, seed)`: x (num_dst, x_dim) the nodes' own features, or
several that stand side by side; z (num_src, z_dim) those of all sources; seed the step's dropout
seed, or None outside of training.
Returns (num_dst, out_dim), after h = LeakyReLU with slope 0.1 unless `slope` says otherwise.
"""

from abc import ABC, abstractmethod

import numpy as np

from gaancore.graph.block import Block
from gaancore.nn.gate import SLOPE, PaperGate, ReleasedGate
from gaancore.nn.linear import Features, Linear
from gaancore.nn.module import Module
from gaancore.nn.observe import Seen, show
from gaancore.ops import (
    divide_by_degree,
    edge_dot,
    multiply,
    reshape,
    scale_heads,
    segment_attention,
    segment_max,
    segment_mean,
    segment_softmax,
    segment_weighted_sum,
    sigmoid,
    tanh,
)
from gaancore.tensor import Tensor


class Aggregator(Module, ABC):
    """What all share: y_i = h(FC_o(x_i ++ gathered_i)), or heads first as in the released code."""

    def __init__(
        self,
        x_dim: int,
        gathered_dim: int,
        out_dim: int,
        x_first: bool,
        slope: float,
        rng: np.random.Generator,
    ) -> None:
        self.output = Linear(x_dim + gathered_dim, out_dim, rng, slope=slope)
        self.x_first = x_first

    def __call__(self, x: Features, z: Tensor, block: Block, seed: int | None = None) -> Tensor:
        """(num_dst, out_dim), see above."""
        return self.combine(x, self.gather(x, z, block, seed))

    @abstractmethod
    def gather(self, x: Features, z: Tensor, block: Block, seed: int | None = None) -> Tensor:
        """What reaches each node from its neighbours, (num_dst, gathered_dim)."""

    def combine(self, x: Features, gathered: Tensor) -> Tensor:
        return self.output(x, gathered) if self.x_first else self.output(gathered, x)


class Attention(Aggregator):
    """Multi-head attention (eq. 1): y_i = h(FC_o(x_i ++ [sum_j w_ij^k h(FC_v^k(z_j))]_k)).

    w_ij^k = softmax_j(scale * <FC_xa^k(x_i), FC_za^k(z_j)>); the paper prints scale 1, the
    released layers divide both sides by sqrt(key_dim), so scale = 1 / key_dim.
    """

    def __init__(
        self,
        x_dim: int,
        z_dim: int,
        out_dim: int,
        *,
        num_heads: int,
        key_dim: int,
        value_dim: int,
        variant: str,
        attention_dropout: float = 0.0,
        slope: float = SLOPE,
        rng: np.random.Generator,
    ) -> None:
        super().__init__(x_dim, num_heads * value_dim, out_dim, variant == "paper", slope, rng)
        self.query = Linear(x_dim, num_heads * key_dim, rng)
        self.key = Linear(z_dim, num_heads * key_dim, rng)
        self.value = Linear(z_dim, num_heads * value_dim, rng, slope=SLOPE)
        self.num_heads = num_heads
        self.scale = 1.0 if variant == "paper" else 1.0 / key_dim
        self.attention_dropout = attention_dropout

    def attend(self, x: Features, z: Tensor, block: Block, seed: int | None) -> Tensor:
        """What each head gathers, (num_dst, K, value_dim)."""
        return segment_attention(
            split_heads(self.query(x), self.num_heads),
            split_heads(self.key(z), self.num_heads),
            split_heads(self.value(z), self.num_heads),
            block=block,
            scale=self.scale,
            dropout=0.0 if seed is None else self.attention_dropout,
            seed=seed or 0,
        )

    def weights(self, x: Features, z: Tensor, block: Block) -> Tensor:
        """w_ij^k of every edge, (E, K), without dropout; `attend` uses and never stores them."""
        queries = split_heads(self.query(x), self.num_heads)
        scores = edge_dot(queries, split_heads(self.key(z), self.num_heads), block=block)
        return segment_softmax(multiply(scores, scores.dtype.type(self.scale)), block=block)

    def gather(self, x: Features, z: Tensor, block: Block, seed: int | None = None) -> Tensor:
        heads = self.attend(x, z, block, seed)
        show(Seen(self, x, z, block, None))
        return flatten_heads(heads)


class GatedAttention(Attention):
    """GaAN (eq. 2): as Attention, each head's sum multiplied by the node's gate g_i^k (eq. 3)."""

    def __init__(
        self,
        x_dim: int,
        z_dim: int,
        out_dim: int,
        *,
        num_heads: int,
        key_dim: int,
        value_dim: int,
        gate_dim: int,
        mean_in_gate: bool = True,
        variant: str,
        attention_dropout: float = 0.0,
        slope: float = SLOPE,
        rng: np.random.Generator,
    ) -> None:
        super().__init__(
            x_dim,
            z_dim,
            out_dim,
            num_heads=num_heads,
            key_dim=key_dim,
            value_dim=value_dim,
            variant=variant,
            attention_dropout=attention_dropout,
            slope=slope,
            rng=rng,
        )
        gate = PaperGate if variant == "paper" else ReleasedGate
        self.gate = gate(x_dim, z_dim, gate_dim, num_heads, rng, mean_in_gate)

    def gather(self, x: Features, z: Tensor, block: Block, seed: int | None = None) -> Tensor:
        heads, gates = self.attend(x, z, block, seed), self.gate(x, z, block)
        show(Seen(self, x, z, block, gates))
        return flatten_heads(scale_heads(heads, gates))


class Pooling(Aggregator):
    """y_i = h(FC_o(x_i ++ pool_j h(FC_v(z_j)))), pool = mean or max (section 4)."""

    def __init__(
        self,
        x_dim: int,
        z_dim: int,
        out_dim: int,
        *,
        pool: str,
        value_dim: int,
        variant: str,
        slope: float = SLOPE,
        rng: np.random.Generator,
    ) -> None:
        super().__init__(x_dim, value_dim, out_dim, variant == "paper", slope, rng)
        self.value = Linear(z_dim, value_dim, rng, slope=SLOPE)
        self.pool = {"mean": segment_mean, "max": segment_max}[pool]

    def gather(self, x: Features, z: Tensor, block: Block, seed: int | None = None) -> Tensor:
        return self.pool(self.value(z), block=block)


class PairwiseSum(Aggregator):
    """y_i = h(FC_o(x_i ++ [1/|N_i| sum_j w_ij^k h(FC_v^k(z_j))]_k)), weights without competition.

    w_ij^k = act(<FC_xa^k(x_i), FC_za^k(z_j)>), act = sigmoid or tanh; never rescaled (section 4).
    """

    def __init__(
        self,
        x_dim: int,
        z_dim: int,
        out_dim: int,
        *,
        activation: str,
        num_heads: int,
        key_dim: int,
        value_dim: int,
        variant: str,
        slope: float = SLOPE,
        rng: np.random.Generator,
    ) -> None:
        super().__init__(x_dim, num_heads * value_dim, out_dim, variant == "paper", slope, rng)
        self.query = Linear(x_dim, num_heads * key_dim, rng)
        self.key = Linear(z_dim, num_heads * key_dim, rng)
        self.value = Linear(z_dim, num_heads * value_dim, rng, slope=SLOPE)
        self.num_heads = num_heads
        self.activation = {"sigmoid": sigmoid, "tanh": tanh}[activation]

    def gather(self, x: Features, z: Tensor, block: Block, seed: int | None = None) -> Tensor:
        queries = split_heads(self.query(x), self.num_heads)
        keys = split_heads(self.key(z), self.num_heads)
        weights = self.activation(edge_dot(queries, keys, block=block))
        values = split_heads(self.value(z), self.num_heads)
        heads = segment_weighted_sum(weights, values, block=block)
        return flatten_heads(divide_by_degree(heads, block=block))


def split_heads(x: Tensor, num_heads: int) -> Tensor:
    """(n, K * D) as (n, K, D), head-major as in the released layers."""
    return reshape(x, shape=(-1, num_heads, x.shape[-1] // num_heads))


def flatten_heads(x: Tensor) -> Tensor:
    """(n, K, D) as (n, K * D)."""
    return reshape(x, shape=(-1, x.shape[-2] * x.shape[-1]))
