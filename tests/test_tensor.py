"""The engine: the order of the walk, what is recorded, what is refused."""

import threading

import numpy as np
import pytest
from gradcheck import check_gradient
from numpy.testing import assert_array_equal

from gaancore.errors import ShapeError
from gaancore.ops import add, first_rows, matmul, multiply, reshape, tanh, total
from gaancore.ops.lift import primitive
from gaancore.tensor import Tensor, no_grad


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def leaf(*values: float) -> Tensor:
    return Tensor(np.array(values, np.float64), requires_grad=True)


def matrix(rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal((4, 4))


def test_a_value_used_twice_is_finished_before_it_is_walked_through():
    """z = y * y + y with y = 3 x: dz/dx = 3 (2 y + 1)."""
    x = leaf(2)
    y = multiply(x, Tensor(np.array([3.0])))
    add(multiply(y, y), y).backward()
    assert x.grad == 3 * (2 * 6 + 1)


def test_a_diamond_of_unequal_arms_agrees_with_finite_differences(rng):
    def diamond(x, y):
        short = multiply(x, y)
        long = tanh(tanh(tanh(add(short, x))))
        return add(multiply(long, short), y)

    check_gradient(diamond, matrix(rng), matrix(rng), rng=rng)


def test_a_residual_connection_agrees_with_finite_differences(rng):
    def residual(x, weight):
        h = x
        for _ in range(3):
            h = add(h, tanh(matmul(h, weight)))
        return h

    check_gradient(residual, matrix(rng), matrix(rng) / 4, rng=rng)


def test_weights_shared_by_many_steps_agree_with_finite_differences(rng):
    def recurrent(x, weight, bias):
        for _ in range(24):
            x = tanh(add(matmul(x, weight), bias))
        return x

    check_gradient(recurrent, matrix(rng), matrix(rng) / 3, matrix(rng)[0], rng=rng)


def test_an_argument_given_twice_gets_both_gradients():
    x = leaf(3)
    multiply(x, x).backward()
    assert x.grad == 6


def test_a_value_of_many_uses_adds_them_all_and_writes_into_no_others():
    """Sums are kept in place where the array is ours; a shared one must not be touched."""
    a, b = leaf(1, 2), leaf(3, 4)
    both = add(a, b)  # hands the very same gradient to a and to b
    out = add(add(both, a), add(both, a))
    out.backward(np.ones(2))
    assert a.grad.tolist() == [4, 4]
    assert b.grad.tolist() == [2, 2]


def test_the_gradient_that_is_passed_in_is_left_as_it_was():
    x = leaf(1, 2)
    grad = np.ones(2)
    out = add(reshape(x, shape=(2,)), x)
    add(out, out).backward(grad)
    assert x.grad.tolist() == [4, 4]
    assert grad.tolist() == [1, 1]


def test_a_chain_of_twenty_thousand_additions_needs_no_recursion():
    x = leaf(1)
    out, one = x, Tensor(np.array([1.0]))
    for _ in range(20_000):
        out = add(out, one)
    out.backward()
    assert (out.data, x.grad) == (20_001, 1)
    del out


def test_a_chain_that_is_never_walked_is_freed_without_recursion():
    out = leaf(1)
    for _ in range(20_000):
        out = tanh(out)
    del out


def test_two_walks_add_up_in_the_leaves():
    x = leaf(2)
    for _ in range(2):
        multiply(x, x).backward()
    assert x.grad == 8


def test_a_leaf_is_its_own_gradient():
    x = leaf(5)
    x.backward()
    assert x.grad == 1


def test_constants_get_no_gradient():
    x, constant = leaf(2), Tensor(np.array([3.0]))
    multiply(x, constant).backward()
    assert constant.grad is None
    assert not constant.requires_grad


def test_an_op_that_asks_is_told_which_gradients_will_be_used():
    told = []

    @primitive
    def scale(x, y, *, factor, needed):
        told.append(needed)
        return factor * x * y, lambda grad: (
            factor * grad * y if needed[0] else None,
            factor * grad * x if needed[1] else None,
        )

    x, y = leaf(2), Tensor(np.array([3.0]))
    scale(x, y, factor=5).backward()
    assert (x.grad, y.grad) == (15, None)
    scale(np.array([3.0]), multiply(x, x), factor=5).backward()  # passed on, though no leaf itself
    assert x.grad == 15 + 15 * 2 * 2
    scale(y, y, factor=5)
    assert told == [(True, False), (False, True), (False, False)]


def test_what_needs_no_gradient_is_not_recorded():
    out = multiply(Tensor(np.ones(2)), np.ones(2))
    assert not out.requires_grad
    with pytest.raises(RuntimeError, match="nothing that requires a gradient"):
        out.backward(np.ones(2))


def test_detach_cuts_the_tape():
    x = leaf(2)
    multiply(x.detach(), x).backward()
    assert x.grad == 2


def test_no_grad_records_nothing_and_ends_with_its_block():
    x = leaf(2)
    with no_grad():
        assert not multiply(x, x).requires_grad
        with no_grad():
            pass
        assert not multiply(x, x).requires_grad
    assert multiply(x, x).requires_grad
    with pytest.raises(ZeroDivisionError), no_grad():
        raise ZeroDivisionError
    assert multiply(x, x).requires_grad


def test_no_grad_in_one_thread_leaves_the_others_recording():
    recorded = []
    with no_grad():
        other = threading.Thread(
            target=lambda: recorded.append(multiply(leaf(1), leaf(1)).requires_grad)
        )
        other.start()
        other.join()
    assert recorded == [True]


def test_a_second_walk_over_the_same_tape_is_refused():
    x = leaf(2)
    out = multiply(x, x)
    out.backward()
    with pytest.raises(RuntimeError, match="already used and freed"):
        out.backward()
    shared = multiply(x, x)
    add(shared, x).backward()
    with pytest.raises(RuntimeError, match="already used and freed"):
        add(shared, x).backward()


def test_a_result_that_is_no_scalar_needs_a_gradient():
    with pytest.raises(ShapeError, match=r"backward: grad: needed for shape \(2,\)"):
        multiply(leaf(1, 2), leaf(1, 2)).backward()


def test_a_gradient_of_another_shape_is_refused():
    with pytest.raises(ShapeError, match=r"backward: grad: expected \(2,\), got \(3,\)"):
        multiply(leaf(1, 2), leaf(1, 2)).backward(np.ones(3))


@pytest.mark.parametrize("dtype", [np.float16, np.int64, np.bool_, np.complex128])
def test_only_float32_and_float64_can_require_a_gradient(dtype):
    with pytest.raises(ShapeError, match="Tensor: requires_grad: expected float32 or float64, got"):
        Tensor(np.ones(2, dtype), requires_grad=True)


def test_a_tensor_of_a_tensor_is_refused():
    with pytest.raises(ShapeError, match="Tensor: data: expected an array, got a Tensor"):
        Tensor(leaf(1))


def test_a_tensor_says_what_it_is():
    assert repr(leaf(1, 2)) == "Tensor(shape=(2,), dtype=float64, requires_grad=True)"


def test_gradients_keep_the_kind_of_float_of_what_they_belong_to():
    x = Tensor(np.ones((3, 2), np.float32), requires_grad=True)
    total(multiply(first_rows(x, count=2), first_rows(x, count=2))).backward()
    assert x.grad.dtype == np.float32


def test_arrays_in_any_memory_order_reach_an_op_in_c_order():
    flags = []

    @primitive
    def watch(x):
        flags.append(x.flags.c_contiguous)
        return x.copy(), lambda grad: (flags.append(grad.flags.c_contiguous), grad)[1:]

    x = Tensor(np.arange(12.0).reshape(3, 4), requires_grad=True)
    for view in (x.data.T, x.data[:, :2], x.data[::2], np.asfortranarray(x.data)):
        assert_array_equal(watch(Tensor(view)).data, view)
    total(watch(x)).backward()  # the gradient of a total is a broadcast scalar
    assert all(flags)
