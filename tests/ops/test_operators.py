"""`+ - * @` of Tensors, arrays and numbers: by hand, by their laws, by their slopes."""

from operator import add, mul, sub

import numpy as np
import pytest
from gradcheck import check_gradient
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal
from strategies import seeds

from gaancore.array import to_device, to_numpy
from gaancore.errors import ShapeError
from gaancore.nn import Parameter
from gaancore.tensor import Tensor

ELEMENTWISE = pytest.mark.parametrize("operator", [add, sub, mul])
X = np.array([1.0, -2.0, 4.0])


@ELEMENTWISE
@pytest.mark.parametrize(
    "other", [X[::-1], np.array(3.0), np.float64(3), np.float32(3), 3.0, 3], ids=repr
)
def test_both_orders_are_what_numpy_gives(operator, other):
    assert_array_equal(operator(Tensor(X), other).data, operator(X, other))
    assert_array_equal(operator(other, Tensor(X)).data, operator(other, X))
    assert_array_equal(operator(Tensor(X), Tensor(X[::-1])).data, operator(X, X[::-1]))


def test_products_of_matrices_and_signs_by_hand():
    row, column = np.array([[1.0, 2.0]]), np.array([[3.0], [4.0]])
    for product in (Tensor(row) @ Tensor(column), Tensor(row) @ column, row @ Tensor(column)):
        assert isinstance(product, Tensor)
        assert product.data.tolist() == [[11]]
    assert (-Tensor(X)).data.tolist() == [-1, 2, -4]


@pytest.mark.parametrize("number", [2, 2.0, np.float64(2), np.float32(2), np.int64(2)], ids=repr)
@ELEMENTWISE
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_number_takes_the_kind_of_float_of_the_tensor(operator, number, dtype):
    x = Tensor(X.astype(dtype), requires_grad=True)
    for out in (operator(x, number), operator(number, x)):
        assert out.dtype == dtype
        out.backward(np.ones(3, dtype))
    assert x.grad.dtype == dtype


@given(seed=seeds())
def test_the_laws_of_arithmetic(seed):
    a, b, c = np.random.default_rng(seed).standard_normal((3, 4, 4))
    x, y, z = Tensor(a), Tensor(b), Tensor(c)
    assert_array_equal((x + y).data, (y + x).data)
    assert_array_equal((x - y).data, (-(y - x)).data)
    assert_array_equal((x - y).data, (x + -y).data)
    assert_allclose((x * (y + z)).data, (x * y + x * z).data, rtol=1e-12, atol=1e-12)
    assert_allclose((x @ (y + z)).data, (x @ y + x @ z).data, rtol=1e-11, atol=1e-11)


def test_the_gradient_of_an_equation_in_symbols():
    rng = np.random.default_rng(0)
    a, b, c = rng.standard_normal((3, 4, 4))
    check_gradient(lambda x, y, z: 2 - (x @ y - 0.5 * z) * -x + a * y, a, b, c, rng=rng)


def test_both_operands_get_their_gradient():
    x, w = Tensor(np.array([3.0]), requires_grad=True), Parameter(np.array([5.0]))
    (x * w - np.array([1.0]) * x).backward()
    assert (x.grad.item(), w.grad.item()) == (5 - 1, 3)


def test_operators_on_a_device_are_those_on_the_cpu(device):
    there = to_device(X, device)
    assert_array_equal(to_numpy((2 * Tensor(there) + there - 1.0).data), 2 * X + X - 1)
    assert_array_equal(to_numpy((there - -Tensor(there)).data), X + X)


@ELEMENTWISE
def test_arrays_that_are_not_of_the_same_float_are_refused(operator):
    single = Tensor(X.astype(np.float32))
    with pytest.raises(ShapeError, match="expected float32 as the first argument, got float64"):
        operator(single, X)
    with pytest.raises(ShapeError, match="a: expected float32 or float64, got int64"):
        operator(np.arange(3), Tensor(X))


def test_matrices_that_do_not_fit_and_other_things_are_refused():
    with pytest.raises(ShapeError, match=r"matmul: b: expected \(3, p\), got \(2, 2\)"):
        Tensor(np.ones((2, 3))) @ np.ones((2, 2))
    with pytest.raises(ShapeError, match="add: b: expected float32 or float64, got <U4"):
        Tensor(X) + "text"
