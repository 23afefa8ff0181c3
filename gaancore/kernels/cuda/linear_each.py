"""Layers that read one input, as one product: allocates and launches."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from gaancore.array import Array, array_module
from gaancore.kernels.cuda.columns import AT_ONCE, join_columns
from gaancore.kernels.cuda.launcher import launch
from gaancore.kernels.cuda.linear import Totals, matmul, product, row_of_ones

Arrays = tuple[Array, ...]
i64, i32 = np.int64, np.int32


def linear_each_forward(
    x: Array, weights: Arrays, biases: Arrays, slopes: tuple[float, ...]
) -> tuple[Arrays, Array]:
    joined = join_columns(weights)
    rows, empty = x.shape[0], array_module(x).empty
    outs = tuple(empty((rows, bias.size), x.dtype) for bias in biases)
    sizes = (i64(rows), *_widths(biases), *_four(slopes, x.dtype.type))
    args = (matmul(x, joined), *_four(biases), *sizes, *_four(outs))
    launch("linear_each", "split_layers", x, rows * joined.shape[1], *args)
    return outs, joined


def linear_each_backward(
    grads: Arrays, outs: Arrays, x: Array, weights: Arrays, joined: Array,
    slopes: tuple[float, ...], needed: bool, totals: Totals,
) -> tuple[tuple[Array | None, ...], Arrays, Arrays]:  # fmt: skip
    (rows, F), width, count, empty = x.shape, joined.shape[1], len(grads), array_module(x).empty
    before = empty((rows, width), x.dtype)
    sizes = (*_widths(weights), *_four(slopes, x.dtype.type))
    args = (*_four(grads), *_four(outs), i64(rows), *sizes, before)
    launch("linear_each", "join_gradients", x, rows * width, *args)
    of_x, of_layers = totals[0], totals[count:]
    grad_x = product(before, joined.T, of_x) if needed else None
    both = empty((F + 1, width), x.dtype)  # of the weights, and in the last row of the biases
    array_module(x).matmul(x.T, before, out=both[:F])
    array_module(x).matmul(row_of_ones(x), before, out=both[F:])
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
