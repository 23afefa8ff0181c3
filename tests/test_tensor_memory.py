"""The tape's memory: it goes when the last name goes, without the garbage collector."""

import gc
import tracemalloc
import weakref

import numpy as np
import pytest

from gaancore.ops import add, multiply, tanh, total
from gaancore.ops.lift import primitive
from gaancore.tensor import Tensor


def leaf(*values: float) -> Tensor:
    return Tensor(np.array(values, np.float64), requires_grad=True)


@pytest.fixture
def no_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


pytestmark = pytest.mark.usefixtures("no_collector")


def watched_step() -> list[weakref.ref]:
    """One step over fresh arrays; references to every array that its tape held."""
    arrays = []

    @primitive
    def square(x):
        factor = 2 * x
        arrays.append(weakref.ref(factor))
        return x * x, lambda grad: (grad * factor,)

    x = Tensor(np.ones(1000), requires_grad=True)
    arrays.append(weakref.ref(x.data))
    h = x
    for _ in range(5):
        h = square(h)
    loss = total(h)
    loss.backward()
    assert all(ref() is None for ref in arrays[1:]), "the walk itself frees what it has used"
    return arrays


def test_memory_goes_with_the_last_name_and_needs_no_collector():
    assert all(ref() is None for ref in watched_step())


def test_a_tape_that_is_never_walked_goes_with_its_result_too():
    x = leaf(1, 2)
    inner = multiply(x, x)
    array = weakref.ref(inner.data)
    out = multiply(inner, inner)
    del inner
    assert array() is not None
    del out
    assert array() is None


def test_a_leaf_that_nobody_holds_goes_at_once_and_its_gradient_nowhere():
    x, y = leaf(1), leaf(2)
    array = weakref.ref(x.data)
    out = add(x, y)
    del x
    assert array() is None
    out.backward()
    assert y.grad == 1


def test_memory_is_flat_over_many_steps():
    weight = Tensor(np.full((200, 200), 0.01), requires_grad=True)

    def step() -> float:
        h = Tensor(np.ones((200, 200)))
        for _ in range(10):
            h = tanh(multiply(h, weight))
        loss = total(h)
        loss.backward()
        weight.grad = None
        return float(loss.data)

    tracemalloc.start()
    try:
        for _ in range(5):
            step()
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(50):
            step()
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert grown < weight.data.nbytes  # less than one of the thousand arrays that were made
