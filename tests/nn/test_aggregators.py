"""Every aggregator and gate, in both readings of the paper, by its equations and its slopes."""

import layer_reference as reference
import numpy as np
import pytest
from gradcheck import check_leaves
from hypothesis import assume, given
from hypothesis import strategies as st
from kinks import SAFE, kink_margin
from numpy.testing import assert_allclose, assert_array_equal
from strategies import blocks, seeds

from gaancore.choices import AGGREGATORS
from gaancore.errors import SettingsError
from gaancore.graph import Block
from gaancore.nn import AggregatorSpec, Attention, GatedAttention, PairwiseSum, Pooling
from gaancore.nn.gate import PaperGate, ReleasedGate
from gaancore.tensor import Tensor

X_DIM, Z_DIM, OUT_DIM, KEY_DIM, VALUE_DIM, GATE_DIM = 2, 3, 4, 3, 5, 3
heads = st.integers(1, 3)

WIDTHS = {"key_dim": KEY_DIM, "value_dim": VALUE_DIM, "gate_dim": GATE_DIM}
EVERY_KIND = pytest.mark.parametrize("kind", AGGREGATORS)
BOTH_VARIANTS = pytest.mark.parametrize("variant", ["paper", "released"])


def make(kind: str, variant: str, num_heads: int, rng: np.random.Generator, x_dim: int = X_DIM):
    spec = AggregatorSpec(kind, variant, num_heads=num_heads, attention_dropout=0.5, **WIDTHS)
    return reference.with_random_biases(spec.make(x_dim, Z_DIM, OUT_DIM, rng), rng)


def inputs(block: Block, rng: np.random.Generator) -> tuple[Tensor, Tensor]:
    """x (num_dst, X_DIM), z (num_src, Z_DIM), as leaves."""
    shapes = ((block.num_dst, X_DIM), (block.num_src, Z_DIM))
    x, z = (Tensor(rng.standard_normal(shape), requires_grad=True) for shape in shapes)
    return x, z


@EVERY_KIND
@BOTH_VARIANTS
@given(block=blocks(), K=heads, seed=seeds())
def test_an_aggregator_is_its_equation_node_by_node(kind, variant, block, K, seed):
    rng = np.random.default_rng(seed)
    layer = make(kind, variant, K, rng)
    x, z = inputs(block, rng)
    expected = reference.aggregate(kind, layer, variant, x.data, z.data, block)
    assert_allclose(layer(x, z, block).data, expected, rtol=1e-10, atol=1e-12)


@EVERY_KIND
@BOTH_VARIANTS
@given(block=blocks(max_dst=4, max_new=3), K=heads, seed=seeds())
def test_the_gradients_of_an_aggregator(kind, variant, block, K, seed):
    rng = np.random.default_rng(seed)
    layer = make(kind, variant, K, rng)
    x, z = inputs(block, rng)
    assume(kink_margin(lambda: layer(x, z, block)) > SAFE)
    leaves = {**dict(layer.named_parameters()), "x": x, "z": z}
    check_leaves(f"{kind}, {variant}", lambda: layer(x, z, block), leaves, rng)


@pytest.mark.parametrize("kind", ["attention", "gaan"])
def test_the_gradients_of_attention_with_dropout(kind):
    rng = np.random.default_rng(0)
    block = Block([0, 3, 3, 6], [4, 3, 0, 3, 3, 1], 5)
    layer = make(kind, "released", 2, rng)
    x, z = inputs(block, rng)
    assert kink_margin(lambda: layer(x, z, block, 7)) > SAFE
    leaves = {**dict(layer.named_parameters()), "x": x, "z": z}
    check_leaves(f"{kind} with dropout", lambda: layer(x, z, block, 7), leaves, rng)
    assert (layer(x, z, block, 7).data != layer(x, z, block).data).any()
    assert_array_equal(layer(x, z, block, 7).data, layer(x, z, block, 7).data)
    assert (layer(x, z, block, 7).data != layer(x, z, block, 8).data).any()


@pytest.mark.parametrize("kind", ["avg-pool", "max-pool", "pairwise-sigmoid", "pairwise-tanh"])
def test_only_attention_has_weights_to_drop(kind):
    rng = np.random.default_rng(0)
    block = Block([0, 3, 3, 6], [4, 3, 0, 3, 3, 1], 5)
    layer = make(kind, "released", 2, rng)
    x, z = inputs(block, rng)
    assert_array_equal(layer(x, z, block, 7).data, layer(x, z, block).data)


@pytest.mark.parametrize(
    ("gate_class", "variant"), [(PaperGate, "paper"), (ReleasedGate, "released")]
)
@given(block=blocks(), K=heads, seed=seeds())
def test_a_gate_is_its_equation_and_lies_between_0_and_1(gate_class, variant, block, K, seed):
    rng = np.random.default_rng(seed)
    gate = reference.with_random_biases(gate_class(X_DIM, Z_DIM, GATE_DIM, K, rng), rng)
    x, z = inputs(block, rng)
    out = gate(x, z, block).data
    assert out.shape == (block.num_dst, K)
    assert ((out > 0) & (out < 1)).all()
    for i in range(block.num_dst):
        near = reference.neighbours(block, z.data, i)
        assert_allclose(out[i], reference.gate(gate, variant, x.data[i], near), rtol=1e-10)


@pytest.mark.parametrize("gate_class", [PaperGate, ReleasedGate])
@given(block=blocks(max_dst=4, max_new=3), K=heads, seed=seeds())
def test_the_gradients_of_a_gate(gate_class, block, K, seed):
    rng = np.random.default_rng(seed)
    gate = reference.with_random_biases(gate_class(X_DIM, Z_DIM, GATE_DIM, K, rng), rng)
    x, z = inputs(block, rng)
    assume(kink_margin(lambda: gate(x, z, block)) > SAFE)
    leaves = {**dict(gate.named_parameters()), "x": x, "z": z}
    check_leaves(gate_class.__name__, lambda: gate(x, z, block), leaves, rng)


def test_the_last_layer_of_the_released_gate_learns_at_a_tenth_of_the_rate():
    rng = np.random.default_rng(0)
    rates = {
        gate_class: {
            name: parameter.lr_scale
            for name, parameter in gate_class(2, 3, 4, 1, rng).named_parameters()
        }
        for gate_class in (PaperGate, ReleasedGate)
    }
    assert set(rates[PaperGate].values()) == {1.0}
    slow = {name for name, rate in rates[ReleasedGate].items() if rate == 0.1}
    assert slow == {"output.weight", "output.bias"}
    assert {rate for name, rate in rates[ReleasedGate].items() if name not in slow} == {1.0}


@EVERY_KIND
@BOTH_VARIANTS
def test_a_node_without_neighbours_keeps_only_itself(kind, variant):
    """y = h(FC_o(x ++ 0)): finite, and nothing flows back into the other nodes."""
    rng = np.random.default_rng(0)
    layer = make(kind, variant, 2, rng)
    block = Block([0, 0, 0], [], 4)
    x, z = inputs(block, rng)
    out = layer(x, z, block)
    weight = layer.output.weight.data
    own = weight[:X_DIM] if variant == "paper" else weight[-X_DIM:]
    assert_allclose(out.data, reference.h(x.data @ own + layer.output.bias.data), rtol=1e-12)
    out.backward(np.ones(out.shape))
    assert not z.grad.any()


@EVERY_KIND
@BOTH_VARIANTS
@pytest.mark.parametrize("neighbour", [0, 1])
def test_neighbours_that_are_all_the_same_count_as_one(kind, variant, neighbour):
    rng = np.random.default_rng(0)
    layer = make(kind, variant, 2, rng)
    x, z = inputs(Block([0, 0], [], 2), rng)
    once = layer(x, z, Block([0, 1], [neighbour], 2)).data
    many = layer(x, z, Block([0, 5], [neighbour] * 5, 2)).data
    assert_allclose(many, once, rtol=1e-10)


def test_a_spec_makes_the_layer_that_it_names():
    pools, sums = ("avg-pool", "max-pool"), ("pairwise-sigmoid", "pairwise-tanh")
    names = {"gaan": GatedAttention, "attention": Attention}
    names |= dict.fromkeys(pools, Pooling) | dict.fromkeys(sums, PairwiseSum)
    assert tuple(names) == AGGREGATORS
    for name, kind in names.items():
        assert type(AggregatorSpec(name).make(2, 3, 4, np.random.default_rng(0))) is kind


def test_a_choice_that_does_not_exist_is_refused_when_the_spec_is_built():
    message = r"^AggregatorSpec: name: expected one of gaan, attention, .*, got 'gat'$"
    with pytest.raises(SettingsError, match=message):
        AggregatorSpec("gat")
    message = r"^AggregatorSpec: variant: expected one of paper, released, got 'Paper'$"
    with pytest.raises(SettingsError, match=message):
        AggregatorSpec("gaan", "Paper")


@pytest.mark.parametrize(
    ("kind", "name"),
    [(GatedAttention, "attention"), (Attention, "gaan"), (Pooling, "gaan"), (PairwiseSum, "gaan")],
)
def test_a_layer_refuses_the_spec_of_another(kind, name):
    message = rf"^{kind.__name__}: spec.name: expected one of .*, got '{name}'$"
    with pytest.raises(SettingsError, match=message):
        kind(2, 3, 4, AggregatorSpec(name), np.random.default_rng(0))
