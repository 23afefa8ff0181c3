"""Products of matrices by cuBLAS; bias, activation and its gradient are kernels."""

from itertools import accumulate

import numpy as np

from gaancore.array import Array, array_module, device_of
from gaancore.kernels.cuda.launcher import launch_packs

Parts = tuple[Array, ...]
Totals = tuple[Array | None, ...]
i64, i32 = np.int64, np.int32
_ones: dict[tuple[str, np.dtype], Array] = {}  # the longest that a device was asked for


def matmul(a: Array, b: Array) -> Array:
    return array_module(a).matmul(a, b)


def linear_forward(parts: Parts, weight: Array, bias: Array, slope: float) -> Array:
    first, *more = _weight_rows(weight, parts)
    out = matmul(parts[0], first)
    for part, rows in zip(parts[1:], more, strict=True):
        _add_product(part, rows, out)
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
    totals: Totals = (),
) -> tuple[tuple[Array | None, ...], Array, Array]:
    before = grad if slope == 1 else _leaky_relu_backward(grad, out, slope)
    *of_parts, of_weight, of_bias = totals or (None,) * (len(parts) + 2)
    grad_parts = tuple(
        product(before, rows.T, total) if wanted else None
        for rows, wanted, total in zip(_weight_rows(weight, parts), needed, of_parts, strict=True)
    )
    grad_weight = (
        array_module(grad).empty(weight.shape, weight.dtype) if of_weight is None else of_weight
    )
    for part, rows in zip(parts, _weight_rows(grad_weight, parts), strict=True):
        if of_weight is None:
            array_module(grad).matmul(part.T, before, out=rows)
        else:
            _add_product(part.T, before, rows)
    # a sum over rows is a product with ones, and cuBLAS cuts tall ones
    row = None if of_bias is None else of_bias.reshape(1, -1)
    grad_bias = product(row_of_ones(grad), before, row).reshape(-1)
    return grad_parts, grad_weight, grad_bias if of_bias is None else of_bias


def _leaky_relu_backward(grad: Array, out: Array, slope: float) -> Array:
    before = array_module(grad).empty(grad.shape, grad.dtype)
    flat = tuple(x.reshape(-1) for x in (grad, out))
    args = (grad, out, i64(grad.size), grad.dtype.type(slope), before)
    launch_packs("leaky_relu_backward", grad.size, flat, *args)
    return before


def product(a: Array, b: Array, total: Array | None) -> Array:
    """a @ b, or `total` with it added."""
    if total is None:
        return matmul(a, b)
    _add_product(a, b, total)
    return total


def _add_product(a: Array, b: Array, total: Array) -> None:
    """total += a @ b, by cuBLAS itself. Either may be a transposed view."""
    if a.size and b.size:
        array_module(a).cublas.gemm("N", "N", a, b, out=total, beta=1.0)


def row_of_ones(like: Array) -> Array:
    """(1, rows of `like`), of which a device keeps the longest."""
    key, rows = (device_of(like), like.dtype), like.shape[0]
    if key not in _ones or _ones[key].size < rows:
        _ones[key] = array_module(like).ones(1 << rows.bit_length(), like.dtype)
    return _ones[key][None, :rows]


def _weight_rows(weight: Array, parts: Parts) -> list[Array]:
    """The rows of `weight` that each part meets."""
    stops = list(accumulate(part.shape[1] for part in parts))
    return [weight[stop - part.shape[1] : stop] for part, stop in zip(parts, stops, strict=True)]
