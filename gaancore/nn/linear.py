"""The fully connected layer FC of every equation."""

import numpy as np

from gaancore.nn.module import Module, Parameter
from gaancore.ops import linear
from gaancore.tensor import Tensor


class Linear(Module):
    """leaky_relu(x W + b), with slope 1 meaning no activation.

    W (in_dim, out_dim) starts uniform in +-sqrt(6 / (in_dim + out_dim)) (Glorot), b at 0, as in
    the authors' code. `lr_scale` multiplies the learning rate of both.
    """

    def __init__(
        self,
        in_dim: int,
        out_dim: int,
        rng: np.random.Generator,
        slope: float = 1.0,
        lr_scale: float = 1.0,
    ) -> None:
        bound = np.sqrt(6 / (in_dim + out_dim))
        weight = rng.uniform(-bound, bound, (in_dim, out_dim)).astype(np.float32)
        self.weight = Parameter(weight, lr_scale)
        self.bias = Parameter(np.zeros(out_dim, np.float32), lr_scale)
        self.slope = slope

    def __call__(self, *parts: Tensor) -> Tensor:
        """x (n, in_dim), or several whose widths add up to in_dim -> (n, out_dim)."""
        return linear(*parts, self.weight, self.bias, slope=self.slope)
