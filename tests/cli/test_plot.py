"""`gaancore plot` of runs that classify nodes."""

from dataclasses import replace
from pathlib import Path

from small_run import small_dataset, small_options

from gaancore.tasks import TASKS

CURVES = {"learning-curves.png", "learning-curves.svg"}
GATES = {
    f"{name}.{kind}"
    for name in ("gates-of-nodes", "gates-by-head", "gates-in-training", "attention-entropy")
    for kind in ("png", "svg")
}


def test_a_gaan_is_drawn_with_its_gates(gaancore, data):
    gaancore("train", "--task", "ppi", "--data", data, *small_options(), "--out", "run")
    outcome = gaancore("plot", "run")
    assert (outcome.code, outcome.err) == (0, "")
    found = {path.name for path in Path("run", "plots").iterdir()}
    assert found == CURVES | GATES
    written = [f"written: {Path('run', 'plots', name)}" for name in found]
    assert sorted(outcome.lines) == sorted(written)


def test_pictures_of_synthetic_data_are_said_to_be_so(gaancore, monkeypatch):
    built_in = replace(small_dataset(), path=None)
    monkeypatch.setitem(TASKS, "ppi", replace(TASKS["ppi"], make=lambda: built_in))
    gaancore("train", *small_options(), "--model", "fnn", "--out", "run")
    assert gaancore("plot", "run").lines[-1].startswith("SYNTHETIC data: no data was given")


def test_another_model_is_drawn_without_its_data(gaancore, data):
    gaancore(
        "train",
        "--task",
        "ppi",
        "--data",
        data,
        *small_options(),
        "--model",
        "avg-pool",
        "--out",
        "run",
    )
    data.unlink()
    assert gaancore("plot", "run", "--out", "pictures").code == 0
    assert {path.name for path in Path("pictures").iterdir()} == CURVES


def test_where_the_data_of_a_gaan_have_moved_the_curves_are_drawn_and_the_way_out_named(
    gaancore, refused, data
):
    gaancore("train", "--task", "ppi", "--data", data, *small_options(), "--out", "run")
    moved = data.rename(data.with_name("moved.npz"))
    assert refused("plot", "run").endswith("; say where with --data")
    assert {path.name for path in Path("run", "plots").iterdir()} == CURVES
    assert gaancore("plot", "run", "--data", moved).code == 0
    assert refused("plot", "nowhere").startswith("nowhere/settings.json: no such file")
