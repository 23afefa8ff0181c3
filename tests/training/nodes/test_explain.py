"""Gates, attention weights and embeddings of a run, against the equations node by node."""

from dataclasses import replace

import layer_reference as reference
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from small_reddit import small_reddit_run
from small_run import small_dataset, small_run

from gaancore.data.nodes.inputs import NodeInputs, inputs_of
from gaancore.errors import DataError, SettingsError
from gaancore.graph import CSRGraph
from gaancore.tasks import open_run
from gaancore.training.nodes import inference
from gaancore.training.nodes.heads import values as heads
from gaancore.training.nodes.heads.explain import arc_attention, node_gates
from gaancore.training.nodes.predict import Classifier


def trained(folder, make=small_run, **changes) -> Classifier:
    run = make(folder, epochs=1, **changes)
    run.train()
    return open_run(run.folder.path).classifier


@pytest.fixture(scope="module", params=[("paper", 2), ("released", 2), ("released", 1)],
                ids=["paper", "released", "one head"])  # fmt: skip
def gaan(request, tmp_path_factory) -> Classifier:
    variant, num_heads = request.param
    folder = tmp_path_factory.mktemp("gaan")
    return trained(folder, variant=variant, num_heads=num_heads, normalize="standard")


def new_graph() -> NodeInputs:
    """Nodes with names and neither labels nor a split; `lonely` has no neighbour."""
    src, dst = np.array([[0, 1], [1, 0], [1, 3], [3, 1], [3, 3], [3, 4], [4, 3], [0, 3], [3, 0]]).T
    names = np.array(["hub", "b", "lonely", "d", "leaf"])
    x = np.random.default_rng(5).standard_normal((5, 6)).astype(np.float32)
    return NodeInputs(
        "new.npz", CSRGraph.from_edges(src, dst, 5, duplicates="keep"), x, names, None, ()
    )


def inputs_of_layers(classifier: Classifier, inputs: NodeInputs) -> list[np.ndarray]:
    """h_0, h_1, ..., h_L of every node, in float64."""
    model, s = classifier.model, classifier.settings
    h = reference.fc(model.embed, (inputs.features - classifier.mean) / classifier.scale)
    states = [h]
    for layer in model.layers:
        h = reference.aggregate(s.model, layer, s.variant, h, h, inputs.graph.full_block())
        states.append(h)
    return states


def weights_by_hand(layer, variant: str, x_i: np.ndarray, near: np.ndarray) -> np.ndarray:
    """(|N_i|, K) of one node."""
    K = layer.num_heads
    scale = 1 if variant == "paper" else K / layer.key.bias.shape[0]
    columns = []
    for k in range(K):
        query = reference.head(reference.fc(layer.query, x_i), k, K)
        keys = reference.head(reference.fc(layer.key, near), k, K)
        columns.append(reference.softmax(np.array([scale * key @ query for key in keys])))
    return np.array(columns).T


@pytest.mark.parametrize("inputs", [inputs_of(small_dataset()), new_graph()], ids=["own", "new"])
def test_gates_are_those_of_the_equation_also_without_neighbours_and_in_any_order(gaan, inputs):
    degrees = inputs.graph.degrees
    assert (degrees == 0).any()
    rows = np.random.default_rng(1).permutation(degrees.size)
    found = node_gates(gaan, inputs, rows)
    assert list(found) == [1, 2]
    states, block = inputs_of_layers(gaan, inputs), inputs.graph.full_block()
    for number, layer in enumerate(gaan.model.layers, start=1):
        assert found[number].dtype == np.float32
        h = states[number - 1]
        for row, gates in zip(rows, found[number], strict=True):
            near = reference.neighbours(block, h, row)
            expected = reference.gate(layer.gate, gaan.settings.variant, h[row], near)
            assert_allclose(gates, expected, rtol=2e-4)


@pytest.mark.parametrize("edges", [1, 7, 1_000_000])
def test_weights_are_a_softmax_over_the_arcs_into_each_chosen_node(gaan, monkeypatch, edges):
    monkeypatch.setattr(heads, "EDGES_AT_A_TIME", edges)
    monkeypatch.setattr(inference, "EDGES_AT_A_TIME", 11)
    inputs = inputs_of(small_dataset())
    graph, states = inputs.graph, inputs_of_layers(gaan, inputs)
    degrees = graph.degrees
    lonely = np.flatnonzero(degrees == 0)[0]
    rows = np.array([71, lonely, 3, int(degrees.argmax()), 20])
    found = arc_attention(gaan, inputs, rows)
    arcs = [(i, j) for i in rows for j in graph.indices[graph.indptr[i] : graph.indptr[i + 1]]]
    assert list(zip(found.targets, found.sources, strict=True)) == arcs
    assert lonely not in found.targets
    for number, layer in enumerate(gaan.model.layers, start=1):
        weights, h = found.layers[number], states[number - 1]
        assert weights.dtype == np.float32
        assert weights.shape == (len(arcs), layer.num_heads)
        for i in set(rows) - {lonely}:
            of_node = weights[found.targets == i]
            near = h[found.sources[found.targets == i]]
            assert_allclose(of_node.sum(axis=0, dtype=np.float64), 1, atol=1e-6)
            expected = weights_by_hand(layer, gaan.settings.variant, h[i], near)
            assert_allclose(of_node, expected, rtol=2e-4)


def test_one_layer_alone_is_the_same_and_needs_no_later_one(gaan, monkeypatch):
    inputs, rows = new_graph(), np.array([4, 0, 3])
    gates, weights = node_gates(gaan, inputs, rows), arc_attention(gaan, inputs, rows)
    computed = []
    layer_of = type(gaan.model).layer

    def counted(self, number, *args):
        computed.append(number)
        return layer_of(self, number, *args)

    monkeypatch.setattr(type(gaan.model), "layer", counted)
    for number in (1, 2):
        computed.clear()
        alone = node_gates(gaan, inputs, rows, number)
        assert list(alone) == [number]
        assert_array_equal(alone[number], gates[number])
        alone = arc_attention(gaan, inputs, rows, number).layers
        assert list(alone) == [number]
        assert_array_equal(alone[number], weights.layers[number])
        assert max(computed) == number - 1


def test_attention_without_gates_has_weights_and_layers_may_have_other_numbers_of_heads(tmp_path):
    attention = trained(tmp_path / "a", small_reddit_run, model="attention", first_heads=1)
    inputs = inputs_of(small_dataset())
    found = arc_attention(attention, inputs, np.arange(120))
    assert found.targets.size == inputs.graph.num_edges
    assert [found.layers[number].shape[1] for number in (1, 2)] == [1, 2]
    states = inputs_of_layers(attention, inputs)
    for number, layer in enumerate(attention.model.layers, start=1):
        for i in (5, 66):
            near = states[number - 1][found.sources[found.targets == i]]
            expected = weights_by_hand(layer, "released", states[number - 1][i], near)
            assert_allclose(found.layers[number][found.targets == i], expected, rtol=2e-4)
    with pytest.raises(SettingsError, match=r"a: attention has no gates, which only gaan has$"):
        node_gates(attention, inputs, np.arange(3))


def test_a_graph_without_edges_has_gates_and_no_weights(gaan):
    alone = replace(new_graph(), graph=CSRGraph.from_edges([], [], 5, duplicates="keep"))
    found = arc_attention(gaan, alone, np.arange(5))
    assert found.targets.size == found.sources.size == 0
    assert [w.shape for w in found.layers.values()] == [(0, gaan.settings.num_heads)] * 2
    gates = node_gates(gaan, alone, np.arange(5))
    assert all(np.isfinite(values).all() for values in gates.values())


@pytest.mark.parametrize("model", ["max-pool", "avg-pool", "pairwise-sigmoid", "fnn"])
def test_what_has_no_attention_is_refused_by_name(tmp_path, model):
    classifier, inputs = trained(tmp_path, model=model), new_graph()
    with pytest.raises(SettingsError, match=f": {model} has no gates, which only gaan has$"):
        node_gates(classifier, inputs, np.arange(2))
    with pytest.raises(SettingsError, match=f": {model} has no attention weights, which only gaan"):
        arc_attention(classifier, inputs, np.arange(2))


def test_another_layer_or_other_features_are_refused(gaan):
    inputs, rows = new_graph(), np.arange(2)
    narrow = replace(inputs, features=np.ascontiguousarray(inputs.features[:, 1:]))
    for look in (node_gates, arc_attention):
        for layer in (0, 3, -1):
            expected = f"layer: expected a hidden layer of the model, 1 to 2, got {layer}$"
            with pytest.raises(SettingsError, match=expected):
                look(gaan, inputs, rows, layer)
        with pytest.raises(DataError, match=r"trained on 6 a node, here are 5$"):
            look(gaan, narrow, rows)
    with pytest.raises(SettingsError, match=r"1 to 2, got 3$"):
        gaan.embeddings(inputs, 3)


@pytest.mark.parametrize("inputs", [inputs_of(small_dataset()), new_graph()], ids=["own", "new"])
def test_embeddings_are_the_states_between_the_layers_and_give_the_logits(gaan, inputs):
    states = inputs_of_layers(gaan, inputs)
    for number in (1, 2):
        assert_allclose(gaan.embeddings(inputs, number), states[number], rtol=2e-4, atol=2e-5)
    last = gaan.embeddings(inputs)
    assert_array_equal(last, gaan.embeddings(inputs, 2))
    logits = reference.fc(gaan.model.head, last.astype(np.float64))
    assert_allclose(gaan.logits(inputs), logits, atol=1e-6)


def test_the_network_without_a_graph_has_two_hidden_layers(tmp_path):
    fnn, inputs = trained(tmp_path, model="fnn"), new_graph()
    first = np.maximum(reference.fc(fnn.model.embed, inputs.features), 0)
    second = np.maximum(reference.fc(fnn.model.hidden, first), 0)
    assert_allclose(fnn.embeddings(inputs, 1), first, rtol=1e-4, atol=1e-6)
    assert_allclose(fnn.embeddings(inputs), second, rtol=1e-4, atol=1e-6)
    logits = reference.fc(fnn.model.head, fnn.embeddings(inputs).astype(np.float64))
    assert_allclose(fnn.logits(inputs), logits, atol=1e-6)


def test_a_node_that_is_named_twice_has_its_numbers_twice_in_the_order_asked(gaan):
    inputs = inputs_of(small_dataset())
    rows = np.array([30, 5, 30, 71, 5])
    once = {row: node_gates(gaan, inputs, np.array([row])) for row in (5, 30, 71)}
    for number, gates in node_gates(gaan, inputs, rows).items():
        assert_allclose(gates, [once[row][number][0] for row in rows], rtol=1e-5)
    found, graph = arc_attention(gaan, inputs, rows), inputs.graph
    arcs = [(i, j) for i in rows for j in graph.indices[graph.indptr[i] : graph.indptr[i + 1]]]
    assert list(zip(found.targets, found.sources, strict=True)) == arcs
    for weights in found.layers.values():
        start = 0
        for row in rows:
            degree = graph.degrees[row]
            if degree:
                assert_allclose(weights[start : start + degree].sum(axis=0), 1, rtol=1e-5)
            start += degree
    first, again = (np.flatnonzero(found.targets == 30)[part] for part in
                    (slice(None, graph.degrees[30]), slice(graph.degrees[30], None)))  # fmt: skip
    for weights in found.layers.values():
        assert_array_equal(weights[first], weights[again])
