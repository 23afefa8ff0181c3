"""Ops that only move numbers: reshape, concatenate, take rows."""

import math

import numpy as np

from gaancore.array import Array, array_module
from gaancore.errors import ShapeError
from gaancore.kernels import kernels_for
from gaancore.ops.checks import expect_floats, expect_shape
from gaancore.ops.lift import ListBackward, list_primitive, primitive
from gaancore.tape import Adding, Backward, Totals, c_order


@primitive
def reshape(x: Array, *, shape: tuple[int, ...]) -> tuple[Array, Backward]:
    """The same numbers in C order under another shape (one size may be -1).

    >>> reshape(np.array([1.0, 2.0, 3.0, 4.0]), shape=(2, -1)).data
    array([[1., 2.],
           [3., 4.]])
    """
    before = x.shape

    def backward(grad: Array) -> tuple[Array]:
        return (grad.reshape(before),)

    return x.reshape(shape), backward


@primitive
def concat(*parts: Array) -> tuple[Array, Backward]:
    """Side by side along the last axis (the paper's circled plus).

    parts : arrays (..., F_1), (..., F_2), ... with equal leading shapes. Returns (..., sum of F).
    Raises ShapeError if the leading shapes or the dtypes differ.

    >>> concat(np.array([[1.0]]), np.array([[2.0, 3.0]])).data
    array([[1., 2., 3.]])
    """
    expect_floats("concat", **{f"part {i}": part for i, part in enumerate(parts)})
    leading = parts[0].shape[:-1]
    for i, part in enumerate(parts):
        expect_shape("concat", f"part {i}", part, (*leading, "F"))
    kernels, rows = kernels_for(parts[0]), math.prod(leading)
    widths = tuple(part.shape[-1] for part in parts)

    def backward(grad: Array) -> tuple[Array, ...]:
        grads = kernels.split_columns(grad.reshape(rows, sum(widths)), widths)
        return tuple(part.reshape(*leading, part.shape[1]) for part in grads)

    flat = tuple(part.reshape(rows, part.shape[-1]) for part in parts)
    return kernels.join_columns(flat).reshape(*leading, sum(widths)), backward


@primitive
def beside(*matrices: Array, own: slice) -> tuple[Array, Backward]:
    """Matrices side by side, where the rows `own` of each are its own and all others are shared.

    beside(A, B) = [[A_1, B_1], [A_2, 0], [0, B_2], [A_3, B_3]] with A_2 = A[own], B_2 = B[own]: the
    weight of layers that are given the same inputs but for those of the rows `own`.

    matrices : G arrays (m, n). own : a slice of w rows, with a start and a stop.
    Returns (m + (G - 1) w, G n). Raises ShapeError if the shapes or the dtypes differ.

    >>> A, B = np.array([[1.0], [2.0]]), np.array([[3.0], [4.0]])
    >>> beside(A, B, own=slice(1, 2)).data  # row 0 is shared
    array([[1., 3.],
           [2., 0.],
           [0., 4.]])
    """
    expect_floats("beside", **{f"matrix {g}": matrix for g, matrix in enumerate(matrices)})
    for g, matrix in enumerate(matrices):
        expect_shape("beside", f"matrix {g}", matrix, matrices[0].shape)
    (m, n), count, width = matrices[0].shape, len(matrices), own.stop - own.start
    if not width:
        kernels = kernels_for(matrices[0])
        return kernels.join_columns(matrices), lambda g: kernels.split_columns(g, (n,) * count)
    xp, more = array_module(matrices[0]), (count - 1) * width
    places = [  # of the rows of a matrix in the result
        [
            (slice(0, own.start), slice(0, own.start)),
            (own, slice(own.start + g * width, own.stop + g * width)),
            (slice(own.stop, m), slice(own.stop + more, m + more)),
        ]
        for g in range(count)
    ]
    out = xp.zeros((m + more, count * n), matrices[0].dtype)
    for g, matrix in enumerate(matrices):
        for here, there in places[g]:
            out[there, g * n : (g + 1) * n] = matrix[here]

    def backward(grad: Array) -> tuple[Array, ...]:
        columns = [grad[:, g * n : (g + 1) * n] for g in range(count)]
        return tuple(
            xp.concatenate([columns[g][there] for _, there in places[g]]) for g in range(count)
        )

    return out, backward


@primitive
def first_rows(x: Array, *, count: int) -> tuple[Array, Backward | Adding]:
    """x[:count]: a block's destinations, which come first among its sources.

    x : (n, ...). Returns (count, ...). Raises ShapeError if there are fewer rows.

    >>> first_rows(np.array([1.0, 2.0, 3.0]), count=2).data
    array([1., 2.])
    """
    if count > x.shape[0]:
        raise ShapeError(f"first_rows: x: expected at least {count} rows, got {x.shape[0]}")
    if count == x.shape[0]:
        return x, lambda grad: (grad,)
    before = x.shape

    def backward(grad: Array, totals: Totals) -> tuple[Array]:
        if (out := totals[0]) is not None:
            rows = out[:count]  # `out[:count] += grad` would also copy the sum to its place
            rows += grad
            return (out,)
        out = array_module(grad).zeros(before, grad.dtype)
        out[:count] = grad
        return (out,)

    return x[:count], Adding(backward)


@primitive
def total(x: Array) -> tuple[Array, Backward]:
    """Sum of all elements, a scalar. Raises ShapeError unless x is float32 or float64.

    >>> w = Tensor(np.array([1.0, 3.0]), requires_grad=True)
    >>> total(w * w).backward()
    >>> w.grad
    array([2., 6.])
    """
    expect_floats("total", x=x)
    before = x.shape

    def backward(grad: Array) -> tuple[Array]:
        return (array_module(grad).broadcast_to(grad, before),)

    return x.sum(), backward


@list_primitive
def split_rows(x: Array, *, count: int) -> tuple[list[Array], ListBackward]:
    """x cut into `count` runs of rows of equal length: the steps of a sequence, say.

    x : (count * n, ...). Returns a list of `count` arrays (n, ...).
    Raises ShapeError if the rows cannot be shared out evenly.

    >>> [part.data for part in split_rows(np.array([1.0, 2.0, 3.0, 4.0]), count=2)]
    [array([1., 2.]), array([3., 4.])]
    """
    if x.shape[0] % count:
        raise ShapeError(f"split_rows: x: expected a multiple of {count} rows, got {x.shape[0]}")
    xp, parts = array_module(x), list(x.reshape(count, x.shape[0] // count, *x.shape[1:]))
    shape, dtype = parts[0].shape, x.dtype

    def backward(grads: list[Array | None]) -> tuple[Array]:
        return (xp.concatenate([xp.zeros(shape, dtype) if g is None else g for g in grads]),)

    return parts, backward


@list_primitive
def split_columns(x: Array, *, count: int) -> tuple[list[Array], ListBackward]:
    """x cut into `count` groups of columns of equal width.

    x : (n, count * F). Returns a list of `count` arrays (n, F).
    Raises ShapeError if the columns cannot be shared out evenly.

    >>> [part.data for part in split_columns(np.array([[1.0, 2.0, 3.0, 4.0]]), count=2)]
    [array([[1., 2.]]), array([[3., 4.]])]
    """
    expect_shape("split_columns", "x", x, ("n", "F"))
    if x.shape[1] % count:
        raise ShapeError(
            f"split_columns: x: expected a multiple of {count} columns, got {x.shape[1]}"
        )
    xp, kernels, width = array_module(x), kernels_for(x), x.shape[1] // count
    parts = list(kernels.split_columns(x, (width,) * count))
    shape, dtype = parts[0].shape, x.dtype

    def backward(grads: list[Array | None]) -> tuple[Array]:
        given = tuple(xp.zeros(shape, dtype) if g is None else c_order(g) for g in grads)
        return (kernels.join_columns(given),)

    return parts, backward


@primitive
def concat_rows(*parts: Array) -> tuple[Array, Backward]:
    """One below the other: arrays (n_1, ...), (n_2, ...), ... as (sum of n, ...).

    Raises ShapeError if the other axes or the dtypes differ.

    >>> concat_rows(np.array([1.0]), np.array([2.0, 3.0])).data
    array([1., 2., 3.])
    """
    expect_floats("concat_rows", **{f"part {i}": part for i, part in enumerate(parts)})
    for i, part in enumerate(parts):
        expect_shape("concat_rows", f"part {i}", part, ("n", *parts[0].shape[1:]))
    stops = np.cumsum([part.shape[0] for part in parts]).tolist()

    def backward(grad: Array) -> tuple[Array, ...]:
        return tuple(grad[a:b] for a, b in zip([0, *stops[:-1]], stops, strict=True))

    return array_module(parts[0]).concatenate(parts), backward
