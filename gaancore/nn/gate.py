"""The gate: one number in (0, 1) for each node and head, from the node's surroundings (eq. 3)."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from gaancore.graph.block import Block
from gaancore.nn.linear import Features, Linear
from gaancore.nn.module import Module
from gaancore.ops import segment_max, segment_mean, sigmoid
from gaancore.tensor import Tensor

SLOPE = 0.1  # of the paper's activation h, a LeakyReLU


class Gate(Module, ABC):
    """What both gates share: pool the neighbours, then open."""

    max_branch: Linear
    mean: bool

    def __call__(self, x: Features, z: Tensor, block: Block) -> Tensor:
        """x (N, x_dim), z (S, z_dim) -> (N, num_heads)."""
        return sigmoid(self.logits(x, self.pooled(z, block)))

    def pooled(self, z: Tensor, block: Block) -> list[Tensor]:
        """max_j FC_m(z_j), and mean_j z_j unless the gate leaves it out."""
        largest = segment_max(self.max_branch(z), block=block)
        return [largest, segment_mean(z, block=block)] if self.mean else [largest]

    @abstractmethod
    def logits(self, x: Features, pooled: Sequence[Tensor]) -> Tensor:
        """(N, num_heads) from a node's own features and its pooled neighbours."""


class PaperGate(Gate):
    """g_i = sigmoid(FC_g(x_i ++ max_j FC_m(z_j) ++ mean_j z_j)), equation 3 as printed.

    mean=False leaves the mean out of either gate, as the paper does on METR-LA (section 5.3).
    """

    def __init__(
        self,
        x_dim: int,
        z_dim: int,
        gate_dim: int,
        num_heads: int,
        rng: np.random.Generator,
        mean: bool = True,
    ) -> None:
        self.max_branch = Linear(z_dim, gate_dim, rng)
        self.output = Linear(x_dim + gate_dim + mean * z_dim, num_heads, rng)
        self.mean = mean

    def logits(self, x: Features, pooled: Sequence[Tensor]) -> Tensor:
        return self.output(x, *pooled)


class ReleasedGate(Gate):
    """g_i = sigmoid(FC_g(h(FC_c(max_j FC_m(z_j) ++ mean_j z_j)))): what the parameter counts pin.

    The node's own x does not enter, a hidden layer of gate_dim does, and FC_g learns at a tenth of
    the learning rate (authors' released layers). x is accepted so that both gates are called alike.
    """

    def __init__(
        self,
        x_dim: int,
        z_dim: int,
        gate_dim: int,
        num_heads: int,
        rng: np.random.Generator,
        mean: bool = True,
    ) -> None:
        self.max_branch = Linear(z_dim, gate_dim, rng)
        self.hidden = Linear(gate_dim + mean * z_dim, gate_dim, rng, slope=SLOPE)
        self.output = Linear(gate_dim, num_heads, rng, lr_scale=0.1)
        self.mean = mean

    def logits(self, x: Features, pooled: Sequence[Tensor]) -> Tensor:
        return self.output(self.hidden(*pooled))
