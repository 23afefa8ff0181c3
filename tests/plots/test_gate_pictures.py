"""The gates of test nodes: facts against the equations, pictures against the facts."""

from pathlib import Path
from typing import Any

import layer_reference as reference
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sketches import sketch
from small_run import resumed_run, small_dataset, small_run

from gaancore.data import TEST, NodeDataset
from gaancore.errors import SettingsError
from gaancore.plots import gates as gate_figures
from gaancore.tasks import open_run
from gaancore.training.nodes.heads.of_test import HeadsOfTest, look_at_heads


@pytest.fixture
def unpainted(monkeypatch) -> None:
    """Pictures are files without content."""
    monkeypatch.setattr(gate_figures, "save_figure", sketch)


PICTURES = ("gates-of-nodes", "gates-by-head", "attention-entropy", "gates-in-training")


@pytest.fixture(scope="module", params=["paper", "released"])
def run(request, tmp_path_factory):
    """A finished run, scored on drawn neighbourhoods and shown on whole ones."""
    folder = tmp_path_factory.mktemp(request.param) / "run"
    small_run(folder, variant=request.param, eval_fanouts=(3, 2), fanouts=(3, 2)).train()
    return folder


def heads_of(folder: Path, data: NodeDataset) -> HeadsOfTest:
    """What the heads of a finished run do."""
    return look_at_heads(open_run(folder, "cpu").classifier, data)


def pictures_of(folder: Path, data: NodeDataset, out: Path, **options: Any) -> dict[str, Any]:
    """Its pictures in `out`, and their facts."""
    log = open_run(folder, "cpu").log
    return gate_figures.gate_pictures(heads_of(folder, data), log, out, **options)


def gates_by_hand(folder, data) -> list[np.ndarray]:
    """(test nodes, K) of each layer, node by node, from the best weights."""
    settings = open_run(folder).settings
    again = resumed_run(folder, variant=settings.variant)
    again.load_best()
    h, block = reference.fc(again.model.embed, data.features), data.graph.full_block()
    layers = []
    for layer in again.model.layers:
        layers.append(
            np.array(
                [
                    reference.gate(
                        layer.gate, settings.variant, h[i], reference.neighbours(block, h, i)
                    )
                    for i in data.nodes(TEST)
                ]
            )
        )
        h = reference.aggregate("gaan", layer, settings.variant, h, h, block)
    return layers


def test_the_facts_are_those_of_the_best_weights_over_whole_neighbourhoods(run, tmp_path):
    data = small_dataset()
    facts = pictures_of(run, data, tmp_path)
    assert facts["test_nodes"] == data.nodes(TEST).size
    assert facts["data"] == "real"
    for layer, gates in zip(facts["layers"], gates_by_hand(run, data), strict=True):
        assert layer["std_over_heads"] == pytest.approx(gates.std(axis=1).mean(), abs=2e-6)
        for head, values in zip(layer["heads"], gates.T, strict=True):
            assert head["mean"] == pytest.approx(values.mean(), abs=2e-6)
            assert head["std"] == pytest.approx(values.std(), abs=2e-6)
            assert head["share_closed"] == pytest.approx((values < 0.1).mean(), abs=1e-6)
            assert head["share_open"] == pytest.approx((values > 0.9).mean(), abs=1e-6)
            assert 0 < head["entropy_mean"] <= 1
    assert facts["files"] == [f"{name}.{kind}" for name in PICTURES for kind in ("png", "svg")]
    assert {path.name for path in tmp_path.iterdir()} == set(facts["files"])


def test_the_nodes_shown_are_test_nodes_over_all_degrees_and_always_the_same(
    run, tmp_path, unpainted
):
    data = small_dataset()
    degrees = data.graph.degrees
    nodes = pictures_of(run, data, tmp_path)["nodes"]
    assert len(nodes) == len({node["row"] for node in nodes}) == 16
    assert {node["row"] for node in nodes} <= set(data.nodes(TEST).tolist())
    assert [node["degree"] for node in nodes] == [degrees[node["row"]] for node in nodes]
    shown, of_test = [node["degree"] for node in nodes], degrees[data.nodes(TEST)]
    assert shown == sorted(shown)
    assert (shown[0], shown[-1]) == (of_test.min(), of_test.max())
    assert pictures_of(run, data, tmp_path)["nodes"] == nodes


def test_chosen_nodes_are_shown_with_their_own_gates(run, tmp_path, unpainted):
    data = small_dataset()
    chosen = data.nodes(TEST)[[4, 1, 9]].tolist()
    facts = pictures_of(run, data, tmp_path, nodes=chosen)
    assert sorted(node["row"] for node in facts["nodes"]) == sorted(chosen)
    heads = heads_of(run, data)
    figure = gate_figures.of_nodes(heads, heads.positions(chosen))
    rows = [node["row"] for node in facts["nodes"]]
    places = np.searchsorted(data.nodes(TEST), rows)
    for axes, gates in zip(figure.axes, gates_by_hand(run, data), strict=False):
        assert_allclose(axes.images[0].get_array(), gates[places], atol=1e-5)
        numbers = [float(text.get_text()) for text in axes.texts]
        assert_allclose(numbers, gates[places].ravel(), atol=0.0051)
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert labels == [f"{node['id']}  ({node['degree']})" for node in facts["nodes"]]


def test_the_papers_picture_has_five_nodes_a_row_each_and_the_gates_of_the_last_layer(run):
    data = small_dataset()
    heads = heads_of(run, data)
    figure = gate_figures.as_in_the_paper(heads, "a look-alike")
    axes = figure.axes[0]
    shown = axes.images[0].get_array()
    assert shown.shape == (5, heads.gates[-1].shape[1])
    ids = [int(label.get_text().split()[0]) for label in axes.get_yticklabels()]
    places = np.searchsorted(data.nodes(TEST), ids)  # ids are rows in this dataset
    assert_allclose(shown, gates_by_hand(run, data)[-1][places], atol=1e-5)
    assert axes.get_title() == "layer 2; a look-alike"
    assert len(figure.axes) == 2  # that panel and the scale of its colours


def test_the_curves_over_training_are_those_of_the_log(run):
    heads = heads_of(run, small_dataset())
    log = open_run(run).log
    figure = gate_figures.in_training(heads, log)
    panels = np.array(figure.axes).reshape(2, 2)
    for layer in range(2):
        for row, name in enumerate(("mean", "std")):
            lines = panels[row, layer].lines[:2]
            drawn = [line.get_ydata() for line in lines]
            assert_array_equal(np.transpose(drawn), [x["gates"][layer][name] for x in log])


def test_a_log_without_gates_leaves_that_picture_out(run, tmp_path, unpainted):
    log = [{"step": 1, "epoch": 1.0, "best": True}]
    files = gate_figures.gate_pictures(heads_of(run, small_dataset()), log, tmp_path)["files"]
    assert "gates-in-training.png" not in files
    assert len(files) == 6


def test_one_head_and_no_neighbours_can_be_drawn(tmp_path):
    nobody = small_dataset(edge_index=np.zeros((2, 0), np.int64))
    small_run(tmp_path / "run", nobody, num_heads=1, first_heads=1, epochs=1).train()
    facts = pictures_of(tmp_path / "run", nobody, tmp_path)
    for layer in facts["layers"]:
        (head,) = layer["heads"]
        assert head["entropy_mean"] is None
        assert 0 < head["mean"] < 1
        assert head["std"] < 1e-6 or layer is not facts["layers"][0]
        assert layer["std_over_heads"] == 0


def test_what_has_no_gates_or_no_such_node_is_refused(run, tmp_path):
    small_run(tmp_path / "pool", model="max-pool", epochs=1).train()
    with pytest.raises(SettingsError, match=r"pool: max-pool of task ppi: only a gaan has gates"):
        pictures_of(tmp_path / "pool", small_dataset(), tmp_path / "out")
    data = small_dataset()
    with pytest.raises(SettingsError, match=r"nodes: 100000 is not the row of a test node"):
        pictures_of(run, data, tmp_path / "out", nodes=[100000])
    assert not (tmp_path / "out").exists()


def test_looking_changes_nothing_in_the_run(run, tmp_path, unpainted):
    before = {path.name: path.read_bytes() for path in run.iterdir()}
    pictures_of(run, small_dataset(), tmp_path)
    assert {path.name: path.read_bytes() for path in run.iterdir()} == before
