"""`gaancore train --task metr-la`, `evaluate`, `forecast` and `plot`, from files to files."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from small_run import small_options, write_small_npz
from small_traffic_run import forecast_run, small_roads, small_traffic_options

from gaancore.tasks import TASKS, open_run

OPTIONS = small_traffic_options(epochs=1)


@pytest.fixture
def roads(tmp_path) -> Path:
    """The small roads in files: speeds with times and ids, and arcs."""
    data, folder = small_roads(), tmp_path / "roads"
    folder.mkdir()
    write_speeds(folder / "speeds.csv", data.num_steps)
    src, dst = data.graph.edges()
    with (folder / "edges.csv").open("w", encoding="utf-8") as file:
        file.write("from,to\n")
        for a, b in zip(src, dst, strict=True):
            file.write(f"{data.sensor_ids[a]},{data.sensor_ids[b]}\n")
    return folder


def write_speeds(path: Path, num_steps: int, ids: tuple[str, ...] | None = None) -> Path:
    data = small_roads()
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["time", *(ids or data.sensor_ids)])
        for time, speeds in zip(data.times[:num_steps], data.speeds, strict=False):
            rows.writerow([time, *speeds])
    return path


def read_csv(path: Path) -> list[list[str]]:
    return list(csv.reader(path.read_text(encoding="utf-8").splitlines()))


def test_a_run_from_files_can_be_evaluated_forecast_and_drawn(gaancore, roads, tmp_path):
    outcome = gaancore("train", "--task", "metr-la", "--data", roads, *OPTIONS, "--out", "run")
    assert (outcome.code, outcome.err) == (0, "")
    assert "6 sensors" in outcome.out
    for name in ("15 min", "last value", "historical", "MAE = mean |p - y|"):
        assert name in outcome.out
    record = json.loads((tmp_path / "run" / "record.json").read_text(encoding="utf-8"))

    scores = json.loads(gaancore("evaluate", "run", "--json").out)
    assert scores["test"] == record["test"]
    assert scores["validation"] == record["validation"]
    for guess in ("last value", "historical average"):
        assert scores[f"{guess} on test"] == record["baselines"][guess]
        assert f"{guess} on validation" in scores

    assert gaancore("forecast", "run", "--out", "ahead.csv").code == 0
    header, *rows = read_csv(tmp_path / "ahead.csv")
    ids = small_roads().sensor_ids
    assert header == ["time", *ids, *(f"read:{name}" for name in ids)]
    step = small_roads().times[1] - small_roads().times[0]
    assert [row[0] for row in rows] == [
        str(small_roads().times[-1] + (ahead + 1) * step) for ahead in range(3)
    ]
    latest = open_run(tmp_path / "run").forecast(small_roads()).speeds
    np.testing.assert_allclose(np.array(rows)[:, 1:7].astype(float), latest, atol=5.1e-5)
    read = (small_roads().speeds[-3:] != 0).mean(axis=0)
    np.testing.assert_allclose(np.array(rows)[:, 7:].astype(float), [read] * 3, atol=5.1e-5)

    assert gaancore("plot", "run", "--sensor", "road0-1").code == 0
    found = {path.name for path in (tmp_path / "run" / "plots").iterdir()}
    pictures = ("learning-curves", "forecast-road0-1", "error-by-step", "error-by-hour")
    assert found == {f"{name}.{kind}" for name in pictures for kind in ("png", "svg")}
    svg = (tmp_path / "run" / "plots" / "error-by-step.svg").read_text(encoding="utf-8")
    assert svg.startswith("<?xml")


def test_rows_that_are_hours_apart_are_reported_at_the_last_step(gaancore, roads, tmp_path):
    with (roads / "speeds.csv").open("w", encoding="utf-8") as file:
        file.write(f"time,{','.join(small_roads().sensor_ids)}\n")
        for number, speeds in enumerate(small_roads().speeds):
            time = np.datetime64("2026-01-01T00:00") + 2 * number * np.timedelta64(1, "h")
            file.write(f"{time},{','.join(map(str, speeds))}\n")
    outcome = gaancore("train", "--task", "metr-la", "--data", roads, *OPTIONS, "--out", "run")
    assert outcome.code == 0
    assert "6 h" in outcome.out
    assert "no reading" not in outcome.out
    assert gaancore("plot", "run", "--sensor", "road0-1").code == 0


@pytest.mark.parametrize("null_value", ["0", "-1", "none"])
def test_the_reading_that_means_missing_can_be_named(gaancore, roads, tmp_path, null_value):
    lines = (roads / "speeds.csv").read_text(encoding="utf-8").splitlines()
    cells = [line.split(",") for line in lines]
    for row in (3, 4):
        cells[row][1] = "-1"
    (roads / "speeds.csv").write_text("\n".join(map(",".join, cells)), encoding="utf-8")
    options = [*OPTIONS, "--null-value", null_value, "--out", "run"]
    assert gaancore("train", "--task", "metr-la", "--data", roads, *options).code == 0
    record = json.loads((tmp_path / "run" / "record.json").read_text(encoding="utf-8"))
    speeds = small_roads().speeds
    zeros = np.count_nonzero(speeds == 0)
    assert zeros > 2
    missing = {"0": zeros, "-1": 2, "none": 0}[null_value]
    assert round(record["data"]["missing_share"] * speeds.size) == missing
    assert gaancore("evaluate", "run").code == 0  # reads the files as the run did


def test_the_learning_curves_need_no_data(gaancore, refused, roads, tmp_path):
    gaancore("train", "--task", "metr-la", "--data", roads, *OPTIONS, "--out", "run")
    roads.rename(tmp_path / "moved")
    assert refused("plot", "run").endswith("; say where it is (--data)")
    drawn = {path.name for path in (tmp_path / "run" / "plots").iterdir()}
    assert drawn == {"learning-curves.png", "learning-curves.svg"}


def test_a_forecast_of_newer_rows_begins_after_the_last_of_them(gaancore, roads, tmp_path):
    gaancore("train", "--task", "metr-la", "--data", roads, *OPTIONS, "--out", "run")
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "edges.csv").write_bytes((roads / "edges.csv").read_bytes())
    write_speeds(tmp_path / "new" / "speeds.csv", 40)
    assert gaancore("forecast", "run", "--data", "new").code == 0
    rows = read_csv(tmp_path / "next_hour.csv")
    assert [row[0] for row in rows[1:]] == [str(time) for time in small_roads().times[40:43]]


def test_without_data_a_forecasting_run_says_synthetic_first_and_last(gaancore, monkeypatch):
    monkeypatch.setitem(TASKS, "metr-la", replace(TASKS["metr-la"], epochs=1))
    monkeypatch.setattr("gaancore.tasks.traffic.synthetic_traffic", lambda num_days: small_roads())
    options = [x for x in small_traffic_options(model="fnn") if "epochs" not in x]
    outcome = gaancore("train", "--task", "metr-la", *options)
    assert outcome.code == 0
    for line in (outcome.lines[0], outcome.lines[-1]):
        assert line.startswith("SYNTHETIC data: no data was given and no METR-LA was found")
    assert "best epoch 1 of 1" in outcome.out


def test_the_quiet_command_prints_the_mean_errors_alone(gaancore, roads):
    command = ["train", "--task", "metr-la", "--data", roads, *OPTIONS, "--out", "run", "--quiet"]
    (line,) = gaancore(*command).lines
    assert line.startswith("run: test MAE ")


def test_a_resumed_command_keeps_its_settings(gaancore, refused, roads):
    gaancore("train", "--task", "metr-la", "--data", roads, *OPTIONS, "--out", "run")
    assert gaancore("train", "--resume", "run", "--quiet").code == 0
    line = refused("train", "--resume", "run", "--set", "horizon=2")
    assert "these differ: horizon: 3 -> 2" in line


def test_what_cannot_be_forecast_is_refused_in_one_line(gaancore, refused, roads, tmp_path):
    gaancore("train", "--task", "metr-la", "--data", roads, *OPTIONS, "--out", "run")
    (tmp_path / "new").mkdir()
    edges = (roads / "edges.csv").read_text(encoding="utf-8")
    renamed = edges.replace("road0-0", "road9-9")
    (tmp_path / "new" / "edges.csv").write_text(renamed, encoding="utf-8")
    ids = ("road9-9", *small_roads().sensor_ids[1:])
    write_speeds(tmp_path / "new" / "speeds.csv", 40, ids)
    line = refused("forecast", "run", "--data", "new")
    assert "trained on: 1 sensor (road9-9) it does not know, 1 sensor (road0-0) not here" in line
    assert "nowhere: no run here" in refused("forecast", "nowhere")
    line = refused("plot", "run", "--sensor", "x")
    ids = ", ".join(small_roads().sensor_ids)
    assert line == f"--sensor: no sensor 'x'; the data have 6: {ids}"
    assert not (tmp_path / "next_hour.csv").exists()
    drawn = {path.stem for path in (tmp_path / "run" / "plots").iterdir()}
    assert drawn == {"learning-curves"}


def test_a_run_of_another_task_does_not_forecast_and_has_no_sensors(gaancore, refused, tmp_path):
    write_small_npz(tmp_path / "small.npz")
    tiny = small_options(epochs=1, batch_size=600)
    gaancore("train", "--task", "ppi", "--data", "small.npz", *tiny, "--out", "ppi")
    assert refused("forecast", "ppi").startswith("ppi: a run of task ppi, which does not forecast")
    line = refused("plot", "ppi", "--sensor", "road0-1")
    assert line == "--sensor: ppi is a run of task ppi, which does not forecast; leave it out"


def test_a_setting_of_another_task_is_refused(refused, roads):
    line = refused("train", "--task", "metr-la", "--data", roads, "--fanouts", "3,3")
    assert line.startswith("--fanouts: fanouts: no such setting")


def test_killed_between_steps_and_resumed_a_run_ends_as_if_nothing_had_been(tmp_path):
    """The same as for a process that is killed: what was not saved is done again."""
    run = forecast_run(tmp_path / "straight")
    run.start()
    expected = run.train()["test"]
    killed = forecast_run(tmp_path / "killed")
    killed.start()
    for _ in range(3):
        with killed.fetch() as batches:
            killed._account(killed._step(batches))
    again = forecast_run(tmp_path / "killed")
    again.resume()
    assert again.train()["test"] == expected


def test_a_forecast_without_readings_is_refused_and_what_stands_in_is_told(
    gaancore, refused, roads, tmp_path
):
    gaancore("train", "--task", "metr-la", "--data", roads, *OPTIONS, "--out", "run")
    lines = (roads / "speeds.csv").read_text(encoding="utf-8").splitlines()
    for number in range(-3, 0):
        lines[number] = ",".join([lines[number].split(",")[0], "", *lines[number].split(",")[2:]])
    new = tmp_path / "new"
    new.mkdir()
    (new / "edges.csv").write_bytes((roads / "edges.csv").read_bytes())
    (new / "speeds.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    line = refused("forecast", "run", "--data", "new")
    assert "1 sensor (road0-0) without half of the last 3 readings" in line
    assert line.endswith("mean, interpolate or keep (--missing)")
    assert not (tmp_path / "next_hour.csv").exists()
    outcome = gaancore("forecast", "run", "--data", "new", "--missing", "mean")
    assert outcome.code == 0
    assert "the mean stands in" in outcome.err
    assert "at least 0.0% (sensor road0-0)" in outcome.out
    header, *rows = read_csv(tmp_path / "next_hour.csv")
    assert [row[header.index("read:road0-0")] for row in rows] == ["0.0000"] * 3


def test_the_start_of_readings_without_times_can_be_given(gaancore, refused, roads, tmp_path):
    gaancore("train", "--task", "metr-la", "--data", roads, *OPTIONS, "--out", "run")
    new = tmp_path / "new"
    new.mkdir()
    (new / "edges.csv").write_bytes((roads / "edges.csv").read_bytes())
    lines = (roads / "speeds.csv").read_text(encoding="utf-8").splitlines()
    cut = [line.partition(",")[2] for line in lines]
    (new / "speeds.csv").write_text("\n".join(cut) + "\n", encoding="utf-8")
    assert "give the time of the first row (--start)" in refused("forecast", "run", "--data", "new")
    start = str(small_roads().times[0])
    assert (
        gaancore("forecast", "run", "--data", "new", "--start", start, "--missing", "keep").code
        == 0
    )
    dated = read_csv(tmp_path / "next_hour.csv")
    gaancore("forecast", "run", "--missing", "keep")
    assert read_csv(tmp_path / "next_hour.csv") == dated


def test_the_mean_of_the_readings_stands_beside_their_errors(gaancore, roads, tmp_path):
    options = [*OPTIONS, "--set=horizon=24", "--mape-min", "40", "--out", "run"]
    outcome = gaancore("train", "--task", "metr-la", "--data", roads, *options)
    record = json.loads((tmp_path / "run" / "record.json").read_text(encoding="utf-8"))
    found = record["test"]["all steps"]
    assert "120 min" in record["test"]
    data = small_roads()
    windows = data.num_steps - (3 + 24) + 1  # 3 steps in, 24 out; the last fifth is for testing
    starts = range(windows - round(0.2 * windows), windows)
    rows = [start + 3 + step for start in starts for step in range(24)]
    readings = data.speeds[rows].astype(float)[data.valid[rows]]
    assert (found["target"], found["count"]) == (pytest.approx(readings.mean()), readings.size)
    assert 0 < found["mape_count"] < found["count"]
    for said in (outcome, gaancore("evaluate", "run")):
        words = " ".join(said.out.split())
        assert f"mean of the readings: test {found['target']:.4g}" in words or (
            f"test {found['target']:.4g}" in words.partition("mean of the readings: ")[2]
        )


def test_sensor_ids_that_a_spreadsheet_computes_are_told_of_and_escaped_on_request(
    gaancore, roads, tmp_path
):
    for path in roads.iterdir():
        text = path.read_text(encoding="utf-8").replace("road0-0", "=1+1")
        path.write_text(text, encoding="utf-8")
    gaancore("train", "--task", "metr-la", "--data", roads, *OPTIONS, "--out", "run")
    outcome = gaancore("forecast", "run")
    assert read_csv(tmp_path / "next_hour.csv")[0][1] == "=1+1"
    assert (
        "note: 1 ids or names begin like a formula, first '=1+1'; before you open the file in a "
        "spreadsheet, use --escape-formulas"
    ) in outcome.lines
    gaancore("forecast", "run", "--escape-formulas")
    assert read_csv(tmp_path / "next_hour.csv")[0][1] == "'=1+1"


def test_info_reads_roads_that_lie_elsewhere(gaancore, refused, roads, tmp_path):
    (roads / "edges.csv").rename(tmp_path / "elsewhere.csv")
    assert "no graph of the roads found" in refused("info", roads)
    for task in ([], ["--task", "metr-la"]):
        outcome = gaancore("info", roads, "--graph", "elsewhere.csv", *task)
        assert outcome.code == 0
        assert "6" in outcome.out
    write_small_npz(tmp_path / "small.npz")
    assert refused("info", "small.npz", "--graph", "elsewhere.csv").startswith("--graph: graph: no")
