"""Charts of scores and of runs. Each is written as PNG and SVG, beside each other."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator

from gaancore.data.nodes.dataset import NodeDataset
from gaancore.plots import gates as gate_figures
from gaancore.plots.picture import COLOURS, save_figure
from gaancore.reproduce.gates import look_at_heads
from gaancore.system.disk import read_json
from gaancore.train.run_folder import RunFolder

LINES = ("-", "--", ":", "-.")
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
    axes.set_yticks(range(len(rows)), [row["name"] for row in rows])
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

    points : model, out_dim, mean, std (None for one run) and n (of runs), in any order.
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
    axes.set_xscale("log", base=2)
    dims = sorted({point["out_dim"] for point in points})
    axes.xaxis.set_major_locator(FixedLocator(dims))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter("{x:.0f}")
    axes.grid(color="0.9")
    axes.set(xlabel="output dimension $d_o$", ylabel="test micro-F1", title=title)
    if points:
        axes.legend(title="mean ± std", frameon=False)
    return save_figure(figure, path)


def learning_curves(run_dirs: Mapping[str, Path], path: Path) -> list[Path]:
    """Validation score and training loss of runs of one task over epochs, from their logs.

    run_dirs : name -> folder of a run, finished or not. A dot marks the best validation, whose
               weights are kept; a cross marks where a run stopped early.
    path     : of the PNG. Returns both files. Raises DataError if a run cannot be read or they
               cannot be written.
    """
    figure = Figure(figsize=(9, 6), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    score, title = "validation micro-F1", "learning curves"
    for number, (name, where) in enumerate(run_dirs.items()):
        folder = RunFolder(where)
        log = folder.read_log()
        if read_json(folder.settings_file)["data"]["kind"] == "synthetic":
            title = "learning curves, SYNTHETIC data"
        if not log:
            continue
        if "all steps" in log[0]["validation"]:
            score = "validation MAE, all steps"
        style: dict[str, Any] = {
            "color": COLOURS[number % len(COLOURS)],
            "ls": LINES[number // len(COLOURS) % len(LINES)],
            "label": name,
        }
        _curve(above, log, [_score(line) for line in log], style, stopped_early(folder))
        _curve(below, log, [line["loss"] for line in log], style, stopped_early(folder))
    above.set(ylabel=score, title=title)
    below.set(xlabel="epoch", ylabel="training loss", yscale="log")
    below.xaxis.set_major_locator(MaxNLocator(integer=True))
    for axes in (above, below):
        axes.grid(color="0.9")
    below.yaxis.set_major_formatter("{x:g}")
    below.yaxis.set_minor_formatter("{x:g}")
    handles, _ = above.get_legend_handles_labels()
    marks: dict[str, Any] = {"ls": "", "color": "0.3"}
    handles.append(Line2D([], [], marker="o", **marks, label="best validation"))
    if any(stopped_early(RunFolder(where)) for where in run_dirs.values()):
        handles.append(Line2D([], [], marker="x", **marks, ms=8, mew=2, label="stopped early"))
    figure.legend(handles=handles, loc="outside right upper", frameon=False)
    return save_figure(figure, path)


def _curve(
    axes: Axes, log: list[dict[str, Any]], values: list[float], style: dict[str, Any], stopped: bool
) -> None:
    epochs = [line["epoch"] for line in log]
    axes.plot(epochs, values, lw=1.3, **style)
    best = max(i for i, line in enumerate(log) if line["best"])
    axes.plot(epochs[best], values[best], "o", color=style["color"])
    if stopped:
        axes.plot(epochs[-1], values[-1], "x", color=style["color"], ms=8, mew=2)


def _score(line: dict[str, Any]) -> float:
    """What grows (or, for traffic, falls) as a run learns; NaN where nothing could be scored."""
    found = line["validation"]
    value = found["all steps"]["mae"] if "all steps" in found else found["micro_f1"]
    return float("nan") if value is None else value


def stopped_early(folder: RunFolder) -> bool:
    """Whether a run ended because validation no longer improved."""
    return folder.record_file.exists() and read_json(folder.record_file)["stopped_early"]


def gate_pictures(
    run: Path,
    dataset: NodeDataset,
    out_dir: Path,
    nodes: Sequence[int] | None = None,
    device: str = "cpu",
) -> dict[str, Any]:
    """Draw what the best weights of a GaAN do with their heads, over whole neighbourhoods.

    gates-of-nodes    : the gates of a few test nodes, a row each, ascending by degree.
    gates-by-head     : how the gates of all test nodes are spread in each head.
    gates-in-training : mean and deviation of each head's gate at every validation; not for a run
                        whose log has none.
    attention-entropy : how evenly each head looks at a node's neighbours, 1 for all alike.

    nodes : rows of the dataset; if None, test nodes that are spread over all degrees.
    Returns plain facts: those of HeadsOfTest.facts, the `nodes` shown and the `files` written.
    Raises SettingsError for a run that is no such GaAN, other data, or a node that is no test node;
    DataError if the run cannot be read or a file cannot be written.
    """
    heads = look_at_heads(run, dataset, device)
    positions = heads.positions(nodes)
    figures = {
        "gates-of-nodes": gate_figures.of_nodes(heads, positions),
        "gates-by-head": gate_figures.by_head(heads),
        "attention-entropy": gate_figures.entropy_by_head(heads),
    }
    if log := [line for line in heads.run.folder.read_log() if "gates" in line]:
        figures["gates-in-training"] = gate_figures.in_training(heads, log)
    files = [save_figure(figure, out_dir / f"{name}.png") for name, figure in figures.items()]
    rows, degrees = heads.rows[positions].tolist(), heads.degrees[positions].tolist()
    shown = [
        {"row": row, "id": dataset.node_ids[row].item(), "degree": degree}
        for row, degree in zip(rows, degrees, strict=True)
    ]
    return {
        **heads.facts(),
        "nodes": shown,
        "files": [path.name for pair in files for path in pair],
    }
