"""`gaancore evaluate`: the record's scores once more."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from small_run import small_arrays, small_options, write_small_npz
from small_traffic_run import forecast_run


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


def test_each_class_has_its_scores_whose_f1_has_the_mean_of_the_record(gaancore, record):
    plain = json.loads(gaancore("evaluate", "run", "--json").out)
    scores = json.loads(gaancore("evaluate", "run", "--json", "--per-class").out)
    for split in ("validation", "test"):
        classes = scores[split].pop("per_class")
        assert [found["class"] for found in classes] == [0, 1, 2, 3, 4]
        assert all(
            list(found) == ["class", "precision", "recall", "f1", "support"] for found in classes
        )
        mean = sum(found["f1"] for found in classes) / 5
        assert mean == pytest.approx(record[split]["macro_f1"])
    assert scores == plain


def test_classes_are_counted_from_what_is_predicted_under_their_names(gaancore, tmp_path):
    names = ["[b]ant", "cat", "dog: brown"]  # the first is no markup
    rng = np.random.default_rng(0)
    classes, splits = rng.integers(3, size=40), np.resize(["train", "val", "test", "test"], 40)
    rows = [
        f"n{i},{rng.normal()},{classes[i]},{names[classes[i]]},{splits[i]}\n" for i in range(40)
    ]
    (tmp_path / "nodes.csv").write_text("id,a,b,label,split\n" + "".join(rows))
    edges = [f"n{a},n{b}\n" for a, b in rng.integers(40, size=(60, 2))]
    (tmp_path / "edges.csv").write_text("src,dst\n" + "".join(edges))
    options = ["--task", "reddit", "--fanouts=-1,-1", "--eval-fanouts=-1,-1", *small_options()]
    assert (
        gaancore("train", "--task", "ppi", "--data", tmp_path, "--out", "run", *options).code == 0
    )
    assert gaancore("predict", "run").code == 0
    with open("predictions.csv", newline="", encoding="utf-8") as file:
        predicted = [row["predicted"] for row in csv.DictReader(file)]
    tested = np.flatnonzero(splits == "test")
    pairs = [(predicted[i], names[classes[i]]) for i in tested]
    outcome = gaancore("evaluate", "run", "--per-class", "--split", "test")
    assert outcome.code == 0
    at = next(n for n, line in enumerate(outcome.lines) if line.split() == ["test"])
    header, _, *rows = outcome.lines[at + 2 : at + 7]
    assert header.replace("┃", " ").split() == ["class", "precision", "recall", "F1", "support"]
    for name, row in zip(names, rows, strict=True):
        hits, guesses = pairs.count((name, name)), [guess for guess, _ in pairs].count(name)
        support = [truth for _, truth in pairs].count(name)
        shares = hits / max(guesses, 1), hits / support, 2 * hits / (guesses + support)
        cells = [cell.strip() for cell in row.strip("│").split("│")]
        assert cells == [name, *(f"{share:.4f}" for share in shares), str(support)]


def test_speeds_have_no_classes_to_score(refused):
    forecast_run(Path("traffic")).start()
    assert refused("evaluate", "traffic", "--per-class") == (
        "--per-class: traffic is a run of task metr-la, which does not classify nodes; leave it out"
    )


def test_another_labelled_graph_is_scored_and_said_to_be_another(gaancore, record, tmp_path):
    write_small_npz(tmp_path / "new.npz", **small_arrays(seed=1))
    outcome = gaancore("evaluate", "run", "--data", "new.npz", "--json")
    assert outcome.code == 0
    assert "new.npz: not the data that the run was trained on" in outcome.err
    scores = json.loads(outcome.out)
    assert list(scores) == ["run", "data", "train", "validation", "test"]
    asked = gaancore("evaluate", "run", "--data", "new.npz", "--json", "--split", "test")
    assert json.loads(asked.out)["test"] == scores["test"]


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
    assert line.startswith("run/best.safetensors: trained with out_dim 7, but settings.json says 6")


def test_a_folder_that_holds_no_run_is_refused(refused):
    assert refused("evaluate", "nowhere").startswith("nowhere: no run here")
    assert refused("evaluate", ".").startswith(".: no run here")
