"""Products of matrices by cuBLAS; bias, activation and their gradients are kernels."""

from itertools import accumulate

import numpy as np

from gaancore.array import Array, array_module
from gaancore.kernels.cuda.launcher import launch, launch_packs

BIAS_ROWS = 128  # rows summed into one partial bias gradient

Parts = tuple[Array, ...]
i64, i32 = np.int64, np.int32


def matmul(a: Array, b: Array) -> Array:
    return array_module(a).matmul(a, b)


def linear_forward(parts: Parts, weight: Array, bias: Array, slope: float) -> Array:
    rows, *more = _weight_rows(weight, parts)
    out = matmul(parts[0], rows)
    for part, rows in zip(parts[1:], more, strict=True):
        out += matmul(part, rows)
    args = (out, bias, i64(out.size), i32(bias.size), out.dtype.type(slope))
    launch_packs("add_bias_leaky_relu", out.size, (out, bias), *args)
    return out


def linear_backward(
    grad: Array,
    out: Array,
    parts: Parts,
    weight: Array,
    slope: float,
    needed: tuple[bool, ...],
) -> tuple[tuple[Array | None, ...], Array, Array]:
    xp, (rows, G) = array_module(grad), grad.shape
    chunks = -(-rows // BIAS_ROWS)
    before, sums = xp.empty(grad.shape, grad.dtype), xp.empty((chunks, G), grad.dtype)
    grad_bias = xp.empty(G, grad.dtype)
    sizes = (i64(rows), i32(G), i32(BIAS_ROWS), grad.dtype.type(slope))
    launch("elementwise", "leaky_relu_backward", grad, sums.size, grad, out, *sizes, before, sums)
    launch("elementwise", "column_sums", grad, G, sums, i64(chunks), i32(G), grad_bias)
    grad_parts = tuple(
        matmul(before, rows.T) if wanted else None
        for rows, wanted in zip(_weight_rows(weight, parts), needed, strict=True)
    )
    grad_weight = xp.empty(weight.shape, weight.dtype)
    for part, target in zip(parts, _weight_rows(grad_weight, parts), strict=True):
        xp.matmul(part.T, before, out=target)
    return grad_parts, grad_weight, grad_bias


def _weight_rows(weight: Array, parts: Parts) -> list[Array]:
    """The rows of `weight` that each part meets."""
    stops = list(accumulate(part.shape[1] for part in parts))
    return [weight[stop - part.shape[1] : stop] for part, stop in zip(parts, stops, strict=True)]
