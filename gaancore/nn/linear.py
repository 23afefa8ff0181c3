"""The fully connected layer FC of every equation."""

from collections.abc import Sequence
from copy import copy
from typing import Self

import numpy as np

from gaancore.errors import ShapeError
from gaancore.nn.module import Module, Parameter
from gaancore.ops import beside, concat, leaky_relu, linear, linear_each, reshape, sparse_matmul
from gaancore.sparse import CSRMatrix
from gaancore.tensor import Tensor

SLOPE = 0.1  # of the paper's activation h, a LeakyReLU

# Features (n, F), or several (n, F_1), (n, F_2), ... that stand side by side and are never copied
# together: the paper's circled plus.
Features = Tensor | tuple[Tensor, ...]


class Linear(Module):
    """leaky_relu(x W + b), with slope 1 meaning no activation.

    W (in_dim, out_dim) starts uniform in +-sqrt(6 / (in_dim + out_dim)) (Glorot), b at 0, as in
    the authors' code. `lr_scale` multiplies the learning rate of both.

    edge_dim : B > 0 makes it a layer of z_j ++ e_ij, the features of a node beside those of an
               edge: it has `edge_weight` (B, out_dim) too, and starts as one layer of in_dim + B
               inputs. A call still takes nodes alone; ops.edges adds the rest edge by edge.

    >>> layer = Linear(2, 1, np.random.default_rng(0), slope=0.1)
    >>> layer.weight.data[:], layer.bias.data[:] = [[1.0], [2.0]], 4.0
    >>> layer(Tensor(np.array([[1.0, 2.0], [-10.0, -2.0]], np.float32))).data.ravel().tolist()
    [9.0, -1.0]
    """

    def __init__(
        self,
        in_dim: int,
        out_dim: int,
        rng: np.random.Generator,
        slope: float = 1.0,
        lr_scale: float = 1.0,
        edge_dim: int = 0,
    ) -> None:
        bound = np.sqrt(6 / (in_dim + edge_dim + out_dim))
        weight = rng.uniform(-bound, bound, (in_dim + edge_dim, out_dim)).astype(np.float32)
        self.weight: Tensor = Parameter(weight[:in_dim], lr_scale)
        self.bias: Tensor = Parameter(np.zeros(out_dim, np.float32), lr_scale)
        if edge_dim:
            self.edge_weight: Tensor = Parameter(weight[in_dim:].copy(), lr_scale)
        self.slope = slope

    def __call__(self, *parts: Features | CSRMatrix) -> Tensor:
        """x (n, in_dim), or several whose widths add up to in_dim -> (n, out_dim).

        A sparse x stands alone. Its zeros cost nothing, and no gradient reaches it.
        """
        if len(parts) == 1 and isinstance(x := parts[0], CSRMatrix):
            out = sparse_matmul(x.values, self.weight, matrix=x) + self.bias
            return out if self.slope == 1 else leaky_relu(out, slope=self.slope)
        flat = [tensor for part in parts for tensor in parts_of(part)]
        return linear(*flat, self.weight, self.bias, slope=self.slope)

    def before(self, z: Tensor) -> Tensor:
        """The same without the activation, which comes after the features of edges are added."""
        return linear(z, self.weight, self.bias)

    def projection(self, num_heads: int) -> Tensor:
        """edge_weight as (B, num_heads, out_dim / num_heads)."""
        return reshape(self.edge_weight, shape=(self.edge_weight.shape[0], num_heads, -1))

    def beside(self, others: Sequence[Self], own: slice = slice(0, 0)) -> Self:
        """One layer with the outputs of this one and then of each of `others`, on the tape.

        own : those of the inputs that each layer has for itself (see ops.beside); all share the
              others.
        """
        one = copy(self)
        one.weight = beside(self.weight, *(other.weight for other in others), own=own)
        one.bias = concat(self.bias, *(other.bias for other in others))
        if hasattr(self, "edge_weight"):
            one.edge_weight = concat(self.edge_weight, *(other.edge_weight for other in others))
        return one


def apply_each(layers: Sequence[Linear], x: Tensor) -> list[Tensor]:
    """What each of up to four layers makes of one input, by `linear_each`."""
    weights, biases = ([getattr(layer, name) for layer in layers] for name in ("weight", "bias"))
    slopes = tuple(layer.slope for layer in layers)
    return linear_each(*[x] * len(layers), *weights, *biases, slopes=slopes)


def parts_of(x: Features | CSRMatrix) -> tuple[Tensor, ...]:
    """What stands side by side in x, x itself if that is all. Raises ShapeError for a sparse x."""
    if isinstance(x, CSRMatrix):
        raise ShapeError("Linear: a sparse matrix stands beside nothing else; give it alone")
    return x if isinstance(x, tuple) else (x,)
