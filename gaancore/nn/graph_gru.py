"""The Graph GRU (section 4.2, equation 7): a GRU whose products are aggregators over a graph."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gaancore.graph.block import Block
from gaancore.nn.aggregators import AggregatorSpec
from gaancore.nn.linear import SLOPE
from gaancore.nn.module import Module
from gaancore.nn.side_by_side import SideBySide
from gaancore.ops import gru_update, split_columns
from gaancore.tensor import Tensor


class GraphGRUCell(Module):
    """One step of a Graph GRU: from input x_t and state h to the next state h'.

    u  = sigmoid(A_xu(x, x) + A_hu(x ++ h, h))
    r  = sigmoid(A_xr(x, x) + A_hr(x ++ h, h))
    c  = leaky_relu(A_xc(x, x) + r * A_hc(x ++ h, h))
    h' = (1 - u) * c + u * h

    A(query, reference) is an aggregator without an activation at its output. `paper` has the six
    that are printed. `released` has one for x and one for h, three times as wide: U, R and C are
    thirds of its output, so the three gates share one attention (the authors' released layers).

    spec : of all aggregators. Its slope is not used: the cell itself has the activations.

    >>> spec = AggregatorSpec("attention", "paper", num_heads=2, key_dim=4, value_dim=4)
    >>> cell = GraphGRUCell(in_dim=3, out_dim=6, spec=spec, rng=np.random.default_rng(0))
    >>> block = Block([0, 1, 3], [1, 0, 1], num_src=2)
    >>> x, h = Tensor(np.ones((2, 3), np.float32)), Tensor(np.zeros((2, 6), np.float32))
    >>> cell(x, h, block).shape
    (2, 6)
    """

    def __init__(
        self, in_dim: int, out_dim: int, spec: AggregatorSpec, rng: np.random.Generator
    ) -> None:
        widths = [out_dim] * 3 if spec.variant == "paper" else [3 * out_dim]
        linear = replace(spec, slope=1.0)
        self.of_input = [linear.make(in_dim, in_dim, width, rng) for width in widths]
        self.of_state = [linear.make(in_dim + out_dim, out_dim, width, rng) for width in widths]
        self.out_dim = out_dim

    def ready(self) -> "ReadyCell":
        """The cell as it is now, for any number of steps; make a new one in every training step."""
        return ReadyCell(SideBySide(self.of_input), SideBySide(self.of_state))

    def __call__(self, x: Tensor, h: Tensor, block: Block) -> Tensor:
        """h' (n, out_dim) from x (n, in_dim) and h (n, out_dim)."""
        return self.ready()(x, h, block)


class ReadyCell:
    """A cell whose aggregators of the same inputs are put together."""

    def __init__(self, of_input: SideBySide, of_state: SideBySide) -> None:
        self.of_input, self.of_state = of_input, of_state

    def see(self, x: Tensor, block: Block) -> list[Tensor]:
        """A_x(x, x) of u, r and c, each (n, out_dim), from x (n, in_dim).

        They do not depend on the state: all steps of a known sequence can be seen at once.
        """
        return _thirds(self.of_input(x, x, block))

    def step(self, seen: Sequence[Tensor], x: Tensor, h: Tensor, block: Block) -> Tensor:
        """h' (n, out_dim) from seen = see(x), x (n, in_dim) and h (n, out_dim)."""
        x_u, x_r, x_c = seen
        h_u, h_r, h_c = _thirds(self.of_state((x, h), h, block))
        return gru_update(x_u, x_r, x_c, h_u, h_r, h_c, h, slope=SLOPE)

    def __call__(self, x: Tensor, h: Tensor, block: Block) -> Tensor:
        return self.step(self.see(x, block), x, h, block)


def _thirds(outputs: list[Tensor]) -> list[Tensor]:
    """The outputs of three aggregators, or of one that is three times as wide."""
    return outputs if len(outputs) == 3 else split_columns(outputs[0], count=3)
