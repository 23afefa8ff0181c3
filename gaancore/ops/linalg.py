"""Products of matrices."""

from gaancore.array import Array
from gaancore.kernels import kernels_for
from gaancore.ops.checks import expect_floats, expect_shape
from gaancore.tensor import Backward, primitive


@primitive
def matmul(a: Array, b: Array) -> tuple[Array, Backward]:
    """a @ b for matrices (m, n) and (n, p). Raises ShapeError if they do not fit."""
    expect_floats("matmul", a=a, b=b)
    expect_shape("matmul", "a", a, ("m", "n"))
    expect_shape("matmul", "b", b, (a.shape[1], "p"))
    kernels = kernels_for(a)

    def backward(grad: Array) -> tuple[Array, Array]:
        return kernels.matmul(grad, b.T), kernels.matmul(a.T, grad)

    return kernels.matmul(a, b), backward


@primitive
def linear(x: Array, weight: Array, bias: Array, *, slope: float = 1.0) -> tuple[Array, Backward]:
    """leaky_relu(x @ weight + bias): a fully connected layer FC and its activation in one pass.

    x (N, F), weight (F, G), bias (G,). Returns (N, G). slope is what a negative sum is multiplied
    by: 1 no activation (the default), 0.1 the paper's h, 0 ReLU.
    Raises ShapeError if a shape or dtype does not fit.
    """
    expect_floats("linear", x=x, weight=weight, bias=bias)
    expect_shape("linear", "x", x, ("N", "F"))
    expect_shape("linear", "weight", weight, (x.shape[1], "G"))
    expect_shape("linear", "bias", bias, (weight.shape[1],))
    kernels = kernels_for(x)
    out = kernels.linear_forward(x, weight, bias, slope)

    def backward(grad: Array) -> tuple[Array, Array, Array]:
        return kernels.linear_backward(grad, out, x, weight, slope)

    return out, backward
