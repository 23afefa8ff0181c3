"""Other quantities of a file are read beside the one that is forecast, and never their future."""

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from small_traffic_run import SMALL

import gaancore
from gaancore.data import Scaler, WindowBatches, load_metr_la, split_windows
from gaancore.errors import DataError

IDS = ["a", "b", "c"]
SIZES = {name: value for name, value in SMALL.items() if name != "epochs"}


def write_folder(folder: Path, num_steps: int = 90, seed: int = 0) -> np.ndarray:
    """Flow, occupancy and speed of three sensors in one archive; returns (T, 3, 3)."""
    rng = np.random.default_rng(seed)
    values = rng.uniform(20, 60, (num_steps, 3, 3))
    values[5:9, 1, 0] = np.nan
    folder.mkdir(exist_ok=True)
    start = np.datetime64("2026-05-01T00:00") + seed * np.timedelta64(30, "D")
    times = start + np.arange(num_steps) * np.timedelta64(5, "m")
    np.savez(folder / "pems.npz", data=values, sensor_ids=IDS, times=times)
    (folder / "edges.csv").write_text("from,to\na,b\nb,c\n")
    return values


def test_other_channels_are_read_by_number(tmp_path):
    values = write_folder(tmp_path)
    data = load_metr_la(tmp_path, channel="2", inputs=("0", "1"))
    assert_allclose(data.speeds, values[..., 2], rtol=1e-6)
    assert_allclose(data.others, values[..., :2], rtol=1e-6)
    assert data.other_names == ("0", "1")
    assert "inputs: 0, 1 beside the readings, 0.74% missing" in data.notes  # 4 of 540
    turned = data.in_order(["c", "a", "b"])
    assert_array_equal(turned.others, data.others[:, [2, 0, 1]])
    assert np.isnan(data.continued(2).others[-2:]).all()
    assert data.part_checksums()["others"] != turned.part_checksums()["others"]


def test_columns_of_a_table_with_a_row_for_each_reading_are_read_by_name(tmp_path):
    with (tmp_path / "a.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["time", "sensor", "flow", "speed"])
        for step in range(6):
            rows.writerow([f"2026-05-01T00:{step:02}", "a", 100 + step, 50 + step])
    data = load_metr_la(tmp_path / "a.csv", channel="speed", inputs=["flow"])
    assert_array_equal(data.speeds[:, 0], np.arange(50, 56))
    assert_array_equal(data.others[:, 0, 0], np.arange(100, 106))


def test_quantities_that_are_not_there_or_not_finite_are_refused(tmp_path):
    values = write_folder(tmp_path)
    with pytest.raises(DataError, match="3 channels without names, numbered 0 to 2, and none is"):
        load_metr_la(tmp_path, inputs=("flow",))
    values[7, 2, 1] = np.inf
    np.savez(tmp_path / "pems.npz", data=values, sensor_ids=IDS)
    with pytest.raises(
        DataError, match=r"inputs: 1 beyond 1e\+09: 1, first inf at row 7, sensor c"
    ):
        load_metr_la(tmp_path, inputs=("1",))


def test_they_are_scaled_over_training_rows_and_unknown_in_the_future(tmp_path):
    values = write_folder(tmp_path)
    data = load_metr_la(tmp_path, channel="2", inputs=("0", "1"))
    windows = split_windows(data, history=3, horizon=2)
    scaler = Scaler.fit(data, windows, "global")
    plain = load_metr_la(tmp_path, channel="2")
    assert_array_equal(Scaler.fit(plain, windows, "global").mean, scaler.mean)
    seen = values[windows.training_rows(90)].astype(np.float32).astype(np.float64)
    batch = WindowBatches(data, scaler, history=3, horizon=2).cut(np.array([4, 40]))
    assert batch.inputs.shape == (3, 6, 4)
    assert batch.future.shape == (2, 6, 4)
    for channel in range(2):
        there = seen[..., channel][~np.isnan(seen[..., channel])]
        for number, start in enumerate((4, 40)):
            for step in range(3):
                for sensor in range(3):
                    value = values[start + step, sensor, channel]
                    z = 0 if np.isnan(value) else (value - there.mean()) / there.std()
                    found = batch.inputs[step, number * 3 + sensor, 2 + channel]
                    assert_allclose(found, z, rtol=1e-4, atol=1e-6)
    assert (batch.future[..., 2:] == 0).all()
    assert_array_equal(batch.inputs[..., :2], WindowBatches(
        plain, scaler=Scaler.fit(plain, windows, "global"), history=3, horizon=2
    ).cut(np.array([4, 40])).inputs)  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("others")
    write_folder(folder / "data")
    settings = SIZES | {"channel": 2, "inputs": ["0", "1"], "epochs": 1}
    gaancore.train(folder / "data", out=folder / "run", verbose=False, **settings)
    return gaancore.open_run(folder / "run")


def test_a_run_reads_them_again_and_scores_as_it_did(run):
    assert run.evaluate()["test"] == run.record["test"]
    assert run.settings.inputs == ("0", "1")


def test_a_forecast_rests_on_what_was_read_and_on_nothing_later(run):
    data, history = run.dataset, run.settings.history
    start = np.array([20])
    expected = run.forecaster.predict(start)
    later, earlier = data.others.copy(), data.others.copy()
    later[20 + history :] = 1e6
    earlier[19 + history] += 5
    assert_array_equal(run._forecaster(replace(data, others=later)).predict(start), expected)
    changed = run._forecaster(replace(data, others=earlier)).predict(start)
    assert np.abs(changed - expected).max() > 1e-4


def test_a_later_period_needs_them_too(run, tmp_path):
    write_folder(tmp_path / "new", seed=1)
    assert "all" in run.evaluate(data=tmp_path / "new")
    assert run.forecast(tmp_path / "new").speeds.shape == (3, 3)
    without = replace(run.dataset, others=None, other_names=())
    with pytest.raises(DataError, match=r"0 other quantities .* training had 2 \(inputs\)"):
        run.evaluate(data=without)
