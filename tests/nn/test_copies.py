"""Copies and pickles of models learn by themselves."""

import copy
import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from gaancore.choices import MODELS
from gaancore.models.node_classifier import NodeClassifier
from gaancore.models.traffic_forecaster import TrafficForecaster
from gaancore.nn.aggregators import AggregatorSpec
from gaancore.nn.linear import Linear
from gaancore.nn.module import Parameter
from gaancore.ops import total
from gaancore.optim import Adam
from gaancore.tensor import Tensor

WAYS = {
    "deepcopy": copy.deepcopy,
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    "old pickle": lambda model: pickle.loads(pickle.dumps(model, 2)),
}


def learn(layer: Linear) -> None:
    total(layer(Tensor(np.ones((4, 2), np.float32)))).backward()


@pytest.mark.parametrize("way", WAYS)
def test_the_gradients_of_a_copy_go_to_the_copy(way):
    one = Linear(2, 3, np.random.default_rng(0), lr_scale=0.1)
    other = WAYS[way](one)
    learn(other)
    assert one.weight.grad is None
    assert_array_equal(other.bias.grad, np.full(3, 4, np.float32))
    assert other.weight.lr_scale == 0.1
    assert isinstance(other.weight, Parameter)


@pytest.mark.parametrize("way", WAYS)
def test_training_a_copy_moves_the_copy_alone(way):
    one = Linear(2, 3, np.random.default_rng(0))
    before = one.weight.data.copy()
    other = WAYS[way](one)
    learn(other)
    Adam(other.named_parameters(), lr=0.1).step()
    assert_array_equal(one.weight.data, before)
    assert (other.weight.data != before).all()
    learn(one)
    assert_array_equal(one.bias.grad, np.full(3, 4, np.float32))


@pytest.mark.parametrize("way", WAYS)
def test_a_gradient_that_is_there_is_copied_and_not_shared(way):
    one = Linear(2, 3, np.random.default_rng(0))
    learn(one)
    other = WAYS[way](one)
    learn(other)
    assert_array_equal(one.bias.grad, np.full(3, 4, np.float32))
    assert_array_equal(other.bias.grad, np.full(3, 8, np.float32))


def test_a_shallow_copy_of_a_parameter_shares_its_array_and_has_a_gradient_of_its_own():
    one = Parameter(np.ones(3))
    other = copy.copy(one)
    total(other * 2.0).backward()
    assert one.grad is None
    assert other.data is one.data


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", [name for name in MODELS if name != "fnn"])
def test_every_model_is_copied_with_all_its_parameters(way, name):
    rng = np.random.default_rng(0)
    spec = AggregatorSpec(name, "released", num_heads=2, key_dim=2, value_dim=3, gate_dim=2)
    classifier = NodeClassifier(3, 2, layers=[spec], embed_dim=4, out_dim=4, dropout=0.0, rng=rng)
    forecaster = TrafficForecaster(2, spec=spec, hidden_dim=3, num_layers=1, rng=rng)
    for model in (classifier, forecaster):
        other = WAYS[way](model)
        pairs = list(zip(model.named_parameters(), other.named_parameters(), strict=True))
        for (name_here, here), (name_there, there) in pairs:
            assert name_here == name_there
            assert here.data is not there.data
            assert_array_equal(here.data, there.data)


@pytest.mark.parametrize("way", WAYS)
def test_the_result_of_an_op_is_refused_with_what_to_do_instead(way):
    result = Parameter(np.ones(3)) * 2.0
    with pytest.raises(TypeError, match=r"^Tensor: the result of an op cannot .*; detach it$"):
        WAYS[way](result)
    assert_array_equal(WAYS[way](result.detach()).data, np.full(3, 2.0))
