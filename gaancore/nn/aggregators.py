"""The paper's aggregators (section 3 and 4): y_i from x_i and the z_j of its neighbours.

`AggregatorSpec` names one of them with all its choices, and makes it. Each is called as
`aggregator(x, z, block, seed)`: x (num_dst, x_dim) the nodes' own features, or several that stand
side by side; z (num_src, z_dim) those of all sources; seed the step's dropout seed, or None outside
of training. Returns (num_dst, out_dim), after h = LeakyReLU unless `slope` says otherwise.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from gaancore.errors import expect_choice
from gaancore.graph.block import Block
from gaancore.nn.gate import Gate, PaperGate, ReleasedGate
from gaancore.nn.linear import SLOPE, Features, Linear
from gaancore.nn.module import Module
from gaancore.nn.observe import Seen, show
from gaancore.ops import (
    divide_by_degree,
    edge_dot,
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

VARIANTS = ("paper", "released")


@dataclass(frozen=True)
class AggregatorSpec:
    """Which aggregator, with every choice; the defaults are the paper's for PPI (section 5.1).

    name              : one of AGGREGATORS.
    variant           : "paper" (equations as printed) or "released" (pinned by parameter counts).
    num_heads         : K. Pools have no heads.
    key_dim           : d_a, width of a head's queries and keys.
    value_dim         : d_v, width of a head's values, or of what is pooled.
    gate_dim          : d_m, width of what the gate pools; gaan alone has a gate.
    attention_dropout : share of the attention weights that is set to 0 in training.
    mean_in_gate      : whether the gate sees the mean of the neighbours beside their maximum.
    slope             : of the output's LeakyReLU; 1: no activation.
    A choice that an aggregator has no use for is left aside.
    Raises SettingsError for another name or variant.

    >>> spec = AggregatorSpec("gaan", num_heads=4, key_dim=8, value_dim=8, gate_dim=16)
    >>> spec.make(x_dim=5, z_dim=5, out_dim=32, rng=np.random.default_rng(0)).num_parameters
    2308
    """

    name: str
    variant: str = "released"
    num_heads: int = 8
    key_dim: int = 24
    value_dim: int = 32
    gate_dim: int = 64
    attention_dropout: float = 0.0
    mean_in_gate: bool = True
    slope: float = SLOPE

    def __post_init__(self) -> None:
        expect_choice("AggregatorSpec: name", self.name, AGGREGATORS)
        expect_choice("AggregatorSpec: variant", self.variant, VARIANTS)

    def make(self, x_dim: int, z_dim: int, out_dim: int, rng: np.random.Generator) -> "Aggregator":
        """The aggregator, with weights drawn from `rng`."""
        return KINDS[self.name](x_dim, z_dim, out_dim, self, rng)


class Aggregator(Module, ABC):
    """What all share: y_i = h(FC_o(x_i ++ gathered_i)), or heads first as in the released code.

    Raises SettingsError for the spec of another aggregator.

    >>> layer = AggregatorSpec("max-pool").make(5, 3, 6, np.random.default_rng(0))
    >>> isinstance(layer, Aggregator), layer.output.weight.shape  # x_dim + value_dim, out_dim
    (True, (37, 6))
    """

    names: ClassVar[tuple[str, ...]]  # of the specs that it is made from

    def __init__(
        self, x_dim: int, gathered_dim: int, out_dim: int, spec: AggregatorSpec,
        rng: np.random.Generator,
    ) -> None:  # fmt: skip
        expect_choice(f"{type(self).__name__}: spec.name", spec.name, self.names)
        self.output = Linear(x_dim + gathered_dim, out_dim, rng, slope=spec.slope)
        self.x_first = spec.variant == "paper"

    def __call__(self, x: Features, z: Tensor, block: Block, seed: int | None = None) -> Tensor:
        """(num_dst, out_dim), see above."""
        return self.combine(x, self.gather(x, z, block, seed))

    @abstractmethod
    def gather(self, x: Features, z: Tensor, block: Block, seed: int | None = None) -> Tensor:
        """What reaches each node from its neighbours, (num_dst, gathered_dim)."""

    def combine(self, x: Features, gathered: Tensor) -> Tensor:
        return self.output(x, gathered) if self.x_first else self.output(gathered, x)

    @abstractmethod
    def beside(self, others: Sequence[Self]) -> Self:
        """One whose `gather` gives what this one and then each of `others` gathers.

        All are made from one spec. Its FC_o is that of this one alone.
        """


class MultiHead(Aggregator):
    """What attention and pairwise sums share: each head's queries, keys and values."""

    def __init__(
        self, x_dim: int, z_dim: int, out_dim: int, spec: AggregatorSpec, rng: np.random.Generator
    ) -> None:
        K = spec.num_heads
        super().__init__(x_dim, K * spec.value_dim, out_dim, spec, rng)
        self.query = Linear(x_dim, K * spec.key_dim, rng)
        self.key = Linear(z_dim, K * spec.key_dim, rng)
        self.value = Linear(z_dim, K * spec.value_dim, rng, slope=SLOPE)
        self.num_heads = K

    def queries(self, x: Features) -> Tensor:
        """FC_xa^k(x_i), (num_dst, K, key_dim)."""
        return split_heads(self.query(x), self.num_heads)

    def keys(self, z: Tensor) -> Tensor:
        """FC_za^k(z_j), (num_src, K, key_dim)."""
        return split_heads(self.key(z), self.num_heads)

    def values(self, z: Tensor) -> Tensor:
        """h(FC_v^k(z_j)), (num_src, K, value_dim)."""
        return split_heads(self.value(z), self.num_heads)

    def beside(self, others: Sequence[Self]) -> Self:
        one = copy(self)
        one.query = self.query.beside([other.query for other in others])
        one.key = self.key.beside([other.key for other in others])
        one.value = self.value.beside([other.value for other in others])
        one.num_heads = self.num_heads * (1 + len(others))
        return one


class Attention(MultiHead):
    """Multi-head attention (eq. 1): y_i = h(FC_o(x_i ++ [sum_j w_ij^k h(FC_v^k(z_j))]_k)).

    w_ij^k = softmax_j(scale * <FC_xa^k(x_i), FC_za^k(z_j)>); the paper prints scale 1, the
    released layers divide both sides by sqrt(key_dim), so scale = 1 / key_dim.

    >>> block, x = Block([0, 1, 3], [1, 0, 1], num_src=2), Tensor(np.ones((2, 5), np.float32))
    >>> spec = AggregatorSpec("attention", num_heads=2)
    >>> layer = Attention(5, 5, 6, spec, np.random.default_rng(0))
    >>> layer(x, x, block).shape, layer.weights(x, x, block).data.tolist()  # all nodes are alike
    ((2, 6), [[1.0, 1.0], [0.5, 0.5], [0.5, 0.5]])
    """

    names = ("attention",)

    def __init__(
        self, x_dim: int, z_dim: int, out_dim: int, spec: AggregatorSpec, rng: np.random.Generator
    ) -> None:
        super().__init__(x_dim, z_dim, out_dim, spec, rng)
        self.scale = 1.0 if spec.variant == "paper" else 1.0 / spec.key_dim
        self.attention_dropout = spec.attention_dropout

    def attend(self, x: Features, z: Tensor, block: Block, seed: int | None) -> Tensor:
        """What each head gathers, (num_dst, K, value_dim)."""
        return segment_attention(
            self.queries(x),
            self.keys(z),
            self.values(z),
            block=block,
            scale=self.scale,
            dropout=0.0 if seed is None else self.attention_dropout,
            seed=seed or 0,
        )

    def weights(self, x: Features, z: Tensor, block: Block) -> Tensor:
        """w_ij^k of every edge, (E, K), without dropout; `attend` uses and never stores them."""
        scores = edge_dot(self.queries(x), self.keys(z), block=block)
        return segment_softmax(scores * self.scale, block=block)

    def gather(self, x: Features, z: Tensor, block: Block, seed: int | None = None) -> Tensor:
        heads = self.attend(x, z, block, seed)
        show(Seen(self, x, z, block, None))
        return flatten_heads(heads)


class GatedAttention(Attention):
    """GaAN (eq. 2): as Attention, each head's sum multiplied by the node's gate g_i^k (eq. 3).

    >>> block, x = Block([0, 1, 3], [1, 0, 1], num_src=2), Tensor(np.ones((2, 5), np.float32))
    >>> spec = AggregatorSpec("gaan", num_heads=2)
    >>> layer = GatedAttention(5, 5, 6, spec, np.random.default_rng(0))
    >>> layer(x, x, block).shape, layer.gate(x, x, block).shape
    ((2, 6), (2, 2))
    """

    names = ("gaan",)

    def __init__(
        self, x_dim: int, z_dim: int, out_dim: int, spec: AggregatorSpec, rng: np.random.Generator
    ) -> None:
        super().__init__(x_dim, z_dim, out_dim, spec, rng)
        gate = PaperGate if spec.variant == "paper" else ReleasedGate
        self.gate: Gate = gate(x_dim, z_dim, spec.gate_dim, spec.num_heads, rng, spec.mean_in_gate)

    def gather(self, x: Features, z: Tensor, block: Block, seed: int | None = None) -> Tensor:
        heads, gates = self.attend(x, z, block, seed), self.gate(x, z, block)
        show(Seen(self, x, z, block, gates))
        return flatten_heads(scale_heads(heads, gates))

    def beside(self, others: Sequence[Self]) -> Self:
        one = super().beside(others)
        one.gate = self.gate.beside([other.gate for other in others])
        return one


class Pooling(Aggregator):
    """y_i = h(FC_o(x_i ++ pool_j h(FC_v(z_j)))), pool = mean or max (section 4).

    >>> block, x = Block([0, 1, 3], [1, 0, 1], num_src=2), Tensor(np.ones((2, 5), np.float32))
    >>> layer = Pooling(5, 5, 6, AggregatorSpec("avg-pool"), np.random.default_rng(0))
    >>> layer(x, x, block).shape
    (2, 6)
    """

    names = ("avg-pool", "max-pool")

    def __init__(
        self, x_dim: int, z_dim: int, out_dim: int, spec: AggregatorSpec, rng: np.random.Generator
    ) -> None:
        super().__init__(x_dim, spec.value_dim, out_dim, spec, rng)
        self.value = Linear(z_dim, spec.value_dim, rng, slope=SLOPE)
        self.pool = segment_mean if spec.name == "avg-pool" else segment_max

    def gather(self, x: Features, z: Tensor, block: Block, seed: int | None = None) -> Tensor:
        return self.pool(self.value(z), block=block)

    def beside(self, others: Sequence[Self]) -> Self:
        one = copy(self)
        one.value = self.value.beside([other.value for other in others])
        return one


class PairwiseSum(MultiHead):
    """y_i = h(FC_o(x_i ++ [1/|N_i| sum_j w_ij^k h(FC_v^k(z_j))]_k)), weights without competition.

    w_ij^k = act(<FC_xa^k(x_i), FC_za^k(z_j)>), act = sigmoid or tanh; never rescaled (section 4).

    >>> block, x = Block([0, 1, 3], [1, 0, 1], num_src=2), Tensor(np.ones((2, 5), np.float32))
    >>> layer = PairwiseSum(5, 5, 6, AggregatorSpec("pairwise-tanh"), np.random.default_rng(0))
    >>> layer(x, x, block).shape
    (2, 6)
    """

    names = ("pairwise-sigmoid", "pairwise-tanh")

    def __init__(
        self, x_dim: int, z_dim: int, out_dim: int, spec: AggregatorSpec, rng: np.random.Generator
    ) -> None:
        super().__init__(x_dim, z_dim, out_dim, spec, rng)
        self.activation = sigmoid if spec.name == "pairwise-sigmoid" else tanh

    def gather(self, x: Features, z: Tensor, block: Block, seed: int | None = None) -> Tensor:
        weights = self.activation(edge_dot(self.queries(x), self.keys(z), block=block))
        heads = segment_weighted_sum(weights, self.values(z), block=block)
        return flatten_heads(divide_by_degree(heads, block=block))


KINDS: dict[str, type[Aggregator]] = {
    name: kind for kind in (GatedAttention, Attention, Pooling, PairwiseSum) for name in kind.names
}
AGGREGATORS = tuple(KINDS)


def split_heads(x: Tensor, num_heads: int) -> Tensor:
    """(n, K * D) as (n, K, D), head-major as in the released layers."""
    return reshape(x, shape=(-1, num_heads, x.shape[-1] // num_heads))


def flatten_heads(x: Tensor) -> Tensor:
    """(n, K, D) as (n, K * D)."""
    return reshape(x, shape=(-1, x.shape[-2] * x.shape[-1]))
