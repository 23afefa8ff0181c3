"""Products of matrices."""

from gaancore.array import Array
from gaancore.kernels import kernels_for
from gaancore.ops.checks import expect_floats, expect_shape
from gaancore.ops.lift import primitive
from gaancore.sparse import CSRMatrix
from gaancore.tensor import Backward


@primitive
def matmul(a: Array, b: Array, *, needed: tuple[bool, ...] = ()) -> tuple[Array, Backward]:
    """a @ b for matrices (m, n) and (n, p). Raises ShapeError if they do not fit.

    >>> matmul(np.array([[1.0, 2.0]]), np.array([[3.0], [4.0]])).data
    array([[11.]])
    """
    expect_floats("matmul", a=a, b=b)
    expect_shape("matmul", "a", a, ("m", "n"))
    expect_shape("matmul", "b", b, (a.shape[1], "p"))
    kernels = kernels_for(a)

    def backward(grad: Array) -> tuple[Array | None, Array | None]:
        return (
            kernels.matmul(grad, b.T) if needed[0] else None,
            kernels.matmul(a.T, grad) if needed[1] else None,
        )

    return kernels.matmul(a, b), backward


@primitive
def sparse_matmul(
    values: Array, dense: Array, *, matrix: CSRMatrix, needed: tuple[bool, ...] = ()
) -> tuple[Array, Backward]:
    """A @ dense, where the sparse A (N, F) has `values` in the places of the entries of `matrix`.

    out[i] = sum_{e in row i} values[e] * dense[column(e)]: the rows of `dense` gathered and added
    with weights, as segment_weighted_sum does along edges. So are the gradients: that of `dense`
    is A' @ grad, that of values[e] the inner product of grad[row(e)] and dense[column(e)].

    values (E,), dense (F, G). Returns (N, G); an empty row gives 0.
    Raises ShapeError if a shape or dtype does not fit.

    >>> matrix = CSRMatrix([0, 2, 2], [0, 2], np.array([5.0, 7.0]), num_columns=3)
    >>> dense = np.array([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]])
    >>> sparse_matmul(matrix.values, dense, matrix=matrix).data
    array([[ 26., 260.],
           [  0.,   0.]])
    """
    expect_floats("sparse_matmul", values=values, dense=dense)
    expect_shape("sparse_matmul", "values", values, matrix.indices.shape, "one for each entry")
    expect_shape("sparse_matmul", "dense", dense, (matrix.num_columns, "G"))
    kernels = kernels_for(dense)
    weights, rows = values[:, None], dense[:, None, :]  # one head
    out = kernels.segment_weighted_sum(weights, rows, matrix.indptr, matrix.indices)

    def backward(grad: Array) -> tuple[Array | None, Array | None]:
        grad = grad[:, None, :]
        grad_values = grad_dense = None
        if needed[0]:
            grad_values = kernels.edge_dot(grad, rows, matrix.indptr, matrix.indices)[:, 0]
        if needed[1]:
            grad_dense = kernels.segment_weighted_sum(weights, grad, *matrix.transpose)[:, 0]
        return grad_values, grad_dense

    return out[:, 0], backward


@primitive
def linear(
    *arrays: Array, needed: tuple[bool, ...] = (), slope: float = 1.0
) -> tuple[Array, Backward]:
    """leaky_relu((x_1 ++ x_2 ++ ...) @ weight + bias): a fully connected layer with activation.

    arrays : the parts x_p (N, F_p) of the input, side by side (the paper's circled plus) but never
             copied together; then weight (sum of F_p, G) and bias (G,).
    slope  : what a negative sum is multiplied by: 1 no activation (the default), 0.1 the paper's
             h, 0 ReLU.
    Returns (N, G). Raises ShapeError if a shape or dtype does not fit.

    >>> x_1, x_2 = np.array([[1.0], [2.0]]), np.array([[10.0], [-20.0]])
    >>> weight, bias = np.array([[3.0], [1.0]]), np.array([4.0])
    >>> linear(x_1, x_2, weight, bias, slope=0.1).data  # 3 + 10 + 4; 0.1 (6 - 20 + 4)
    array([[17.],
           [-1.]])
    """
    *parts, weight, bias = arrays
    named = {"x": parts[0]} if len(parts) == 1 else {f"x_{p}": x for p, x in enumerate(parts, 1)}
    expect_floats("linear", **named, weight=weight, bias=bias)
    for name, part in named.items():
        expect_shape("linear", name, part, ("N", "F"))
        expect_shape("linear", name, part, (parts[0].shape[0], "F"), "as many rows as x_1")
    expect_shape("linear", "weight", weight, (sum([part.shape[1] for part in parts]), "G"))
    expect_shape("linear", "bias", bias, (weight.shape[1],))
    kernels = kernels_for(weight)
    out = kernels.linear_forward(tuple(parts), weight, bias, slope)
    kept = None if slope == 1 else out  # without an activation it does not matter what came out

    def backward(grad: Array) -> tuple[Array | None, ...]:
        given = (grad, grad if kept is None else kept, tuple(parts), weight, slope)
        grad_parts, grad_weight, grad_bias = kernels.linear_backward(*given, needed[:-2])
        return *grad_parts, grad_weight, grad_bias

    return out, backward
