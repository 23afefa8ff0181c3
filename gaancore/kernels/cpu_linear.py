"""Products of matrices by BLAS, a piece at a time, with what follows done while it is in the cache.

BLAS's own threads are no good beside ours: they spin while waiting. So commands leave BLAS one
thread (threads.limit_blas), and each of ours asks it for pieces. Pieces are the same for any number
of threads, so that their number changes no bit.
"""

from typing import Any

import numpy as np

from gaancore import threads
from gaancore.kernels import cpu_elementwise as elementwise


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
    """Four pieces for every `four_of` rows or fewer, so that 2 and 4 threads get as many each; all
    in one where BLAS has threads of its own.
    """
    if count == 0 or not threads.blas_is_single_threaded():
        return max(1, count)
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


def linear_forward(x: np.ndarray, weight: np.ndarray, bias: np.ndarray, slope: float) -> np.ndarray:
    out = np.empty((x.shape[0], weight.shape[1]), x.dtype)
    height = _row_piece(x.shape[0])
    args = (x, weight, bias, out.dtype.type(slope), height, out)
    threads.share_rows(_linear_forward, -(-x.shape[0] // height), height * weight.size // 64, *args)
    return out


def _linear_forward(
    x: np.ndarray, weight: np.ndarray, bias: np.ndarray, slope: Any, height: int,
    out: np.ndarray, start: int, stop: int,
) -> None:  # fmt: skip
    for piece in range(start, stop):
        rows = slice(piece * height, (piece + 1) * height)
        np.matmul(x[rows], weight, out=out[rows])
        elementwise.add_bias_leaky_relu(out[rows], bias, slope)  # while it is in the cache


def linear_backward(
    grad: np.ndarray, out: np.ndarray, x: np.ndarray, weight: np.ndarray, slope: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    height = _row_piece(grad.shape[0])
    pieces = -(-grad.shape[0] // height)
    before, grad_x = np.empty_like(grad), np.empty_like(x)
    partial_bias = np.zeros((pieces, grad.shape[1]), grad.dtype)
    args = (grad, out, grad.dtype.type(slope), weight.T, height, before, partial_bias, grad_x)
    threads.share_rows(_linear_backward, pieces, height * weight.size // 64, *args)
    return grad_x, matmul(x.T, before), partial_bias.sum(axis=0)


def _linear_backward(
    grad: np.ndarray, out: np.ndarray, slope: Any, weight_t: np.ndarray, height: int,
    before: np.ndarray, partial_bias: np.ndarray, grad_x: np.ndarray, start: int, stop: int,
) -> None:  # fmt: skip
    for piece in range(start, stop):
        rows = slice(piece * height, (piece + 1) * height)
        given = (grad[rows], out[rows], slope, before[rows], partial_bias[piece])
        elementwise.leaky_relu_backward(*given)
        np.matmul(before[rows], weight_t, out=grad_x[rows])
