"""Ops on each element, with NumPy's broadcasting; gradients are summed back over broadcast axes.

All raise ShapeError for anything but float32 or float64, or a mixture of the two.
"""

from gaancore.array import Array, array_module
from gaancore.kernels import kernels_for
from gaancore.ops.checks import expect_floats, expect_rate, expect_shape
from gaancore.ops.lift import primitive
from gaancore.tape import Backward


def _sum_to(grad: Array, shape: tuple[int, ...]) -> Array:
    """Undo broadcasting: sum `grad` over the axes along which an operand was stretched."""
    if grad.shape == shape:
        return grad
    extra = grad.ndim - len(shape)
    axes = tuple(range(extra)) + tuple(
        extra + axis
        for axis, size in enumerate(shape)
        if size == 1 and grad.shape[extra + axis] != 1
    )
    return grad.sum(axis=axes).reshape(shape)


@primitive
def add(a: Array, b: Array) -> tuple[Array, Backward]:
    """a + b. Shapes broadcast.

    >>> add(np.array([1.0, 2.0]), np.array(10.0)).data
    array([11., 12.])
    """
    expect_floats("add", a=a, b=b)
    shape_a, shape_b = a.shape, b.shape

    def backward(grad: Array) -> tuple[Array, Array]:
        return _sum_to(grad, shape_a), _sum_to(grad, shape_b)

    return a + b, backward


@primitive
def subtract(a: Array, b: Array) -> tuple[Array, Backward]:
    """a - b. Shapes broadcast.

    >>> subtract(np.array([1.0, 2.0]), np.array(10.0)).data
    array([-9., -8.])
    """
    expect_floats("subtract", a=a, b=b)
    shape_a, shape_b = a.shape, b.shape

    def backward(grad: Array) -> tuple[Array, Array]:
        return _sum_to(grad, shape_a), _sum_to(-grad, shape_b)

    return a - b, backward


@primitive
def multiply(a: Array, b: Array) -> tuple[Array, Backward]:
    """a * b, element by element. Shapes broadcast.

    >>> x = Tensor(np.array([1.0, 2.0]), requires_grad=True)
    >>> multiply(x, np.array([3.0, 4.0])).backward(np.ones(2))
    >>> x.grad
    array([3., 4.])
    """
    expect_floats("multiply", a=a, b=b)

    def backward(grad: Array) -> tuple[Array, Array]:
        return _sum_to(grad * b, a.shape), _sum_to(grad * a, b.shape)

    return a * b, backward


@primitive
def negative(x: Array) -> tuple[Array, Backward]:
    """-x. Any shape.

    >>> negative(np.array([1.0, -2.0])).data
    array([-1.,  2.])
    """
    expect_floats("negative", x=x)
    return -x, lambda grad: (-grad,)


@primitive
def leaky_relu(x: Array, *, slope: float = 0.1) -> tuple[Array, Backward]:
    """x where x > 0, else slope * x (the paper's h has slope 0.1; slope 0 is ReLU).

    Any shape. At exactly 0 the gradient is `slope`.

    >>> leaky_relu(np.array([-2.0, 3.0])).data
    array([-0.2,  3. ])
    """
    expect_floats("leaky_relu", x=x)
    factor = array_module(x).where(x > 0, x.dtype.type(1), x.dtype.type(slope))

    def backward(grad: Array) -> tuple[Array]:
        return (grad * factor,)

    return x * factor, backward


@primitive
def sigmoid(x: Array) -> tuple[Array, Backward]:
    """1 / (1 + exp(-x)), as (1 + tanh(x / 2)) / 2, which cannot overflow. Any shape.

    >>> sigmoid(np.log([1.0, 3.0])).data
    array([0.5 , 0.75])
    """
    expect_floats("sigmoid", x=x)
    kernels = kernels_for(x)
    out = kernels.sigmoid_forward(x)

    def backward(grad: Array) -> tuple[Array]:
        return (kernels.sigmoid_backward(grad, out),)

    return out, backward


@primitive
def tanh(x: Array) -> tuple[Array, Backward]:
    """Hyperbolic tangent. Any shape.

    >>> tanh(np.log([1.0, 2.0])).data.round(6)
    array([0. , 0.6])
    """
    expect_floats("tanh", x=x)
    out = array_module(x).tanh(x)

    def backward(grad: Array) -> tuple[Array]:
        return (grad * (1 - out * out),)

    return out, backward


@primitive
def scale_heads(heads: Array, gates: Array) -> tuple[Array, Backward]:
    """Each head's vector times the node's gate for that head (GaAN eq. 2, g_i^k times the sum).

    out[i, k] = gates[i, k] * heads[i, k]

    heads (N, K, D), gates (N, K). Returns (N, K, D).
    Raises ShapeError if a shape or dtype does not fit.

    >>> heads = np.array([[[1.0, 2.0], [3.0, 4.0]]])  # one node, two heads
    >>> scale_heads(heads, np.array([[1.0, 0.5]])).data.tolist()
    [[[1.0, 2.0], [1.5, 2.0]]]
    """
    expect_floats("scale_heads", heads=heads, gates=gates)
    expect_shape("scale_heads", "heads", heads, ("N", "K", "D"))
    expect_shape("scale_heads", "gates", gates, heads.shape[:2])
    kernels = kernels_for(heads)

    def backward(grad: Array) -> tuple[Array, Array]:
        return kernels.scale_heads_backward(grad, heads, gates)

    return kernels.scale_heads_forward(heads, gates), backward


@primitive
def dropout(x: Array, *, rate: float, seed: int) -> tuple[Array, Backward]:
    """Set each element to 0 with probability `rate`, and scale the others by 1 / (1 - rate).

    What is kept is a function of (seed, position) alone: no mask is stored, and the gradient asks
    for the same positions again. rate 0 is the identity. Any shape.
    Raises SettingsError unless 0 <= rate < 1.

    >>> out = dropout(np.ones(1000), rate=0.2, seed=0).data
    >>> np.unique(out), bool(750 < np.count_nonzero(out) < 850)
    (array([0.  , 1.25]), True)
    """
    expect_floats("dropout", x=x)
    expect_rate("dropout", "rate", rate)
    if rate == 0:
        return x, lambda grad: (grad,)
    kernels = kernels_for(x)

    def backward(grad: Array) -> tuple[Array]:
        return (kernels.dropout(grad, rate, seed),)

    return kernels.dropout(x, rate, seed), backward
