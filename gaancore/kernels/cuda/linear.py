"""Products of matrices by cuBLAS; bias, activation and its gradient are kernels."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from gaancore.array import Array, add_product, array_module, device_of
from gaancore.kernels.cuda.columns import AT_ONCE, join_columns
from gaancore.kernels.cuda.launcher import launch, launch_packs

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
        _product(before, rows.T, total) if wanted else None
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
    grad_bias = _product(_row_of_ones(grad), before, row).reshape(-1)
    return grad_parts, grad_weight, grad_bias if of_bias is None else of_bias


def linear_each_forward(
    x: Array, weights: Parts, biases: Parts, slopes: tuple[float, ...]
) -> tuple[Parts, Array]:
    joined = join_columns(weights)
    rows, empty = x.shape[0], array_module(x).empty
    outs = tuple(empty((rows, bias.size), x.dtype) for bias in biases)
    sizes = (i64(rows), *_widths(biases), *_four(slopes, x.dtype.type))
    args = (matmul(x, joined), *_four(biases), *sizes, *_four(outs))
    launch("linear_each", "split_layers", x, rows * joined.shape[1], *args)
    return outs, joined


def linear_each_backward(
    grads: Parts, outs: Parts, x: Array, weights: Parts, joined: Array,
    slopes: tuple[float, ...], needed: bool, totals: Totals,
) -> tuple[tuple[Array | None, ...], Parts, Parts]:  # fmt: skip
    (rows, F), width, count, empty = x.shape, joined.shape[1], len(grads), array_module(x).empty
    before = empty((rows, width), x.dtype)
    sizes = (*_widths(weights), *_four(slopes, x.dtype.type))
    args = (*_four(grads), *_four(outs), i64(rows), *sizes, before)
    launch("linear_each", "join_gradients", x, rows * width, *args)
    of_x, of_layers = totals[0], totals[count:]
    grad_x = _product(before, joined.T, of_x) if needed else None
    both = empty((F + 1, width), x.dtype)  # of the weights, and in the last row of the biases
    array_module(x).matmul(x.T, before, out=both[:F])
    array_module(x).matmul(_row_of_ones(x), before, out=both[F:])
    add = all(total is not None for total in of_layers)
    made: list[Any] = list(of_layers)
    if not add:
        made = [empty(w.shape, x.dtype) for w in weights]
        made += [empty(w.shape[1], x.dtype) for w in weights]
    args = (both, i64(F), *_widths(weights), i32(add), *_four(made[:count]), *_four(made[count:]))
    launch("linear_each", "split_gradients", x, both.size, *args)
    return (grad_x, *(None,) * (count - 1)), tuple(made[:count]), tuple(made[count:])


def _four(given: Sequence[Any], kind: Any = None) -> list[Any]:
    """Four of them; for those that are missing the last one, which nothing reads."""
    four = [*given, *[given[-1]] * (AT_ONCE - len(given))]
    return [kind(x) for x in four] if kind else four


def _widths(layers: Sequence[Array]) -> list[np.int32]:
    """Columns of each of four layers, 0 for those that are missing."""
    return [i32(x.shape[-1]) for x in layers] + [i32(0)] * (AT_ONCE - len(layers))


def _leaky_relu_backward(grad: Array, out: Array, slope: float) -> Array:
    before = array_module(grad).empty(grad.shape, grad.dtype)
    flat = tuple(x.reshape(-1) for x in (grad, out))
    args = (grad, out, i64(grad.size), grad.dtype.type(slope), before)
    launch_packs("leaky_relu_backward", grad.size, flat, *args)
    return before


def _product(a: Array, b: Array, total: Array | None) -> Array:
    """a @ b, or `total` with it added."""
    if total is None:
        return matmul(a, b)
    _add_product(a, b, total)
    return total


def _add_product(a: Array, b: Array, total: Array) -> None:
    if a.size and b.size:
        add_product(a, b, total)


def _row_of_ones(like: Array) -> Array:
    """(1, rows of `like`), of which a device keeps the longest."""
    key, rows = (device_of(like), like.dtype), like.shape[0]
    if key not in _ones or _ones[key].size < rows:
        _ones[key] = array_module(like).ones(1 << rows.bit_length(), like.dtype)
    return _ones[key][None, :rows]


def _weight_rows(weight: Array, parts: Parts) -> list[Array]:
    """The rows of `weight` that each part meets."""
    stops = list(accumulate(part.shape[1] for part in parts))
    return [weight[stop - part.shape[1] : stop] for part, stop in zip(parts, stops, strict=True)]
