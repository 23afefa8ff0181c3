"""How runs learned: validation score and training loss by epoch."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from gaancore.plots.picture import COLOURS, epoch_axis, literal, loss_axis, save_figure
from gaancore.system.disk import read_json
from gaancore.training.run_folder import RunFolder

LINES = ("-", "--", ":", "-.")


def learning_curves(run_dirs: Mapping[str, Path], path: Path) -> list[Path]:
    """Validation score and training loss of runs of one task over epochs, from their logs.

    run_dirs : name -> folder of a run, finished or not. A dot marks the best validation, whose
               weights are kept; a cross marks where a run stopped early.
    path     : of the PNG. Returns both files. A run with weights whose log is gone is named as one
               without a curve. Raises DataError if a run cannot be read or they cannot be written.
    """
    figure = Figure(figsize=(9, 6), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    score, title = "validation micro-F1", "learning curves"
    losses: list[float] = []
    lost: list[Line2D] = []
    last = 0.0
    for number, (name, where) in enumerate(run_dirs.items()):
        folder = RunFolder(where)
        log = folder.read_log()
        if read_json(folder.settings_file)["data"]["kind"] == "synthetic":
            title = "learning curves, SYNTHETIC data"
        if not log:
            if folder.best.exists():
                lost.append(Line2D([], [], ls="", label=f"{literal(name)}: log.jsonl is gone"))
            continue
        if "all steps" in log[0]["validation"]:
            score = "validation MAE, all steps"
        style: dict[str, Any] = {
            "color": COLOURS[number % len(COLOURS)],
            "ls": LINES[number // len(COLOURS) % len(LINES)],
            "label": literal(name),
        }
        _curve(above, log, [_score(line) for line in log], style, stopped_early(folder))
        _curve(below, log, [line["loss"] for line in log], style, stopped_early(folder))
        losses += [line["loss"] for line in log]
        last = max(last, log[-1]["epoch"])
    above.set(ylabel=score, title=title)
    below.set(xlabel="epoch", ylabel="training loss")
    loss_axis(below, losses)
    epoch_axis(below, last)
    for axes in (above, below):
        axes.grid(color="0.9")
    handles, _ = above.get_legend_handles_labels()
    handles += lost
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
    for best in [i for i, line in enumerate(log) if line["best"]][-1:]:  # the log may be in part
        axes.plot(epochs[best], values[best], "o", color=style["color"])
    if stopped:
        axes.plot(epochs[-1], values[-1], "x", color=style["color"], ms=8, mew=2)


def _score(line: dict[str, Any]) -> float:
    """What grows (or, for traffic, falls) as a run learns; NaN where nothing could be scored."""
    found = line["validation"]
    value = found["all steps"]["mae"] if "all steps" in found else found.get("micro_f1")
    return float("nan") if value is None else value


def stopped_early(folder: RunFolder) -> bool:
    """Whether a run ended because validation no longer improved."""
    return folder.record_file.exists() and read_json(folder.record_file)["stopped_early"]
