"""A forecast rests on the run's sensors, its step, and readings that are there."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from small_traffic_run import small_roads, started

from gaancore.data import TrafficDataset
from gaancore.errors import DataError, SettingsError
from gaancore.tasks import open_run
from gaancore.trained.traffic import TrafficRun
from gaancore.training.traffic.latest import LEAST_READ

STEP = np.timedelta64(300, "s")


def whole_roads() -> TrafficDataset:
    """The small roads without a missing reading."""
    data = small_roads()
    speeds = np.where(data.valid, data.speeds, np.float32(50))
    return replace(data, speeds=speeds, valid=np.ones_like(data.valid))


def without(data: TrafficDataset, rows: slice, sensors: slice = slice(None)) -> TrafficDataset:
    speeds, valid = data.speeds.copy(), data.valid.copy()
    speeds[rows, sensors], valid[rows, sensors] = 0, False
    return replace(data, speeds=speeds, valid=valid)


def later(rows: int = 60, **changes) -> TrafficDataset:
    """The last rows, as newer data: other times, the same sensors."""
    data = whole_roads()
    last = slice(data.num_steps - rows, None)
    return replace(
        data, speeds=data.speeds[last], valid=data.valid[last], times=data.times[last],
        time_of_day=data.time_of_day[last], stretches=np.array([0, rows]), **changes,
    )  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> TrafficRun:
    folder = tmp_path_factory.mktemp("run")
    started(folder, whole_roads(), epochs=1, history=4, variant="released").train()
    return open_run(folder, data=whole_roads())


def test_columns_in_another_order_give_the_same_forecast(run):
    data = later()
    turned = data.in_order(data.sensor_ids[::-1])
    assert turned.sensor_ids != data.sensor_ids
    straight, found = run.forecast(data), run.forecast(turned)
    assert found.sensor_ids == straight.sensor_ids == data.sensor_ids
    assert_array_equal(found.speeds, straight.speeds)
    assert "sensors put in the order of the run's, by their ids" in found.notes
    assert not found.warnings


@pytest.mark.parametrize(("step", "words"), [(3600, "60 minutes"), (150, "2.5 minutes"),
                                             (30, "30 seconds")])  # fmt: skip
def test_rows_of_another_step_are_refused(run, step, words):
    with pytest.raises(DataError, match=rf"rows are {words} apart, but .* on rows 5 minutes apart"):
        run.forecast(later(step=step))


def test_other_roads_and_places_are_reported(run):
    data = later()
    fewer = data.graph.self_loops("add")
    assert any("its edges are not those" in line
               for line in run.forecast(replace(data, graph=fewer)).warnings)  # fmt: skip
    places = replace(data, coordinates=data.coordinates + np.array([0.1, 0]))
    assert any("its coordinates are not" in line for line in run.forecast(places).warnings)
    assert not run.forecast(data).warnings


@pytest.mark.parametrize("sensors", [slice(None), slice(1, 2)])
@pytest.mark.parametrize("rows", [slice(-4, None), slice(-3, None)])
def test_a_forecast_that_would_rest_on_too_few_readings_is_refused(run, rows, sensors):
    with pytest.raises(DataError) as refusal:
        run.forecast(without(later(), rows, sensors))
    names = "6 sensors (road0-0, " if sensors == slice(None) else "1 sensor (road0-1) "
    assert names in str(refusal.value)
    assert "of the last 4 readings" in str(refusal.value)
    assert "(missing)" in str(refusal.value)


def test_half_of_the_readings_are_enough_and_the_share_is_told(run):
    assert LEAST_READ == 0.5
    found = run.forecast(without(later(), slice(-2, None), slice(1, 3)))
    assert_array_equal(found.read, [1, 0.5, 0.5, 1, 1, 1])


def test_the_mean_of_training_stands_in(run):
    """As if every missing reading had been the mean of training."""
    gone = without(later(), slice(-4, None), slice(1, 2))
    filled = replace(gone, speeds=gone.speeds.copy(), valid=np.ones_like(gone.valid))
    filled.speeds[-4:, 1] = run.forecaster.scaler.mean[1]
    found = run.forecast(gone, missing="mean")
    assert_allclose(found.speeds, run.forecast(filled).speeds, rtol=1e-5)
    assert found.read[1] == 0
    assert found.warnings == ("17% of the window is missing: the mean stands in",)


def test_a_line_between_readings_stands_in(run):
    gone = without(later(), slice(-3, -1), slice(1, 2))
    filled = replace(gone, speeds=gone.speeds.copy(), valid=np.ones_like(gone.valid))
    first, last = gone.speeds[-4, 1], gone.speeds[-1, 1]
    filled.speeds[-3:-1, 1] = first + (last - first) * np.array([1, 2]) / 3
    found = run.forecast(gone, missing="interpolate")
    assert_allclose(found.speeds, run.forecast(filled).speeds, rtol=1e-5)


def test_there_is_no_line_through_no_reading(run):
    with pytest.raises(DataError, match=r"\(road0-1\) without a single one of the last 4"):
        run.forecast(without(later(), slice(-4, None), slice(1, 2)), missing="interpolate")


def test_what_stood_in_during_training_can_be_kept(run):
    gone = without(later(), slice(-4, None), slice(1, 2))
    zeros = replace(gone, valid=np.ones_like(gone.valid))  # `missing` of training was zero
    found = run.forecast(gone, missing="keep")
    assert_array_equal(found.speeds, run.forecast(zeros).speeds)
    assert "what training put stands in" in found.warnings[0]


def test_another_choice_is_refused(run):
    with pytest.raises(SettingsError, match="missing: expected one of refuse, mean, interpolate"):
        run.forecast(later(), missing="zero")


def test_without_times_the_start_is_asked_for_and_taken(run, tmp_path):
    data = later()
    for name, times in (("with", data.times), ("without", None)):
        (tmp_path / name).mkdir()
        write(tmp_path / name, data, times)
    with pytest.raises(DataError) as refusal:
        run.forecast(tmp_path / "without")
    assert "do not say the time_of_day; add a column of times, or give the time of the first row " \
        "(start)" in str(refusal.value)  # fmt: skip
    assert "not a checkpoint" not in str(refusal.value)
    dated = run.forecast(tmp_path / "without", start=str(data.times[0]))
    expected = run.forecast(tmp_path / "with")
    assert_array_equal(dated.speeds, expected.speeds)
    assert_array_equal(dated.times, expected.times)
    assert_array_equal(expected.times, data.times[-1] + STEP * np.arange(1, 4))
    for given in (None, data):
        with pytest.raises(SettingsError, match=r"^start: .*; leave it out$"):
            run.forecast(given, start="2012-03-01")


def test_the_start_of_the_training_data_is_not_that_of_other_files(tmp_path):
    data = whole_roads()
    for name, rows in (("train", data), ("new", later())):
        (tmp_path / name).mkdir()
        write(tmp_path / name, rows, None)
    from gaancore.tasks.begin import begin

    sizes = {"hidden_dim": 2, "num_heads": 1, "num_layers": 1, "history": 3, "horizon": 2}
    layers = [("test", sizes | {"epochs": 1, "start": "2012-03-01"})]
    begin(str(tmp_path / "train"), out=tmp_path / "run", layers=layers).run.train()
    opened = open_run(tmp_path / "run")
    assert opened.forecast(tmp_path / "train").times[0] == np.datetime64("2012-03-03")
    with pytest.raises(DataError, match=r"give the time of the first row \(start\)"):
        opened.forecast(tmp_path / "new")


def write(folder: Path, data: TrafficDataset, times) -> None:
    header = ",".join(data.sensor_ids)
    lines = [header if times is None else f"time,{header}"]
    for number, row in enumerate(data.speeds):
        cells = ",".join(map(str, row))
        lines.append(cells if times is None else f"{times[number]},{cells}")
    (folder / "speeds.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    src, dst = data.graph.edges()
    arcs = [f"{data.sensor_ids[a]},{data.sensor_ids[b]}" for a, b in zip(src, dst, strict=True)]
    (folder / "edges.csv").write_text("from,to\n" + "\n".join(arcs) + "\n", encoding="utf-8")
    places = [f"{n},{name},{a},{b}" for n, (name, (a, b)) in enumerate(
        zip(data.sensor_ids, data.coordinates, strict=True))]  # fmt: skip
    (folder / "graph_sensor_locations.csv").write_text(
        "index,sensor_id,latitude,longitude\n" + "\n".join(places) + "\n", encoding="utf-8"
    )


def test_training_says_how_much_of_its_windows_was_read(tmp_path):
    data = without(whole_roads(), slice(100, 160), slice(0, 1))
    run = started(tmp_path, data, epochs=1)
    starts = run.scorer.windows.train
    seen = [[data.valid[a : a + 3, n].sum() for n in range(6)] for a in starts]
    share, empty = np.mean(seen) / 3, np.mean(np.array(seen) == 0)
    assert run.inputs_read == {"share": round(share, 6), "empty": round(empty, 6)}
    assert run.notes == (
        f"{share:.1%} of the readings that training windows see are there; {empty:.1%} of a "
        "sensor's windows have none; a speed of 0 stands in (missing)",
    )
    assert run.train()["inputs_read"] == run.inputs_read
    assert started(tmp_path / "whole", whole_roads()).notes == ()


@pytest.mark.slow
def test_the_public_small_cases_are_forecast_or_refused(shared_data, tmp_path):
    cases = shared_data / "cases" / "forecast"
    if not cases.is_dir():
        pytest.skip("no small cases beside the public data files")
    from gaancore.tasks.begin import begin

    layers = [("test", {"hidden_dim": 4, "num_heads": 1, "epochs": 1})]
    begin(str(cases / "train"), out=tmp_path / "run", layers=layers).run.train()
    run = open_run(tmp_path / "run")
    refusals = {
        "hourly": "rows are 60 minutes apart",
        "tail_missing": r"3 sensors \(a, b, c\) without half of the last 12",
        "sensor_b_out": r"1 sensor \(b\) without half of the last 12",
        "no_times": r"first row \(start\)",
    }
    for name, words in refusals.items():
        with pytest.raises(DataError, match=words):
            run.forecast(cases / name)
    found = run.forecast(cases / "reordered")
    assert found.sensor_ids == ("a", "b", "c")
    assert np.abs(found.speeds.mean(axis=0) - [51, 65, 75]).max() < 25
