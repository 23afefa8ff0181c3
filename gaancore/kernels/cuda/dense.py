"""The CUDA backend, elementwise: bias and activation, gates, dropout, losses, Adam."""

from itertools import accumulate
from typing import Any

import numpy as np

from gaancore.array import Array, array_module
from gaancore.kernels.cuda.launcher import launch, num_blocks, power_of_two, share_out

BIAS_ROWS = 128  # rows summed into one partial bias gradient
LOSS_BLOCKS = 512

Triple = tuple[Array, Array, Array]
Parts = tuple[Array, ...]
u64, i64, i32 = np.uint64, np.int64, np.int32


def dropout_constants(dtype: np.dtype, rate: float, seed: int) -> tuple[Any, ...]:
    """Random 32-bit words at or above the threshold are kept, and scaled by 1 / (1 - rate)."""
    return u64(round(rate * 2**32)), dtype.type(1 / (1 - rate)), u64(seed)


def scale_heads_forward(heads: Array, gates: Array) -> Array:
    out = array_module(heads).empty(heads.shape, heads.dtype)
    numbers, team, _ = share_out(heads)
    args = (heads, gates, i64(gates.size), i32(heads.shape[2]), i32(team), out)
    threads = gates.size * team
    launch("scale_heads", "scale_heads_forward", heads, threads, *args, numbers=numbers)
    return out


def scale_heads_backward(grad: Array, heads: Array, gates: Array) -> tuple[Array, Array]:
    grad_heads, grad_gates = (array_module(x).empty(x.shape, x.dtype) for x in (heads, gates))
    numbers, team, _ = share_out(grad, heads)
    sizes = (i64(gates.size), i32(heads.shape[2]), i32(team))
    args = (grad, heads, gates, *sizes, grad_heads, grad_gates)
    threads = gates.size * team
    launch("scale_heads", "scale_heads_backward", heads, threads, *args, numbers=numbers)
    return grad_heads, grad_gates


def gru_update_forward(
    x_u: Array, x_r: Array, x_c: Array, h_u: Array, h_r: Array, h_c: Array, h: Array, slope: float
) -> tuple[Array, Triple]:
    given = (x_u, x_r, x_c, h_u, h_r, h_c, h)
    u, r, c, out = (array_module(h).empty(h.shape, h.dtype) for _ in range(4))
    args = (*given, i64(h.size), h.dtype.type(slope), u, r, c, out)
    _launch_packs("gru_update_forward", h.size, given, *args, file="gru_update")
    return out, (u, r, c)


def gru_update_backward(grad: Array, h_c: Array, h: Array, saved: Triple, slope: float) -> Parts:
    given = (grad, h_c, h, *saved)
    grads = tuple(array_module(h).empty(h.shape, h.dtype) for _ in range(5))
    args = (*given, i64(h.size), h.dtype.type(slope), *grads)
    _launch_packs("gru_update_backward", h.size, given, *args, file="gru_update")
    return grads


def matmul(a: Array, b: Array) -> Array:
    return array_module(a).matmul(a, b)


def _launch_packs(
    kernel: str, size: int, rows: Parts, *args: Any, file: str = "elementwise"
) -> None:
    """Launch an elementwise kernel: a thread owns as many numbers as it loads of `rows`."""
    numbers, _, _ = share_out(*rows)
    launch(file, kernel, rows[0], size // numbers, *args, numbers=numbers)


def linear_forward(parts: Parts, weight: Array, bias: Array, slope: float) -> Array:
    rows, *more = _rows_of(weight, parts)
    out = matmul(parts[0], rows)
    for part, rows in zip(parts[1:], more, strict=True):
        out += matmul(part, rows)
    args = (out, bias, i64(out.size), i32(bias.size), out.dtype.type(slope))
    _launch_packs("add_bias_leaky_relu", out.size, (out, bias), *args)
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
        for rows, wanted in zip(_rows_of(weight, parts), needed, strict=True)
    )
    grad_weight = xp.empty(weight.shape, weight.dtype)
    for part, target in zip(parts, _rows_of(grad_weight, parts), strict=True):
        xp.matmul(part.T, before, out=target)
    return grad_parts, grad_weight, grad_bias


def _rows_of(weight: Array, parts: Parts) -> list[Array]:
    """The rows of `weight` that each part meets."""
    stops = list(accumulate(part.shape[1] for part in parts))
    return [weight[stop - part.shape[1] : stop] for part, stop in zip(parts, stops, strict=True)]


def dropout(x: Array, rate: float, seed: int) -> Array:
    out = array_module(x).empty(x.shape, x.dtype)
    constants = dropout_constants(x.dtype, rate, seed)
    _launch_packs("dropout", x.size, (x.reshape(-1),), x, i64(x.size), *constants, out)
    return out


def bce_with_logits(logits: Array, targets: Array) -> tuple[Array, Array]:
    xp, size = array_module(logits), logits.size
    grad, total = xp.empty(logits.shape, logits.dtype), xp.empty((), np.float64)
    blocks = num_blocks(size, LOSS_BLOCKS)
    losses, file = xp.empty(blocks, np.float64), "bce_with_logits"
    args = (logits, targets, i64(size), grad, losses)
    launch(file, "bce_with_logits", logits, size, *args, most=LOSS_BLOCKS)
    launch(file, "sum_blocks", logits, 1, losses, i32(blocks), total)
    return total, grad


def softmax_cross_entropy(logits: Array, targets: Array) -> tuple[Array, Array]:
    xp, (N, C) = array_module(logits), logits.shape
    grad, total = xp.empty((N, C), logits.dtype), xp.empty((), np.float64)
    losses, team = xp.empty(N, np.float64), power_of_two(C)
    args = (logits, targets, i64(N), i32(C), i32(team), grad, losses)
    launch("softmax_cross_entropy", "softmax_cross_entropy", logits, N * team, *args)
    launch("bce_with_logits", "sum_blocks", logits, 1, losses, i32(N), total)
    return total, grad


def adam_step(
    parameter: Array,
    grad: Array,
    moment1: Array,
    moment2: Array,
    rate: float,
    beta1: float,
    beta2: float,
    eps: float,
    step: int,
) -> None:
    kind = parameter.dtype.type
    correction = float(np.sqrt(1 - beta2**step))
    step_size = rate * correction / (1 - beta1**step)
    constants = (kind(step_size), kind(beta1), kind(beta2), kind(eps * correction))
    arrays, size = (parameter, grad, moment1, moment2), parameter.size
    flat = tuple(x.reshape(-1) for x in arrays)
    _launch_packs("adam_step", size, flat, *arrays, i64(size), *constants)
