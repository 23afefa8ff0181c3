"""Node classification: embed, two aggregators with dropout, a linear head (section 5.1)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from gaancore.array import Array, device_of
from gaancore.graph.block import Block
from gaancore.nn.aggregators import AggregatorSpec
from gaancore.nn.embedding import Embedding
from gaancore.nn.linear import Linear
from gaancore.nn.module import Module
from gaancore.ops import dropout, first_rows
from gaancore.seeding import derive_seed
from gaancore.sparse import CSRMatrix
from gaancore.tensor import Tensor

Inputs = Tensor | CSRMatrix  # the features that a model is given: the first layer takes both


class NodeClassifier(Module):
    """logits = FC(h_L), h_{l+1} = dropout(aggregator_l(h_l)), h_0 = FC(dropout(features)).

    learned   : h_0 is a learned row for each of `in_dim` nodes instead, whose one-hot rows are
                given as features (see nn.Embedding).

    layers    : the aggregators, from the features to the seeds; their number is L.
    embed_dim : width of h_0.
    out_dim   : width of h_1 .. h_L.
    dropout   : share of each h_l, l > 0, that is set to 0 in training.
    input_dropout : the same of the features; the paper has none.

    >>> spec, rng = AggregatorSpec("gaan", num_heads=2), np.random.default_rng(0)
    >>> widths = {"embed_dim": 8, "out_dim": 8}
    >>> model = NodeClassifier(3, 4, layers=[spec, spec], **widths, dropout=0.1, rng=rng)
    >>> block = Block([0, 1, 3], [1, 0, 1], num_src=2)
    >>> model(Tensor(np.ones((2, 3), np.float32)), [block, block]).shape
    (2, 4)
    """

    def __init__(
        self,
        in_dim: int,
        num_classes: int,
        *,
        layers: Sequence[AggregatorSpec],
        embed_dim: int,
        out_dim: int,
        dropout: float,
        input_dropout: float = 0.0,
        learned: bool = False,
        rng: np.random.Generator,
    ) -> None:
        self.embed: Any = (Embedding if learned else Linear)(in_dim, embed_dim, rng)
        dims = [embed_dim] + [out_dim] * (len(layers) - 1)
        self.layers = [
            spec.make(dim, dim, out_dim, rng) for spec, dim in zip(layers, dims, strict=True)
        ]
        self.head = Linear(out_dim, num_classes, rng)
        self.dropout = dropout
        self.input_dropout = input_dropout

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
        x = h
        if block.num_dst != block.num_src or device_of(h.data) == "cpu":
            x = first_rows(h, count=block.num_dst)  # adds up gradients apart: other last digits
        h = self.layers[number](x, h, block, attention_seed)
        if seed is None:
            return h
        return dropout(h, rate=self.dropout, seed=derive_seed(seed, "output", number))

    def __call__(self, x: Inputs, blocks: Sequence[Block], seed: int | None = None) -> Tensor:
        """x (num_src of the outermost block, in_dim) -> logits (num_dst of the last, classes).

        x    : dense or sparse.
        seed : the step's dropout seed while training; None for no dropout.
        """
        h = self.embed(_dropped(x, self.input_dropout, seed))
        for number, block in enumerate(blocks):
            h = self.layer(number, h, block, seed)
        return self.head(h)


class FeedForward(Module):
    """The paper's two-layer network: FC-ReLU-FC-ReLU-FC on a node's own features, no graph.

    input_dropout : share of the features that is set to 0 in training; the paper has none.

    >>> model = FeedForward(3, 4, hidden_dim=8, rng=np.random.default_rng(0))
    >>> model(Tensor(np.ones((2, 3), np.float32))).shape
    (2, 4)
    """

    num_steps = 0
    num_layers = 2

    def __init__(
        self,
        in_dim: int,
        num_classes: int,
        *,
        hidden_dim: int,
        input_dropout: float = 0.0,
        rng: np.random.Generator,
    ) -> None:
        self.embed = Linear(in_dim, hidden_dim, rng, slope=0.0)
        self.hidden = Linear(hidden_dim, hidden_dim, rng, slope=0.0)
        self.head = Linear(hidden_dim, num_classes, rng)
        self.input_dropout = input_dropout

    def __call__(self, x: Inputs, blocks: Sequence[Block] = (), seed: int | None = None) -> Tensor:
        """x (n, in_dim) -> logits (n, classes); there are no blocks.

        seed : the step's dropout seed while training; None for no dropout.
        """
        return self.head(self.up_to(self.num_layers, _dropped(x, self.input_dropout, seed)))

    def up_to(self, layer: int, x: Inputs) -> Tensor:
        """x (n, in_dim) -> the output (n, hidden_dim) of hidden layer 1 or 2."""
        h = self.embed(x)
        return h if layer == 1 else self.hidden(h)


def given(x: Array | CSRMatrix) -> Inputs:
    """Features as a model takes them: a dense array as a Tensor.

    >>> given(np.ones((3, 2), np.float32)).shape
    (3, 2)
    """
    return x if isinstance(x, CSRMatrix) else Tensor(x)


def _dropped(x: Inputs, rate: float, seed: int | None) -> Inputs:
    """Features with some of them set to 0, if a rate and the seed of a step say so."""
    if seed is None or not rate:
        return x
    key = derive_seed(seed, "input")
    if isinstance(x, CSRMatrix):  # its zeros are 0 anyway
        return x.with_values(dropout(Tensor(x.values), rate=rate, seed=key).data)
    return dropout(x, rate=rate, seed=key)
