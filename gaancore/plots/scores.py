"""Charts of scores and of runs. Each is written as PNG and SVG, beside each other."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, NullLocator

from gaancore.plots.picture import COLOURS, literal, save_figure

MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")


def score_chart(
    rows: Sequence[Mapping[str, Any]], title: str, ylabel: str, path: Path
) -> list[Path]:
    """A line for each row, from the top: mean and standard deviation, and the paper's number.

    rows   : name, mean, std, n (of runs) and paper. mean is None where nothing was run, std is None
             for one run, and paper is None where there is no number to stand beside.
    ylabel : what the score is, written along it.
    path   : of the PNG. Returns both files. Raises DataError if they cannot be written.
    """
    figure = Figure(figsize=(7.5, 1.3 + 0.36 * len(rows)), layout="constrained")
    axes = figure.subplots()
    for place, row in enumerate(rows):
        if row["mean"] is not None:
            axes.errorbar(
                row["mean"], place, xerr=row["std"], fmt="o", color=COLOURS[0], capsize=3, zorder=3
            )
        if row["paper"] is not None:
            axes.plot(row["paper"], place, "D", mfc="none", mec=COLOURS[1], ms=8, zorder=2)
    axes.set_yticks(range(len(rows)), [literal(row["name"]) for row in rows])
    axes.set_ylim(max(1, len(rows)) - 0.5, -0.5)
    axes.set(title=title, xlabel=ylabel)
    axes.margins(x=0.08)
    axes.grid(axis="x", color="0.9")
    axes.grid(axis="y", color="0.95")
    numbers = axes.secondary_yaxis("right")
    numbers.set_yticks(range(len(rows)), [_words(row) for row in rows])
    numbers.tick_params(length=0)
    marks = [Line2D([], [], marker="o", ls="", color=COLOURS[0], label="here: mean ± std")]
    if any(row["paper"] is not None for row in rows):
        hollow: dict[str, Any] = {
            "marker": "D",
            "mfc": "none",
            "mec": COLOURS[1],
            "ms": 8,
            "ls": "",
        }
        marks.append(Line2D([], [], **hollow, label="the paper"))
    figure.legend(handles=marks, loc="outside lower right", ncols=2, frameon=False)
    return save_figure(figure, path)


def _words(row: Mapping[str, Any]) -> str:
    if row["mean"] is None:
        return "not run"
    spread = "" if row["std"] is None else f" ± {row['std']:.2f}"  # digits as in the table
    return f"{row['mean']:.2f}{spread}  ({row['n']} run{'s' * (row['n'] != 1)})"


def out_dim_chart(points: Sequence[Mapping[str, Any]], title: str, path: Path) -> list[Path]:
    """Test micro-F1 against the output dimension d_o, a line for each model.

    points : model, out_dim, mean, std (None for one run), n (of runs) and extension (whether the
             paper does not have that width), in any order. The paper's widths have a filled mark.
    path   : of the PNG. Returns both files. Raises DataError if they cannot be written.
    """
    figure = Figure(figsize=(6.5, 4.2), layout="constrained")
    axes = figure.subplots()
    models = list(dict.fromkeys(point["model"] for point in points))
    ordered = sorted(points, key=lambda p: (models.index(p["model"]), p["out_dim"]))
    for number, (model, group) in enumerate(groupby(ordered, key=lambda p: p["model"])):
        line = list(group)
        runs = sorted({point["n"] for point in line})
        of_runs = f"{'–'.join(map(str, runs[:: max(1, len(runs) - 1)]))} run{'s' * (runs != [1])}"
        axes.errorbar(
            [point["out_dim"] for point in line],
            [point["mean"] for point in line],
            yerr=[point["std"] or 0 for point in line],
            color=COLOURS[number % len(COLOURS)],
            marker=MARKS[number % len(MARKS)],
            capsize=3,
            label=f"{model} ({of_runs} each)",
        )
        ours = [(point["out_dim"], point["mean"]) for point in line if point["extension"]]
        if ours:
            mark = MARKS[number % len(MARKS)]
            axes.plot(*zip(*ours, strict=True), mark, mfc="white", mec="0.2", zorder=3)
    axes.set_xscale("log", base=2)
    dims = sorted({point["out_dim"] for point in points})
    axes.xaxis.set_major_locator(FixedLocator(dims))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter("{x:.0f}")
    axes.grid(color="0.9")
    axes.set(xlabel="output dimension $d_o$", ylabel="test micro-F1", title=title)
    if points:
        hollow = any(point["extension"] for point in points)
        words = "mean ± std" + "; hollow: not in the paper" * hollow
        axes.legend(title=words, frameon=False)
    return save_figure(figure, path)
