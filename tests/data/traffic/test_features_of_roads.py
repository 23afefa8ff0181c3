"""What is known of the roads, as features of their arcs, and how a forecaster reads them."""

from dataclasses import replace

import numpy as np
import pytest

import gaancore
from gaancore.data import load_metr_la, synthetic_traffic
from gaancore.data.traffic.roads import road_weights
from gaancore.errors import DataError
from gaancore.training.traffic.forecaster import roads, with_known_features
from gaancore.training.traffic.settings import ForecastSettings


@pytest.fixture
def folder(tmp_path):
    np.savez(tmp_path / "speeds.npz", speed=np.ones((4, 3)), sensor_ids=["a", "b", "c"])
    return tmp_path


def features(data) -> dict[tuple[str, str], list[float]]:
    src, dst = data.graph.edges()
    ids = np.array(data.sensor_ids)
    pairs = zip(ids[src].tolist(), ids[dst].tolist(), strict=True)
    return dict(zip(pairs, data.graph.edge_attr.tolist(), strict=True))


def test_a_matrix_gives_the_weight_and_whether_a_road_is_driven_so(folder):
    np.savetxt(folder / "adj.csv", [[0, 0.5, 0], [0.25, 0, 0.75], [0, 0, 0]], delimiter=",")
    data = load_metr_la(folder / "speeds.npz", start="2012-03-01")
    assert data.edge_names == ("weight", "own direction")
    assert features(data) == {
        ("a", "b"): [0.5, 1], ("b", "a"): [0.25, 1], ("b", "c"): [0.75, 1], ("c", "b"): [0.75, 0]
    }  # fmt: skip
    one_way = load_metr_la(folder / "speeds.npz", start="2012-03-01", graph_kind="directed")
    assert one_way.edge_names == ("weight",)
    assert ("c", "b") not in features(one_way)


def test_a_feature_that_all_arcs_have_alike_is_told(folder):
    """As of a matrix that has every road both ways, and weights of 1."""
    np.savetxt(folder / "adj.csv", [[0, 1, 0], [1, 0, 1], [0, 1, 0]], delimiter=",")
    data = load_metr_la(folder / "speeds.npz", start="2012-03-01")
    told = [note for note in data.notes if "of no use" in note]
    assert told == [
        f"graph: {name} is the same on every arc, so of no use"
        for name in ("weight", "own direction")
    ]
    np.savetxt(folder / "adj.csv", [[0, 1, 0], [0.5, 0, 1], [0, 0, 0]], delimiter=",")
    data = load_metr_la(folder / "speeds.npz", start="2012-03-01")
    assert not any("of no use" in note for note in data.notes)


def test_lengths_of_roads_are_features_beside_their_weights(folder):
    (folder / "distances.csv").write_text("from,to,cost\na,b,100\nb,a,150\nb,c,120\na,c,9000\n")
    data = load_metr_la(folder / "speeds.npz", graph=folder / "distances.csv", start="2012-03-01")
    assert data.edge_names == ("distance", "weight", "own direction")
    weights = road_weights(np.array([100.0, 150, 120, 9000])).tolist()
    found = features(data)
    assert found["a", "b"] == [100, weights[0], 1]
    assert found["c", "b"] == [120, weights[2], 0]
    assert ("a", "c") not in found


def test_a_forecaster_reads_what_is_named_standardised(folder):
    np.savetxt(folder / "adj.csv", [[0, 0.5, 0], [0.25, 0, 0.75], [0, 0, 0]], delimiter=",")
    data = load_metr_la(folder / "speeds.npz", start="2012-03-01")
    settings = with_known_features(ForecastSettings(edge_features="auto"), data)
    assert settings.edge_features == "weight,own direction"
    rows = roads(data, settings.edge_features).edge_attr
    assert rows.dtype == np.float32
    np.testing.assert_allclose(rows.mean(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(rows.std(axis=0), 1, atol=1e-6)
    assert roads(data, "none").edge_attr is None
    with pytest.raises(DataError, match="edge_features: no column 'distance'; there are weight"):
        roads(data, "distance")
    bare = replace(data, graph=data.graph.with_edge_attr(None), edge_names=())
    assert with_known_features(ForecastSettings(edge_features="auto"), bare).edge_features == "none"


def test_a_run_on_roads_with_features_trains_and_opens_again(tmp_path):
    data = synthetic_traffic(num_days=2)
    weights = np.linspace(0.1, 1, data.graph.num_edges)[:, None]
    data = replace(data, graph=data.graph.with_edge_attr(weights), edge_names=("weight",))
    sizes = {"hidden_dim": 4, "num_layers": 1, "num_heads": 1, "history": 3, "horizon": 2}
    told = {"epochs": 1, "verbose": False, "edge_features": "auto", "model": "max-pool"}
    run = gaancore.train(data, out=tmp_path / "run", **sizes, **told)
    assert any(name.endswith("edge_weight") for name in run.forecaster.model.state())
    first = run.evaluate(["test"])["test"]
    again = gaancore.open_run(tmp_path / "run").evaluate(["test"], data=data)["test"]
    assert again == first
