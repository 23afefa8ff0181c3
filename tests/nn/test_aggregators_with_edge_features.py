"""Every aggregator whose edges have features: equal to a layer that is given z_j ++ e_ij."""

from dataclasses import replace

import layer_reference as reference
import numpy as np
import pytest
from gradcheck import check_leaves
from hypothesis import assume, given
from hypothesis import strategies as st
from kinks import SAFE, kink_margin
from numpy.testing import assert_allclose, assert_array_equal
from strategies import blocks, seeds

from gaancore.array import to_device, to_numpy
from gaancore.choices import AGGREGATORS
from gaancore.errors import ShapeError
from gaancore.graph import Block
from gaancore.nn import AggregatorSpec, GraphGRUCell
from gaancore.nn.side_by_side import SideBySide
from gaancore.tensor import Tensor, no_grad

X_DIM, Z_DIM, OUT_DIM = 2, 3, 4
WIDTHS = {"key_dim": 3, "value_dim": 5, "gate_dim": 3}
EVERY_KIND = pytest.mark.parametrize("kind", AGGREGATORS)
BOTH_VARIANTS = pytest.mark.parametrize("variant", ["paper", "released"])
edge_dims = st.sampled_from([1, 17])
heads = st.sampled_from([1, 3])
LOOPS = Block([0, 3, 3, 6], [4, 3, 0, 3, 3, 1], 5)  # a loop, an empty row, an edge given twice


def make(kind: str, variant: str, num_heads: int, edge_dim: int, rng, **options):
    spec = AggregatorSpec(kind, variant, num_heads=num_heads, edge_dim=edge_dim, **WIDTHS)
    layer = replace(spec, **options).make(X_DIM, Z_DIM, OUT_DIM, rng)
    return reference.with_random_biases(layer, rng)


def inputs(block: Block, edge_dim: int, rng) -> tuple[Tensor, Tensor, Tensor, Block]:
    """x, z and e as leaves, and the block that carries e."""
    shapes = (block.num_dst, X_DIM), (block.num_src, Z_DIM), (block.num_edges, edge_dim)
    x, z, e = (Tensor(rng.standard_normal(shape), requires_grad=True) for shape in shapes)
    return x, z, e, block.with_edge_attr(e)


def expected(kind, layer, variant, x, z, e, block) -> np.ndarray:
    there = block.with_edge_attr(e.data)
    return reference.aggregate(kind, layer, variant, x.data, z.data, there)


@EVERY_KIND
@BOTH_VARIANTS
@given(block=blocks(), K=heads, B=edge_dims, seed=seeds())
def test_it_is_the_layer_that_is_given_both_for_each_edge(kind, variant, block, K, B, seed):
    rng = np.random.default_rng(seed)
    layer = make(kind, variant, K, B, rng)
    x, z, e, block = inputs(block, B, rng)
    wanted = expected(kind, layer, variant, x, z, e, block)
    assert_allclose(layer(x, z, block).data, wanted, rtol=1e-12, atol=1e-12)


@EVERY_KIND
@BOTH_VARIANTS
@given(block=blocks(max_dst=4, max_new=3), K=heads, B=edge_dims, seed=seeds())
def test_its_gradients_reach_weights_nodes_and_edges(kind, variant, block, K, B, seed):
    rng = np.random.default_rng(seed)
    layer = make(kind, variant, K, B, rng)
    x, z, e, block = inputs(block, B, rng)
    assume(kink_margin(lambda: layer(x, z, block)) > SAFE)
    leaves = {**dict(layer.named_parameters()), "x": x, "z": z, "e": e}
    check_leaves(f"{kind}, {variant}", lambda: layer(x, z, block), leaves, rng)


@EVERY_KIND
@pytest.mark.parametrize("block", [LOOPS, Block([0, 1], [0], 1), Block([0, 0], [], 1)])
@pytest.mark.parametrize("B", [1, 17])
def test_where_blocks_are_strange(kind, block, B):
    rng = np.random.default_rng(5)
    layer = make(kind, "released", 1, B, rng)
    x, z, e, block = inputs(block, B, rng)
    assert kink_margin(lambda: layer(x, z, block)) > SAFE
    wanted = expected(kind, layer, "released", x, z, e, block)
    assert_allclose(layer(x, z, block).data, wanted, rtol=1e-12, atol=1e-12)
    leaves = {**dict(layer.named_parameters()), "x": x, "z": z, "e": e}
    check_leaves(kind, lambda: layer(x, z, block), leaves, rng)


@EVERY_KIND
@BOTH_VARIANTS
def test_features_that_are_0_change_nothing(kind, variant):
    """The rest of the layer is that of a graph without them, also where weights are dropped."""
    rng = np.random.default_rng(0)
    options = {"attention_dropout": 0.5, "mean_in_gate": False}
    with_edges = make(kind, variant, 2, 3, rng, **options)
    without = make(kind, variant, 2, 0, rng, **options)
    without.load_state({name: with_edges.state()[name] for name in without.state()})
    x, z, _, _ = inputs(LOOPS, 3, rng)
    zeros = LOOPS.with_edge_attr(np.zeros((LOOPS.num_edges, 3)))
    for seed in (None, 7):
        out = with_edges(x, z, zeros, seed).data
        assert_allclose(out, without(x, z, LOOPS, seed).data, rtol=1e-12)
    if kind in ("gaan", "attention"):
        weights = with_edges.weights(x, z, zeros)
        assert_allclose(weights.data, without.weights(x, z, LOOPS).data, rtol=1e-12)


@EVERY_KIND
@BOTH_VARIANTS
def test_without_them_it_has_the_parameters_and_bits_that_it_had(kind, variant):
    plain, named = (
        AggregatorSpec(kind, variant, num_heads=2, **WIDTHS, **more).make(
            X_DIM, Z_DIM, OUT_DIM, np.random.default_rng(0)
        )
        for more in ({}, {"edge_dim": 0})
    )
    assert not any("edge" in name for name, _ in plain.named_parameters())
    for name, array in plain.state().items():
        assert_array_equal(array, named.state()[name])


@pytest.mark.parametrize(
    ("kind", "more"),
    # B * K * key_dim, B * K * value_dim; the maximum B * gate_dim, the mean B * gate_dim
    [("attention", 4 * 6 + 4 * 10), ("gaan", 4 * 6 + 4 * 10 + 4 * 3 + 4 * 3), ("max-pool", 4 * 5),
     ("avg-pool", 4 * 5), ("pairwise-tanh", 4 * 6 + 4 * 10)],
)  # fmt: skip
def test_each_feature_of_an_edge_costs_a_row_of_every_layer_that_reads_it(kind, more):
    sizes = [make(kind, "released", 2, B, np.random.default_rng(0)).num_parameters for B in (0, 4)]
    assert sizes[1] - sizes[0] == more


def test_a_layer_starts_as_one_layer_of_both_would():
    spec = AggregatorSpec("max-pool", value_dim=300, edge_dim=40)
    value = spec.make(X_DIM, 60, OUT_DIM, np.random.default_rng(0)).value
    for weight in (value.weight.data, value.edge_weight.data):
        assert weight.dtype == np.float32
        assert 0.99 < np.abs(weight).max() / np.sqrt(6 / (60 + 40 + 300)) <= 1


@EVERY_KIND
@BOTH_VARIANTS
def test_several_side_by_side_gather_what_each_gathers_alone(kind, variant):
    rng = np.random.default_rng(0)
    layers = [make(kind, variant, 2, 3, rng) for _ in range(3)]
    x, z, _, block = inputs(LOOPS, 3, rng)
    for layer, together in zip(layers, SideBySide(layers)(x, z, block), strict=True):
        assert_allclose(together.data, layer(x, z, block).data, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("kind", ["gaan", "avg-pool"])
@BOTH_VARIANTS
def test_a_graph_gru_sees_the_features_of_its_roads(kind, variant):
    rng = np.random.default_rng(0)
    spec = AggregatorSpec(kind, variant, num_heads=2, edge_dim=3, **WIDTHS)
    cell = GraphGRUCell(2, 4, spec, rng).astype("float64")
    block = Block([0, 1, 3], [1, 0, 1], 2).with_edge_attr(rng.standard_normal((3, 3)))
    x, state = rng.standard_normal((2, 2)), rng.standard_normal((2, 4))
    out = cell(Tensor(x), Tensor(state), block).data
    assert_allclose(out, reference.graph_gru_cell(kind, cell, variant, x, state, block), rtol=1e-10)


@EVERY_KIND
def test_edges_with_other_features_than_the_layer_reads_are_refused(kind):
    rng = np.random.default_rng(0)
    x, z, _, block = inputs(LOOPS, 3, rng)
    message = r"^\w+: block: expected edges with 0 features \(edge_dim\), got 3$"
    with pytest.raises(ShapeError, match=message):
        make(kind, "released", 2, 0, rng)(x, z, block)
    message = r"^\w+: block: expected edges with 2 features \(edge_dim\), got 0$"
    with pytest.raises(ShapeError, match=message):
        SideBySide([make(kind, "released", 2, 2, rng)])(x, z, LOOPS)


@EVERY_KIND
@BOTH_VARIANTS
def test_the_device_computes_what_the_cpu_does(kind, variant, device):
    rng = np.random.default_rng(1)
    layer = make(kind, variant, 2, 3, rng)
    x, z, e, block = inputs(LOOPS, 3, rng)
    wanted = expected(kind, layer, variant, x, z, e, block)
    there = block.with_edge_attr(e.data).to(device)
    with no_grad():
        out = layer.to(device)(*(Tensor(to_device(t.data, device)) for t in (x, z)), there)
    assert_allclose(to_numpy(out.data), wanted, rtol=1e-11, atol=1e-12)
