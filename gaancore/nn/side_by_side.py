"""Several aggregators of one kind that see the same inputs, computed as one with more heads.

All their queries are one product, and so are all keys and all values; all heads are gathered in one
pass over the edges, the gates included. Only FC_o is each aggregator's own.
"""

from collections.abc import Sequence

from gaancore.graph.block import Block
from gaancore.nn.aggregator import Aggregator
from gaancore.nn.linear import Features
from gaancore.ops import split_columns
from gaancore.tensor import Tensor


class SideBySide:
    """Aggregators side by side; `outputs = SideBySide(aggregators)(x, z, block)` has one each.

    Their parameters are put together here, once for as many calls as follow, on the tape: the
    gradients of all calls flow back through here. So make a new one in every training step.
    """

    def __init__(self, aggregators: Sequence[Aggregator]) -> None:
        first, *others = self.aggregators = aggregators
        self.together = first.beside(others) if others else first

    def __call__(self, x: Features, z: Tensor, block: Block) -> list[Tensor]:
        """x (num_dst, x_dim), z (num_src, z_dim) -> (num_dst, out_dim) of each aggregator."""
        self.together.expect_edges(block)
        gathered = split_columns(self.together.gather(x, z, block), count=len(self.aggregators))
        return [a.combine(x, g) for a, g in zip(self.aggregators, gathered, strict=True)]
