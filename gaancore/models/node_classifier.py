"""Node classification: embed, two aggregators with dropout, a linear head (section 5.1)."""

from collections.abc import Sequence

import numpy as np

from gaancore.errors import SettingsError
from gaancore.graph.block import Block
from gaancore.nn.by_name import AGGREGATORS, make_aggregator
from gaancore.nn.linear import Linear
from gaancore.nn.module import Module
from gaancore.ops import dropout, first_rows
from gaancore.seeding import derive_seed
from gaancore.tensor import Tensor

MODELS = (*AGGREGATORS, "fnn")
VARIANTS = ("paper", "released")


class NodeClassifier(Module):
    """logits = FC(h_L), h_{l+1} = dropout(aggregator_l(h_l)), h_0 = FC(features).

    model        : one of MODELS except "fnn".
    num_heads    : heads of each aggregator, from the features to the seeds; its length is L.
    value_dims   : width of a head's values in each aggregator (pools: of the pooled values).
    variant      : "paper" (equations as printed) or "released" (what the parameter counts pin).
    Raises SettingsError for another model or variant.
    """

    def __init__(
        self,
        in_dim: int,
        num_classes: int,
        *,
        model: str,
        variant: str,
        embed_dim: int,
        out_dim: int,
        num_heads: Sequence[int],
        key_dim: int,
        value_dims: Sequence[int],
        gate_dim: int,
        dropout: float,
        attention_dropout: float,
        rng: np.random.Generator,
    ) -> None:
        if variant not in VARIANTS:
            raise SettingsError(f"variant: expected {' or '.join(VARIANTS)}, got {variant!r}")
        self.embed = Linear(in_dim, embed_dim, rng)
        self.layers = [
            make_aggregator(
                model, dim, dim, out_dim, num_heads=heads, key_dim=key_dim, value_dim=value_dim,
                gate_dim=gate_dim, attention_dropout=attention_dropout, variant=variant, rng=rng,
            )
            for dim, heads, value_dim in zip(
                [embed_dim] + [out_dim] * (len(num_heads) - 1), num_heads, value_dims, strict=True
            )
        ]  # fmt: skip
        self.head = Linear(out_dim, num_classes, rng)
        self.dropout = dropout

    @property
    def num_steps(self) -> int:
        """How many hops of neighbours, so how many blocks, the model needs."""
        return len(self.layers)

    @property
    def num_layers(self) -> int:
        """How many hidden layers there are before the head: here, the aggregators."""
        return len(self.layers)

    def layer(self, number: int, h: Tensor, block: Block, seed: int | None = None) -> Tensor:
        """One aggregator and its dropout: (num_src, dim) -> (num_dst, out_dim)."""
        attention_seed = None if seed is None else derive_seed(seed, "attention", number)
        h = self.layers[number](first_rows(h, count=block.num_dst), h, block, attention_seed)
        if seed is None:
            return h
        return dropout(h, rate=self.dropout, seed=derive_seed(seed, "output", number))

    def __call__(self, x: Tensor, blocks: Sequence[Block], seed: int | None = None) -> Tensor:
        """x (num_src of the outermost block, in_dim) -> logits (num_dst of the last, classes).

        seed : the step's dropout seed while training; None for no dropout.
        """
        h = self.embed(x)
        for number, block in enumerate(blocks):
            h = self.layer(number, h, block, seed)
        return self.head(h)


class FeedForward(Module):
    """The paper's two-layer network: FC-ReLU-FC-ReLU-FC on a node's own features, no graph."""

    num_steps = 0
    num_layers = 2

    def __init__(
        self, in_dim: int, num_classes: int, *, hidden_dim: int, rng: np.random.Generator
    ) -> None:
        self.embed = Linear(in_dim, hidden_dim, rng, slope=0.0)
        self.hidden = Linear(hidden_dim, hidden_dim, rng, slope=0.0)
        self.head = Linear(hidden_dim, num_classes, rng)

    def __call__(self, x: Tensor, blocks: Sequence[Block] = (), seed: int | None = None) -> Tensor:
        """x (n, in_dim) -> logits (n, classes); there are no blocks and no dropout."""
        return self.head(self.up_to(self.num_layers, x))

    def up_to(self, layer: int, x: Tensor) -> Tensor:
        """x (n, in_dim) -> the output (n, hidden_dim) of hidden layer 1 or 2."""
        h = self.embed(x)
        return h if layer == 1 else self.hidden(h)
