"""The elementwise half of a recurrent cell, fused."""

from gaancore.array import Array
from gaancore.kernels import kernels_for
from gaancore.ops.checks import expect_floats, expect_shape
from gaancore.ops.lift import primitive
from gaancore.tape import Backward


@primitive
def gru_update(
    x_u: Array,
    x_r: Array,
    x_c: Array,
    h_u: Array,
    h_r: Array,
    h_c: Array,
    h: Array,
    *,
    slope: float,
) -> tuple[Array, Backward]:  # fmt: skip
    """A GRU's next state from what its input (x) and its state (h) contribute (GaAN eq. 7).

    u = sigmoid(x_u + h_u),  r = sigmoid(x_r + h_r),  c = leaky_relu(x_c + r * h_c)
    out = (1 - u) * c + u * h

    All (N, D); slope is what a negative candidate is multiplied by. Returns (N, D).
    Raises ShapeError if a shape or dtype does not fit.

    >>> x_u = x_r = h_u = h_r = np.zeros((1, 1))  # so u = r = 1/2
    >>> x_c, h_c, h = np.array([[1.0]]), np.array([[4.0]]), np.array([[5.0]])
    >>> gru_update(x_u, x_r, x_c, h_u, h_r, h_c, h, slope=0.1).data  # (1 + 4 / 2) / 2 + 5 / 2
    array([[4.]])
    """
    parts = {"x_u": x_u, "x_r": x_r, "x_c": x_c, "h_u": h_u, "h_r": h_r, "h_c": h_c, "h": h}
    expect_floats("gru_update", **parts)
    expect_shape("gru_update", "x_u", x_u, ("N", "D"))
    for name, part in parts.items():
        expect_shape("gru_update", name, part, x_u.shape)
    kernels = kernels_for(h)
    out, saved = kernels.gru_update_forward(x_u, x_r, x_c, h_u, h_r, h_c, h, slope)

    def backward(grad: Array) -> tuple[Array, ...]:
        grad_u, grad_r, grad_c, grad_hc, grad_h = kernels.gru_update_backward(
            grad, h_c, h, saved, slope
        )
        return grad_u, grad_r, grad_c, grad_u, grad_r, grad_hc, grad_h

    return out, backward
