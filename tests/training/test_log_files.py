"""What is made of a run's log: a table, and scalars that TensorBoard's own reader finds."""

import csv
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_run import resumed_run, run_until, small_dataset, small_run
from small_traffic_run import SMALL, small_roads

from gaancore.errors import DataError, SettingsError
from gaancore.tasks.begin import begin, resume
from gaancore.training.run_folder import RunFolder


def leaves(value: Any, name: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    """What lies innermost in a line of the log, with the way there."""
    if isinstance(value, dict):
        inner = value.items()
    elif isinstance(value, list):
        inner = [(str(place + 1), item) for place, item in enumerate(value)]
    else:
        return {name: value}
    return {k: v for key, item in inner for k, v in leaves(item, (*name, key)).items()}


def log_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


def expect_table_of_the_log(folder: Path) -> None:
    with (folder / "log.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    log = log_of(folder)
    assert len(rows) == len(log) > 0
    for row, line in zip(rows, log, strict=True):
        expected = {".".join(name): value for name, value in leaves(line).items()}
        assert {name: json.loads(cell) if cell else None for name, cell in row.items()} == expected


def expect_points_of_the_log(folder: Path) -> None:
    """What TensorBoard reads from the folder are the numbers of the log, each once."""
    reading = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    found = reading.EventAccumulator(str(folder / "tensorboard"), {reading.SCALARS: 0})
    found.Reload()
    log = log_of(folder)
    names = [name for name, value in leaves(log[0]).items() if value is not None]
    names.remove(("step",))
    assert sorted(found.Tags()["scalars"]) == sorted("/".join(name) for name in names)
    for name in names:
        points = [(event.step, event.value) for event in found.Scalars("/".join(name))]
        expected = [(line["step"], float(np.float32(leaves(line)[name]))) for line in log]
        assert points == expected
    times = [event.wall_time for event in found.Scalars("loss")]
    assert np.diff(times) == pytest.approx(np.diff([line["seconds"] for line in log]), abs=1e-3)


@pytest.mark.parametrize("task", ["ppi", "metr-la"])
def test_the_table_and_the_scalars_have_every_number_of_the_log(task, tmp_path):
    if task == "ppi":
        run = small_run(tmp_path / "run")
        run.folder = RunFolder(run.folder.path, tensorboard=True)
    else:
        run = begin(
            small_roads(), task=task, out=tmp_path / "run", device="cpu", tensorboard=True,
            layers=[("test", SMALL | {"epochs": 2})],
        ).run  # fmt: skip
    run.train()
    expect_table_of_the_log(tmp_path / "run")
    expect_points_of_the_log(tmp_path / "run")


def test_a_resumed_run_has_each_point_once_also_those_from_before_tensorboard(tmp_path):
    run = small_run(tmp_path, epochs=4)
    run_until(run, 11)  # of 5 steps an epoch
    folder, data = tmp_path, small_dataset()
    for step in (16, None):  # begun without TensorBoard, gone on with it, and once more
        begun = resume(folder, data, device="cpu", tensorboard=True)
        expect_points_of_the_log(folder)
        if step:
            run_until(begun.run, step)
        else:
            begun.run.train()
        expect_points_of_the_log(folder)
    assert [line["epoch"] for line in log_of(folder)] == [1, 2, 3, 4]
    assert len(list((folder / "tensorboard").iterdir())) == 1


def test_points_after_the_last_saved_step_are_forgotten_and_a_record_cut_off_is_mended(tmp_path):
    run = small_run(tmp_path, epochs=3)
    run.folder = RunFolder(tmp_path, tensorboard=True)
    run_until(run, 7)
    lost = log_of(tmp_path)[-1] | {"step": 10, "epoch": 2.0}
    run.folder.append_log(lost)  # its state was not saved
    (events,) = (tmp_path / "tensorboard").iterdir()
    events.write_bytes(events.read_bytes()[:-20])
    resume(tmp_path, small_dataset(), device="cpu", tensorboard=True).run.train()
    expect_points_of_the_log(tmp_path)
    expect_table_of_the_log(tmp_path)


def test_a_table_that_is_damaged_or_gone_is_made_again(tmp_path):
    run = small_run(tmp_path, epochs=4)
    run_until(run, 6)
    run.folder.csv_file.write_text('"step";"epoch"\r\n5;1\r\n', encoding="utf-8")
    run_until(run, 11)
    expect_table_of_the_log(tmp_path)
    run.folder.csv_file.unlink()
    run_until(run, 16)
    expect_table_of_the_log(tmp_path)
    run.folder.csv_file.unlink()
    resumed_run(tmp_path, epochs=4).train()
    expect_table_of_the_log(tmp_path)


def test_columns_that_come_later_are_empty_in_earlier_rows(tmp_path):
    folder = RunFolder(tmp_path)
    folder.append_log({"step": 1, "validation": {"15 min": {"mae": None}}, "best": True})
    folder.append_log({"step": 2, "validation": {"15 min": {"mae": 0.1}}, "best": False})
    folder.append_log({"step": 3, "said": 'two, "words"'})
    assert folder.csv_file.read_text(encoding="utf-8") == (
        "step,validation.15 min.mae,best,said\n"
        "1,,true,\n"
        "2,0.1,false,\n"
        '3,,,"two, ""words"""\n'
    )  # fmt: skip


def test_without_the_package_nothing_is_begun_and_one_line_says_so(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    with pytest.raises(
        SettingsError, match=r"^tensorboard: the package .*pip install tensorboardX"
    ):
        begin(small_dataset(), out=tmp_path / "run", tensorboard=True)
    assert not (tmp_path / "run").exists()


def test_events_that_cannot_be_written_are_an_error_in_one_line(tmp_path):
    run = small_run(tmp_path)
    run.folder = RunFolder(tmp_path, tensorboard=True)
    (tmp_path / "tensorboard").write_text("a file in the way", encoding="utf-8")
    with pytest.raises(DataError, match="tensorboard: cannot be written"):
        run.train()
