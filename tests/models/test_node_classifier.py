"""All seven models: gradients, graphs with next to nothing in them, symmetry, dropout, names."""

import numpy as np
import pytest
from gradcheck import check_leaves
from hypothesis import assume, given
from kinks import SAFE, kink_margin
from layer_reference import with_random_biases
from numpy.testing import assert_allclose, assert_array_equal
from strategies import graphs, seeds

from gaancore.array import to_device
from gaancore.choices import MODELS
from gaancore.graph import Block, CSRGraph
from gaancore.models.node_classifier import FeedForward, NodeClassifier
from gaancore.nn import AggregatorSpec
from gaancore.ops import bce_with_logits, softmax_cross_entropy
from gaancore.tensor import Tensor

IN_DIM, CLASSES = 3, 4
GRAPH_MODELS = [model for model in MODELS if model != "fnn"]
EVERY_MODEL = pytest.mark.parametrize("model", MODELS)
EVERY_GRAPH_MODEL = pytest.mark.parametrize("model", GRAPH_MODELS)
BOTH_VARIANTS = pytest.mark.parametrize("variant", ["paper", "released"])


def build(model: str, variant: str = "released", seed: int = 0, **changes):
    rng = np.random.default_rng(seed)
    if model == "fnn":
        return FeedForward(IN_DIM, CLASSES, hidden_dim=6, rng=rng)
    widths = {"key_dim": 3, "value_dim": 5, "gate_dim": 3, "attention_dropout": 0.5}
    layers = [AggregatorSpec(model, variant, num_heads=K, **widths) for K in (1, 2)]
    settings = {"embed_dim": 4, "out_dim": 5, "dropout": 0.1, **changes}
    return NodeClassifier(IN_DIM, CLASSES, layers=layers, rng=rng, **settings)


def whole(graph: CSRGraph) -> list[Block]:
    """Both layers over all nodes and all edges."""
    return [graph.full_block()] * 2


def features(graph: CSRGraph, rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal((graph.num_nodes, IN_DIM))


@EVERY_MODEL
@BOTH_VARIANTS
@given(graph=graphs(max_nodes=5, max_edges=10), seed=seeds())
def test_the_gradients_of_a_model(model, variant, graph, seed, device):
    rng = np.random.default_rng(seed)
    network = with_random_biases(build(model, variant, seed), rng)
    x = features(graph, rng)
    assume(kink_margin(lambda: network(Tensor(x), whole(graph))) > SAFE)
    network.to(device)
    x = Tensor(to_device(x, device), requires_grad=True)
    blocks = [block.to(device) for block in whole(graph)]
    leaves = {**dict(network.named_parameters()), "features": x}
    check_leaves(f"{model}, {variant}", lambda: network(x, blocks), leaves, rng)


@EVERY_GRAPH_MODEL
def test_the_gradients_of_a_model_in_training(model):
    rng = np.random.default_rng(0)
    graph = CSRGraph.from_edges([0, 1, 2, 2, 3], [1, 0, 1, 3, 3], 5, duplicates="keep")
    network, blocks = with_random_biases(build(model), rng), whole(graph)
    x = Tensor(features(graph, rng))
    assert kink_margin(lambda: network(x, blocks, 11)) > SAFE
    leaves = dict(network.named_parameters())
    check_leaves(f"{model} with dropout", lambda: network(x, blocks, 11), leaves, rng)


NEXT_TO_NOTHING = {
    "no nodes": ([], [], 0),
    "a single node": ([], [], 1),
    "a single node with a loop": ([0], [0], 1),
    "two nodes, no edges": ([], [], 2),
    "a chain and isolated nodes": ([0, 1], [1, 2], 5),
}


@EVERY_MODEL
@BOTH_VARIANTS
@pytest.mark.parametrize("edges", NEXT_TO_NOTHING.values(), ids=NEXT_TO_NOTHING)
def test_a_graph_with_next_to_nothing_in_it_trains_without_nan(model, variant, edges):
    graph = CSRGraph.from_edges(*edges, duplicates="keep")
    network = build(model, variant)
    x = features(graph, np.random.default_rng(0)).astype(np.float32)
    for seed in (None, 5):
        logits = network(Tensor(x), whole(graph), seed)
        assert logits.shape == (graph.num_nodes, CLASSES)
        assert np.isfinite(logits.data).all()
        for loss, targets in (
            (bce_with_logits, np.ones(logits.shape, np.uint8)),
            (softmax_cross_entropy, np.zeros(graph.num_nodes, np.int64)),
        ):
            network.zero_grad()
            out = loss(network(Tensor(x), whole(graph), seed), targets)
            out.backward()
            assert np.isfinite(out.data)
            for name, parameter in network.named_parameters():
                assert np.isfinite(parameter.grad).all(), name
                assert parameter.grad.dtype == np.float32


@EVERY_MODEL
@BOTH_VARIANTS
@given(graph=graphs(), seed=seeds())
def test_renaming_the_nodes_renames_the_answers(model, variant, graph, seed):
    rng = np.random.default_rng(seed)
    network = with_random_biases(build(model, variant, seed), rng)
    x = features(graph, rng)
    order = rng.permutation(graph.num_nodes)
    renamed = graph.induced_subgraph(order)
    logits = network(Tensor(x), whole(graph)).data
    again = network(Tensor(x[order]), whole(renamed)).data
    assert_allclose(again, logits[order], rtol=1e-9, atol=1e-11)


@EVERY_GRAPH_MODEL
@BOTH_VARIANTS
@given(graph=graphs(), seed=seeds())
def test_a_few_seeds_with_all_their_neighbours_get_what_the_whole_graph_gives_them(
    model, variant, graph, seed
):
    rng = np.random.default_rng(seed)
    network = with_random_biases(build(model, variant, seed), rng)
    x = features(graph, rng)
    some = rng.permutation(graph.num_nodes)[: graph.num_nodes // 2]
    inner = graph.block_of(some)
    outer = graph.block_of(inner.src_ids)
    logits = network(Tensor(x[outer.src_ids]), [outer, inner]).data
    expected = network(Tensor(x), whole(graph)).data[some]
    assert_allclose(logits, expected, rtol=1e-9, atol=1e-11)


def test_a_network_of_a_node_alone_ignores_the_graph():
    network = build("fnn")
    x = np.random.default_rng(0).standard_normal((6, IN_DIM)).astype(np.float32)
    full = CSRGraph.from_edges([0, 1, 2], [1, 2, 3], 6, duplicates="keep")
    alone = network(Tensor(x)).data
    assert_array_equal(network(Tensor(x), whole(full)).data, alone)
    assert_array_equal(network(Tensor(x), (), 3).data, alone)
    assert network.num_steps == 0


def test_a_network_of_a_node_alone_is_two_hidden_layers_of_relu():
    network = with_random_biases(build("fnn"), np.random.default_rng(0))
    x = np.random.default_rng(1).standard_normal((6, IN_DIM))
    p = {name: parameter.data for name, parameter in network.named_parameters()}
    hidden = np.maximum(x @ p["embed.weight"] + p["embed.bias"], 0)
    hidden = np.maximum(hidden @ p["hidden.weight"] + p["hidden.bias"], 0)
    expected = hidden @ p["head.weight"] + p["head.bias"]
    assert_allclose(network(Tensor(x)).data, expected, rtol=1e-12)


@EVERY_GRAPH_MODEL
def test_the_embedding_and_the_head_are_linear_and_the_layers_lie_between(model):
    rng = np.random.default_rng(0)
    network = with_random_biases(build(model), rng)
    graph = CSRGraph.from_edges([0, 1, 2, 2], [1, 0, 1, 3], 4, duplicates="keep")
    x, p = features(graph, rng), {n: q.data for n, q in network.named_parameters()}
    block = graph.full_block()
    h = Tensor(x @ p["embed.weight"] + p["embed.bias"])
    for layer in network.layers:
        h = layer(h, h, block)
    expected = h.data @ p["head.weight"] + p["head.bias"]
    assert_allclose(network(Tensor(x), whole(graph)).data, expected, rtol=1e-12)
    assert network.num_steps == 2


@EVERY_GRAPH_MODEL
def test_dropout_is_a_function_of_the_seed_and_off_without_one(model):
    network = build(model, dropout=0.5)
    graph = CSRGraph.from_edges([0, 1, 2, 2], [1, 0, 1, 3], 4, duplicates="keep")
    x = Tensor(features(graph, np.random.default_rng(0)).astype(np.float32))
    off, once, again, other = (network(x, whole(graph), seed).data for seed in (None, 1, 1, 2))
    assert_array_equal(once, again)
    assert (once != other).any()
    assert (once != off).any()
    assert_array_equal(network(x, whole(graph)).data, off)


def test_each_layer_drops_other_elements():
    network = build("avg-pool", dropout=0.5, embed_dim=5)
    network.layers[1] = network.layers[0]
    network.layers[0].output.bias.data += 10  # nothing is 0 unless it was dropped
    graph = CSRGraph.from_edges(range(50), range(50), 50, duplicates="keep")
    h = Tensor(np.ones((50, 5), np.float32))
    dropped = [network.layer(number, h, graph.full_block(), 1).data == 0 for number in (0, 1)]
    assert (dropped[0] != dropped[1]).any()
    assert 0.3 < np.mean(dropped) < 0.7


GATE = ["max_branch", "hidden", "output"]
LAYERS = {
    "attention": ["output", "query", "key", "value"],
    "gaan": ["output", "query", "key", "value", *(f"gate.{part}" for part in GATE)],
    "pairwise-sigmoid": ["output", "query", "key", "value"],
    "pairwise-tanh": ["output", "query", "key", "value"],
    "avg-pool": ["output", "value"],
    "max-pool": ["output", "value"],
}


@EVERY_GRAPH_MODEL
def test_parameters_come_in_a_fixed_order_that_checkpoints_rely_on(model):
    inside = [f"layers.{number}.{part}" for number in (0, 1) for part in LAYERS[model]]
    layers = ["embed", *inside, "head"]
    expected = [f"{layer}.{kind}" for layer in layers for kind in ("weight", "bias")]
    assert [name for name, _ in build(model).named_parameters()] == expected


@EVERY_MODEL
def test_a_model_is_a_function_of_its_generator(model):
    a, b, c = (build(model, seed=seed).state() for seed in (1, 1, 2))
    assert all(np.array_equal(a[name], b[name]) for name in a)
    assert not np.array_equal(a["head.weight"], c["head.weight"])
