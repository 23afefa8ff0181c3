"""The checker itself must find what is wrong, or every gradient test is an empty promise."""

import numpy as np
import pytest
from gradcheck import check_gradient

from gaancore.ops.lift import primitive
from gaancore.tensor import Tensor


@primitive
def product(a, b):
    return a @ b, lambda grad: (grad @ b.T, a.T @ grad)


@primitive
def slightly_too_large(a, b):
    return a @ b, lambda grad: (grad @ b.T, a.T @ grad * (1 + 1e-4))


@primitive
def dropped(a, b):
    return a @ b, lambda grad: (grad @ b.T, None)


@primitive
def transposed(a, b):
    return a @ b, lambda grad: ((grad @ b.T).T.copy(), a.T @ grad)


@primitive
def one_element_off(a, b):
    def backward(grad):
        grad_a = grad @ b.T
        grad_a[0, 0] += 1e-3
        return grad_a, a.T @ grad

    return a @ b, backward


@primitive
def wrong_shape(a, b):
    return a @ b, lambda grad: ((grad @ b.T)[:1].copy(), a.T @ grad)


@primitive
def wrong_kind(a, b):
    return a @ b, lambda grad: ((grad @ b.T).astype(np.float32), a.T @ grad)


def square_matrices(seed: int) -> tuple[np.ndarray, np.ndarray]:
    return tuple(np.random.default_rng(seed).standard_normal((2, 5, 5)))


@pytest.mark.parametrize("seed", range(20))
def test_a_right_gradient_passes(seed):
    check_gradient(product, *square_matrices(seed), rng=np.random.default_rng(seed))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    "function", [slightly_too_large, dropped, transposed, one_element_off], ids=lambda f: f.__name__
)
def test_a_wrong_gradient_is_reported_with_function_analytic_and_numeric_value(function, seed):
    with pytest.raises(AssertionError, match=rf"{function.__name__}: .*analytic .*, numeric "):
        check_gradient(function, *square_matrices(seed), rng=np.random.default_rng(seed))


@pytest.mark.parametrize("function", [wrong_shape, wrong_kind], ids=lambda f: f.__name__)
def test_a_gradient_of_another_shape_or_dtype_is_reported(function):
    with pytest.raises(AssertionError, match=f"{function.__name__}: input 0: the gradient is"):
        check_gradient(function, *square_matrices(0), rng=np.random.default_rng(0))


def test_the_input_whose_gradient_is_wrong_is_named_where_the_joint_direction_passes():
    @primitive
    def unbalanced(a, b):  # b's error drowns in a's gradient
        return 1e4 * a + b, lambda grad: (1e4 * grad, grad * 1.01)

    with pytest.raises(AssertionError, match="unbalanced: input 1: analytic"):
        check_gradient(unbalanced, *square_matrices(0), rng=np.random.default_rng(0), rtol=1e-5)


def test_float32_is_refused_for_differences_would_drown_in_rounding():
    with pytest.raises(AssertionError, match="finite differences need float64"):
        check_gradient(product, *np.ones((2, 3, 3), np.float32), rng=np.random.default_rng(0))


def test_inputs_are_as_before_and_may_be_empty():
    a, b = np.zeros((0, 3)), np.ones((3, 2))
    check_gradient(product, a, b, rng=np.random.default_rng(0))
    assert np.array_equal(b, np.ones((3, 2)))


def test_a_function_that_ignores_an_input_has_gradient_zero_there():
    def first(a: Tensor, b: Tensor) -> Tensor:
        return product(a, Tensor(np.eye(5)))

    check_gradient(first, *square_matrices(0), rng=np.random.default_rng(0))
