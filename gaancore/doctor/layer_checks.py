"""The checks of fully connected layers (see checks.py)."""

from typing import Any

from gaancore.doctor import plain_loops as plain

SLOPE, HALF = 0.1, 24  # HALF: outputs of a second, narrower layer
Results = tuple[Any, ...]


def _linear_backward(kernels: Any, x: Any) -> Results:
    parts = (x.features, x.gates)
    out = kernels.linear_forward(parts, x.weight, x.bias, SLOPE)
    given = (x.outputs_grad, out, parts, x.weight, SLOPE, (True, True))
    grad_parts, *grads = kernels.linear_backward(*given)
    return *grad_parts, *grads


def _layers(x: Any) -> tuple[Any, Any, tuple[float, float]]:
    """Two layers that read `features`: one without an activation, one with."""
    weight = x.weight[: x.features.shape[1]]
    weights = (weight.copy(), weight[:, :HALF].copy())
    return weights, (x.bias, x.bias[:HALF].copy()), (1.0, SLOPE)


def _linear_each_backward(kernels: Any, x: Any) -> Results:
    layers, grads = _layers(x), (x.outputs_grad, x.outputs_grad[:, :HALF].copy())
    outs, joined = kernels.linear_each_forward(x.features, *layers)
    given = (grads, outs, x.features, layers[0], joined, layers[2], True, (None,) * 6)
    grad_x, weights, biases = kernels.linear_each_backward(*given)
    return sum(part for part in grad_x if part is not None), *weights, *biases


def _plain_linear_each_backward(x: Any) -> Results:
    grads = (x.outputs_grad, x.outputs_grad[:, :HALF])
    found = [
        plain.leaky_linear_gradients(grad, (x.features,), *layer)
        for grad, *layer in zip(grads, *_layers(x), strict=True)
    ]
    parts, weights, biases = zip(*found, strict=True)
    return sum(parts), *weights, *biases


LAYER_CHECKS = {
    "linear_forward": (
        lambda k, x: (k.linear_forward((x.features, x.gates), x.weight, x.bias, SLOPE),),
        lambda x: (plain.leaky_linear((x.features, x.gates), x.weight, x.bias, SLOPE),),
    ),
    "linear_backward": (
        _linear_backward,
        lambda x: plain.leaky_linear_gradients(
            x.outputs_grad, (x.features, x.gates), x.weight, x.bias, SLOPE
        ),
    ),
    "linear_each_forward": (
        lambda k, x: k.linear_each_forward(x.features, *_layers(x))[0],
        lambda x: tuple(
            plain.leaky_linear((x.features,), *layer) for layer in zip(*_layers(x), strict=True)
        ),
    ),
    "linear_each_backward": (_linear_each_backward, _plain_linear_each_backward),
}
