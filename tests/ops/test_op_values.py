"""Numbers that can be checked with pencil and paper.

Two destinations: node 0 gathers from sources 2 and 1, node 1 from source 1 alone; a third has no
neighbour at all.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gaancore import ops
from gaancore.graph import Block
from gaancore.tensor import Tensor

BLOCK = Block([0, 2, 3, 3], [2, 1, 1], 4)
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])


def column(*values: float, dtype) -> Tensor:
    return Tensor(np.array(values, dtype)[:, None], requires_grad=True)


def gradients(out: Tensor, grad: list, *leaves: Tensor) -> list[list]:
    out.backward(np.array(grad, out.dtype).reshape(out.shape))
    return [leaf.grad.ravel().tolist() for leaf in leaves]


@DTYPES
def test_softmax_of_three_edges(dtype):
    scores = column(np.log(3), 0, 7, dtype=dtype)
    weights = ops.segment_softmax(scores, block=BLOCK)
    assert_allclose(weights.data[:, 0], [3 / 4, 1 / 4, 1], rtol=1e-6)
    # w (g - <w, g>) with <w, g> = 3/4 * 1 + 1/4 * 5 = 2
    (grad,) = gradients(weights, [1, 5, 9], scores)
    assert_allclose(grad, [-3 / 4, 3 / 4, 0], rtol=1e-5, atol=1e-6)


@DTYPES
def test_weighted_sum_of_three_edges(dtype):
    weights = column(2, 3, 5, dtype=dtype)
    values = Tensor(np.array([[[7]], [[10]], [[100]], [[9]]], dtype), requires_grad=True)
    out = ops.segment_weighted_sum(weights, values, block=BLOCK)
    assert out.data.ravel().tolist() == [2 * 100 + 3 * 10, 5 * 10, 0]
    grads = gradients(out, [1, 4, 6], weights, values)
    assert grads == [[100, 10, 4 * 10], [0, 3 * 1 + 5 * 4, 2 * 1, 0]]


@DTYPES
def test_edge_dot_of_three_edges(dtype):
    queries = Tensor(np.array([[[1, 2]], [[3, 4]], [[5, 6]]], dtype), requires_grad=True)
    keys = Tensor(np.array([[[0, 0]], [[1, 10]], [[2, 0]], [[9, 9]]], dtype), requires_grad=True)
    out = ops.edge_dot(queries, keys, block=BLOCK)
    assert out.data.ravel().tolist() == [2, 1 + 20, 3 + 40]
    grads = gradients(out, [1, 2, 3], queries, keys)
    assert grads[0] == [1 * 2 + 2 * 1, 2 * 10, 3 * 1, 3 * 10, 0, 0]
    assert grads[1] == [0, 0, 2 * 1 + 3 * 3, 2 * 2 + 3 * 4, 1, 2, 0, 0]


@DTYPES
def test_mean_of_three_edges(dtype):
    values = column(7, 10, 100, 9, dtype=dtype)
    out = ops.segment_mean(values, block=BLOCK)
    assert out.data.ravel().tolist() == [55, 10, 0]
    assert gradients(out, [2, 3, 4], values) == [[0, 2 / 2 + 3, 2 / 2, 0]]


@DTYPES
def test_degrees_divide_and_none_divides_by_one(dtype):
    x = column(8, 8, 8, dtype=dtype)
    out = ops.divide_by_degree(x, block=BLOCK)
    assert out.data.ravel().tolist() == [4, 8, 8]
    assert gradients(out, [1, 1, 1], x) == [[0.5, 1, 1]]


@DTYPES
def test_max_of_three_edges(dtype):
    values = column(7, 10, 100, 9, dtype=dtype)
    out = ops.segment_max(values, block=BLOCK)
    assert out.data.ravel().tolist() == [100, 10, 0]
    assert gradients(out, [2, 3, 4], values) == [[0, 3, 2, 0]]


@DTYPES
def test_max_of_negative_numbers_is_not_the_zero_of_an_empty_row(dtype):
    values = column(-7, -10, -100, -9, dtype=dtype)
    assert ops.segment_max(values, block=BLOCK).data.ravel().tolist() == [-10, -10, 0]


@DTYPES
def test_on_a_tie_the_first_edge_takes_the_whole_gradient(dtype):
    block = Block([0, 3], [2, 0, 1], 3)
    values = column(3, 1, 3, dtype=dtype)  # in edge order 3, 3, 1
    out = ops.segment_max(values, block=block)
    assert gradients(out, [7], values) == [[0, 0, 7]]


@DTYPES
def test_attention_of_three_edges(dtype):
    """Scores log 3 and 0 give weights 3/4 and 1/4; the only neighbour of node 1 has weight 1."""
    queries = Tensor(np.array([[[1]], [[2]], [[3]]], dtype), requires_grad=True)
    keys = Tensor(np.array([[[9]], [[0]], [[2 * np.log(3)]], [[9]]], dtype), requires_grad=True)
    values = Tensor(np.array([[[7]], [[10]], [[100]], [[9]]], dtype), requires_grad=True)
    out = ops.segment_attention(queries, keys, values, block=BLOCK, scale=0.5)
    assert_allclose(out.data.ravel(), [77.5, 10, 0], rtol=1e-6)
    grads = gradients(out, [4, 1, 1], queries, keys, values)
    # the score of edge 0 moves out[0] by 3/4 * (100 - 77.5); times grad 4, times scale 0.5
    moved = 0.5 * 4 * 3 / 4 * (100 - 77.5)
    assert_allclose(grads[0], [moved * 2 * np.log(3), 0, 0], rtol=1e-5)
    assert_allclose(grads[1], [0, -moved, moved, 0], rtol=1e-5)
    assert_allclose(grads[2], [0, 4 / 4 + 1, 4 * 3 / 4, 0], rtol=1e-6)


@DTYPES
def test_linear_by_hand(dtype):
    x = Tensor(np.array([[1, 2]], dtype), requires_grad=True)
    weight = Tensor(np.array([[1, -1], [3, -3]], dtype), requires_grad=True)
    bias = Tensor(np.array([10, -3], dtype), requires_grad=True)
    out = ops.linear(x, weight, bias, slope=0.5)
    assert out.data.tolist() == [[17, -5]]
    grads = gradients(out, [1, 2], x, weight, bias)
    assert grads == [[1 - 1, 3 - 3], [1, 1, 2, 2], [1, 1]]


@DTYPES
def test_losses_by_hand(dtype):
    logits = Tensor(np.zeros((2, 3), dtype), requires_grad=True)
    loss = ops.bce_with_logits(logits, np.array([[1, 0, 0], [0, 0, 0]], np.uint8))
    assert loss.shape == ()
    assert loss.data == pytest.approx(np.log(2), rel=1e-6)
    loss.backward()
    assert_allclose(logits.grad, np.array([[-1, 1, 1], [1, 1, 1]]) / 12, rtol=1e-6)

    logits = Tensor(np.array([[0, np.log(3)], [1e4, -1e4]], dtype), requires_grad=True)
    loss = ops.softmax_cross_entropy(logits, np.array([0, 1]))
    assert loss.data == pytest.approx((np.log(4) + 2e4) / 2, rel=1e-6)
    loss.backward()
    assert_allclose(logits.grad, [[-3 / 8, 3 / 8], [1 / 2, -1 / 2]], rtol=1e-6)


@DTYPES
@pytest.mark.parametrize("C", [1, 4])
def test_the_loss_of_no_nodes_is_zero(dtype, C):
    logits = Tensor(np.zeros((0, C), dtype), requires_grad=True)
    losses = (
        ops.bce_with_logits(logits, np.zeros((0, C), np.uint8)),
        ops.softmax_cross_entropy(logits, np.zeros(0, np.int64)),
    )
    for loss in losses:
        assert loss.data == 0
        loss.backward()
    assert logits.grad.shape == (0, C)


def test_elementwise_functions_by_hand():
    x = np.array([-2.0, 0.0, 3.0])
    assert ops.leaky_relu(x, slope=0.5).data.tolist() == [-1, 0, 3]
    assert ops.leaky_relu(x, slope=0.0).data.tolist() == [0, 0, 3]
    assert ops.add(x, x).data.tolist() == [-4, 0, 6]
    assert ops.subtract(x, np.array(1.0)).data.tolist() == [-3, -1, 2]
    assert ops.multiply(x, x).data.tolist() == [4, 0, 9]
    assert ops.negative(x).data.tolist() == [2, 0, -3]
    heads, gates = np.arange(8.0).reshape(2, 2, 2), np.array([[1, 2], [0, -1.0]])
    assert ops.scale_heads(heads, gates).data.tolist() == [[[0, 1], [4, 6]], [[0, 0], [-6, -7]]]
    assert_allclose(ops.sigmoid(np.array([0, np.log(3), -np.log(3)])).data, [0.5, 0.75, 0.25])
    assert_allclose(ops.tanh(np.array([0, np.log(2)])).data, [0, 3 / 5])
    assert ops.total(x).data == 1
    assert ops.matmul(np.array([[1.0, 2]]), np.array([[3.0], [4]])).data.tolist() == [[11]]


@DTYPES
def test_sigmoid_of_huge_numbers_does_not_overflow(dtype):
    x = np.array([-1e4, -100, 100, 1e4], dtype)
    assert_allclose(ops.sigmoid(x).data, [0, 0, 1, 1], atol=1e-6)


def test_leaky_relu_has_the_gradient_of_its_slope_at_zero_and_passes_nan():
    x = Tensor(np.array([0.0, -0.0, np.nan]), requires_grad=True)
    out = ops.leaky_relu(x, slope=0.1)
    assert np.isnan(out.data[2])
    out.backward(np.ones(3))
    assert x.grad[:2].tolist() == [0.1, 0.1]
    assert np.isnan(ops.linear(x.data[None], np.ones((3, 1)), np.zeros(1), slope=0.1).data).all()


def test_ops_that_move_numbers_by_hand():
    x = np.arange(6.0).reshape(3, 2)
    assert ops.reshape(x, shape=(2, -1)).data.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert ops.first_rows(x, count=1).data.tolist() == [[0, 1]]
    assert ops.concat(x, x[:, :1]).data.tolist() == [[0, 1, 0], [2, 3, 2], [4, 5, 4]]


def test_arrays_that_are_views_give_the_same_as_their_copies():
    """Kernels read memory row by row; a transposed or sliced view is laid out otherwise."""
    rng = np.random.default_rng(0)
    wide = rng.standard_normal((4, 10))
    for view in (wide[:, ::2], wide[:, 5:], np.asfortranarray(wide[:, :5])):
        for pool in (ops.segment_mean, ops.segment_max):
            expected = pool(view.copy(order="C"), block=BLOCK).data
            assert np.array_equal(pool(view, block=BLOCK).data, expected)
    values = rng.standard_normal((5, 2, 4)).T  # (4, 2, 5)
    queries, keys = values[:3], values
    found = ops.segment_attention(queries, keys, values, block=BLOCK).data
    copies = [x.copy(order="C") for x in (queries, keys, values)]
    assert np.array_equal(found, ops.segment_attention(*copies, block=BLOCK).data)


def test_the_masked_error_is_over_what_is_there_whatever_stands_elsewhere():
    predictions = Tensor(np.array([1.0, 2.0, 5.0]), requires_grad=True)
    targets, mask = np.array([3.0, np.nan, 4.0]), np.array([True, False, True])
    loss = ops.masked_absolute_error(predictions, targets, mask, count=2)
    assert float(loss.data) == (2 + 1) / 2
    loss.backward()
    assert_array_equal(predictions.grad, [-0.5, 0, 0.5])


def test_the_masked_error_of_nothing_is_zero_without_a_gradient():
    predictions = Tensor(np.array([1.0, 2.0]), requires_grad=True)
    loss = ops.masked_absolute_error(predictions, np.zeros(2), np.zeros(2, bool), count=0)
    loss.backward()
    assert float(loss.data) == 0
    assert_array_equal(predictions.grad, [0, 0])


def test_a_part_that_nothing_is_made_of_gets_a_gradient_of_zero():
    x = Tensor(np.arange(6.0).reshape(3, 2), requires_grad=True)
    first, _, last = ops.split_rows(x, count=3)
    assert_array_equal(last.data, [[4, 5]])
    ops.total(ops.multiply(first, last)).backward()
    assert_array_equal(x.grad, [[4, 5], [0, 0], [0, 1]])
    left, right = ops.split_columns(x, count=2)
    assert_array_equal(left.data, [[0], [2], [4]])
    assert_array_equal(right.data, [[1], [3], [5]])


def test_matrices_beside_each_other_share_all_rows_but_their_own():
    a, b = np.array([[1.0], [2.0], [3.0]]), np.array([[10.0], [20.0], [30.0]])
    out = ops.beside(a, b, own=slice(1, 2)).data
    np.testing.assert_array_equal(out, [[1, 10], [2, 0], [0, 20], [3, 30]])
