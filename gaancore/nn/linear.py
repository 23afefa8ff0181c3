"""The fully connected layer FC of every equation."""

import numpy as np

from gaancore.nn.module import Module, Parameter
from gaancore.ops import linear
from gaancore.tensor import Tensor

# Features (n, F), or several (n, F_1), (n, F_2), ... that stand side by side and are never copied
# together: the paper's circled plus.
Features = Tensor | tuple[Tensor, ...]


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

    def __call__(self, *parts: Features) -> Tensor:
        """x (n, in_dim), or several whose widths add up to in_dim -> (n, out_dim)."""
        flat = [tensor for part in parts for tensor in parts_of(part)]
        return linear(*flat, self.weight, self.bias, slope=self.slope)


def parts_of(x: Features) -> tuple[Tensor, ...]:
    """What stands side by side in x, x itself if that is all."""
    return x if isinstance(x, tuple) else (x,)
