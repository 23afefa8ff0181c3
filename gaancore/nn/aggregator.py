"""What all aggregators share, and what those with heads do."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import copy
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from gaancore.errors import ShapeError, expect_choice
from gaancore.graph.block import Block
from gaancore.nn.linear import SLOPE, Features, Linear
from gaancore.nn.module import Module
from gaancore.ops import (
    edge_dot,
    edge_queries,
    edge_scores,
    edge_weighted_sum,
    reshape,
    segment_weighted_sum,
)
from gaancore.tensor import Tensor

if TYPE_CHECKING:
    from gaancore.nn.aggregators import AggregatorSpec


class Aggregator(Module, ABC):
    """What all share: y_i = h(FC_o(x_i ++ gathered_i)), or heads first as in the released code.

    Raises SettingsError for the spec of another aggregator.

    >>> layer = AggregatorSpec("max-pool").make(5, 3, 6, np.random.default_rng(0))
    >>> isinstance(layer, Aggregator), layer.output.weight.shape  # x_dim + value_dim, out_dim
    (True, (37, 6))
    """

    names: ClassVar[tuple[str, ...]]  # of the specs that it is made from

    def __init__(
        self, x_dim: int, gathered_dim: int, out_dim: int, spec: "AggregatorSpec",
        rng: np.random.Generator,
    ) -> None:  # fmt: skip
        expect_choice(f"{type(self).__name__}: spec.name", spec.name, self.names)
        self.output = Linear(x_dim + gathered_dim, out_dim, rng, slope=spec.slope)
        self.x_first = spec.variant == "paper"
        self.edge_dim = spec.edge_dim

    def __call__(self, x: Features, z: Tensor, block: Block, seed: int | None = None) -> Tensor:
        """(num_dst, out_dim), see above. Raises ShapeError for edges with other features."""
        self.expect_edges(block)
        return self.combine(x, self.gather(x, z, block, seed))

    @abstractmethod
    def gather(self, x: Features, z: Tensor, block: Block, seed: int | None = None) -> Tensor:
        """What reaches each node from its neighbours, (num_dst, gathered_dim)."""

    def expect_edges(self, block: Block) -> None:
        """Raises ShapeError unless the edges of `block` have the features that this layer reads."""
        if block.edge_dim != self.edge_dim:
            raise ShapeError(
                f"{type(self).__name__}: block: expected edges with {self.edge_dim} features "
                f"(edge_dim), got {block.edge_dim}"
            )

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
        self, x_dim: int, z_dim: int, out_dim: int, spec: "AggregatorSpec", rng: np.random.Generator
    ) -> None:
        K = spec.num_heads
        super().__init__(x_dim, K * spec.value_dim, out_dim, spec, rng)
        self.query = Linear(x_dim, K * spec.key_dim, rng)
        self.key = Linear(z_dim, K * spec.key_dim, rng, edge_dim=spec.edge_dim)
        self.value = Linear(z_dim, K * spec.value_dim, rng, slope=SLOPE, edge_dim=spec.edge_dim)
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

    def scores(self, queries: Tensor, z: Tensor, block: Block) -> Tensor:
        """<queries[i, k], FC_za^k(z_j)> of every edge, (E, K)."""
        scores = edge_dot(queries, self.keys(z), block=block)
        if not self.edge_dim:
            return scores
        of_edges = edge_queries(queries, self.key.projection(self.num_heads))
        return scores + edge_scores(of_edges, block.edge_attr, block=block)

    def weighted_sum(self, weights: Tensor, z: Tensor, block: Block) -> Tensor:
        """sum_j weights[e, k] * h(FC_v^k(z_j)), (num_dst, K, value_dim)."""
        if not self.edge_dim:
            return segment_weighted_sum(weights, self.values(z), block=block)
        before = split_heads(self.value.before(z), self.num_heads)
        projection = self.value.projection(self.num_heads)
        return edge_weighted_sum(
            weights, before, block.edge_attr, projection, block=block, slope=SLOPE
        )

    def beside(self, others: Sequence[Self]) -> Self:
        one = copy(self)
        one.query = self.query.beside([other.query for other in others])
        one.key = self.key.beside([other.key for other in others])
        one.value = self.value.beside([other.value for other in others])
        one.num_heads = self.num_heads * (1 + len(others))
        return one


def split_heads(x: Tensor, num_heads: int) -> Tensor:
    """(n, K * D) as (n, K, D), head-major as in the released layers."""
    return reshape(x, shape=(-1, num_heads, x.shape[-1] // num_heads))


def flatten_heads(x: Tensor) -> Tensor:
    """(n, K, D) as (n, K * D)."""
    return reshape(x, shape=(-1, x.shape[-2] * x.shape[-1]))
