"""What `gaancore train` does not do: one line, exit code 2, nothing written."""

import numpy as np
import pytest
from small_run import contents, small_arrays, small_options, write_small_npz

from gaancore.data import TRAIN, VALIDATION

TINY = small_options(epochs=1, batch_size=600)


REFUSED = {
    "missing data": (["--data", "nowhere"], "nowhere: no such file or folder"),
    "a set without a value": (["--set", "lr"], "--set: expected NAME=VALUE, got 'lr'"),
    "an unknown setting": (["--set", "rate=1"], "--set: rate: no such setting; known: task, "),
    "another task": (
        ["--set", "task=reddit"],
        "--set: task: got 'reddit', but the task is classes",
    ),
    "text for a number": (["--set", "lr=fast"], "--set: lr: expected a number, got 'fast'"),
    "garbage fan-outs": (["--fanouts", "a,b"], "--fanouts: fanouts: expected numbers such as"),
    "a low fan-out": (["--fanouts=-3,1"], "--fanouts: fanouts: expected -1 (all) or 0 and more"),
    "no heads": (["--heads", "0"], "--heads: num_heads: expected 1 or more, got 0"),
    "a low seed": (["--seed", "-1"], "--seed: seed: expected 0 or more, got -1"),
    "all dropped": (["--dropout", "1"], "--dropout: dropout: expected 0 <= value < 1, got 1"),
    "a missing config": (["--config", "no.toml"], "no.toml: cannot be read (No such file or"),
    "a GPU": (["--device", "cuda:1"], "device cuda:1: this machine has no NVIDIA driver; or use"),
    "a device": (["--device", "tpu"], "device 'tpu': expected auto, cpu, cuda or cuda:N"),
    "out and resume": (["--resume", "x", "--out", "y"], "--out: a resumed run stays in its folder"),
    "nothing to resume": (["--resume", "x"], "x: no run here"),
}


@pytest.mark.parametrize(("options", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_done_is_refused_in_one_line_and_writes_nothing(
    refused, tmp_path, options, message
):
    write_small_npz(tmp_path / "small.npz")
    line = refused("train", *([] if "--data" in options else ["--data=small.npz"]), *options)
    assert message in line
    assert [path.name for path in tmp_path.iterdir()] == ["small.npz"]


@pytest.mark.parametrize(
    "options",
    [
        ["--threads", "-1"],
        ["--threads", "two"],
        ["--model", "gat"],
        ["--epochs", "many"],
        ["--unknown"],
        ["--task", "cora"],
    ],
)
def test_what_does_not_parse_is_refused_by_the_name_of_the_option(gaancore, tmp_path, options):
    outcome = gaancore("train", *options)
    assert outcome.code == 2
    assert options[0] in outcome.err
    assert "Traceback" not in outcome.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("lr = ", "my.toml: not a TOML file"),
        ("rate = 1", "my.toml: rate: no such setting"),
        ("lr = 'x'", "my.toml: lr: expected a number, got 'x'"),
        ("num_heads = 2.5", "my.toml: num_heads: expected a whole number, got 2.5"),
        ("[model]\nname = 'gaan'", "my.toml: model: expected text, got {'name': 'gaan'}"),
    ],
)
def test_a_bad_config_is_refused_by_name(refused, tmp_path, content, message):
    (tmp_path / "my.toml").write_text(content, encoding="utf-8")
    assert refused("train", "--config", "my.toml").startswith(message)
    assert [path.name for path in tmp_path.iterdir()] == ["my.toml"]


def test_a_folder_with_a_run_is_not_touched(gaancore, refused, data, tmp_path):
    gaancore("train", "--task", "ppi", "--data", data, *TINY, "--out", "run")
    before = contents(tmp_path / "run")
    line = refused("train", "--task", "ppi", "--data", data, *TINY, "--seed", "1", "--out", "run")
    assert line.startswith("run: there is a run in this folder already; continue it (--resume)")
    assert contents(tmp_path / "run") == before


def test_data_that_cannot_be_trained_on_is_refused_before_anything_is_written(refused, tmp_path):
    split = small_arrays()["split"]
    split[split == VALIDATION] = TRAIN
    path = write_small_npz(tmp_path / "small.npz", split=split)
    assert refused("train", "--task", "ppi", "--data", path) == (
        f"{path}: no validation nodes; mark some, to learn from and to choose by"
    )
    path = write_small_npz(tmp_path / "small.npz", x=np.full((120, 6), np.nan))
    assert "not finite" in refused("train", "--task", "ppi", "--data", path)
    assert [path.name for path in tmp_path.iterdir()] == ["small.npz"]


def test_debug_gives_the_traceback_as_well(gaancore):
    outcome = gaancore("train", "--task", "ppi", "--data", "nowhere", "--debug")
    assert outcome.code == 2
    assert "Traceback (most recent call last):" in outcome.err
    assert outcome.err.splitlines()[-1].startswith("error: ")


def test_a_run_that_diverges_is_told_where_and_keeps_its_last_good_state(
    gaancore, data, tmp_path, monkeypatch
):
    options = ["--data", data, *small_options(epochs=5), "--lr", "1e38", "--out", "run"]
    outcome = gaancore("train", *options)
    assert outcome.code == 2
    (line,) = outcome.err.splitlines()
    assert line.startswith("error: epoch 1, step ")
    assert "the gradient of " in line
    assert "lower the learning rate" in line
    assert not (tmp_path / "run" / "record.json").exists()
