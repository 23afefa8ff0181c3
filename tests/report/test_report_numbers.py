"""The numbers of a page are those of the record, of evaluate, predict, explain and forecast."""

import json
import re
from base64 import b64decode
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from small_run import small_dataset, small_run

import gaancore
from gaancore.data.nodes.dataset import TEST
from gaancore.errors import DataError, SettingsError
from gaancore.graph import CSRGraph
from gaancore.report import html, one_node, write
from gaancore.report.compare import compared, groups
from gaancore.report.html import as_json
from gaancore.report.nodes import of_nodes, score
from gaancore.report.roads import by_distance
from gaancore.report.run import recipe_of
from gaancore.report.traffic import of_traffic
from gaancore.training.choices import shipped_recipe
from gaancore.training.nodes.settings import task_settings

DATA = re.compile(r'<script type="application/json" id="data">(.*?)</script>')


def shown(page) -> dict:
    """What a written page holds, read as a browser reads it."""
    (text,) = DATA.findall(page.read_text(encoding="utf-8"))
    return json.loads(text)


def array(packed) -> np.ndarray:
    return np.frombuffer(b64decode(packed["float32"]), "<f4").reshape(packed["shape"])


@pytest.fixture(scope="module")
def nodes(nodes_run, tmp_path_factory) -> dict:
    return shown(write(nodes_run, tmp_path_factory.mktemp("page") / "nodes.html"))


@pytest.fixture(scope="module")
def traffic(traffic_run) -> dict:
    return json.loads(as_json(of_traffic(traffic_run, 0, windows=10_000)))


def test_scores_and_curves_are_those_of_the_record_and_the_log(nodes_run, nodes):
    (run,), record = nodes["runs"], nodes_run.record
    for part in ("test", "validation"):
        assert run["scores"][part] == record[part]
    for guess, found in record["baselines"].items():
        assert run["scores"][f"{guess} on test"] == found
    assert [line["loss"] for line in run["log"]] == [line["loss"] for line in nodes_run.log]
    assert [line["gates"] for line in run["log"]] == [line["gates"] for line in nodes_run.log]
    assert (run["seed"], run["versions"]) == (record["seed"], record["versions"])


@pytest.mark.parametrize("recipe", ["ppi-wide", "few-labels", "small-graph"])
def test_a_run_by_a_shipped_recipe_says_so(recipe):
    settings = task_settings("classes", (recipe, shipped_recipe(recipe)))
    assert recipe_of(settings) == recipe
    assert recipe_of(replace(settings, epochs=7)) is None


def test_classes_are_scored_as_evaluate_does(nodes_run, nodes):
    found = nodes_run.evaluate(["test"], per_class=True)["test"]
    assert nodes["classes"]["ece"] == pytest.approx(found["ece"], abs=1e-6)
    for row, (c, precision, recall, f1, support, ece) in zip(
        found["per_class"], nodes["classes"]["rows"], strict=True
    ):
        assert row["class"] == nodes["classes"]["names"][c]
        assert (precision, recall, f1, support) == tuple(
            row[key] for key in ("precision", "recall", "f1", "support")
        )
        assert ece == pytest.approx(row["ece"], abs=1e-6)


def test_a_node_is_told_as_predict_has_it_and_explained_as_explain_does(nodes_run, nodes):
    one, data = nodes["one"], nodes_run.dataset
    ids = [one["drawn"]["ids"][at] for at in one["nodes"]]
    rows = [data.node_ids.tolist().index(int(name)) for name in ids]
    assert sorted(rows) == data.nodes(TEST).tolist()
    probabilities = nodes_run.predict_proba()
    for row, told in zip(rows, one["told"], strict=True):
        assert {c: np.float32(p) for c, p, _ in told} == dict(enumerate(probabilities[row]))
        assert [true for c, _, true in told] == [c == data.labels[row] for c, _, _ in told]
    for layer, gates in nodes_run.explain(nodes=ids).items():
        assert np.array_equal(array(one["gates"][layer - 1]), gates)
    arcs = nodes_run.explain(what="attention", nodes=ids)
    place = {name: at for at, name in enumerate(one["drawn"]["ids"])}
    starts, sources = one["arcs"]["starts"], np.array(one["arcs"]["sources"])
    for n, row in enumerate(rows):
        mine = slice(starts[n], starts[n + 1])
        there = np.flatnonzero(arcs.targets == row)
        order = [np.flatnonzero(sources[mine] == place[str(data.node_ids[j])])[0]
                 for j in arcs.sources[there]]  # fmt: skip
        for layer, weights in arcs.layers.items():
            assert np.array_equal(
                array(one["arcs"]["weights"][layer - 1])[mine][order], weights[there]
            )


def test_groups_of_nodes_are_scored_as_a_plain_loop_does(nodes_run, nodes):
    data, predicted = nodes_run.dataset, nodes_run.predict_proba().argmax(axis=1)
    test, degrees = data.nodes(TEST), data.graph.degrees
    assert sum(group["count"] for group in nodes["by_degree"]) == test.size
    for group in nodes["by_degree"]:
        inside = [i for i in test if group["from"] <= degrees[i] <= group["to"]]
        right = sum(predicted[i] == data.labels[i] for i in inside)
        assert (group["count"], group["micro_f1"]) == (len(inside), right / len(inside))
    sure = nodes_run.predict_proba()[test].max(axis=1)
    for bin_ in nodes["calibration"]:
        low = np.ceil(bin_["mean"] * 15 - 1e-9) - 1
        inside = (sure > low / 15) & (sure <= (low + 1) / 15)
        assert bin_["count"] == inside.sum()
        assert bin_["share"] == np.mean(predicted[test][inside] == data.labels[test][inside])
    matrix = np.array(nodes["confusion"]["matrix"])
    for i in range(3):
        for j in range(3):
            assert matrix[i, j] == sum(data.labels[n] == i and predicted[n] == j for n in test)


def test_labels_with_most_errors_come_first(tmp_path):
    data = small_dataset()
    small_run(tmp_path / "labels", data).train()
    run = gaancore.open_run(tmp_path / "labels", data=data)
    found = of_nodes(run, 5, 0)
    given, truth = run.predict()[data.nodes(TEST)], data.labels[data.nodes(TEST)] > 0
    errors = [missed + wrong for _, missed, wrong in found["confusion"]["labels"]]
    assert errors == sorted((given != truth).sum(axis=0).tolist(), reverse=True)
    assert len(found["one"]["nodes"]) == 5
    for at, wrong in zip(found["one"]["nodes"], found["one"]["wrong"], strict=True):
        row = data.node_ids.tolist().index(int(found["one"]["drawn"]["ids"][at]))
        assert wrong == (run.predict()[row] != (data.labels[row] > 0)).sum()


def test_a_graph_that_is_too_large_gives_a_page_of_samples_that_says_so(nodes_run, monkeypatch):
    monkeypatch.setattr("gaancore.report.nodes.SAMPLE", 7)
    found = of_nodes(nodes_run, 4, seed=3, whole=50)
    assert (found["scored"]["count"], found["scored"]["total"]) == (7, 18)
    assert len(found["one"]["nodes"]) == 4
    assert found["one"]["drawn"]["given"] is None
    scored = score(nodes_run, 3, whole=50)
    assert np.allclose(scored.probabilities, nodes_run.predict_proba()[scored.rows], atol=1e-5)
    assert of_nodes(nodes_run, 4, seed=3, whole=50) == found


def test_half_of_the_nodes_that_are_shown_are_wrong_if_there_are_so_many():
    wrong = np.array([0, 1, 0, 2, 0, 0, 1, 0])
    for most, bad in ((2, 1), (4, 2), (6, 3), (7, 3), (20, 3)):
        at = one_node.half_wrong(wrong, most, seed=0)
        assert (at.size, (wrong[at] > 0).sum()) == (min(most, 8), bad)
    assert one_node.half_wrong(np.ones(5, int), 3, seed=0).size == 3


def test_a_model_without_attention_or_gates_has_a_page(folder, nodes_run, tmp_path):
    data = nodes_run.dataset
    for model in ("fnn", "avg-pool", "attention"):
        out = folder / f"plain {model}"
        run = gaancore.train(data, out=out, model=model, epochs=1, verbose=False)
        found = shown(write(run, tmp_path / "page.html"))
        assert found["gates"] == []
        assert len(found["one"]["arcs"]["weights"]) == (2 if model == "attention" else 0)


def test_errors_of_forecasts_are_those_of_the_record(traffic_run, traffic):
    record = traffic_run.record
    assert traffic["runs"][0]["scores"]["test"] == record["test"]
    assert traffic["windows"]["count"] == traffic["windows"]["total"]
    for words, step in traffic["aheads"]:
        own, last = record["test"][words], record["baselines"]["last value"][words]
        assert traffic["by_step"][traffic_run.settings.model][step - 1] == own["mae"]
        assert traffic["by_step"]["last value"][step - 1] == last["mae"]


def test_forecasts_and_intervals_are_those_of_predict(traffic_run):
    found = of_traffic(traffic_run, 0, windows=10_000)["day"]
    every = traffic_run.forecast_all()
    shown_windows = len(found["made"])
    steps = [step - 1 for _, step in of_traffic(traffic_run, 0, windows=10_000)["aheads"]]
    assert np.array_equal(array(found["forecasts"]), every.speeds[steps][:, :shown_windows])
    intervals = traffic_run.forecast_all(interval=0.9)
    # half as many windows of validation as of the test part: here all of them
    low = (array(found["forecasts"]) + array(found["low"])[:, None]).astype(np.float32)
    assert np.array_equal(low, intervals.low[steps][:, :shown_windows])
    data = traffic_run.dataset
    first = every.rows[0] + 1
    truth = array(found["truth"])
    assert np.array_equal(
        truth, np.where(data.valid, data.speeds, np.nan)[first : first + len(truth)],
        equal_nan=True,
    )  # fmt: skip


def test_few_windows_are_spread_and_the_page_says_how_many(traffic_run, monkeypatch):
    found = of_traffic(traffic_run, 0, windows=8)
    assert found["windows"] == {"count": 8, "total": traffic_run.forecast_all().rows.size}
    errors = np.array(found["sensors"]["mae"], float)
    assert errors.shape == (len(found["aheads"]), traffic_run.dataset.num_sensors)
    monkeypatch.setattr("gaancore.report.traffic.DAY", 30)  # then half are of the first day
    found = of_traffic(traffic_run, 0, windows=8)
    assert found["windows"]["count"] == 4
    assert len(found["day"]["made"]) == 4


def test_errors_by_hour_and_sensor_are_those_of_a_plain_loop(traffic_run, traffic):
    data, every = traffic_run.dataset, traffic_run.forecast_all()
    step = traffic["aheads"][-1][1]
    sums, counts = np.zeros((24, data.num_sensors)), np.zeros((24, data.num_sensors))
    for w, row in enumerate(every.rows):
        hour = int(data.time_of_day[row + step] * 24)
        for n in np.flatnonzero(every.mask[step - 1, w]):
            off = abs(float(every.speeds[step - 1, w, n]) - float(every.truth[step - 1, w, n]))
            sums[hour, n] += off
            counts[hour, n] += 1
    by_hour = [s / c if c else None for s, c in zip(sums.sum(1), counts.sum(1), strict=True)]
    assert traffic["by_hour"][-1] == pytest.approx(by_hour)
    assert traffic["sensors"]["mae"][-1] == pytest.approx(sums.sum(0) / counts.sum(0))


def test_attention_of_a_forecaster_sums_to_one_over_the_arcs_into_a_sensor(traffic_run, traffic):
    look, graph = traffic["attention"], traffic_run.dataset.graph
    assert look["parts"] == [
        f"{side}, layer {n + 1}" for side in ("encoder", "decoder") for n in range(2)
    ]
    sums = np.zeros((4, graph.num_nodes))
    np.add.at(sums.T, np.array(look["targets"]), array(look["weights"]).T)
    assert np.allclose(sums[:, graph.degrees > 0], 1, atol=1e-5)
    pairs = set(zip(look["sources"], look["targets"], strict=True))
    assert pairs == {*zip(*(x.tolist() for x in graph.edges()), strict=True)}


def test_sensors_without_coordinates_stand_as_far_apart_as_there_are_roads_between_them():
    line = CSRGraph.from_edges([0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2], 4, duplicates="keep")
    found = by_distance(line)
    apart = np.linalg.norm(found[:, None] - found, axis=2)
    assert np.allclose(apart, np.abs(np.subtract.outer(range(4), range(4))), atol=1e-6)
    for count in (1, 2):
        none = np.empty(0, int)
        assert by_distance(CSRGraph.from_edges(none, none, count, duplicates="keep")).shape == (
            count, 2,
        )  # fmt: skip


def test_runs_that_differ_in_their_seed_share_an_interval(seeds_runs):
    runs = seeds_runs
    found = compared(runs, "nodes", 5, 0)
    assert [row[0] for row in found["settings"]] == ["seed"]
    (group,) = found["groups"]
    scores = [run.record["test"]["micro_f1"] for run in runs]
    low, high = stats.t.interval(0.95, 2, np.mean(scores), stats.sem(scores))
    assert group["mean"] == pytest.approx(np.mean(scores))
    assert group["half"] == pytest.approx((high - low) / 2)
    outputs = [run.predict()[run.dataset.nodes(TEST)] for run in runs]
    differ = sum(len({*column}) > 1 for column in zip(*outputs, strict=True))
    assert found["nodes"]["differ"] == differ
    assert len(found["nodes"]["ids"]) == min(5, differ)
    assert found["nodes"]["agree"][0][1] == np.mean(outputs[0] == outputs[1])
    assert groups(runs[:2], found["runs"][:2])[0]["half"] is None  # two seeds are too few


def test_runs_on_other_data_are_compared_without_their_nodes(nodes_run, hostile_run):
    found = compared([nodes_run, hostile_run], "nodes", 5, 0)
    assert "different data" in found["nodes"]["why"]
    assert len(found["groups"]) == 2


def test_a_page_is_small_and_the_same_bytes_each_time(nodes_run, tmp_path):
    one, other = (write(nodes_run, tmp_path / name) for name in ("a.html", "b.html"))
    assert one.read_bytes() == other.read_bytes()
    assert one.stat().st_size < 8_000_000


def test_nothing_of_the_data_stands_in_the_page_as_markup(hostile_run, tmp_path):
    text = write(hostile_run, tmp_path / "page.html").read_text(encoding="utf-8")
    assert "window.ran" in text
    for markup in ("<script>window", "<img src=x", "<svg onload", "</script><script>window"):
        assert markup not in text
    assert text.count("</script>") == 3


def test_what_cannot_be_reported_is_refused_in_one_line(
    nodes_run, traffic_run, tmp_path, monkeypatch
):
    page = tmp_path / "page.html"
    with pytest.raises(SettingsError, match="runs of one kind"):
        write([nodes_run, traffic_run], page)
    with pytest.raises(SettingsError, match="got no run"):
        write([], page)
    with pytest.raises(SettingsError, match="nodes: expected 1 or more"):
        write(nodes_run, page, nodes=0)
    monkeypatch.setattr(html, "find_spec", lambda name: None)
    with pytest.raises(DataError, match=r"pip install 'gaancore\[report\]'"):
        write(nodes_run, page)
    assert not page.exists()


def test_a_run_writes_the_page_that_the_function_writes(nodes_run, tmp_path):
    ours = nodes_run.report(tmp_path / "ours.html", nodes=5, seed=3)
    assert ours == tmp_path / "ours.html"
    theirs = write(nodes_run, tmp_path / "theirs.html", nodes=5, seed=3)
    assert ours.read_bytes() == theirs.read_bytes()
