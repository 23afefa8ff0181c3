"""Gates and entropies of chosen nodes, gathered while a model goes over a graph."""

import json

import layer_reference as reference
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from small_run import resumed_run, run_until, small_dataset, small_run, small_settings

from gaancore.data import VALIDATION
from gaancore.graph import Block, CSRGraph
from gaancore.models.node_classifier import NodeClassifier
from gaancore.nn.observe import Seen, observing
from gaancore.tensor import Tensor
from gaancore.training.nodes import inference
from gaancore.training.nodes.build import build_model
from gaancore.training.nodes.heads import values as heads
from gaancore.training.nodes.heads.values import (
    ArcWeights,
    HeadValues,
    attention_entropy,
    gate_values,
    summary,
)
from gaancore.training.nodes.inference import infer, infer_sampled

FEATURES, CLASSES = 3, 4


def network(**changes) -> NodeClassifier:
    return build_model(small_settings(**changes), FEATURES, CLASSES).astype("float64")


def graph_with_a_lonely_node() -> CSRGraph:
    """Degrees 0 to 9: node 11 has no neighbour, node 0 is the hub."""
    rng = np.random.default_rng(3)
    src, dst = rng.integers(11, size=(2, 30))
    both = np.concatenate([src, dst]), np.concatenate([dst, src])
    return CSRGraph.from_edges(*both, 12, duplicates="merge")


class Attends:
    """A layer with one head, or more, whose weights are given."""

    def __init__(self, weights: np.ndarray) -> None:
        self.given = weights
        self.num_heads = weights.shape[1]

    def weights(self, x: Tensor, z: Tensor, block: Block) -> Tensor:
        """Edge e of the block they were given for has z = e."""
        return Tensor(self.given[z.data[block.indices, 0].astype(int)])


def entropy(indptr: list[int], weights: np.ndarray, rows: list[int]) -> np.ndarray:
    edges = len(weights)
    block = Block(indptr, np.arange(edges), max(edges, len(indptr) - 1))
    z = Tensor(np.arange(block.num_src, dtype=float)[:, None])
    seen = Seen(Attends(weights), Tensor(np.zeros((block.num_dst, 1))), z, block, None)
    return attention_entropy(seen, np.array(rows, np.int64))


def test_entropy_is_1_for_equal_weights_0_for_one_neighbour_alone_and_by_hand_between():
    weights = np.array([[1 / 3, 1.0], [1 / 3, 0.0], [1 / 3, 0.0], [0.25, 0.9], [0.75, 0.1]])
    found = entropy([0, 3, 5], weights, [0, 1])
    of_quarter = -(0.25 * np.log(0.25) + 0.75 * np.log(0.75)) / np.log(2)
    assert_allclose(found, [[1, 0], [of_quarter, 0.468995593589281]], rtol=1e-12)


def test_nodes_with_fewer_than_two_neighbours_have_no_entropy():
    found = entropy([0, 0, 1, 3], np.array([[1.0], [0.5], [0.5]]), [2, 0, 1])
    assert_array_equal(found, [[1], [np.nan], [np.nan]])
    assert np.isnan(entropy([0, 0], np.zeros((0, 2)), [0])).all()
    assert entropy([0, 0], np.zeros((0, 2)), []).shape == (0, 2)


@pytest.mark.parametrize("variant", ["paper", "released"])
@pytest.mark.parametrize("num_heads", [1, 2])
@pytest.mark.parametrize("edges", [1, 7, 1000])
def test_what_is_gathered_layer_by_layer_is_what_the_equations_say_of_each_node(
    monkeypatch, variant, num_heads, edges
):
    monkeypatch.setattr(heads, "EDGES_AT_A_TIME", edges)
    monkeypatch.setattr(inference, "EDGES_AT_A_TIME", 11)
    graph, model = graph_with_a_lonely_node(), network(variant=variant, num_heads=num_heads)
    x = np.random.default_rng(0).standard_normal((12, FEATURES))
    nodes = np.array([11, 3, 0, 7])
    gates = HeadValues(nodes, 12, gate_values)
    entropies = HeadValues(nodes, 12, attention_entropy)
    with observing(lambda seen: (gates(seen), entropies(seen))):
        infer(model, graph, x, nodes)

    h, block = reference.fc(model.embed, x), graph.full_block()
    assert len(gates.layers) == len(entropies.layers) == 2
    for layer, gate, entropy in zip(model.layers, gates.layers, entropies.layers, strict=True):
        for place, node in enumerate(nodes):
            near = reference.neighbours(block, h, node)
            expected = reference.gate(layer.gate, variant, h[node], near)
            assert_allclose(gate[place], expected, rtol=1e-9)
            for k in range(num_heads):
                if len(near) < 2:
                    assert np.isnan(entropy[place, k])
                    continue
                query = reference.head(reference.fc(layer.query, h[node]), k, num_heads)
                keys = reference.head(reference.fc(layer.key, near), k, num_heads)
                w = reference.softmax(keys @ query * layer.scale)
                expected = -sum(p * np.log(p) for p in w) / np.log(len(near))
                assert_allclose(entropy[place, k], expected, rtol=1e-9)
        h = reference.aggregate("gaan", layer, variant, h, h, block)


def test_a_sampled_pass_measures_each_node_once_in_each_layer():
    graph, model = graph_with_a_lonely_node(), network()
    x = np.random.default_rng(0).standard_normal((12, FEATURES))
    nodes = np.arange(0, 12, 2)
    gates = HeadValues(nodes, 12, gate_values)
    with observing(gates):
        infer_sampled(model, graph, x, nodes, (2, 2), batch_size=2, seed=0, prefetch=2)
    assert [values.shape for values in gates.layers] == [(6, 2), (6, 2)]
    assert all(((values > 0) & (values < 1)).all() for values in gates.layers)


def test_on_a_device_the_same_is_gathered(device):
    graph, model = graph_with_a_lonely_node(), network().astype("float32")
    x = np.random.default_rng(0).standard_normal((12, FEATURES)).astype(np.float32)
    nodes, found = np.arange(12), []
    for where in ("cpu", device):
        model.to(where)
        both = [HeadValues(nodes, 12, measure) for measure in (gate_values, attention_entropy)]
        with observing(lambda seen, both=both: [one(seen) for one in both]):
            infer(model, graph, x, nodes)
        weights = ArcWeights(graph, nodes)
        with observing(weights):
            infer(model, graph, x, nodes)
        found.append([values for one in (*both, weights) for values in one.layers])
    for here, there in zip(*found, strict=True):
        assert_allclose(there, here, rtol=1e-4)


def test_models_without_gates_have_none():
    graph, x = graph_with_a_lonely_node(), np.ones((12, FEATURES))
    for model in ("attention", "max-pool", "fnn"):
        gates = HeadValues(np.arange(12), 12, gate_values)
        with observing(gates):
            infer(network(model=model), graph, x, np.arange(12))
        assert gates.layers == []


def test_the_log_of_a_gaan_says_how_open_its_gates_were_at_each_validation(tmp_path):
    run = small_run(tmp_path)
    run.train()
    log = run.folder.read_log()
    assert len(log) == 3
    run.load_best()
    best = max(i for i, line in enumerate(log) if line["best"])
    view, _ = small_dataset().view(VALIDATION)
    h, block = reference.fc(run.model.embed, view.features), view.graph.full_block()
    for layer, line in zip(run.model.layers, log[best]["gates"], strict=True):
        values = [
            reference.gate(layer.gate, "released", h[i], reference.neighbours(block, h, i))
            for i in view.nodes(VALIDATION)
        ]
        assert_allclose(line["mean"], np.mean(values, axis=0), atol=2e-6)
        assert_allclose(line["std"], np.std(values, axis=0), atol=2e-6)
        h = reference.aggregate("gaan", layer, "released", h, h, block)
    small_run(tmp_path / "other", model="attention").train()
    text = (tmp_path / "other" / "log.jsonl").read_text(encoding="utf-8")
    assert "gates" not in text


@pytest.mark.parametrize("eval_fanouts", [(-1,), (3, 2)])
def test_a_resumed_run_logs_the_same_gates(tmp_path, eval_fanouts):
    changes = {"eval_fanouts": eval_fanouts, "fanouts": (3, 2)}
    small_run(tmp_path / "straight", **changes).train()
    run_until(small_run(tmp_path / "parts", **changes), 7)
    resumed_run(tmp_path / "parts", **changes).train()
    logs = [small_log(tmp_path / name) for name in ("straight", "parts")]
    assert logs[0] == logs[1]
    assert len(logs[0]) == 3


def small_log(folder) -> list:
    lines = (folder / "log.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["gates"] for line in lines]


def test_the_summary_is_mean_and_deviation_over_the_nodes():
    (line,) = summary([np.array([[0.25, 0.5], [0.75, 0.5]])])
    assert line == {"mean": [0.5, 0.5], "std": [0.25, 0.0]}
