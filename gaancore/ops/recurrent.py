"""The elementwise half of a recurrent cell, fused."""

from gaancore.array import Array
from gaancore.kernels import kernels_for
from gaancore.ops.checks import expect_floats, expect_shape
from gaancore.tensor import Backward, primitive


@primitive
def gru_update(
    of_input: Array, of_state: Array, h: Array, *, slope: float
) -> tuple[Array, Backward]:
    """A GRU's next state from what its input and its state contribute (GaAN eq. 7).

    u = sigmoid(x_u + h_u),  r = sigmoid(x_r + h_r),  c = leaky_relu(x_c + r * h_c)
    out = (1 - u) * c + u * h

    of_input (N, 3 * D) is x_u ++ x_r ++ x_c, of_state (N, 3 * D) is h_u ++ h_r ++ h_c, h (N, D);
    slope is what a negative candidate is multiplied by. Returns (N, D).
    Raises ShapeError if a shape or dtype does not fit.
    """
    expect_floats("gru_update", of_input=of_input, of_state=of_state, h=h)
    expect_shape("gru_update", "h", h, ("N", "D"))
    wanted = (h.shape[0], 3 * h.shape[1])
    expect_shape("gru_update", "of_input", of_input, wanted)
    expect_shape("gru_update", "of_state", of_state, wanted)
    kernels = kernels_for(h)
    out, saved = kernels.gru_update_forward(of_input, of_state, h, slope)

    def backward(grad: Array) -> tuple[Array, Array, Array]:
        return kernels.gru_update_backward(grad, h, saved, slope)

    return out, backward
