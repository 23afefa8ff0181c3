"""The gate: one number in (0, 1) for each node and head, from the node's surroundings (eq. 3)."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import copy
from typing import Self

import numpy as np

from gaancore.graph.block import Block
from gaancore.nn.linear import SLOPE, Features, Linear
from gaancore.nn.module import Module
from gaancore.ops import (
    divide_by_degree,
    edge_max,
    edge_total,
    segment_max,
    segment_mean,
    sigmoid,
)
from gaancore.tensor import Tensor


class Gate(Module, ABC):
    """What both gates share: pool the neighbours, then open."""

    max_branch: Linear
    output: Linear
    mean: bool
    edge_dim: int

    def __call__(
        self, x: Features, z: Tensor, block: Block, branch: Tensor | None = None
    ) -> Tensor:
        """x (N, x_dim), z (S, z_dim) -> (N, num_heads). branch: FC_m(z), if that is there."""
        return sigmoid(self.logits(x, self.pooled(z, block, branch)))

    def pooled(self, z: Tensor, block: Block, branch: Tensor | None = None) -> list[Tensor]:
        """max_j FC_m(z_j), and mean_j z_j unless the gate leaves it out; z_j ++ e_ij for z_j where
        edges have features.
        """
        if not self.edge_dim:
            if branch is None:
                branch = self.max_branch(z)
            largest = segment_max(branch, block=block)
            return [largest, segment_mean(z, block=block)] if self.mean else [largest]
        e, layer = block.edge_attr, self.max_branch
        largest = edge_max(layer(z), e, layer.edge_weight, block=block)
        if not self.mean:
            return [largest]
        mean_of_edges = divide_by_degree(edge_total(e, block=block), block=block)
        return [largest, segment_mean(z, block=block), mean_of_edges]

    @abstractmethod
    def logits(self, x: Features, pooled: Sequence[Tensor]) -> Tensor:
        """(N, num_heads) from a node's own features and its pooled neighbours."""

    @abstractmethod
    def beside(self, others: Sequence[Self]) -> Self:
        """One gate with the heads of this one and then of each of `others`, alike but for weights.

        They share x_i and mean_j z_j; each has a maximum, which only its own heads see.
        """


class PaperGate(Gate):
    """g_i = sigmoid(FC_g(x_i ++ max_j FC_m(z_j) ++ mean_j z_j)), equation 3 as printed.

    mean=False leaves the mean out of either gate, as the paper does on METR-LA (section 5.3).

    >>> block, x = Block([0, 1, 3], [1, 0, 1], num_src=2), Tensor(np.ones((2, 5), np.float32))
    >>> gate = PaperGate(x_dim=5, z_dim=5, gate_dim=8, num_heads=2, rng=np.random.default_rng(0))
    >>> gate(x, x, block).shape, gate.output.weight.shape  # x_i, maximum, mean: 5 + 8 + 5
    ((2, 2), (18, 2))
    """

    def __init__(
        self,
        x_dim: int,
        z_dim: int,
        gate_dim: int,
        num_heads: int,
        rng: np.random.Generator,
        mean: bool = True,
        edge_dim: int = 0,
    ) -> None:
        self.max_branch = Linear(z_dim, gate_dim, rng, edge_dim=edge_dim)
        self.output = Linear(x_dim + gate_dim + mean * (z_dim + edge_dim), num_heads, rng)
        self.maximum = slice(x_dim, x_dim + gate_dim)  # where it stands in the input of FC_g
        self.mean, self.edge_dim = mean, edge_dim

    def logits(self, x: Features, pooled: Sequence[Tensor]) -> Tensor:
        return self.output(x, *pooled)

    def beside(self, others: Sequence[Self]) -> Self:
        one = copy(self)
        one.max_branch = self.max_branch.beside([other.max_branch for other in others])
        one.output = self.output.beside([other.output for other in others], own=self.maximum)
        return one


class ReleasedGate(Gate):
    """g_i = sigmoid(FC_g(h(FC_c(max_j FC_m(z_j) ++ mean_j z_j)))): what the parameter counts pin.

    The node's own x does not enter, a hidden layer of gate_dim does, and FC_g learns at a tenth of
    the learning rate (authors' released layers). x is accepted so that both gates are called alike.

    >>> block, x = Block([0, 1, 3], [1, 0, 1], num_src=2), Tensor(np.ones((2, 5), np.float32))
    >>> gate = ReleasedGate(x_dim=5, z_dim=5, gate_dim=8, num_heads=2, rng=np.random.default_rng(0))
    >>> gate(x, x, block).shape, gate.hidden.weight.shape  # the maximum and the mean: 8 + 5
    ((2, 2), (13, 8))
    """

    def __init__(
        self,
        x_dim: int,
        z_dim: int,
        gate_dim: int,
        num_heads: int,
        rng: np.random.Generator,
        mean: bool = True,
        edge_dim: int = 0,
    ) -> None:
        self.max_branch = Linear(z_dim, gate_dim, rng, edge_dim=edge_dim)
        self.hidden = Linear(gate_dim + mean * (z_dim + edge_dim), gate_dim, rng, slope=SLOPE)
        self.output = Linear(gate_dim, num_heads, rng, lr_scale=0.1)
        self.whole = slice(0, gate_dim)  # of a hidden layer, and of the maximum before it
        self.mean, self.edge_dim = mean, edge_dim

    def logits(self, x: Features, pooled: Sequence[Tensor]) -> Tensor:
        return self.output(self.hidden(*pooled))

    def beside(self, others: Sequence[Self]) -> Self:
        one = copy(self)
        one.max_branch = self.max_branch.beside([other.max_branch for other in others])
        one.hidden = self.hidden.beside([other.hidden for other in others], own=self.whole)
        one.output = self.output.beside([other.output for other in others], own=self.whole)
        return one
