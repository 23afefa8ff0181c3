"""Products of matrices by BLAS, a piece at a time, with what follows done while it is in the cache.

BLAS's own threads slow ours down, because they spin while they wait. So commands leave BLAS one
thread (threads.limit_blas), and each of our threads asks it for pieces. The pieces are the same for
any number of threads, so that this number changes no bit.

Numba's np.dot calls SciPy's BLAS without holding the interpreter's lock: from Python, two threads
would wait for each other between any two pieces.
"""

from itertools import zip_longest

import numpy as np

from gaancore.system import threads
from gaancore.system.jit import jit

Parts = tuple[np.ndarray, ...]


def matmul(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a @ b for matrices."""
    m, n = a.shape[0], b.shape[1]
    out = np.empty((m, n), np.result_type(a, b))
    if m >= n:
        height = _row_piece(m)
        threads.share_rows(
            _matmul_rows, -(-m // height), height * n * a.shape[1] // 64, a, b, height, out
        )
    else:
        width = _column_piece(n)
        threads.share_rows(
            _matmul_columns, -(-n // width), width * m * a.shape[1] // 64, a, b, width, out
        )
    return out


def _row_piece(m: int) -> int:
    """Rows of a product for one call of BLAS."""
    return _piece(m, 4096)


def _column_piece(n: int) -> int:
    """Columns of a product for one call of BLAS."""
    return _piece(n, 256)


def _piece(count: int, four_of: int) -> int:
    """Four pieces for every `four_of` rows or fewer, so that 2 and 4 threads get equal shares.
    Where one thread has them all, as few pieces of that size as it takes; where BLAS has threads of
    its own, one piece.
    """
    if count == 0 or not threads.blas_is_single_threaded():
        return max(1, count)
    if threads.runs_on_one_thread():
        pieces = -(-4 * count // four_of)
    else:
        pieces = 4 * -(-count // four_of)
    return max(32, -(-count // (16 * pieces)) * 16)


def _matmul_rows(
    a: np.ndarray, b: np.ndarray, height: int, out: np.ndarray, start: int, stop: int
) -> None:
    for piece in range(start, stop):
        rows = slice(piece * height, (piece + 1) * height)
        np.matmul(a[rows], b, out=out[rows])


def _matmul_columns(
    a: np.ndarray, b: np.ndarray, width: int, out: np.ndarray, start: int, stop: int
) -> None:
    for piece in range(start, stop):
        columns = slice(piece * width, (piece + 1) * width)
        np.matmul(a, b[:, columns], out=out[:, columns])


def linear_forward(parts: Parts, weight: np.ndarray, bias: np.ndarray, slope: float) -> np.ndarray:
    rows = parts[0].shape[0]
    out = np.empty((rows, weight.shape[1]), weight.dtype)
    height = _row_piece(rows)
    args = (parts, weight, bias, out.dtype.type(slope), height, out)
    threads.share_rows(_linear_forward, -(-rows // height), height * weight.size // 64, *args)
    return out


@jit
def _linear_forward(parts, weight, bias, slope, height, out, start, stop):
    for lo in range(start * height, min(stop * height, out.shape[0]), height):
        rows = out[lo : lo + height]
        at = 0
        for part in parts:
            x, w = part[lo : lo + height], weight[at : at + part.shape[1]]
            if at == 0:
                np.dot(x, w, out=rows)
            else:
                rows += np.dot(x, w)
            at += part.shape[1]
        _add_bias_leaky_relu(rows, bias, slope)


def linear_backward(
    grad: np.ndarray,
    out: np.ndarray,
    parts: Parts,
    weight: np.ndarray,
    slope: float,
    needed: tuple[bool, ...],
    totals: tuple[np.ndarray | None, ...] = (),
) -> tuple[tuple[np.ndarray | None, ...], np.ndarray, np.ndarray]:
    height = _row_piece(grad.shape[0])
    pieces = -(-grad.shape[0] // height)
    # No rows stand for a gradient that nobody needs: a compiled loop wants arrays of one type
    grad_parts = tuple(
        np.empty_like(part if wanted else part[:0])
        for part, wanted in zip(parts, needed, strict=True)
    )
    grad_weights = np.empty((pieces, *weight.shape), grad.dtype)
    grad_biases = np.zeros((pieces, grad.shape[1]), grad.dtype)
    args = (grad, out, parts, weight, grad.dtype.type(slope), height)
    targets = (grad_parts, grad_weights, grad_biases)
    threads.share_rows(_linear_backward, pieces, height * weight.size // 32, *args, *targets)
    asked_for = tuple(
        part if wanted else None for part, wanted in zip(grad_parts, needed, strict=True)
    )
    sums = [x[0] if pieces == 1 else x.sum(axis=0) for x in (grad_weights, grad_biases)]
    *grads, grad_weight, grad_bias = (
        grad if total is None or grad is None else np.add(total, grad, out=total)
        for grad, total in zip_longest((*asked_for, *sums), totals)
    )
    return tuple(grads), grad_weight, grad_bias


@jit
def _linear_backward(
    grad, out, parts, weight, slope, height, grad_parts, grad_weights, grad_biases, start, stop
):
    space = np.empty((min(height, grad.shape[0]), grad.shape[1]), grad.dtype)
    for piece in range(start, stop):
        lo, hi = piece * height, min((piece + 1) * height, grad.shape[0])
        before = space[: hi - lo]
        if slope == 1:
            before = grad[lo:hi]
            _column_sums(before, grad_biases[piece])
        else:
            _leaky_relu_backward(grad[lo:hi], out[lo:hi], slope, before, grad_biases[piece])
        at = 0
        for n in range(len(parts)):
            x, rows = parts[n][lo:hi], slice(at, at + parts[n].shape[1])
            if len(grad_parts[n]) > 0:
                np.dot(before, weight[rows].T, out=grad_parts[n][lo:hi])
            np.dot(x.T, before, out=grad_weights[piece, rows])
            at += x.shape[1]


def linear_each_forward(
    x: np.ndarray, weights: Parts, biases: Parts, slopes: tuple[float, ...]
) -> tuple[Parts, None]:
    layers = zip(weights, biases, slopes, strict=True)
    return tuple(linear_forward((x,), *layer) for layer in layers), None


def linear_each_backward(
    grads: Parts, outs: Parts, x: np.ndarray, weights: Parts, joined: None,
    slopes: tuple[float, ...], needed: bool, totals: tuple[np.ndarray | None, ...],
) -> tuple[tuple[np.ndarray | None, ...], Parts, Parts]:  # fmt: skip
    count = len(weights)
    found = [
        linear_backward(grad, out, (x,), weight, slope, (needed,), (None, of_weight, of_bias))
        for grad, out, weight, slope, of_weight, of_bias in zip(
            grads,
            outs,
            weights,
            slopes,
            totals[count : 2 * count],
            totals[2 * count :],
            strict=True,
        )
    ]
    grad_xs = tuple(grad_parts[0] for grad_parts, _, _ in found)
    return grad_xs, tuple(w for _, w, _ in found), tuple(b for _, _, b in found)


@jit
def _add_bias_leaky_relu(out, bias, slope):
    """out = leaky_relu(out + bias), in place; slope 1 is the identity."""
    for i in range(out.shape[0]):
        row = out[i]
        for j in range(row.size):
            x = row[j] + bias[j]
            row[j] = x if x > 0 else slope * x


@jit
def _column_sums(x, sums):
    """sums += x summed over its rows."""
    for i in range(x.shape[0]):
        row = x[i]
        for j in range(row.size):
            sums[j] += row[j]


@jit
def _leaky_relu_backward(grad, out, slope, grad_x, sums):
    """grad_x = grad * (1 where out > 0, else slope); its column sums are added to `sums`."""
    for i in range(grad.shape[0]):
        g, o, x = grad[i], out[i], grad_x[i]
        for j in range(g.size):
            value = g[j] if o[j] > 0 else slope * g[j]
            x[j] = value
            sums[j] += value
