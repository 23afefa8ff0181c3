"""Sigmoid, dropout, gates times heads, the GRU's update, Adam's step: allocates and launches."""

import numpy as np

from gaancore.array import Array, array_module
from gaancore.kernels import dropout_constants
from gaancore.kernels.cuda.launcher import launch, launch_packs, share_out

Triple = tuple[Array, Array, Array]
Grads = tuple[Array, ...]
i64, i32 = np.int64, np.int32


def dropout(x: Array, rate: float, seed: int) -> Array:
    out = array_module(x).empty(x.shape, x.dtype)
    constants = dropout_constants(x.dtype, rate, seed)
    launch_packs("dropout", x.size, (x.reshape(-1),), x, i64(x.size), *constants, out)
    return out


def sigmoid_forward(x: Array) -> Array:
    out = array_module(x).empty(x.shape, x.dtype)
    launch_packs("sigmoid_forward", x.size, (x.reshape(-1),), x, i64(x.size), out)
    return out


def sigmoid_backward(grad: Array, out: Array) -> Array:
    grad_x = array_module(grad).empty(grad.shape, grad.dtype)
    flat = (grad.reshape(-1), out.reshape(-1))
    launch_packs("sigmoid_backward", grad.size, flat, grad, out, i64(grad.size), grad_x)
    return grad_x


def scale_heads_forward(heads: Array, gates: Array) -> Array:
    out = array_module(heads).empty(heads.shape, heads.dtype)
    numbers, team, _ = share_out(heads)
    args = (heads, gates, i64(gates.size), out)
    given = {"numbers": numbers, "D": heads.shape[2], "TEAM": team}
    launch("scale_heads", "scale_heads_forward", heads, gates.size * team, *args, **given)
    return out


def scale_heads_backward(grad: Array, heads: Array, gates: Array) -> tuple[Array, Array]:
    grad_heads, grad_gates = (array_module(x).empty(x.shape, x.dtype) for x in (heads, gates))
    numbers, team, _ = share_out(grad, heads)
    args = (grad, heads, gates, i64(gates.size), grad_heads, grad_gates)
    given = {"numbers": numbers, "D": heads.shape[2], "TEAM": team}
    launch("scale_heads", "scale_heads_backward", heads, gates.size * team, *args, **given)
    return grad_heads, grad_gates


def gru_update_forward(
    x_u: Array, x_r: Array, x_c: Array, h_u: Array, h_r: Array, h_c: Array, h: Array, slope: float
) -> tuple[Array, Triple]:
    given = (x_u, x_r, x_c, h_u, h_r, h_c, h)
    u, r, c, out = (array_module(h).empty(h.shape, h.dtype) for _ in range(4))
    args = (*given, i64(h.size), h.dtype.type(slope), u, r, c, out)
    launch_packs("gru_update_forward", h.size, given, *args, file="gru_update")
    return out, (u, r, c)


def gru_update_backward(grad: Array, h_c: Array, h: Array, saved: Triple, slope: float) -> Grads:
    given = (grad, h_c, h, *saved)
    grads = tuple(array_module(h).empty(h.shape, h.dtype) for _ in range(5))
    args = (*given, i64(h.size), h.dtype.type(slope), *grads)
    launch_packs("gru_update_backward", h.size, given, *args, file="gru_update")
    return grads


def adam_step(
    parameter: Array,
    grad: Array,
    moment1: Array,
    moment2: Array,
    rate: float,
    beta1: float,
    beta2: float,
    eps: float,
) -> None:
    kind = parameter.dtype.type
    constants = (kind(rate), kind(beta1), kind(beta2), kind(eps))
    arrays, size = (parameter, grad, moment1, moment2), parameter.size
    flat = tuple(x.reshape(-1) for x in arrays)
    launch_packs("adam_step", size, flat, *arrays, i64(size), *constants)
