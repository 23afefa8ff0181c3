"""Sensors from the command line: ways to edges, errors at any step, every forecast in one file."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from small_traffic_run import small_roads, small_traffic_options, started

from gaancore.tasks import TASKS, open_run
from gaancore.training.traffic.scores.scorer import ForecastScorer

OPTIONS = small_traffic_options(epochs=1)
IDS = ("a", "b", "c", "d")
PLACES = "sensor_id,latitude,longitude\na,34,-118\nb,34.01,-118\nc,34.02,-118\nd,34.2,-118\n"


def write_series(path: Path, values: np.ndarray, step: str = "1h") -> Path:
    number, unit = int(step[:-1]), step[-1]
    times = np.datetime64("2026-01-05T00:00") + np.arange(len(values)) * np.timedelta64(
        number, unit
    )
    ids = IDS[: values.shape[1]]
    lines = [",".join(["time", *ids])]
    lines += [
        f"{time},{','.join(f'{x:g}' for x in row)}" for time, row in zip(times, values, strict=True)
    ]
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def daily(num_steps: int = 120, sensors: int = 4) -> np.ndarray:
    rng = np.random.default_rng(0)
    weekly = 10 * np.sin(np.arange(num_steps) / 7 * 2 * np.pi)[:, None]
    return 60 + weekly + rng.standard_normal((num_steps, sensors))


def test_edges_from_places_are_described_and_trained_on(gaancore, tmp_path):
    write_series(tmp_path / "mine" / "speeds.csv", daily())
    (tmp_path / "mine" / "locations.csv").write_text(PLACES)
    found = gaancore("info", "mine", "--graph-from", "knn", "--neighbours", 1)
    assert found.code == 0
    assert "graph: 4 directed arcs, 6 after making it undirected" in found.out
    assert "graph: 50.0% of all pairs of sensors are neighbours" in found.out
    found = gaancore("info", "mine", "--graph-from", "radius", "--radius", 1.5, "--json")
    assert json.loads(found.out)["arcs"] == 4
    assert json.loads(found.out)["isolated"] == 1
    found = gaancore("train", "--data", "mine", "--graph-from", "knn", *OPTIONS, "--out", "run")
    assert (found.code, found.err) == (0, "")
    assert gaancore("evaluate", "run").code == 0


def test_a_graph_of_readings_stays_that_of_training(gaancore, tmp_path):
    write_series(tmp_path / "mine" / "speeds.csv", daily(), "1D")
    options = [*OPTIONS, "--graph-from", "correlation", "--neighbours", 1, "--out", "run"]
    assert gaancore("train", "--data", "mine", *options).code == 0
    write_series(tmp_path / "new" / "speeds.csv", daily()[-3:], "1D")  # too few to correlate
    found = gaancore("forecast", "run", "--data", "new", "--out", "next.csv")
    assert found.code == 0
    assert "note: graph: the arcs of the run's own data" in found.out
    expected = open_run(tmp_path / "run").forecast().speeds
    rows = list(csv.reader((tmp_path / "next.csv").read_text().splitlines()))[1:]
    assert_allclose(np.array(rows)[:, 1:5].astype(float), expected, atol=6e-5)


def test_daily_readings_of_one_sensor_are_trained_on_and_spoken_of_in_days(gaancore, tmp_path):
    write_series(tmp_path / "mine" / "level.csv", daily(sensors=1), "1D")
    found = gaancore("train", "--data", "mine", *OPTIONS, "--out", "run")
    assert (found.code, found.err) == (0, "")
    assert "3 days" in found.out
    assert "note: graph: none; each sensor sees itself alone" in found.out
    found = gaancore("evaluate", "run", "--at", "step1,2880")
    for words in ("1 day ", "2 days", "3 days", "historical average on test"):
        assert words in found.out


def test_counts_near_0_are_scored_by_wape_and_that_is_told(gaancore, tmp_path):
    counts = np.random.default_rng(0).poisson(1.0, (200, 4))
    write_series(tmp_path / "mine" / "flow.csv", counts)
    (tmp_path / "mine" / "edges.csv").write_text("from,to\na,b\nc,d\n")
    options = [*OPTIONS, "--null-value", "none", "--out", "run"]
    found = gaancore("train", "--data", "mine", *options)
    assert "MAE / RMSE / WAPE" in found.out
    assert "WAPE = 100 sum |p - y| / sum |y|" in found.out
    record = json.loads((tmp_path / "run" / "record.json").read_text())
    errors = record["test"]["all steps"]
    assert errors["zeros"] == errors["count"] - errors["mape_count"] > 0
    assert f"{errors['wape']:.2f} %" in found.out
    found = gaancore("evaluate", "run", "--mape-min", 2)  # chosen, so that it is shown
    assert "MAE / RMSE / MAPE" in found.out


def test_errors_are_reported_at_any_step(gaancore, roads_run, tmp_path):
    run = open_run(roads_run)
    found = json.loads(gaancore("evaluate", roads_run, "--at", "10,step1", "--json").out)
    assert list(found["test"]) == ["5 min", "10 min", "15 min", "mean", "all steps"]
    scorer = ForecastScorer(run.dataset, run.settings)
    errors = scorer.errors(run.forecaster.predict, "test")
    assert found["test"]["10 min"]["mae"] == errors.at(2).mae
    fewer = json.loads(gaancore("evaluate", roads_run, "--mape-min", 55, "--json").out)
    assert fewer["test"]["mean"]["mape_count"] < found["test"]["mean"]["mape_count"]


@pytest.mark.parametrize(
    ("at", "message"),
    [
        ("20", "--at: 20: the run forecasts 3 steps of 5 minutes, 15 minutes in all"),
        ("7", "--at: 7: not a whole number of steps of 5 minutes"),
        ("soon", "--at: expected minutes ahead such as 15,45 or steps such as step1,step6"),
        ("step9", "--at: step9: the run forecasts 3 steps"),
    ],
)
def test_steps_that_are_not_forecast_are_refused(refused, roads_run, at, message):
    assert message in refused("evaluate", roads_run, "--at", at)


def test_every_forecast_is_written_beside_its_truth(gaancore, roads_run, tmp_path):
    expected = open_run(roads_run).forecast_all(interval=0.8)
    outcome = gaancore("forecast", roads_run, "--all", "--interval", 80, "--out", "all.npz")
    assert (outcome.code, outcome.err) == (0, "")
    shares = ", ".join(f"{share:.1%}" for share in expected.coverage)
    assert f"readings within their interval, by step ahead: {shares}" in outcome.out
    with np.load(tmp_path / "all.npz") as arrays:
        for name, values in {
            "forecast": expected.speeds, "truth": expected.truth, "mask": expected.mask,
            "times": expected.times, "made": expected.made, "low": expected.low,
            "high": expected.high, "rows": expected.rows,
        }.items():  # fmt: skip
            assert_array_equal(arrays[name], values)
        assert arrays["sensor_ids"].tolist() == list(expected.sensor_ids)
    assert gaancore("forecast", roads_run, "--all", "--interval", 80, "--out", "a.csv").code == 0
    header, *rows = csv.reader((tmp_path / "a.csv").read_text().splitlines())
    names = ["sensor", "made_at", "time", "step", "forecast", "truth", "low", "high"]
    assert header == names
    assert len(rows) == expected.speeds.size
    horizon, _, sensors = expected.speeds.shape
    row = rows[(5 * horizon + 2) * sensors + 4]  # window 5, step 3, sensor 4
    assert row[:4] == [
        expected.sensor_ids[4], str(expected.made[5]), str(expected.times[2, 5]), "3",
    ]  # fmt: skip
    assert_allclose(float(row[4]), expected.speeds[2, 5, 4], atol=6e-5)
    assert_allclose(float(row[7]), expected.high[2, 5, 4], atol=6e-5)
    there = np.array([row[5] != "" for row in rows]).reshape(-1, horizon, sensors)
    assert_array_equal(there.swapaxes(0, 1), expected.mask)


def test_the_latest_forecast_may_have_intervals(gaancore, roads_run, tmp_path):
    assert gaancore("forecast", roads_run, "--out", "plain.csv", "--missing", "keep").code == 0
    options = ["--missing", "keep", "--interval", 80]
    assert gaancore("forecast", roads_run, "--out", "next.csv", *options).code == 0
    plain = list(csv.reader((tmp_path / "plain.csv").read_text().splitlines()))
    header, *rows = csv.reader((tmp_path / "next.csv").read_text().splitlines())
    ids = small_roads().sensor_ids
    kinds = ["", "low:", "high:", "read:"]
    assert header == ["time", *(f"{kind}{name}" for kind in kinds for name in ids)]
    values = np.array(rows)[:, 1:].astype(float).reshape(3, 4, 6)
    assert (values[:, 1] < values[:, 2]).all()
    same = [row[:7] + row[-6:] for row in [header, *rows]]
    assert same == plain


def test_what_does_not_go_together_is_refused(refused, roads_run):
    assert "--missing: with all windows" in refused(
        "forecast", roads_run, "--all", "--missing", "mean"
    )
    assert "expected a name that ends in .csv or .npz" in refused(
        "forecast", roads_run, "--all", "--out", "a.txt"
    )
    assert "1%" not in refused("forecast", roads_run, "--interval", "99.9")


@pytest.fixture(scope="module")
def roads_run(tmp_path_factory) -> Path:
    """A run on files of the small roads."""
    folder, data = tmp_path_factory.mktemp("roads"), small_roads()
    lines = [",".join(["time", *data.sensor_ids])]
    for time, speeds in zip(data.times, data.speeds, strict=True):
        lines.append(",".join([str(time), *map(str, speeds)]))
    (folder / "speeds.csv").write_text("\n".join(lines))
    src, dst = data.graph.edges()
    ends = (f"{data.sensor_ids[a]},{data.sensor_ids[b]}" for a, b in zip(src, dst, strict=True))
    (folder / "edges.csv").write_text("\n".join(["from,to", *ends]))
    task = TASKS["metr-la"]
    started(folder / "run", task.load(str(folder), task.settings()), epochs=1).train()
    return folder / "run"
