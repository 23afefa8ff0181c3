"""Modules: parameters by name, in a fixed order; states that fit or are refused."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from gaancore.errors import ShapeError
from gaancore.nn.linear import Linear
from gaancore.nn.module import Module, Parameter
from gaancore.ops import total
from gaancore.tensor import Tensor


class Tower(Module):
    def __init__(self, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.name = "not a parameter"
        self.first = Linear(2, 3, rng)
        self.floors = [Linear(3, 3, rng), Linear(3, 3, rng)]
        self.scale = Parameter(np.ones(3, np.float32))


def test_parameters_are_named_in_the_order_they_were_set():
    assert [name for name, _ in Tower().named_parameters()] == [
        "first.weight",
        "first.bias",
        "floors.0.weight",
        "floors.0.bias",
        "floors.1.weight",
        "floors.1.bias",
        "scale",
    ]


def test_the_number_of_parameters_counts_every_element():
    assert Tower().num_parameters == (2 * 3 + 3) + 2 * (3 * 3 + 3) + 3


def test_a_state_goes_from_one_module_to_another():
    ours, theirs = Tower(seed=0), Tower(seed=1)
    ours.load_state({name: array.copy() for name, array in theirs.state().items()})
    for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert np.array_equal(a.data, b.data)
        assert a.data is not b.data


def test_a_state_is_loaded_into_the_arrays_that_are_there():
    """An optimiser keeps pointing at the same parameters."""
    tower = Tower()
    arrays = [parameter.data for parameter in tower.parameters()]
    tower.load_state({name: array + 1 for name, array in tower.state().items()})
    assert all(p.data is array for p, array in zip(tower.parameters(), arrays, strict=True))


def test_a_state_that_does_not_fit_is_refused_by_name_and_changes_nothing():
    tower = Tower()
    good = {name: array + 1 for name, array in tower.state().items()}
    before = {name: array.copy() for name, array in tower.state().items()}
    short = {name: array for name, array in good.items() if not name.startswith("floors.1")}
    with pytest.raises(ShapeError, match=r"^load_state: floors\.1\.bias: missing \(and 1 more\)$"):
        tower.load_state(short)
    with pytest.raises(ShapeError, match=r"^load_state: roof: no such parameter in this model$"):
        tower.load_state({**good, "roof": np.zeros(1)})
    with pytest.raises(ShapeError, match=r"^load_state: scale: expected \(3,\), got \(4,\)$"):
        tower.load_state({**good, "scale": np.zeros(4)})
    for name, array in tower.state().items():
        assert np.array_equal(array, before[name])


def test_zero_grad_forgets_all_gradients():
    tower = Tower()
    total(tower.first(Tensor(np.ones((4, 2), np.float32)))).backward()
    assert tower.first.weight.grad is not None
    tower.zero_grad()
    assert all(parameter.grad is None for parameter in tower.parameters())


def test_a_module_can_be_held_in_float64():
    tower = Tower().astype("float64")
    assert {parameter.dtype for parameter in tower.parameters()} == {np.dtype("float64")}


def test_linear_starts_as_glorot_and_the_authors_do():
    layer = Linear(300, 200, np.random.default_rng(0), lr_scale=0.1)
    bound = np.sqrt(6 / 500)
    assert layer.weight.dtype == np.float32
    assert np.abs(layer.weight.data).max() <= bound
    assert layer.weight.data.std() == pytest.approx(bound / np.sqrt(3), rel=0.01)
    assert not layer.bias.data.any()
    assert layer.weight.lr_scale == layer.bias.lr_scale == 0.1


def test_linear_is_a_function_of_its_generator():
    a, b, c = (Linear(4, 5, np.random.default_rng(seed)).weight.data for seed in (7, 7, 8))
    assert np.array_equal(a, b)
    assert not np.array_equal(a, c)


@pytest.mark.parametrize("slope", [1.0, 0.1, 0.0])
def test_linear_is_its_equation(slope):
    layer = Linear(3, 2, np.random.default_rng(0), slope=slope).astype("float64")
    layer.bias.data += [1, -1]
    x = np.random.default_rng(1).standard_normal((5, 3))
    before = x @ layer.weight.data + layer.bias.data
    expected = np.where(before > 0, before, slope * before)
    assert np.allclose(layer(Tensor(x)).data, expected, rtol=1e-12)


def test_a_twin_has_the_same_arrays_and_gradients_of_its_own():
    rng = np.random.default_rng(0)
    one = Linear(2, 3, rng, lr_scale=0.1)
    other = one.twin()
    total(other(Tensor(np.ones((4, 2), np.float32)))).backward()
    assert one.weight.grad is None
    assert other.weight.data is one.weight.data
    assert other.weight.lr_scale == 0.1
    assert_array_equal(other.bias.grad, np.full(3, 4, np.float32))
