"""Layers and products on the host: what is packed, how rows are shared out, what is added up.

Threads share the rows of a result. A gradient of weights is a sum over rows: these are cut into
pieces that do not depend on the number of threads, and the sums of the pieces are added in order.
"""

from typing import Any

import numpy as np

from gaancore.kernels.cpu.products.panels import (
    fill_panels,
    fill_transposed,
    panels_for,
    take_apart,
)
from gaancore.kernels.cpu.products.tiles import BLOCK, add_columns_times, rows_times_panels
from gaancore.kernels.cpu.sharing import CACHE_LINE, aligned
from gaancore.system import threads
from gaancore.system.jit import jit

Parts = tuple[np.ndarray, ...]


def matmul(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a @ b for matrices, which may be transposed views: these are copied."""
    dtype = np.result_type(a, b)
    a, b = (np.asarray(x, dtype) for x in (a, b))
    no_bias = np.zeros(b.shape[1], dtype)
    return linear_forward((np.ascontiguousarray(a),), np.ascontiguousarray(b), no_bias, 1.0)


def linear_forward(parts: Parts, weight: np.ndarray, bias: np.ndarray, slope: float) -> np.ndarray:
    rows, dtype = parts[0].shape[0], weight.dtype
    out = aligned((rows, weight.shape[1]), dtype)
    args = (parts, weight, bias[None], dtype.type(slope), out)
    threads.share_rows(_forward, rows, weight.size // 64, *args)
    return out


@jit
def _forward(parts, weight, bias, slope, out, start, stop):
    (inner, G), line = weight.shape, CACHE_LINE // out.itemsize
    panels = np.empty((panels_for(G, line) * inner, line), out.dtype)
    biases = np.empty((panels_for(G, line), line), out.dtype)
    fill_panels(weight, panels, 0)
    fill_panels(bias, biases, 0)
    for lo in range(start, stop, BLOCK):
        count, at = min(BLOCK, stop - lo), 0
        for p in range(len(parts)):
            part, width, last = parts[p], parts[p].shape[1], p == len(parts) - 1
            given = (part, lo, count, width, panels, inner, at, biases, slope, out, lo, p > 0, last)
            rows_times_panels(*given)
            at += width


def linear_backward(
    grad: np.ndarray,
    out: np.ndarray,
    parts: Parts,
    weight: np.ndarray,
    slope: float,
    needed: tuple[bool, ...],
    totals: tuple[np.ndarray | None, ...] = (),
) -> tuple[tuple[np.ndarray | None, ...], np.ndarray, np.ndarray]:
    rows, (F, G), dtype = grad.shape[0], weight.shape, grad.dtype
    height, line = _height(rows), CACHE_LINE // dtype.itemsize
    pieces = max(1, -(-rows // height))
    *of_parts, of_weight, of_bias = totals or (None,) * (len(parts) + 2)
    # No rows stand for a gradient that nobody needs: a compiled loop wants arrays of one type
    grad_parts = tuple(
        aligned((rows if wanted else 0, part.shape[1]), dtype) if total is None else total
        for part, wanted, total in zip(parts, needed, of_parts, strict=True)
    )
    added = np.array([total is not None for total in of_parts])
    sums = np.zeros((pieces, -(-G // line) * F, line), dtype)
    grad_biases = np.zeros((pieces, G), dtype)
    args = (grad, out, parts, weight, dtype.type(slope), height, added)
    targets = (grad_parts, sums, grad_biases)
    threads.share_rows(_backward, pieces, height * weight.size // 32, *args, *targets)
    grad_weight = np.empty((F, G), dtype) if of_weight is None else of_weight
    take_apart(sums, F, of_weight is not None, grad_weight)
    grad_bias = grad_biases.sum(axis=0)
    if of_bias is not None:
        grad_bias = np.add(of_bias, grad_bias, out=of_bias)
    asked_for = (x if wanted else None for x, wanted in zip(grad_parts, needed, strict=True))
    return tuple(asked_for), grad_weight, grad_bias


@jit
def _backward(
    grad, out, parts, weight, slope, height, added, grad_parts, sums, grad_biases, start, stop
):
    (inner, G), n, line = weight.shape, grad.shape[0], sums.shape[2]
    # The weights of each part, transposed, in panels of their own; row offsets[p] is the first
    offsets = np.zeros(len(parts) + 1, np.int64)
    for p in range(len(parts)):
        offsets[p + 1] = offsets[p] + panels_for(parts[p].shape[1], line) * G
    back, at = np.empty((offsets[-1], line), grad.dtype), 0
    for p in range(len(parts)):
        if len(grad_parts[p]) > 0:
            fill_transposed(weight[at : at + parts[p].shape[1]], back, offsets[p])
        at += parts[p].shape[1]
    # A panel more than G takes: rows that lie a power of two apart share few places in a cache
    before = np.zeros((BLOCK, (G + 2 * line - 1) // line * line), grad.dtype)
    no_bias, no_slope = sums[0], slope  # neither is looked at
    for piece in range(start, stop):
        last = min((piece + 1) * height, n)
        for lo in range(piece * height, last, BLOCK):
            count, at = min(BLOCK, last - lo), 0
            _leaky_relu_backward(grad, out, slope, lo, count, before, grad_biases[piece])
            for p in range(len(parts)):
                part, target = parts[p], grad_parts[p]
                if len(target) > 0:
                    given = (before, 0, count, G, back, G, offsets[p], no_bias, no_slope)
                    rows_times_panels(*given, target, lo, added[p], False)
                add_columns_times(part, lo, count, before, sums[piece], inner, at)
                at += part.shape[1]


@jit
def _leaky_relu_backward(grad, out, slope, lo, count, before, sums):
    """before[r] = grad[lo + r] * (1 where out > 0, else slope), also added up in `sums`."""
    for r in range(count):
        g, o, x = grad[lo + r], out[lo + r], before[r]
        for j in range(g.size):
            value = g[j] if o[j] > 0 else slope * g[j]
            x[j] = value
            sums[j] += value


def linear_each_forward(
    x: np.ndarray, weights: Parts, biases: Parts, slopes: tuple[float, ...]
) -> tuple[Parts, None]:
    layers = zip(weights, biases, slopes, strict=True)
    return tuple(linear_forward((x,), *layer) for layer in layers), None


def linear_each_backward(
    grads: Parts, outs: Parts, x: np.ndarray, weights: Parts, joined: None,
    slopes: tuple[float, ...], needed: bool, totals: tuple[np.ndarray | None, ...],
) -> tuple[tuple[np.ndarray | None, ...], Parts, Parts]:  # fmt: skip
    count, grad_x = len(weights), totals[0]
    of_weights: list[Any] = list(totals[count : 2 * count])
    of_biases: list[Any] = list(totals[2 * count :])
    for p, (grad, out, weight, slope) in enumerate(zip(grads, outs, weights, slopes, strict=True)):
        into = (grad_x, of_weights[p], of_biases[p])
        (grad_x,), of_weights[p], of_biases[p] = linear_backward(
            grad, out, (x,), weight, slope, (needed,), into
        )
    return (grad_x, *(None,) * (count - 1)), tuple(of_weights), tuple(of_biases)


def _height(rows: int) -> int:
    """Rows of a piece: four pieces for every 4,096 rows or fewer, so that 2 and 4 threads get equal
    shares. Where one thread has them all, as few of that size as it takes.
    """
    if threads.runs_on_one_thread():
        pieces = -(-4 * rows // 4096)
    else:
        pieces = 4 * -(-rows // 4096)
    return max(16, -(-rows // (16 * max(1, pieces))) * 16)
