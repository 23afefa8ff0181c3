"""Dropout, gates times heads, the GRU's update and Adam's step: host above, Numba loop below.

NumPy would run each on one thread and with temporaries. A loop owns the part [start, stop) of what
it writes.
"""

from functools import cache
from typing import Any

import numpy as np

from gaancore.kernels import dropout_constants
from gaancore.kernels.cpu.sharing import node_rows
from gaancore.kernels.cpu.vector.code import FAST
from gaancore.kernels.cpu.vector.head_moves import add_heads, head_dots
from gaancore.kernels.cpu.vector.math import exp_nonpositive, random_word
from gaancore.kernels.cpu.vector.moves import clear, load, register, store
from gaancore.system import threads
from gaancore.system.jit import jit

Pair = tuple[np.ndarray, np.ndarray]
Triple = tuple[np.ndarray, np.ndarray, np.ndarray]


def dropout(x: np.ndarray, rate: float, seed: int) -> np.ndarray:
    out = np.empty_like(x)
    args = (x.reshape(-1), out.reshape(-1), *dropout_constants(x.dtype, rate, seed))
    threads.share_rows(_dropout, x.size, 1, *args)
    return out


@jit
def _dropout(x, out, threshold, scale, key, start, stop):
    """out[i] = scale * x[i] where 32 random bits of (key, i) reach `threshold`, else 0 (flat)."""
    zero = x.dtype.type(0)
    x, out = x[start:stop], out[start:stop]  # an index that may be negative is not vectorised
    for i in range(x.size):
        out[i] = x[i] * scale if random_word(key, start + i) >= threshold else zero


def sigmoid_forward(x: np.ndarray) -> np.ndarray:
    half = x.dtype.type(0.5)
    return half * np.tanh(half * x) + half


def sigmoid_backward(grad: np.ndarray, out: np.ndarray) -> np.ndarray:
    return grad * out * (1 - out)


def scale_heads_forward(heads: np.ndarray, gates: np.ndarray) -> np.ndarray:
    out = np.empty_like(heads)
    args = (node_rows(heads), gates, node_rows(out))
    n, K, D = heads.shape
    if heads.size:
        threads.share_rows(_scale_heads_forward(K, D), n, K * D, *args)
    return out


@cache
def _scale_heads_forward(K: int, D: int) -> Any:
    """heads and out (N, K * D), gates (N, K): out[i, k] = gates[i, k] * heads[i, k]."""
    width = K * D

    @jit
    def kernel(heads, gates, out, start, stop):
        one = heads.dtype.type(1)
        r = register(heads, width)
        for i in range(start, stop):
            clear(r, width)
            add_heads(r, gates, i, heads, i, K, D)
            store(out, i, one, r, width)

    return kernel


def scale_heads_backward(grad: np.ndarray, heads: np.ndarray, gates: np.ndarray) -> Pair:
    grad_heads, grad_gates = np.empty_like(heads), np.zeros_like(gates)
    args = (node_rows(grad), node_rows(heads), gates, node_rows(grad_heads), grad_gates)
    n, K, D = heads.shape
    if heads.size:
        threads.share_rows(_scale_heads_backward(K, D), n, K * D, *args)
    return grad_heads, grad_gates


@cache
def _scale_heads_backward(K: int, D: int) -> Any:
    """grad_heads[i, k] = gates[i, k] * grad[i, k], grad_gates[i, k] = <grad[i, k], heads[i, k]>."""
    width = K * D

    @jit
    def kernel(grad, heads, gates, grad_heads, grad_gates, start, stop):
        one = grad.dtype.type(1)
        g, r = register(grad, width), register(grad, width)
        for i in range(start, stop):
            load(g, grad, i, width)
            head_dots(grad_gates, i, one, g, heads, i, K, D)
            clear(r, width)
            add_heads(r, gates, i, grad, i, K, D)
            store(grad_heads, i, one, r, width)

    return kernel


def gru_update_forward(
    x_u: np.ndarray, x_r: np.ndarray, x_c: np.ndarray, h_u: np.ndarray, h_r: np.ndarray,
    h_c: np.ndarray, h: np.ndarray, slope: float,
) -> tuple[np.ndarray, Triple]:  # fmt: skip
    u, r, c, out = (np.empty_like(h) for _ in range(4))
    given = (part.reshape(-1) for part in (x_u, x_r, x_c, h_u, h_r, h_c, h))
    made = (part.reshape(-1) for part in (u, r, c, out))
    args = (*given, h.dtype.type(slope), *made)
    threads.share_rows(_gru_update_forward, h.size, 8, *args)
    return out, (u, r, c)


@jit(fastmath=FAST)
def _gru_update_forward(x_u, x_r, x_c, h_u, h_r, h_c, h, slope, u, r, c, out, start, stop):
    """Flat arrays: u = sigmoid(x_u + h_u), r alike, c = leaky_relu(x_c + r h_c)."""
    mine = slice(start, stop)  # an index that may be negative is not vectorised
    u, r, c, out = u[mine], r[mine], c[mine], out[mine]
    x_c, h_c, h = x_c[mine], h_c[mine], h[mine]
    _sigmoid_of_sum(x_u[mine], h_u[mine], u)
    _sigmoid_of_sum(x_r[mine], h_r[mine], r)
    for t in range(out.size):
        z = x_c[t] + r[t] * h_c[t]
        c[t] = z if z > 0 else slope * z
        out[t] = c[t] + u[t] * (h[t] - c[t])


@jit(fastmath=FAST)
def _sigmoid_of_sum(a, b, out):
    one, zero = a.dtype.type(1), a.dtype.type(0)
    for t in range(out.size):
        z = a[t] + b[t]
        e = exp_nonpositive(-abs(z))
        out[t] = (one if z >= zero else e) / (one + e)


def gru_update_backward(
    grad: np.ndarray, h_c: np.ndarray, h: np.ndarray, saved: Triple, slope: float
) -> tuple[np.ndarray, ...]:
    grads = tuple(np.empty_like(h) for _ in range(5))
    given = (part.reshape(-1) for part in (grad, h_c, h, *saved))
    args = (*given, h.dtype.type(slope), *(part.reshape(-1) for part in grads))
    threads.share_rows(_gru_update_backward, h.size, 8, *args)
    return grads


@jit(fastmath=FAST)
def _gru_update_backward(
    grad, h_c, h, u, r, c, slope, grad_u, grad_r, grad_c, grad_hc, grad_h, start, stop
):
    one = h.dtype.type(1)
    mine = slice(start, stop)  # as above
    grad, h_c, h, u, r, c = grad[mine], h_c[mine], h[mine], u[mine], r[mine], c[mine]
    grad_u, grad_r, grad_c = grad_u[mine], grad_r[mine], grad_c[mine]
    grad_hc, grad_h = grad_hc[mine], grad_h[mine]
    for t in range(grad.size):
        g = grad[t]
        grad_h[t] = g * u[t]
        grad_u[t] = g * (h[t] - c[t]) * u[t] * (one - u[t])
        before = g * (one - u[t]) * (one if c[t] > 0 else slope)
        grad_c[t] = before
        grad_r[t] = before * h_c[t] * r[t] * (one - r[t])
        grad_hc[t] = before * r[t]


def adam_step(
    parameter: np.ndarray,
    grad: np.ndarray,
    moment1: np.ndarray,
    moment2: np.ndarray,
    rate: float,
    beta1: float,
    beta2: float,
    eps: float,
) -> None:
    kind = parameter.dtype.type
    flat = (parameter.reshape(-1), grad.reshape(-1), moment1.reshape(-1), moment2.reshape(-1))
    constants = (kind(rate), kind(beta1), kind(beta2), kind(eps))
    threads.share_rows(_adam_step, parameter.size, 1, *flat, *constants)


@jit
def _adam_step(p, g, m, v, rate, beta1, beta2, eps, start, stop):
    one = p.dtype.type(1)
    p, g, m, v = p[start:stop], g[start:stop], m[start:stop], v[start:stop]
    for i in range(p.size):
        m[i] = beta1 * m[i] + (one - beta1) * g[i]
        v[i] = beta2 * v[i] + (one - beta2) * g[i] * g[i]
        p[i] -= rate * m[i] / (np.sqrt(v[i]) + eps)
