"""The Graph GRU cell over every aggregator, in both readings: its equation and its slopes."""

import layer_reference as reference
import numpy as np
import pytest
from gradcheck import check_leaves
from hypothesis import assume, given, settings
from kinks import SAFE, kink_margin
from numpy.testing import assert_allclose, assert_array_equal
from strategies import graphs, seeds

from gaancore.choices import AGGREGATORS
from gaancore.graph import CSRGraph
from gaancore.graph.copies import GraphCopies
from gaancore.nn.aggregators import AggregatorSpec
from gaancore.nn.graph_gru import GraphGRUCell
from gaancore.tensor import Tensor

IN_DIM, OUT_DIM = 2, 3
WIDTHS = {"num_heads": 2, "key_dim": 3, "value_dim": 2, "gate_dim": 3}
EVERY_KIND = pytest.mark.parametrize("kind", AGGREGATORS)
BOTH_VARIANTS = pytest.mark.parametrize("variant", ["paper", "released"])


def make(kind: str, variant: str, rng: np.random.Generator) -> GraphGRUCell:
    spec = AggregatorSpec(kind, variant, mean_in_gate=False, **WIDTHS)
    return reference.with_random_biases(GraphGRUCell(IN_DIM, OUT_DIM, spec, rng), rng)


def inputs(num_nodes: int, rng: np.random.Generator) -> tuple[Tensor, Tensor]:
    return tuple(
        Tensor(rng.standard_normal((num_nodes, width)), requires_grad=True)
        for width in (IN_DIM, OUT_DIM)
    )


@EVERY_KIND
@BOTH_VARIANTS
@given(graph=graphs(max_nodes=6, max_edges=15), seed=seeds())
def test_a_cell_is_equation_7_node_by_node(kind, variant, graph, seed):
    rng = np.random.default_rng(seed)
    cell, block = make(kind, variant, rng), graph.full_block()
    x, h = inputs(graph.num_nodes, rng)
    expected = reference.graph_gru_cell(kind, cell, variant, x.data, h.data, block)
    assert_allclose(cell(x, h, block).data, expected, rtol=1e-10, atol=1e-12)


@EVERY_KIND
@BOTH_VARIANTS
@settings(max_examples=4)
@given(graph=graphs(max_nodes=4, max_edges=8), seed=seeds())
def test_the_gradients_of_a_cell(kind, variant, graph, seed):
    rng = np.random.default_rng(seed)
    cell, block = make(kind, variant, rng), graph.full_block()
    x, h = inputs(graph.num_nodes, rng)
    assume(kink_margin(lambda: cell(x, h, block)) > SAFE)
    leaves = {**dict(cell.named_parameters()), "x": x, "h": h}
    check_leaves(f"{kind}, {variant}", lambda: cell(x, h, block), leaves, rng)


@BOTH_VARIANTS
def test_what_is_seen_of_many_steps_at_once_is_what_is_seen_step_by_step(variant):
    rng = np.random.default_rng(0)
    cell = make("gaan", variant, rng)
    copies = GraphCopies(CSRGraph.from_edges([0, 1, 2], [1, 2, 0], 4, duplicates="merge"))
    steps = rng.standard_normal((3, 8, IN_DIM))  # two sequences of three steps
    at_once = cell.ready().see(Tensor(steps.reshape(-1, IN_DIM)), copies.block(6))
    for t, x in enumerate(steps):
        for one, many in zip(cell.ready().see(Tensor(x), copies.block(2)), at_once, strict=True):
            assert_allclose(many.data[8 * t : 8 * (t + 1)], one.data, rtol=1e-12)


def test_the_paper_counts_six_aggregators_and_the_released_code_two():
    rng = np.random.default_rng(0)
    for variant, count in (("paper", 3), ("released", 1)):
        cell = make("gaan", variant, rng)
        assert (len(cell.of_input), len(cell.of_state)) == (count, count)
        assert cell.of_state[0].output.weight.shape[1] == 3 * OUT_DIM // count


@given(graph=graphs(max_nodes=5, max_edges=12))
def test_copies_of_a_graph_do_not_see_each_other_and_are_built_once(graph):
    copies = GraphCopies(graph)
    block, single = copies.block(3), graph.full_block()
    assert copies.block(3) is block
    assert (block.num_dst, block.num_edges) == (3 * graph.num_nodes, 3 * graph.num_edges)
    for c in range(3):
        for i in range(graph.num_nodes):
            row = c * graph.num_nodes + i
            found = block.indices[block.indptr[row] : block.indptr[row + 1]]
            expected = single.indices[single.indptr[i] : single.indptr[i + 1]]
            assert_array_equal(found, expected + c * graph.num_nodes)
