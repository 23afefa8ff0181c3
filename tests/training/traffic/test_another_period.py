"""A run is scored on readings that it was not trained on: a later period of its sensors."""

import shutil
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from small_traffic_run import small_roads, started

from gaancore.data import TrafficDataset, load_metr_la
from gaancore.errors import DataError, SettingsError
from gaancore.tasks import open_run
from gaancore.trained.traffic import TrafficRun
from gaancore.training.traffic.scores.scorer import ForecastScorer

WEEK = np.timedelta64(7, "D")


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> TrafficRun:
    folder = tmp_path_factory.mktemp("run")
    started(folder, small_roads(), epochs=1).train()
    return open_run(folder, data=small_roads())


def next_week(rows: int = 200, **changes) -> TrafficDataset:
    """Other readings, seven days on."""
    data, other = small_roads(), small_roads(seed=5)
    return replace(
        data,
        kind="real",
        speeds=other.speeds[:rows],
        valid=other.valid[:rows],
        times=data.times[:rows] + WEEK,
        time_of_day=data.time_of_day[:rows],
        stretches=np.array([0, rows]),
        **changes,
    )


def errors_by_loops(run: TrafficRun, data: TrafficDataset) -> float:
    """The mean absolute error over every window, one forecast at a time."""
    history, horizon = run.settings.history, run.settings.horizon
    errors = []
    for start in range(data.num_steps - history - horizon + 1):
        seen = slice(start, start + history)
        window = replace(
            data, speeds=data.speeds[seen], valid=data.valid[seen], times=data.times[seen],
            time_of_day=data.time_of_day[seen], stretches=np.array([0, history]),
        )  # fmt: skip
        speeds = run.forecast(window, missing="keep").speeds
        ahead = slice(start + history, start + history + horizon)
        errors += np.abs(speeds - data.speeds[ahead])[data.valid[ahead]].tolist()
    return float(np.mean(errors))


def test_every_window_of_a_later_period_is_scored(run):
    data = next_week(rows=30)
    found = run.evaluate(data=data)
    assert list(found) == ["all", "last value on all", "historical average on all"]
    assert_allclose(found["all"]["all steps"]["mae"], errors_by_loops(run, data), rtol=1e-5)
    assert "not the data that the run was trained on" in found.notes[0]


def test_sensors_in_another_order_score_the_same(run):
    data = next_week(rows=40)
    straight, turned = run.evaluate(data=data), run.evaluate(
        data=data.in_order(data.sensor_ids[::-1]))  # fmt: skip
    assert turned == straight
    assert "sensors put in the order of the run's, by their ids" in turned.notes


def test_guesses_know_the_training_part_of_the_run_alone(run):
    data, own = next_week(), small_roads()
    found = run.evaluate(data=data)["historical average on all"]["all steps"]["mae"]
    rows = ForecastScorer(own, run.settings).windows.training_rows(own.num_steps)
    history, horizon = run.settings.history, run.settings.horizon
    usual = {}
    for row in np.flatnonzero(rows):  # at the same time of the same day
        for sensor in np.flatnonzero(own.valid[row]):
            key = (int(own.day_of_week[row]), round(float(own.time_of_day[row]) * 288), sensor)
            usual.setdefault(key, []).append(float(own.speeds[row, sensor]))
            usual.setdefault((key[1], sensor), []).append(float(own.speeds[row, sensor]))
            usual.setdefault(sensor, []).append(float(own.speeds[row, sensor]))
    errors = []
    for start in range(data.num_steps - history - horizon + 1):
        for row in range(start + history, start + history + horizon):
            for sensor in np.flatnonzero(data.valid[row]):
                slot = round(float(data.time_of_day[row]) * 288)
                keys = ((int(data.day_of_week[row]), slot, sensor), (slot, sensor), sensor)
                guess = np.mean(next(usual[key] for key in keys if key in usual))
                errors.append(abs(guess - data.speeds[row, sensor]))
    assert_allclose(found, np.mean(errors), rtol=1e-4)


def test_the_runs_own_data_are_scored_as_ever(run):
    assert run.evaluate(data=small_roads()) == run.evaluate()
    assert next(iter(run.evaluate(["train"], data=small_roads()))) == "train"


def test_a_period_that_was_trained_on_is_warned_of(run):
    own = small_roads()
    speeds = own.speeds.copy()
    speeds[3, 0] += 1
    lines = run.evaluate(data=replace(own, speeds=speeds)).notes
    assert any("are among those that the run was trained on" in line for line in lines)
    assert not any("among those" in line for line in run.evaluate(data=next_week()).notes)


def test_other_sensors_steps_and_parts_are_refused(run):
    data = next_week()
    with pytest.raises(DataError, match=r"1 sensor \(x\) it does not know"):
        run.evaluate(data=replace(data, sensor_ids=("x", *data.sensor_ids[1:])))
    with pytest.raises(DataError, match="its rows are 10 minutes apart"):
        run.evaluate(data=replace(data, step=600))
    with pytest.raises(SettingsError, match=r"splits: .* all of its windows are scored"):
        run.evaluate(["test"], data=data)
    with pytest.raises(DataError, match="5 rows, fewer than one window of 6"):
        run.evaluate(data=next_week(rows=5))


def test_every_forecast_of_a_later_period_stands_beside_its_truth(run):
    data = next_week(rows=40)
    found = run.forecast_all(data)
    assert found.speeds.shape == (run.settings.horizon, 35, data.num_sensors)
    assert_allclose(found.truth[1, 3], data.speeds[3 + run.settings.history + 1])
    assert any("not the data that the run was trained on" in note for note in found.notes)
    own = run.forecast_all(small_roads())
    assert own.speeds.shape[1] == ForecastScorer(small_roads(), run.settings).windows.test.size
    assert not any("not the data" in note for note in own.notes)


def test_readings_in_another_unit_are_warned_of(run):
    data = next_week()
    notes = run.evaluate(data=replace(data, speeds=data.speeds * np.float32(1.609))).notes
    assert any(line.startswith("warning: ") and "other units?" in line for line in notes)


def test_without_the_runs_own_data_there_are_no_guesses(tmp_path):
    write_roads(tmp_path / "own")
    started(tmp_path / "run", read(tmp_path / "own"), epochs=1, task="forecast").train()
    shutil.copytree(tmp_path / "own", tmp_path / "new")
    year = small_roads().times[0].item().year
    text = (tmp_path / "new" / "speeds.csv").read_text()
    (tmp_path / "new" / "speeds.csv").write_text(text.replace(f"{year}-", f"{year + 1}-"))
    shutil.rmtree(tmp_path / "own")
    found = open_run(tmp_path / "run").evaluate(data=tmp_path / "new")
    assert list(found) == ["all"]
    assert any("without them there are no guesses" in line for line in found.notes)


def test_a_later_file_without_roads_beside_it_takes_the_runs(tmp_path):
    write_roads(tmp_path / "own")
    data = read(tmp_path / "own")
    started(tmp_path / "run", data, epochs=1, task="forecast").train()
    (tmp_path / "new").mkdir()
    shutil.copy(tmp_path / "own" / "speeds.csv", tmp_path / "new" / "later.csv")
    run = open_run(tmp_path / "run")
    found = run.forecast(tmp_path / "new" / "later.csv", missing="keep")
    assert "graph: the arcs of the run's own data" in found.notes
    assert_allclose(found.speeds, run.forecast(missing="keep").speeds)


def write_roads(folder) -> None:
    data = small_roads()
    folder.mkdir()
    lines = [",".join(["time", *data.sensor_ids])]
    for time, speeds in zip(data.times, data.speeds, strict=True):
        lines.append(",".join([str(time), *(f"{x:.2f}" for x in speeds)]))
    (folder / "speeds.csv").write_text("\n".join(lines))
    src, dst = data.graph.edges()
    ends = (f"{data.sensor_ids[a]},{data.sensor_ids[b]}" for a, b in zip(src, dst, strict=True))
    (folder / "edges.csv").write_text("\n".join(["from,to", *ends]))


def read(folder) -> TrafficDataset:
    return load_metr_la(folder)
