"""Layer by layer in chunks, against one pass of the model over the whole graph."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from small_run import small_dataset, small_settings
from strategies import graphs, seeds

from gaancore.data import TEST
from gaancore.graph import CSRGraph
from gaancore.models.node_classifier import MODELS, NodeClassifier
from gaancore.system import mapped
from gaancore.tensor import Tensor
from gaancore.training.nodes import inference
from gaancore.training.nodes.build import build_model
from gaancore.training.nodes.inference import infer, infer_hidden

FEATURES, CLASSES = 3, 4
EVERY_MODEL = pytest.mark.parametrize("model", MODELS)


def network(model: str, fanouts=(-1, -1)):
    built = build_model(small_settings(model=model, fanouts=fanouts), FEATURES, CLASSES)
    return built.astype("float64")


def hidden_in_one_pass(model, graph: CSRGraph, x: np.ndarray, layer: int) -> np.ndarray:
    h = model.embed(Tensor(x))
    if model.num_steps == 0:
        return (h if layer == 1 else model.hidden(h)).data
    for aggregator in model.layers[:layer]:
        h = aggregator(h, h, graph.full_block())
    return h.data


def in_one_pass(model, graph: CSRGraph, x: np.ndarray) -> np.ndarray:
    return model(Tensor(x), [graph.full_block()] * model.num_steps).data


@EVERY_MODEL
@given(graph=graphs(max_nodes=9, max_edges=30), edges=st.integers(1, 12), rows=st.integers(1, 4),
       numbers=st.integers(1, 2000), large=st.sampled_from([1, 300, 1 << 20]),
       layers=st.integers(1, 3), seed=seeds())  # fmt: skip
def test_chunks_of_any_size_give_what_one_pass_over_the_graph_gives(
    model, graph, edges, rows, numbers, large, layers, seed
):
    rng = np.random.default_rng(seed)
    built, x = network(model, (-1,) * layers), rng.standard_normal((graph.num_nodes, FEATURES))
    nodes = rng.permutation(graph.num_nodes)[: graph.num_nodes // 2 + 1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inference, "EDGES_AT_A_TIME", edges)
        patch.setattr(inference, "ROWS_AT_A_TIME", rows)
        patch.setattr(inference, "NUMBERS_AT_A_TIME", numbers)
        patch.setattr(mapped, "LARGE", large)  # bytes from which outputs go to files
        logits = infer(built, graph, x, nodes)
        hidden = [
            infer_hidden(built, graph, x, nodes, number + 1) for number in range(built.num_layers)
        ]
    assert_allclose(logits, in_one_pass(built, graph, x)[nodes], rtol=1e-9, atol=1e-12)
    assert len(hidden) == (2 if model == "fnn" else layers)
    for number, h in enumerate(hidden, start=1):
        expected = hidden_in_one_pass(built, graph, x, number)[nodes]
        assert_allclose(h, expected, rtol=1e-9, atol=1e-12)


@EVERY_MODEL
def test_isolated_nodes_and_a_graph_without_edges_get_finite_outputs(model):
    graph = CSRGraph.from_edges([], [], 5, duplicates="keep")
    x = np.random.default_rng(0).standard_normal((5, FEATURES))
    built = network(model)
    logits = infer(built, graph, x, np.array([4, 0]))
    assert np.isfinite(logits).all()
    assert_allclose(logits, in_one_pass(built, graph, x)[[4, 0]], rtol=1e-9)


@EVERY_MODEL
def test_no_nodes_at_all_get_no_outputs(model):
    graph = CSRGraph.from_edges([0], [1], 3, duplicates="keep")
    nobody = np.zeros(0, np.int64)
    assert infer(network(model), graph, np.ones((3, FEATURES)), nobody).shape == (0, CLASSES)


def test_nothing_is_dropped_and_nothing_recorded():
    built = build_model(small_settings(dropout=0.9, attention_dropout=0.9), FEATURES, CLASSES)
    graph = CSRGraph.from_edges([0, 1, 2], [1, 2, 0], 3, duplicates="keep")
    x, nodes = np.ones((3, FEATURES), np.float32), np.arange(3)
    assert (infer(built, graph, x, nodes) == infer(built, graph, x, nodes)).all()
    assert all(parameter.grad is None for parameter in built.parameters())


def test_no_chunk_has_more_edges_or_rows_than_the_limits_unless_one_node_alone_has(monkeypatch):
    star = [(0, i) for i in range(1, 40)] + [(i, 0) for i in range(1, 40)]
    ring = [(i, i + 1) for i in range(1, 39)]
    src, dst = np.array(star + ring).T
    graph = CSRGraph.from_edges(src, dst, 60, duplicates="keep")  # node 0 gathers 39, 40.. none
    met = []
    original = CSRGraph.block_of

    def block_of(self, dst_ids):
        block = original(self, dst_ids)
        met.append((block.num_dst, block.num_edges))
        return block

    monkeypatch.setattr(CSRGraph, "block_of", block_of)
    monkeypatch.setattr(inference, "EDGES_AT_A_TIME", 10)
    monkeypatch.setattr(inference, "ROWS_AT_A_TIME", 7)
    infer(network("avg-pool"), graph, np.ones((60, FEATURES)), np.arange(60))
    assert (1, 39) in met
    assert all(rows <= 7 and (edges <= 10 or rows == 1) for rows, edges in met)
    assert len(met) < 4 * 60  # and the chunks are not all single nodes


def test_a_block_has_no_more_sources_than_fit_unless_one_node_alone_has(monkeypatch):
    src, dst = np.random.default_rng(0).integers(300, size=(2, 3000))
    graph = CSRGraph.from_edges(src, dst, 300, duplicates="merge")
    met = []
    original = NodeClassifier.layer

    def layer(self, number, h, block, seed=None):
        met.append((block.num_dst, block.num_src))
        return original(self, number, h, block, seed)

    monkeypatch.setattr(NodeClassifier, "layer", layer)
    built, x = network("avg-pool"), np.ones((300, FEATURES))
    expected = infer(built, graph, x, np.arange(300))
    assert met == [(300, 300)] * 2
    met.clear()
    # a source has its own 4 or 6 numbers, 4 that are pooled, and 6 that come out
    monkeypatch.setattr(inference, "NUMBERS_AT_A_TIME", 60 * 16)
    assert_allclose(infer(built, graph, x, np.arange(300)), expected, rtol=1e-9)
    assert 20 < max(sources for _, sources in met) <= 60 * 16 // 14
    assert sum(rows for rows, _ in met) == 600


def test_the_scored_nodes_get_the_same_from_their_view_as_from_batches_of_all_neighbours():
    dataset = small_dataset()
    view, _ = dataset.view(TEST)
    built = build_model(small_settings(), dataset.num_features, dataset.num_classes)
    nodes = view.nodes(TEST)
    inner = view.graph.block_of(nodes)
    outer = view.graph.block_of(inner.src_ids)
    expected = built(Tensor(view.features[outer.src_ids]), [outer, inner]).data
    logits = infer(built, view.graph, view.features, nodes)
    assert_allclose(logits, expected, rtol=1e-4, atol=1e-5)
