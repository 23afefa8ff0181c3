"""Several aggregators of one kind that see the same inputs, computed as one with more heads.

All their queries are one product, and so are all keys and all values; all heads are gathered in one
pass over the edges, the gates included. Only FC_o is each aggregator's own.
"""

from collections.abc import Sequence
from copy import copy
from typing import Any

from gaancore.graph.block import Block
from gaancore.nn.aggregators import Aggregator
from gaancore.nn.gate import Gate, PaperGate
from gaancore.nn.linear import Features, Linear
from gaancore.ops import beside, concat, split_columns
from gaancore.tensor import Tensor


class SideBySide:
    """Aggregators side by side; `outputs = SideBySide(aggregators)(x, z, block)` has one each.

    Their parameters are put together here, once for as many calls as follow, on the tape: the
    gradients of all calls flow back through here. So make a new one in every training step.
    """

    def __init__(self, aggregators: Sequence[Aggregator]) -> None:
        self.aggregators = aggregators
        self.together = _together(aggregators) if len(aggregators) > 1 else aggregators[0]

    def __call__(self, x: Features, z: Tensor, block: Block) -> list[Tensor]:
        """x (num_dst, x_dim), z (num_src, z_dim) -> (num_dst, out_dim) of each aggregator."""
        gathered = split_columns(self.together.gather(x, z, block), count=len(self.aggregators))
        return [a.combine(x, g) for a, g in zip(self.aggregators, gathered, strict=True)]


def _together(aggregators: Sequence[Aggregator]) -> Aggregator:
    """An aggregator that gathers what all of them gather, one after the other."""
    one: Any = copy(aggregators[0])
    for name, value in vars(one).items():
        same = [getattr(aggregator, name) for aggregator in aggregators]
        if isinstance(value, Linear):
            setattr(one, name, _layer(same))
        elif isinstance(value, Gate):
            setattr(one, name, _gate(same))
        elif name == "num_heads":
            one.num_heads = sum(same)
    return one


def _gate(gates: Sequence[Any]) -> Gate:
    """A gate with the heads of all: one maximum, and each head sees its own part of it."""
    one, (z_dim, gate_dim) = copy(gates[0]), gates[0].max_branch.weight.shape
    one.max_branch = _layer([gate.max_branch for gate in gates])
    start = 0
    if isinstance(one, PaperGate):  # its FC_g is given x ahead of the maximum
        start = one.output.weight.shape[0] - gate_dim - one.mean * z_dim
    else:
        one.hidden = _layer([gate.hidden for gate in gates], slice(0, gate_dim))
    one.output = _layer([gate.output for gate in gates], slice(start, start + gate_dim))
    return one


def _layer(layers: Sequence[Linear], own: slice = slice(0, 0)) -> Linear:
    """One layer with the outputs of all, one after the other; each has inputs `own` of its own."""
    one = copy(layers[0])
    one.weight = beside(*(layer.weight for layer in layers), own=own)
    one.bias = concat(*(layer.bias for layer in layers))
    return one
