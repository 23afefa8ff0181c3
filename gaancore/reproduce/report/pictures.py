"""The pictures of a report."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gaancore.data.nodes.dataset import NodeDataset
from gaancore.reproduce.plan import TableRun
from gaancore.reproduce.report.data import short_words
from gaancore.reproduce.report.schema import DataKind, RunsReport
from gaancore.tasks import Task, task_named
from gaancore.training.nodes.heads.of_test import look_at_heads
from gaancore.training.nodes.predict import load_classifier


def draw_report(report: RunsReport, runs: Sequence[TableRun], out: Path) -> list[Path]:
    """The scores of a table and how its first runs learned; returns the PNGs, none if nothing was
    run. The table of gates has no chart of scores: draw_gates draws its picture.
    """
    # matplotlib takes a second to import
    from gaancore.plots.curves import learning_curves
    from gaancore.plots.scores import out_dim_chart, score_chart

    if not any(row["seeds"] for row in report["rows"]):
        return []
    task = task_named(report["task"])
    chart, curves = out / f"{report['table']}.png", out / f"{report['table']}-curves.png"
    title = f"{report['title']}\n{short_words(task, report['data']['kind'])}"
    first = {run.row.name: run.folder.path for run in runs if run.seed == 0 and run.finished}
    learning_curves(first, curves)
    if report["table"] == "gates":
        return [curves]
    if report["table"] == "out-dim":
        out_dim_chart(_points(report), title, chart)
    else:
        metric, label = task.headline
        score_chart(_bars(report, metric), title, label, chart)
    return [chart, curves]


def draw_gates(
    report: RunsReport, runs: Sequence[TableRun], dataset: NodeDataset, out: Path
) -> dict[str, Any]:
    """The pictures of the gates of the first finished run, and what they show in numbers.

    gates.png is in the paper's form, and says which data stand in for the paper's full Reddit; the
    other pictures are in the folder gates.
    They are computed on the CPU, so that a report does not depend on the machine that makes it.
    """
    from gaancore.plots.gates import as_in_the_paper, gate_pictures
    from gaancore.plots.picture import save_figure

    for run in runs:
        if run.finished:
            _, facts = run.task.stored(run.folder)
            classifier = load_classifier(run.folder, run.settings, facts)
            heads = look_at_heads(classifier, dataset)
            words = _standing_in(run.task, report["data"]["kind"])
            save_figure(as_in_the_paper(heads, words), out / "gates.png")
            return gate_pictures(heads, run.folder.read_log(), out / "gates")
    return {}


def _standing_in(task: Task, kind: DataKind) -> str:
    """Which data a picture of gates is of; the paper's is of Reddit."""
    words = short_words(task, kind)
    if (task.name, kind) == ("reddit", "full"):
        return words
    return f"{words} (the paper's picture is of Reddit)"


def _bars(report: RunsReport, metric: str) -> list[dict[str, Any]]:
    """The paper's number goes beside ours only where ours is of the same data and settings."""
    comparable = report["data"]["kind"] == "full" and not report["changed"]
    empty = {"mean": None, "std": None, "n": 0}
    return [
        {
            "name": row["name"],
            **(row["full"] or row["other"]).get(metric, empty),
            "paper": row["paper"].get(metric, [None])[0] if comparable else None,
        }
        for row in report["rows"]
        if not row.get("taken_from")
    ]


def _points(report: RunsReport) -> list[dict[str, Any]]:
    """The chart's axis is F1 itself, not percent."""
    points = []
    for row in report["rows"]:
        if row["seeds"]:
            found = (row["full"] or row["other"])["micro_f1"]
            std = None if found["std"] is None else found["std"] / 100
            scaled = {"mean": found["mean"] / 100, "std": std, "n": found["n"]}
            ours = row.get("extension", False)
            points.append(
                {"model": row["model"], "out_dim": row["out_dim"], "extension": ours, **scaled}
            )
    return points
