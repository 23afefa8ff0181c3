"""Several aggregators of one kind that see the same inputs, computed as one with more heads.

All their queries are one product, and so are all keys and all values; all heads are gathered in one
pass over the edges. Only what follows a head, the gates and FC_o, is each aggregator's own.
"""

from collections.abc import Sequence
from copy import copy
from typing import Any

from gaancore.graph.block import Block
from gaancore.nn.aggregators import Aggregator
from gaancore.nn.gate import Gate
from gaancore.nn.linear import Linear
from gaancore.ops import concat, sigmoid, split_columns
from gaancore.tensor import Tensor


class SideBySide:
    """Aggregators side by side; `outputs = SideBySide(aggregators)(x, z, block)` has one each.

    Their parameters are put together here, once for as many calls as follow, on the tape: the
    gradients of all calls flow back through here. So make a new one in every training step.
    """

    def __init__(self, aggregators: Sequence[Aggregator]) -> None:
        self.aggregators = aggregators
        self.together = _together(aggregators) if len(aggregators) > 1 else aggregators[0]

    def __call__(self, x: Tensor, z: Tensor, block: Block) -> list[Tensor]:
        """x (num_dst, x_dim), z (num_src, z_dim) -> (num_dst, out_dim) of each aggregator."""
        gathered = split_columns(self.together.gather(x, z, block), count=len(self.aggregators))
        return [a.combine(x, g) for a, g in zip(self.aggregators, gathered, strict=True)]


class _Gates:
    """The gates of several aggregators: one FC_m and one maximum, then each one's own FC_g."""

    def __init__(self, gates: Sequence[Gate]) -> None:
        self.gates = gates
        self.pool = copy(gates[0])
        self.pool.max_branch = _layer([gate.max_branch for gate in gates])

    def __call__(self, x: Tensor, z: Tensor, block: Block) -> Tensor:
        largest, *mean = self.pool.pooled(z, block)
        parts = split_columns(largest, count=len(self.gates))
        logits = (g.logits(x, [part, *mean]) for g, part in zip(self.gates, parts, strict=True))
        return sigmoid(concat(*logits))


def _together(aggregators: Sequence[Aggregator]) -> Aggregator:
    """An aggregator that gathers what all of them gather, one after the other."""
    one: Any = copy(aggregators[0])
    for name, value in vars(one).items():
        same = [getattr(aggregator, name) for aggregator in aggregators]
        if isinstance(value, Linear):
            setattr(one, name, _layer(same))
        elif isinstance(value, Gate):
            setattr(one, name, _Gates(same))
        elif name == "num_heads":
            one.num_heads = sum(same)
    return one


def _layer(layers: Sequence[Linear]) -> Linear:
    """One layer with the outputs of all, one after the other."""
    one = copy(layers[0])
    one.weight = concat(*(layer.weight for layer in layers))
    one.bias = concat(*(layer.bias for layer in layers))
    return one
