"""Numba: loops over elements that NumPy would run on one thread and with temporaries.

Those with `start, stop` own that part of what they write, for threads.run_ranges to share out.
"""

from functools import cache
from typing import Any

import numpy as np

from gaancore.kernels.cpu.vector.head_moves import add_heads, head_dots
from gaancore.kernels.cpu.vector.math import exp_nonpositive, log1p_unit, random_word
from gaancore.kernels.cpu.vector.moves import clear, load, register, store
from gaancore.system.jit import jit


@jit
def add_bias_leaky_relu(out, bias, slope):
    """out = leaky_relu(out + bias), in place; slope 1 is the identity."""
    for i in range(out.shape[0]):
        row = out[i]
        for j in range(row.size):
            x = row[j] + bias[j]
            row[j] = x if x > 0 else slope * x


@jit
def column_sums(x, sums):
    """sums += x summed over its rows."""
    for i in range(x.shape[0]):
        row = x[i]
        for j in range(row.size):
            sums[j] += row[j]


@jit
def leaky_relu_backward(grad, out, slope, grad_x, sums):
    """grad_x = grad * (1 where out > 0, else slope); its column sums are added to `sums`."""
    for i in range(grad.shape[0]):
        g, o, x = grad[i], out[i], grad_x[i]
        for j in range(g.size):
            value = g[j] if o[j] > 0 else slope * g[j]
            x[j] = value
            sums[j] += value


@jit
def dropout(x, out, threshold, scale, seed, start, stop):
    """out[i] = scale * x[i] where 32 random bits of (seed, i) reach `threshold`, else 0 (flat)."""
    zero = x.dtype.type(0)
    x, out = x[start:stop], out[start:stop]  # an index that may be negative is not vectorised
    for i in range(x.size):
        out[i] = x[i] * scale if random_word(seed, start + i) >= threshold else zero


@cache
def scale_heads_forward(K: int, D: int) -> Any:
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


@cache
def scale_heads_backward(K: int, D: int) -> Any:
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


@jit(fastmath={"reassoc", "contract", "nsz"})
def bce_with_logits(logits, targets, grad, losses, start, stop):
    """losses[i] = sum_c log(1 + e^x) - t x, grad = sigmoid(x) - t; safe for any finite logit."""
    one, zero = logits.dtype.type(1), logits.dtype.type(0)
    for i in range(start, stop):
        x, t, g = logits[i], targets[i], grad[i]
        total = zero
        for c in range(x.size):
            e, target = exp_nonpositive(-abs(x[c])), x.dtype.type(t[c])
            sigmoid = (one if x[c] >= zero else e) / (one + e)
            g[c] = sigmoid - target
            total += max(x[c], zero) - x[c] * target + log1p_unit(e)
        losses[i] = total


@jit(fastmath={"reassoc", "contract", "nsz"})
def softmax_cross_entropy(logits, targets, grad, losses, start, stop):
    """losses[i] = log(sum_c e^x_c) - x_target, grad = softmax(x) - onehot(target); the row's
    maximum is subtracted first."""
    one = logits.dtype.type(1)
    for i in range(start, stop):
        x, g, target = logits[i], grad[i], targets[i]
        top = x[0]
        for c in range(1, x.size):
            top = max(top, x[c])
        total = logits.dtype.type(0)
        for c in range(x.size):
            g[c] = exp_nonpositive(x[c] - top)
            total += g[c]
        for c in range(x.size):
            g[c] /= total
        g[target] -= one
        losses[i] = np.log(total) - (x[target] - top)


@jit
def adam_step(p, g, m, v, step_size, beta1, beta2, eps, start, stop):
    """One Adam update of flat arrays, in place; `step_size` and `eps` hold the bias corrections."""
    one = p.dtype.type(1)
    p, g, m, v = p[start:stop], g[start:stop], m[start:stop], v[start:stop]
    for i in range(p.size):
        m[i] = beta1 * m[i] + (one - beta1) * g[i]
        v[i] = beta2 * v[i] + (one - beta2) * g[i] * g[i]
        p[i] -= step_size * m[i] / (np.sqrt(v[i]) + eps)


@jit(fastmath={"reassoc", "contract", "nsz"})
def _sigmoid_of_sum(a, b, out):
    one, zero = a.dtype.type(1), a.dtype.type(0)
    for t in range(out.size):
        z = a[t] + b[t]
        e = exp_nonpositive(-abs(z))
        out[t] = (one if z >= zero else e) / (one + e)


@jit(fastmath={"reassoc", "contract", "nsz"})
def gru_update_forward(x_u, x_r, x_c, h_u, h_r, h_c, h, slope, u, r, c, out, start, stop):
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


@jit(fastmath={"reassoc", "contract", "nsz"})
def gru_update_backward(
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
