"""docs/gaan_in_one_file.py: NumPy alone, and the numbers of the package to ten digits."""

import ast
import importlib.util
import sys
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from pages import DOCS
from strategies import blocks, graphs, seeds

from gaancore.graph import Block, CSRGraph, sample_blocks
from gaancore.models.node_classifier import NodeClassifier
from gaancore.nn import AggregatorSpec
from gaancore.ops import segment_max, softmax_cross_entropy
from gaancore.optim import Adam
from gaancore.tensor import Tensor

FILE = DOCS / "gaan_in_one_file.py"
IN_DIM, CLASSES, DIM, HEADS = 3, 4, 5, [2, 3]
WIDTHS = {"key_dim": 3, "value_dim": 4, "gate_dim": 6}


@pytest.fixture(scope="module")
def one_file():
    spec = importlib.util.spec_from_file_location("gaan_in_one_file", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def of_the_package(model: str, variant: str, rng: np.random.Generator) -> NodeClassifier:
    """In float64, with biases that are not 0, as after some training."""
    layers = [AggregatorSpec(model, variant, num_heads=K, **WIDTHS) for K in HEADS]
    network = NodeClassifier(
        IN_DIM, CLASSES, layers=layers, embed_dim=DIM, out_dim=DIM, dropout=0.0, rng=rng
    ).astype("float64")
    for parameter in network.parameters():
        parameter.data += rng.standard_normal(parameter.shape) / 2
    return network


def of_the_file(one_file, block: Block):
    rows = [block.indices[a:b].tolist() for a, b in pairwise(block.indptr)]
    return one_file.Block(rows, block.src_ids)


def twin(one_file, network: NodeClassifier, model: str, variant: str):
    """The file's model with the package's weights, which must have the same names and shapes."""
    widths = WIDTHS | ({"gate_dim": 0} if model == "attention" else {})
    copy = one_file.GaAN(
        CLASSES, DIM, HEADS, **widths, variant=variant, rng=np.random.default_rng(0)
    )
    copy(np.zeros((1, IN_DIM)), [one_file.Block([[]], [0])] * len(HEADS))  # makes its weights
    one_file.TAPE.clear()
    state = network.state()
    assert {name: w.value.shape for name, w in copy.weights.items()} == {
        name: array.shape for name, array in state.items()
    }
    for name, array in state.items():
        copy.weights[name].value = array.copy()
    return copy


def assert_close(actual: np.ndarray, expected: np.ndarray, name: str, rtol: float = 1e-10) -> None:
    largest = np.abs(expected).max(initial=0)
    assert_allclose(actual, expected, rtol=rtol, atol=rtol * max(largest, 1), err_msg=name)


@pytest.mark.parametrize("model", ["gaan", "attention"])
@pytest.mark.parametrize("variant", ["paper", "released"])
@given(graph=graphs(max_nodes=8, max_edges=24), sampled=st.booleans(), seed=seeds())
def test_logits_and_gradients_are_those_of_the_package(
    one_file, model, variant, graph, sampled, seed
):
    rng = np.random.default_rng(seed)
    network = of_the_package(model, variant, rng)
    copy = twin(one_file, network, model, variant)
    features = rng.standard_normal((graph.num_nodes, IN_DIM))
    steps = [graph.full_block()] * 2
    if sampled:
        steps = sample_blocks(graph, np.arange(graph.num_nodes)[::2], [2, 3], seed=seed)
    theirs = network(Tensor(features[steps[0].src_ids]), steps)
    mine = copy(features, [of_the_file(one_file, block) for block in steps])
    assert_close(mine.value, theirs.data, "logits")
    grad = rng.standard_normal(theirs.shape)
    theirs.backward(grad)
    mine.backward(grad)
    for name, parameter in network.named_parameters():
        assert_close(copy.weights[name].grad, parameter.grad, name)


@given(block=blocks(), seed=seeds())
def test_equal_values_give_the_gradient_of_a_maximum_to_the_first_edge(one_file, block, seed):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 2, (block.num_src, 3)).astype(np.float64)
    grad = rng.standard_normal((block.num_dst, 3))
    theirs, mine = Tensor(values, requires_grad=True), one_file.Tensor(values)
    segment_max(theirs, block=block).backward(grad)
    of_the_file(one_file, block).max(mine).backward(grad)
    assert_close(mine.grad, theirs.grad, "values")


@pytest.mark.parametrize("variant", ["paper", "released"])
def test_ten_steps_of_adam_lead_to_the_weights_of_the_package(one_file, variant):
    rng = np.random.default_rng(0)
    graph = CSRGraph.from_edges(*rng.integers(0, 20, (2, 60)), 20, duplicates="keep")
    network = of_the_package("gaan", variant, rng)
    copy = twin(one_file, network, "gaan", variant)
    before = {name: array.copy() for name, array in network.state().items()}
    features, labels = rng.standard_normal((20, IN_DIM)), rng.integers(0, CLASSES, 20)
    adam, theirs = one_file.Adam(copy.weights, 0.01), Adam(network.named_parameters(), 0.01)
    for step in range(10):
        steps = sample_blocks(graph, [3, 1, 4, 15, 9], [3, 2], seed=step)
        chosen = labels[steps[-1].src_ids[:5]]
        loss = softmax_cross_entropy(network(Tensor(features[steps[0].src_ids]), steps), chosen)
        network.zero_grad()
        loss.backward()
        theirs.step()
        mine = copy(features, [of_the_file(one_file, block) for block in steps])
        mine = mine.cross_entropy(chosen)
        assert_close(mine.value, loss.data, "loss", 1e-8)
        mine.backward()
        adam.step()
    for name, array in network.state().items():
        assert_close(copy.weights[name].value, array, name, 1e-8)
        # the gradient of a key's bias is 0: it adds the same to all scores of a segment
        assert name.endswith("key.bias") or np.abs(array - before[name]).max() > 1e-3


def test_dropout_keeps_the_mean_and_passes_gradients_where_it_passed_values(one_file):
    x = one_file.Tensor(np.ones((100, 100)))
    y = x.dropout(0.25, np.random.default_rng(0))
    assert set(np.unique(y.value)) == {0, 1 / 0.75}
    assert abs(y.value.mean() - 1) < 0.03
    y.backward(np.full((100, 100), 2.0))
    assert_array_equal(x.grad, 2 * y.value)


@given(
    graph=graphs(max_nodes=7, duplicates="merge"), fanouts=st.lists(st.integers(0, 3), max_size=3)
)
@example(CSRGraph.from_edges([1, 2, 3, 4, 5] * 2, [0] * 5 + [1] * 5, 6, duplicates="keep"), [3, 3])
def test_the_sampler_draws_without_replacement_and_merges(one_file, graph, fanouts):
    neighbours = [graph.indices[a:b] for a, b in pairwise(graph.indptr)]
    first = list(range(graph.num_nodes))[::-2]
    drawn = one_file.sample_blocks(neighbours, first, fanouts, np.random.default_rng(0))
    assert len(drawn) == len(fanouts)
    destinations = first
    for block, fanout in zip(reversed(drawn), fanouts, strict=True):
        nodes = np.array(block.nodes)
        assert block.nodes[: block.N] == destinations  # each seed first, in its order
        assert len(set(block.nodes)) == len(block.nodes)  # no node twice
        assert len(destinations) + len(set(nodes[block.src]) - set(destinations)) == block.S
        for i, node in enumerate(destinations):
            found = nodes[block.src[block.dst == i]].tolist()
            assert len(set(found)) == len(found) == min(fanout, len(neighbours[node]))
            assert set(found) <= set(neighbours[node].tolist())
        destinations = block.nodes


def test_the_sampler_draws_each_pair_of_neighbours_equally_often(one_file):
    rng = np.random.default_rng(0)
    pairs = Counter()
    for _ in range(3000):
        (block,) = one_file.sample_blocks([np.array([1, 2, 3, 4])], [0], [2], rng)
        pairs[frozenset(block.nodes[1:])] += 1
    assert len(pairs) == 6
    # 500 each, with deviation sqrt(3000 * 1/6 * 5/6) = 20.4
    assert all(abs(count - 500) < 5 * 20.4 for count in pairs.values())


def test_it_learns(one_file, capsys):
    accuracy = one_file.main()
    losses = [float(line.split()[3]) for line in capsys.readouterr().out.splitlines()]
    *_, labels = one_file.communities(np.random.default_rng(0))
    majority = np.bincount(labels).max() / len(labels)
    assert majority == 0.25
    assert accuracy > 0.8
    assert losses[-1] < losses[0] / 1.5


def test_it_has_at_most_250_lines():
    assert len(FILE.read_text(encoding="utf-8").splitlines()) <= 250


def test_it_imports_numpy_and_the_standard_library_alone():
    imported = set()
    for node in ast.walk(ast.parse(FILE.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            imported |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add(node.module.split(".")[0])
    assert "numpy" in imported
    assert imported <= {"numpy", *sys.stdlib_module_names}
