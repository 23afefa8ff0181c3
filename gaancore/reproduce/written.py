"""A report in files: TABLE.json, TABLE.md and, where there are scores, pictures."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gaancore.data.nodes.dataset import NodeDataset
from gaancore.errors import DataError, SettingsError
from gaancore.reproduce.data_facts import short_words
from gaancore.reproduce.page import page
from gaancore.reproduce.runs import TableRun
from gaancore.system.disk import read_json, write_json, write_whole

Facts = dict[str, Any]


def expect_same_data(out: Path, table: str, task: str, checksum: str) -> None:
    """Raise SettingsError if `out` has a report of this table on other data."""
    path = out / f"{table}.json"
    if not path.exists():
        return
    try:
        there = read_json(path)
        found = (there["task"], there["data"]["checksum"])
    except (KeyError, TypeError) as error:
        raise DataError(f"{path}: damaged (no {error}); remove it") from None
    if found != (task, checksum):
        raise SettingsError(
            f"{path}: a report on other data ({found[0]}, checksum {found[1]}; now {task}, "
            f"{checksum}); choose another --out"
        )


def write_report(report: Facts, out: Path) -> list[Path]:
    """Write TABLE.json and TABLE.md; returns them. Raises DataError if they cannot be written."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{out}: cannot be made ({error.strerror})") from None
    paths = [out / f"{report['table']}.{kind}" for kind in ("json", "md")]
    write_json(paths[0], report)
    write_whole(paths[1], page(report).encode())
    return paths


def draw_report(report: Facts, runs: Sequence[TableRun], out: Path) -> list[Path]:
    """The pictures of a table with scores, if anything was run; returns the PNGs."""
    from gaancore.plots.scores import learning_curves, out_dim_chart, score_chart

    if not any(row["seeds"] for row in report["rows"]):
        return []
    chart, curves = out / f"{report['table']}.png", out / f"{report['table']}-curves.png"
    title = f"{report['title']}\n{short_words(report['task'], report['data'])}"
    if report["table"] == "out-dim":
        out_dim_chart(_points(report), title, chart)
    else:
        traffic = report["task"] == "metr-la"
        metric, label = ("mean mae", "test MAE") if traffic else ("micro_f1", "test micro-F1, %")
        score_chart(_bars(report, metric), title, label, chart)
    first = {run.row.name: run.folder.path for run in runs if run.seed == 0 and run.finished}
    learning_curves(first, curves)
    return [chart, curves]


def draw_gates(runs: Sequence[TableRun], dataset: NodeDataset, out: Path) -> Facts:
    """The pictures of the gates of the first finished run, and what they show in numbers."""
    from gaancore.plots.scores import gate_pictures

    done = [run for run in runs if run.finished]
    return gate_pictures(done[0].folder.path, dataset, out / "gates") if done else {}


def _bars(report: Facts, metric: str) -> list[Facts]:
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
    ]


def _points(report: Facts) -> list[Facts]:
    """The chart's axis is F1 itself, not percent."""
    points = []
    for row in report["rows"]:
        if row["seeds"]:
            found = (row["full"] or row["other"])["micro_f1"]
            std = None if found["std"] is None else found["std"] / 100
            scaled = {"mean": found["mean"] / 100, "std": std, "n": found["n"]}
            points.append({"model": row["model"], "out_dim": row["out_dim"], **scaled})
    return points
