"""`gaancore evaluate`: the record's scores once more."""

import json
from pathlib import Path

import pytest
from small_run import small_options


@pytest.fixture
def record(gaancore, data, tmp_path) -> dict:
    """Of a finished run in the folder `run`."""
    options = ["--data", data, *small_options(epochs=4), "--normalize", "standard"]
    assert gaancore("train", *options, "--out", "run").code == 0
    return json.loads((tmp_path / "run" / "record.json").read_text(encoding="utf-8"))


def test_the_scores_are_exactly_those_of_the_record(gaancore, record):
    outcome = gaancore("evaluate", "run", "--json")
    assert outcome.code == 0
    scores = json.loads(outcome.out)
    assert scores["validation"] == record["validation"]
    assert scores["test"] == record["test"]
    assert scores["data"] == "real"


def test_the_table_shows_four_digits(gaancore, record):
    outcome = gaancore("evaluate", "run")
    for name in ("validation", "test"):
        row = next(line for line in outcome.lines if f"│ {name} " in line)
        assert f"{record[name]['micro_f1']:.4f}" in row
        assert f"{record[name]['macro_f1']:.4f}" in row


def test_the_splits_can_be_chosen(gaancore, record):
    outcome = gaancore("evaluate", "run", "--json", "--split", "train", "--split", "test")
    scores = json.loads(outcome.out)
    assert set(scores) == {"run", "data", "train", "test"}
    assert 0 < scores["train"]["micro_f1"] <= 1


def test_evaluating_changes_nothing(gaancore, record):
    before = {path.name: path.read_bytes() for path in Path("run").iterdir()}
    gaancore("evaluate", "run")
    assert {path.name: path.read_bytes() for path in Path("run").iterdir()} == before


def test_a_run_on_synthetic_data_says_so(gaancore):
    gaancore("train", *small_options(epochs=1, batch_size=600), "--out", "run")
    assert gaancore("evaluate", "run").lines[-1].startswith("SYNTHETIC data: ")
    assert json.loads(gaancore("evaluate", "run", "--json").out)["data"] == "synthetic"


def test_a_run_without_best_weights_is_refused(refused, record):
    Path("run", "best.safetensors").unlink()
    assert refused("evaluate", "run") == (
        "run/best.safetensors: no such file; is run the folder of a run?"
    )


def test_best_weights_of_another_model_are_refused(gaancore, refused, record, data):
    options = ["--data", data, *small_options(epochs=1, out_dim=7)]
    gaancore("train", *options, "--out", "other")
    Path("other", "best.safetensors").replace(Path("run", "best.safetensors"))
    line = refused("evaluate", "run")
    assert line.startswith("run/best.safetensors: not a checkpoint of this run (")


def test_a_folder_that_holds_no_run_is_refused(refused):
    assert refused("evaluate", "nowhere").startswith("nowhere/settings.json: no such file; is now")
    assert refused("evaluate", ".").startswith("settings.json: no such file")
