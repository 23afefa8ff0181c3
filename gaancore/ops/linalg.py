"""Products of matrices."""

from gaancore.array import Array, array_module
from gaancore.errors import ShapeError
from gaancore.kernels import kernels_for
from gaancore.ops.checks import expect_floats, expect_shape
from gaancore.ops.lift import list_primitive, primitive
from gaancore.sparse import CSRMatrix
from gaancore.tape import Adding, Backward, Totals, c_order


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
) -> tuple[Array, Adding]:
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

    def backward(grad: Array, totals: Totals) -> tuple[Array | None, ...]:
        given = (grad, grad if kept is None else kept, tuple(parts), weight, slope)
        grads = kernels.linear_backward(*given, needed[:-2], tuple(totals))
        return *grads[0], grads[1], grads[2]

    return out, Adding(backward)


MOST_LAYERS = 4  # that linear_each takes


@list_primitive
def linear_each(
    *arrays: Array, needed: tuple[bool, ...] = (), slopes: tuple[float, ...]
) -> tuple[list[Array], Adding]:
    """Up to four layers that read one input: leaky_relu(x @ weight + bias) of each.

    arrays : x (N, F) once for each layer; then their weights (F, G_p), then their biases (G_p,).
    slopes : see `linear`, one for each.
    Returns a list of (N, G_p), those of `linear`; on a GPU all come from one product.
    Raises ShapeError if a shape or dtype does not fit, or for more layers.

    >>> x, w, b = np.array([[1.0], [-2.0]]), np.array([[3.0]]), np.array([4.0])
    >>> [y.data.ravel().tolist() for y in linear_each(x, x, w, -w, b, b, slopes=(1.0, 0.1))]
    [[7.0, -2.0], [1.0, 10.0]]
    """
    count = len(slopes)
    if not 0 < count <= MOST_LAYERS or len(arrays) != 3 * count:
        raise ShapeError(
            f"linear_each: expected x, a weight and a bias for each of 1 to {MOST_LAYERS} slopes, "
            f"got {len(arrays)} arrays for {count}"
        )
    xs, weights, biases = (arrays[first * count : (first + 1) * count] for first in range(3))
    numbers, x = range(1, count + 1), xs[0]
    names = [f"{kind} {p}" for kind in ("x", "weight", "bias") for p in numbers]
    expect_floats("linear_each", **dict(zip(names, arrays, strict=True)))
    expect_shape("linear_each", "x 1", x, ("N", "F"))
    for p, other, weight, bias in zip(numbers, xs, weights, biases, strict=True):
        expect_shape("linear_each", f"x {p}", other, x.shape, "the same for each layer")
        expect_shape("linear_each", f"weight {p}", weight, (x.shape[1], "G"))
        expect_shape("linear_each", f"bias {p}", bias, (weight.shape[1],))
    kernels = kernels_for(x)
    outs, joined = kernels.linear_each_forward(x, weights, biases, slopes)
    kept = tuple(None if slope == 1 else out for slope, out in zip(slopes, outs, strict=True))
    like = [(out.shape, out.dtype) for out in outs]

    def backward(given: list[Array | None], totals: Totals) -> tuple[Array | None, ...]:
        xp = array_module(x)
        grads = tuple(
            xp.zeros(*its) if g is None else c_order(g) for g, its in zip(given, like, strict=True)
        )
        after = tuple(g if out is None else out for g, out in zip(grads, kept, strict=True))
        found = kernels.linear_each_backward(
            grads, after, x, weights, joined, slopes, needed[0], tuple(totals)
        )
        return *found[0], *found[1], *found[2]

    return list(outs), Adding(backward)
