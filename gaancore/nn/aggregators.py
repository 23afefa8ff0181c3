"""The paper's aggregators (section 3 and 4): y_i from x_i and the z_j of its neighbours.

`AggregatorSpec` names one of them with all its choices, and makes it. Each is called as
`aggregator(x, z, block, seed)`: x (num_dst, x_dim) the nodes' own features, or several that stand
side by side; z (num_src, z_dim) those of all sources; seed the step's dropout seed, or None outside
of training. Returns (num_dst, out_dim), after h = LeakyReLU unless `slope` says otherwise.

With `edge_dim`, each z_j below stands for z_j ++ e_ij (section 3), e_ij the features that the block
has of its edges: for an edge they add e_ij @ edge_weight to FC(z_j), in the kernels.
"""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from gaancore.choices import AGGREGATORS, VARIANTS
from gaancore.errors import expect_choice
from gaancore.graph.block import Block
from gaancore.nn.aggregator import Aggregator, MultiHead, flatten_heads, split_heads
from gaancore.nn.gate import Gate, PaperGate, ReleasedGate
from gaancore.nn.linear import SLOPE, Features, Linear, apply_each
from gaancore.nn.observe import Seen, show
from gaancore.ops import (
    divide_by_degree,
    edge_attention,
    edge_max,
    edge_mean,
    leaky_relu,
    scale_heads,
    segment_attention,
    segment_max,
    segment_mean,
    segment_softmax,
    sigmoid,
    tanh,
)
from gaancore.tensor import Tensor


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
    edge_dim          : features of an edge, 0 for none; as many as block.edge_attr has columns.
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
    edge_dim: int = 0

    def __post_init__(self) -> None:
        expect_choice("AggregatorSpec: name", self.name, AGGREGATORS)
        expect_choice("AggregatorSpec: variant", self.variant, VARIANTS)

    def make(self, x_dim: int, z_dim: int, out_dim: int, rng: np.random.Generator) -> "Aggregator":
        """The aggregator, with weights drawn from `rng`."""
        return KINDS[self.name](x_dim, z_dim, out_dim, self, rng)


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
        if self.edge_dim:
            before, K = split_heads(self.value.before(z), self.num_heads), self.num_heads
            edges = (block.edge_attr, self.key.projection(K), self.value.projection(K))
            given = (self.queries(x), self.keys(z), before, *edges)
            return edge_attention(*given, block=block, slope=SLOPE, **self.static(seed))
        return self.attention(self.queries(x), self.keys(z), self.values(z), block, seed)

    def attention(
        self, queries: Tensor, keys: Tensor, values: Tensor, block: Block, seed: int | None
    ) -> Tensor:
        """What each head gathers from edges without features, (num_dst, K, value_dim)."""
        return segment_attention(queries, keys, values, block=block, **self.static(seed))

    def static(self, seed: int | None) -> dict[str, Any]:
        """What attention is told beside its arrays."""
        rate = 0.0 if seed is None else self.attention_dropout
        return {"scale": self.scale, "dropout": rate, "seed": seed or 0}

    def weights(self, x: Features, z: Tensor, block: Block) -> Tensor:
        """w_ij^k of every edge, (E, K), without dropout; `attend` has no need of them."""
        return segment_softmax(self.scores(self.queries(x), z, block) * self.scale, block=block)

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
        sizes = (x_dim, z_dim, spec.gate_dim, spec.num_heads)
        self.gate: Gate = gate(*sizes, rng, spec.mean_in_gate, spec.edge_dim)

    def gather(self, x: Features, z: Tensor, block: Block, seed: int | None = None) -> Tensor:
        if self.edge_dim:
            heads, gates = self.attend(x, z, block, seed), self.gate(x, z, block)
        else:
            layers = [self.gate.max_branch, self.value, self.key]
            if x is z:
                branch, *of_heads, queries = apply_each([*layers, self.query], z)
            else:
                queries = self.query(x)
                branch, *of_heads = apply_each(layers, z)
            values, keys, queries = (split_heads(y, self.num_heads) for y in (*of_heads, queries))
            heads = self.attention(queries, keys, values, block, seed)
            gates = self.gate(x, z, block, branch)
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
        self.value = Linear(z_dim, spec.value_dim, rng, slope=SLOPE, edge_dim=spec.edge_dim)
        self.mean = spec.name == "avg-pool"

    def gather(self, x: Features, z: Tensor, block: Block, seed: int | None = None) -> Tensor:
        if not self.edge_dim:
            pool = segment_mean if self.mean else segment_max
            return pool(self.value(z), block=block)
        given = (self.value.before(z), block.edge_attr, self.value.edge_weight)
        if self.mean:
            return edge_mean(*given, block=block, slope=SLOPE)
        return leaky_relu(edge_max(*given, block=block), slope=SLOPE)  # h rises: max_j h = h(max_j)

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
        weights = self.activation(self.scores(self.queries(x), z, block))
        heads = self.weighted_sum(weights, z, block)
        return flatten_heads(divide_by_degree(heads, block=block))


KINDS: dict[str, type[Aggregator]] = {
    name: kind for kind in (GatedAttention, Attention, Pooling, PairwiseSum) for name in kind.names
}
