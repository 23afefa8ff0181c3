"""Charts, read back from the figures that are about to be written."""

import json
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from numpy.testing import assert_allclose
from small_run import small_run
from small_traffic_run import forecast_run

from gaancore.errors import DataError
from gaancore.plots import curves, scores
from gaancore.plots.curves import learning_curves
from gaancore.plots.picture import save_figure
from gaancore.plots.scores import out_dim_chart, score_chart

ROWS = [
    {"name": "GaAN", "mean": 0.98, "std": 0.01, "n": 3, "paper": 0.9871},
    {"name": "attention", "mean": 0.97, "std": None, "n": 1, "paper": None},
    {"name": "max pooling", "mean": None, "std": None, "n": 0, "paper": 0.95},
]


@pytest.fixture
def drawn(monkeypatch) -> list[Figure]:
    """The figures that were saved."""
    seen = []

    def save(figure: Figure, path: Path) -> list[Path]:
        seen.append(figure)
        return save_figure(figure, path)

    for module in (curves, scores):
        monkeypatch.setattr(module, "save_figure", save)
    return seen


def points(axes, marker: str) -> list[tuple[float, float]]:
    """What is marked so, ignoring lines without data."""
    lines = [line for line in axes.lines if line.get_marker() == marker]
    return [tuple(map(float, xy)) for line in lines for xy in line.get_xydata()]


def words(axes) -> list[str]:
    return [label.get_text() for label in axes.get_yticklabels()]


def legend(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_a_row_has_its_mean_and_the_papers_number_only_where_there_is_one(drawn, tmp_path):
    files = score_chart(ROWS, "PPI", "test micro-F1", tmp_path / "main.png")
    assert [path.name for path in files] == ["main.png", "main.svg"]
    assert files[0].read_bytes().startswith(b"\x89PNG")
    axes = drawn[0].axes[0]
    assert points(axes, "o") == [(0.98, 0), (0.97, 1)]
    assert points(axes, "D") == [(0.9871, 0), (0.95, 2)]
    assert words(axes) == ["GaAN", "attention", "max pooling"]
    (beside,) = axes.child_axes
    assert words(beside) == ["0.98 ± 0.01  (3 runs)", "0.97  (1 run)", "not run"]
    bars = [bar for part in axes.containers for line in part[2] for bar in line.get_segments()]
    assert_allclose(bars, [[[0.97, 0], [0.99, 0]]])
    assert [text.get_text() for text in drawn[0].legends[0].get_texts()] == [
        "here: mean ± std",
        "the paper",
    ]


def test_numbers_beside_the_marks_have_the_digits_of_the_table(drawn, tmp_path):
    row = {"name": "GaAN", "mean": 86.4512, "std": 1.0049, "n": 3, "paper": None}
    score_chart([row], "PPI", "test micro-F1, %", tmp_path / "main.png")
    (beside,) = drawn[0].axes[0].child_axes
    assert words(beside) == ["86.45 ± 1.00  (3 runs)"]


def test_without_a_number_of_the_paper_it_is_not_spoken_of(drawn, tmp_path):
    score_chart([ROWS[1]], "synthetic", "test micro-F1", tmp_path / "main.png")
    assert len(drawn[0].legends[0].get_texts()) == 1
    assert points(drawn[0].axes[0], "D") == []


def test_output_dimensions_are_in_order_a_line_for_each_model(drawn, tmp_path):
    rows = [
        {"model": model, "out_dim": dim, "mean": mean, "std": std, "n": n, "extension": dim == 32}
        for model, dim, mean, std, n in [
            ("gaan", 128, 0.9, 0.02, 3), ("max-pool", 32, 0.6, None, 1), ("gaan", 32, 0.7, 0.01, 2),
        ]
    ]  # fmt: skip
    out_dim_chart(rows, "PPI, part of it", tmp_path / "out-dim.png")
    (axes,) = drawn[0].axes
    assert axes.get_title() == "PPI, part of it"
    assert points(axes, "o")[:2] == [(32, 0.7), (128, 0.9)]
    assert points(axes, "s")[:1] == [(32, 0.6)]
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == ["gaan (2–3 runs each)", "max-pool (1 run each)"]
    assert axes.get_legend().get_title().get_text() == "mean ± std; hollow: not in the paper"
    hollow = [line for line in axes.lines if line.get_markerfacecolor() == "white"]
    assert [line.get_xydata().tolist() for line in hollow] == [[[32, 0.7]], [[32, 0.6]]]
    assert list(axes.get_xticks()) == [32, 128]


def test_no_points_at_all_make_an_empty_chart(tmp_path):
    out_dim_chart([], "nothing", tmp_path / "out-dim.png")
    score_chart([], "nothing", "F1", tmp_path / "main.png")


def test_learning_curves_are_the_log_with_the_best_and_the_early_end_marked(drawn, tmp_path):
    early = {"epochs": 30, "decay_patience": 0, "stop_patience": 0, "lr_floor": 0.01}
    record = small_run(tmp_path / "early", **early).train()
    assert record["stopped_early"]
    small_run(tmp_path / "whole", seed=1).train()
    small_run(tmp_path / "waiting")
    dirs = {name: tmp_path / name for name in ("early", "whole", "waiting")}
    learning_curves(dirs, tmp_path / "curves.png")
    above, below = drawn[0].axes
    log = [json.loads(x) for x in (tmp_path / "early" / "log.jsonl").read_text().splitlines()]
    curves = [line for line in above.lines if line.get_label() == "early"]
    expected = [[line["epoch"], line["validation"]["micro_f1"]] for line in log]
    assert_allclose(curves[0].get_xydata(), expected)
    losses = [line for line in below.lines if line.get_label() == "early"]
    assert_allclose(losses[0].get_ydata(), [line["loss"] for line in log])
    assert points(above, "x") == [tuple(expected[-1])]
    assert points(above, "o")[0] == (record["best_epoch"], record["validation"]["micro_f1"])
    assert len(points(above, "o")) == 2
    assert above.get_title() == "learning curves"
    assert legend(drawn[0]) == ["early", "whole", "best validation", "stopped early"]


def test_curves_on_synthetic_data_say_so(drawn, tmp_path):
    run = small_run(tmp_path / "run")
    content = json.loads(run.folder.settings_file.read_text(encoding="utf-8"))
    content["data"]["kind"] = "synthetic"
    run.folder.settings_file.write_text(json.dumps(content), encoding="utf-8")
    learning_curves({"run": tmp_path / "run"}, tmp_path / "curves.png")
    assert "SYNTHETIC" in drawn[0].axes[0].get_title()


def test_curves_of_traffic_are_errors(drawn, tmp_path):
    run = forecast_run(tmp_path / "run")
    run.start()
    run.train()
    learning_curves({"run": tmp_path / "run"}, tmp_path / "curves.png")
    above = drawn[0].axes[0]
    assert above.get_ylabel() == "validation MAE, all steps"
    maes = [line["validation"]["all steps"]["mae"] for line in run.folder.read_log()]
    assert_allclose(above.lines[0].get_ydata(), maes)
    log = run.folder.read_log()
    best = int(np.argmin(maes))
    assert points(above, "o") == [(log[best]["epoch"], maes[best])]
    below = drawn[0].axes[1]
    assert_allclose(below.lines[0].get_xydata(), [[line["epoch"], line["loss"]] for line in log])
    assert points(below, "o") == [(log[best]["epoch"], log[best]["loss"])]
    assert legend(drawn[0]) == ["run", "best validation"]
    assert all(float(tick).is_integer() for tick in below.get_xticks())


def test_the_same_picture_has_the_same_bytes(tmp_path):
    both = [score_chart(ROWS, "PPI", "F1", tmp_path / name / "main.png") for name in ("a", "b")]
    for one, other in zip(*both, strict=True):
        assert one.read_bytes() == other.read_bytes()


def test_a_folder_that_cannot_be_made_is_refused_in_one_line(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(DataError, match=r"file: cannot be made \("):
        score_chart(ROWS, "PPI", "F1", tmp_path / "file" / "main.png")


def test_many_runs_are_told_apart(drawn, tmp_path):
    small_run(tmp_path / "run").train()
    learning_curves({str(i): tmp_path / "run" for i in range(21)}, tmp_path / "curves.png")
    lines = [line for line in drawn[0].axes[0].lines if line.get_label().isdigit()]
    looks = {(line.get_color(), line.get_linestyle()) for line in lines}
    assert len(looks) == len(lines) == 21
    assert np.isfinite(drawn[0].axes[0].get_ylim()).all()
