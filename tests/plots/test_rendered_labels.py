"""Every picture as it is rendered: words that do not overlap, names as they are written."""

import json
import warnings
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox
from sketches import sketch
from small_run import small_dataset, small_run
from small_traffic_run import small_roads, started

from gaancore.plots import curves, forecasts, gates, scores
from gaancore.plots.picture import literal, round_numbers, save_figure
from gaancore.tasks import open_run
from gaancore.training.nodes.heads.of_test import look_at_heads
from gaancore.training.run_folder import RunFolder

STRANGE = "$\\frac{1}{0}$ x/../../../victim \n 東京"


@pytest.fixture
def drawn(monkeypatch) -> list[Figure]:
    """The figures that were saved; those of forecasts are painted too."""
    seen: list[Figure] = []

    def save(figure: Figure, path: Path) -> list[Path]:
        seen.append(figure)
        return sketch(figure, path)

    def paint(figure: Figure, path: Path) -> list[Path]:
        seen.append(figure)
        return save_figure(figure, path)

    for module in (curves, gates, scores):
        monkeypatch.setattr(module, "save_figure", save)
    monkeypatch.setattr(forecasts, "save_figure", paint)
    return seen


def words_of(figure: Figure) -> dict[str, Bbox]:
    """Where each label, title and legend is, in pixels."""
    canvas = FigureCanvasAgg(figure)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)
        canvas.draw()
    texts = [figure._suptitle, figure._supxlabel, figure._supylabel]
    for axes in (*figure.axes, *(child for a in figure.axes for child in a.child_axes)):
        texts += [axes.title, axes.xaxis.label, axes.yaxis.label]
        for axis, low, high in (
            (axes.xaxis, *sorted(axes.get_xlim())),
            (axes.yaxis, *sorted(axes.get_ylim())),
        ):
            texts.append(axis.get_offset_text())
            for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
                if low <= tick.get_loc() <= high:
                    texts += [tick.label1, tick.label2]
    for legend in (*figure.legends, *(a.get_legend() for a in figure.axes)):
        texts += [] if legend is None else [*legend.get_texts(), legend.get_title()]
    shown = [t for t in texts if t is not None and t.get_visible() and t.get_text().strip()]
    return {f"{n}: {t.get_text()!r}": t.get_window_extent() for n, t in enumerate(shown)}


def expect_readable(figure: Figure) -> None:
    """No two words overlap, and none is cut off."""
    boxes = words_of(figure)
    assert len(boxes) >= 5
    for (one, a), (other, b) in combinations(boxes.items(), 2):
        common = Bbox.intersection(a, b)
        assert common is None or min(common.width, common.height) < 1, (one, other)
    for name, box in boxes.items():
        assert box.x0 >= -1, name
        assert box.y0 >= -1, name
        assert box.x1 <= figure.bbox.width + 1, name
        assert box.y1 <= figure.bbox.height + 1, name


def run_with_log(folder: Path, epochs: list[float], losses: list[float]) -> Path:
    """A run whose log says so."""
    run = small_run(folder)
    lines = [
        {
            "step": n, "epoch": epoch, "loss": loss, "best": n == 1,
            "validation": {"micro_f1": 0.5 + 0.4 * n / len(epochs)},
            "gates": [{"mean": [0.5, 0.6], "std": [0.1, 0.2]}] * 2,
        }
        for n, (epoch, loss) in enumerate(zip(epochs, losses, strict=True), start=1)
    ]  # fmt: skip
    text = "".join(json.dumps(line) + "\n" for line in lines)
    run.folder.log_file.write_text(text, encoding="utf-8")
    return folder


LOSSES = {
    "half a decade": [1.5, 0.9, 0.6, 0.55],
    "one decade": [0.69, 0.3, 0.1, 0.07],
    "two decades": [3.0, 0.5, 0.1, 0.03],
    "five decades": [20.0, 1.0, 1e-2, 3e-4],
    "thirty decades": [1e20, 1.0, 1e-5, 1e-10],
    "a hair": [0.6931, 0.6930, 0.6929, 0.6929],
    "one value": [0.5, 0.5, 0.5, 0.5],
    "down to nothing": [0.5, 0.1, 0.0, 0.0],
    "nothing": [0.0, 0.0, 0.0, 0.0],
    "large": [25_000.0, 18_000.0, 15_500.0, 15_100.0],
}


@pytest.mark.parametrize("losses", LOSSES.values(), ids=LOSSES)
def test_learning_curves_can_be_read_whatever_the_loss(drawn, tmp_path, losses):
    folder = run_with_log(tmp_path / "run", [1.0, 2.0, 3.0, 4.0], losses)
    curves.learning_curves({"run": folder}, tmp_path / "curves.png")
    expect_readable(drawn[0])
    below = drawn[0].axes[1]
    low, high = below.get_ylim()
    shown = [tick for tick in below.get_yticks() if low <= tick <= high]
    assert 2 <= len(shown) <= 12
    if any(losses):
        labels = [text.get_text() for text in below.get_yticklabels()]
        assert len(set(labels)) == len(labels)
        np.testing.assert_allclose(
            [float(x.replace("−", "-")) for x in labels], below.get_yticks(), rtol=1e-5
        )


@pytest.mark.parametrize(
    "epochs",
    [[1.0], [0.2, 0.4, 0.6], [0.945, 1.89], [5.0, 10.0, 299.6], list(range(1, 31))],
    ids=str,
)
def test_epochs_have_whole_numbers_along_their_axis(drawn, tmp_path, epochs):
    folder = run_with_log(tmp_path / "run", epochs, [1 / (1 + e) for e in epochs])
    curves.learning_curves({"run": folder}, tmp_path / "curves.png")
    log = RunFolder(folder).read_log()
    small_run(tmp_path / "gates").train()
    heads = look_at_heads(open_run(tmp_path / "gates", "cpu").classifier, small_dataset())
    for figure in (drawn[0], gates.in_training(heads, log)):
        expect_readable(figure)
        axes = figure.axes[-1]
        low, high = axes.get_xlim()
        assert low <= 0 <= epochs[-1] <= high
        for tick in axes.get_xticks():
            assert float(tick).is_integer()


def test_a_log_that_was_lost_or_has_no_best_line_is_drawn_as_far_as_it_goes(drawn, tmp_path):
    small_run(tmp_path / "lost").train()
    (tmp_path / "lost" / "log.jsonl").unlink()
    folder = run_with_log(tmp_path / "part", [2.0, 3.0], [0.5, 0.4])
    lines = [
        json.loads(x) | {"best": False}
        for x in folder.joinpath("log.jsonl").read_text().splitlines()
    ]
    (folder / "log.jsonl").write_text("".join(json.dumps(x) + "\n" for x in lines))
    curves.learning_curves({"lost": tmp_path / "lost", "part": folder}, tmp_path / "curves.png")
    legend = [text.get_text() for text in drawn[0].legends[0].get_texts()]
    assert legend == ["part", "lost: log.jsonl is gone", "best validation"]
    heads = look_at_heads(open_run(tmp_path / "lost", "cpu").classifier, small_dataset())
    gates.in_training(heads, lines)


@pytest.mark.parametrize(
    ("num_heads", "name"),
    [(1, None), (16, STRANGE), pytest.param(2, STRANGE, marks=pytest.mark.slow)],
)
def test_pictures_of_gates_can_be_read(drawn, tmp_path, num_heads, name):
    data = small_dataset()
    if name:
        ids = np.array([f"{name} {n}" for n in range(data.num_nodes)])
        data = replace(data, node_ids=ids, path=f"/a/{name}")
    small_run(tmp_path / "run", data, num_heads=num_heads, epochs=2).train()
    opened = open_run(tmp_path / "run", "cpu")
    heads = look_at_heads(opened.classifier, data)
    gates.gate_pictures(heads, opened.log, tmp_path / "out")
    assert len(drawn) == 4
    words = "SYNTHETIC look-alike of Reddit (the paper's picture is of Reddit)"
    for figure in (*drawn, gates.as_in_the_paper(heads, words)):
        expect_readable(figure)
    if name:
        labels = [text.get_text() for text in drawn[0].axes[0].get_yticklabels()]
        assert all("\\$" in label and "\n" not in label for label in labels)
    assert len(list(tmp_path.rglob("*.png"))) == 4


@pytest.mark.parametrize(("name", "times"), [("717", True), (STRANGE, False)])
def test_pictures_of_forecasts_can_be_read_and_say_unit_run_and_model(drawn, tmp_path, name, times):
    roads = small_roads()
    ids = (name, *roads.sensor_ids[1:])
    roads = replace(roads, sensor_ids=ids, path="/a/roads.csv", kind="real", notes=())
    if not times:
        roads = replace(roads, times=None)
    started(tmp_path / "run", roads, epochs=1, seed=7).train()
    outside = set(tmp_path.rglob("*"))
    opened = open_run(tmp_path / "run", "cpu", data=roads)
    files = opened.plot(tmp_path / "out" / "pictures", sensors=[name])
    assert {path.parent for path in files} == {tmp_path / "out" / "pictures"}
    made = set(tmp_path.rglob("*")) - outside
    assert made == {*files, tmp_path / "out", tmp_path / "out" / "pictures"}
    for figure in drawn:
        expect_readable(figure)
    for figure in drawn[1:]:
        (axes,) = figure.axes
        for words in ("gaan", "seed 7", "roads.csv"):
            assert words in axes.get_title()
        assert axes.get_ylabel().endswith("in the data's unit")
    assert literal(name) in drawn[1].axes[0].get_title()


def test_sensors_of_one_folder_never_share_a_picture(drawn, tmp_path):
    roads = small_roads()
    roads = replace(roads, sensor_ids=("a/b", "a_b", "a\\b", "A_B", "..", "e"))
    started(tmp_path / "run", roads, epochs=1).train()
    opened = open_run(tmp_path / "run", "cpu", data=roads)
    files = opened.plot(tmp_path / "out", sensors=roads.sensor_ids)
    pictures = [path.name.casefold() for path in files if path.name.startswith("forecast-")]
    assert len(set(pictures)) == len(pictures) == 12
    assert "forecast-e.png" in pictures


def test_charts_of_scores_can_be_read(drawn, tmp_path):
    rows = [
        {"name": f"{STRANGE}{n}", "mean": n / 10, "std": 0.01, "n": 3, "paper": 0.9}
        for n in range(7)
    ]
    scores.score_chart(rows, "a table\nof PPI", "test micro-F1", tmp_path / "main.png")
    points = [
        {"model": model, "out_dim": dim, "mean": 0.9, "std": 0.02, "n": 3, "extension": dim < 64}
        for model in ("gaan", "max-pool")
        for dim in (16, 32, 64, 128, 256, 512)
    ]
    scores.out_dim_chart(points, "a table\nof PPI", tmp_path / "out-dim.png")
    for figure in drawn:
        expect_readable(figure)


@pytest.mark.parametrize("span", [1.0, 1.01, 1.5, 3, 8, 30, 200, 1e3, 1e6, 1e12, 1e40])
@pytest.mark.parametrize("low", [1e-9, 0.07, 0.9, 3.0, 45_000.0])
def test_round_numbers_are_few_inside_and_far_enough_apart(low, span):
    low, high = low / 1.05, low * span * 1.05
    found = np.array(round_numbers(low, high))
    assert 2 <= found.size <= 8
    assert (found >= low).all()
    assert (found <= high).all()
    places = np.log(found / low) / np.log(high / low)
    assert (np.diff(places) > 0.055).all()


def test_a_dollar_in_a_name_is_a_dollar_and_a_long_name_keeps_its_ends():
    figure = Figure()
    text = figure.text(0, 0, literal("$x_1$ and $y$"))
    assert text._preprocess_math(text.get_text()) == ("$x_1$ and $y$", False)
    assert literal("a" * 100 + "z").endswith("z")
    assert len(literal("a" * 100)) <= 41
    assert "\n" not in literal("a\nb")
