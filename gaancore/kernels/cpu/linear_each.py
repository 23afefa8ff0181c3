"""Layers that read one input, one after the other."""

import numpy as np

from gaancore.kernels.cpu.linear import linear_backward, linear_forward

Arrays = tuple[np.ndarray, ...]


def linear_each_forward(
    x: np.ndarray, weights: Arrays, biases: Arrays, slopes: tuple[float, ...]
) -> tuple[Arrays, None]:
    layers = zip(weights, biases, slopes, strict=True)
    return tuple(linear_forward((x,), *layer) for layer in layers), None


def linear_each_backward(
    grads: Arrays, outs: Arrays, x: np.ndarray, weights: Arrays, joined: None,
    slopes: tuple[float, ...], needed: bool, totals: tuple[np.ndarray | None, ...],
) -> tuple[tuple[np.ndarray | None, ...], Arrays, Arrays]:  # fmt: skip
    count = len(weights)
    found = [
        linear_backward(grad, out, (x,), weight, slope, (needed,), (None, of_weight, of_bias))
        for grad, out, weight, slope, of_weight, of_bias in zip(
            grads,
            outs,
            weights,
            slopes,
            totals[count : 2 * count],
            totals[2 * count :],
            strict=True,
        )
    ]
    grad_xs = tuple(grad_parts[0] for grad_parts, _, _ in found)
    return grad_xs, tuple(w for _, w, _ in found), tuple(b for _, _, b in found)
