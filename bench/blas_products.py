"""Layers whose products come from BLAS, some rows at a time, for bench/why.py to compare with.

Numba's np.dot calls SciPy's BLAS without holding the interpreter's lock. Each function has the
name, the arguments and the meaning of the loop that it replaces: see products/linear.py.
"""

import numpy as np
import scipy.linalg  # noqa: F401 (Numba looks for the BLAS in it)

from gaancore.kernels.cpu.products import linear
from gaancore.system.jit import jit

PIECE = 1024  # rows of one call of BLAS


def take_the_place_of_tiles() -> None:
    linear._forward, linear._backward = _forward, _backward


@jit
def _forward(parts, weight, bias, slope, out, start, stop):
    for lo in range(start, stop, PIECE):
        rows = out[lo : min(lo + PIECE, stop)]
        at = 0
        for part in parts:
            x, w = part[lo : lo + len(rows)], weight[at : at + part.shape[1]]
            if at == 0:
                np.dot(x, w, out=rows)
            else:
                rows += np.dot(x, w)
            at += part.shape[1]
        for i in range(rows.shape[0]):
            row = rows[i]
            for j in range(row.size):
                value = row[j] + bias[0, j]
                row[j] = value if value > 0 else slope * value


@jit
def _backward(
    grad, out, parts, weight, slope, height, added, grad_parts, sums, grad_biases, start, stop
):
    line, F = sums.shape[2], weight.shape[0]
    before = np.empty((min(height, grad.shape[0]), grad.shape[1]), grad.dtype)
    for piece in range(start, stop):
        lo, hi = piece * height, min((piece + 1) * height, grad.shape[0])
        part_of_grad = before[: hi - lo]
        linear._leaky_relu_backward(grad, out, slope, lo, hi - lo, part_of_grad, grad_biases[piece])
        at = 0
        for n in range(len(parts)):
            x, rows = parts[n][lo:hi], slice(at, at + parts[n].shape[1])
            if len(grad_parts[n]) > 0:
                target = grad_parts[n][lo:hi]
                if added[n]:
                    target += np.dot(part_of_grad, weight[rows].T)
                else:
                    np.dot(part_of_grad, weight[rows].T, out=target)
            of_weight = np.dot(x.T, part_of_grad)
            for j in range(0, of_weight.shape[1], line):
                columns = of_weight[:, j : j + line]
                place = j // line * F + at
                sums[piece, place : place + len(columns), : columns.shape[1]] = columns
            at += x.shape[1]
