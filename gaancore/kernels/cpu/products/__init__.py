"""Products of matrices and fully connected layers, in tiles that stay in the registers."""

from gaancore.kernels.cpu.products.linear import (
    linear_backward,
    linear_each_backward,
    linear_each_forward,
    linear_forward,
    matmul,
)

__all__ = [
    "linear_backward",
    "linear_each_backward",
    "linear_each_forward",
    "linear_forward",
    "matmul",
]
