"""What only the CPU's products promise: the work that they leave out."""

import tracemalloc

import numpy as np


def test_a_gradient_that_is_not_needed_is_given_no_room(kernels):
    """So it cannot be computed either."""
    x, weight, bias = np.ones((2000, 500)), np.ones((500, 1)), np.ones(1)
    out = kernels.linear_forward((x,), weight, bias, 1.0)
    kernels.linear_backward(out, out, (x,), weight, 1.0, (True,))  # compiles
    peaks = []
    for needed in (True, False):
        tracemalloc.start()
        kernels.linear_backward(out, out, (x,), weight, 1.0, (needed,))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[0] > x.nbytes > 10 * peaks[1]
