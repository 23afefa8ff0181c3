"""`gaancore report`: the page is written, and what is wrong is said in one line."""

from importlib.util import find_spec

import pytest
from pages import commands_in, fenced
from small_run import small_options

from gaancore.report import html


@pytest.fixture
def run(gaancore, data):
    outcome = gaancore("train", "--task", "ppi", "--data", data, "--out", "run", *small_options())
    assert outcome.code == 0, outcome
    return "run"


def test_a_page_of_a_run_and_of_two_is_written(gaancore, run, tmp_path):
    outcome = gaancore("report", run)
    assert outcome.code == 0, outcome
    assert outcome.lines[0].startswith("written: report.html: ")
    outcome = gaancore("report", run, run, "--out", "two.html", "--nodes", 3, "--seed", 5)
    assert outcome.code == 0, outcome
    assert "2 runs compared" in (tmp_path / "two.html").read_text("utf-8")


def test_data_that_have_moved_are_found_where_the_user_says(gaancore, refused, run, data):
    moved = data.rename(data.with_name("moved.npz"))
    assert "--data" in refused("report", run)
    assert gaancore("report", run, "--data", moved).code == 0


def test_what_cannot_be_reported_is_one_line(refused, run, monkeypatch, tmp_path):
    assert "no run here" in refused("report", "nowhere")
    assert refused("report", run, "--out", tmp_path).startswith("--out: ")
    monkeypatch.setattr(html, "find_spec", lambda name: None)
    line = refused("report", run)
    assert "plotly" in line
    assert "pip install 'gaancore[report]'" in line
    monkeypatch.undo()
    assert find_spec("plotly") is not None


def test_a_run_whose_first_validation_is_still_to_come_is_refused(gaancore, refused, run, tmp_path):
    for name in ("best.safetensors", "record.json"):
        (tmp_path / run / name).unlink()
    assert "best.safetensors" in refused("report", run)


def test_the_page_on_reports_can_be_followed(gaancore, tmp_path):
    """Its commands on the built-in data, with a small network."""
    for text in fenced("docs/report.md", ""):
        for name, *arguments in commands_in(text):
            if {"cora_ml.npz", "runs/cora", "runs/one"} & {*arguments}:
                continue  # data and runs of the reader's own
            more = small_options(epochs=1) if name == "train" else ()
            outcome = gaancore(name, *arguments, *more)
            assert outcome.code == 0, outcome
    assert (tmp_path / "ppi.html").is_file()
    assert "SYNTHETIC data" in outcome.out
