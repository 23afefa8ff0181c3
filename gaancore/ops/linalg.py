"""Products of matrices."""

from gaancore.array import Array
from gaancore.kernels import kernels_for
from gaancore.ops.checks import expect_floats, expect_shape
from gaancore.ops.lift import primitive
from gaancore.tensor import Adding, Backward, Totals


@primitive
def matmul(a: Array, b: Array, *, needed: tuple[bool, ...] = ()) -> tuple[Array, Backward]:
    """a @ b for matrices (m, n) and (n, p). Raises ShapeError if they do not fit.

    >>> matmul(np.array([[1.0, 2.0]]), np.array([[3.0], [4.0]])).data
    array([[11.]])
    """
    expect_floats("matmul", a=a, b=b)
    expect_shape("matmul", "a", a, ("m", "n"))
    expect_shape("matmul", "b", b, (a.shape[1], "p"))
    kernels = kernels_for(a)

    def backward(grad: Array) -> tuple[Array | None, Array | None]:
        return (
            kernels.matmul(grad, b.T) if needed[0] else None,
            kernels.matmul(a.T, grad) if needed[1] else None,
        )

    return kernels.matmul(a, b), backward


@primitive
def linear(
    *arrays: Array, needed: tuple[bool, ...] = (), slope: float = 1.0
) -> tuple[Array, Backward]:
    """leaky_relu((x_1 ++ x_2 ++ ...) @ weight + bias): a fully connected layer with activation.

    arrays : the parts x_p (N, F_p) of the input, side by side (the paper's circled plus) but never
             copied together; then weight (sum of F_p, G) and bias (G,).
    slope  : what a negative sum is multiplied by: 1 no activation (the default), 0.1 the paper's
             h, 0 ReLU.
    Returns (N, G). Raises ShapeError if a shape or dtype does not fit.

    >>> x_1, x_2 = np.array([[1.0], [2.0]]), np.array([[10.0], [-20.0]])
    >>> weight, bias = np.array([[3.0], [1.0]]), np.array([4.0])
    >>> linear(x_1, x_2, weight, bias, slope=0.1).data  # 3 + 10 + 4; 0.1 (6 - 20 + 4)
    array([[17.],
           [-1.]])
    """
    *parts, weight, bias = arrays
    named = {"x": parts[0]} if len(parts) == 1 else {f"x_{p}": x for p, x in enumerate(parts, 1)}
    expect_floats("linear", **named, weight=weight, bias=bias)
    for name, part in named.items():
        expect_shape("linear", name, part, ("N", "F"))
        expect_shape("linear", name, part, (parts[0].shape[0], "F"), "as many rows as x_1")
    expect_shape("linear", "weight", weight, (sum([part.shape[1] for part in parts]), "G"))
    expect_shape("linear", "bias", bias, (weight.shape[1],))
    kernels = kernels_for(weight)
    out = kernels.linear_forward(tuple(parts), weight, bias, slope)
    kept = None if slope == 1 else out  # without an activation it does not matter what came out

    def backward(grad: Array, totals: Totals) -> tuple[Array | None, ...]:
        given = (grad, grad if kept is None else kept, tuple(parts), weight, slope)
        grads = kernels.linear_backward(*given, needed[:-2], tuple(totals))
        return *grads[0], grads[1], grads[2]

    return out, Adding(backward)
