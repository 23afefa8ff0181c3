"""One page from the reports of several folders."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gaancore.data.paper import NAMES
from gaancore.errors import DataError
from gaancore.reproduce.data_facts import short_words
from gaancore.reproduce.page import page, table
from gaancore.reproduce.tables import TABLES
from gaancore.system.disk import read_json

OPENING = """# Results

Written by `gaancore results` from the records of runs; no number is typed by hand. Micro-F1 is in
percent, errors in the units of the speeds. A score on anything but the paper's full data set, or
with other settings, stands in a column of its own: it is a check, not a reproduction. A cell
without a run is empty, and so is a number of the paper that could not be confirmed."""


def collected_page(folders: Sequence[Path]) -> str:
    """The page of all reports in `folders`. Raises DataError if there is none or one is damaged."""
    reports = [_read(path) for folder in folders for path in _files(folder)]
    if not reports:
        raise DataError(f"{folders[0]}: no report there; run gaancore reproduce TABLE first")
    reports.sort(key=lambda report: list(TABLES).index(report["table"]))
    overview = table(
        ("table", "data", "runs done", "runs left"), [_line(report) for report in reports]
    )
    parts = [OPENING, overview, *(page(report, level=2).rstrip("\n") for report in reports)]
    if missing := _not_begun(reports):
        parts.append("## Not run at all\n\n" + table(("table", "data", "how to run it"), missing))
    return "\n\n".join(parts) + "\n"


def _files(folder: Path) -> list[Path]:
    return [path for name in TABLES if (path := folder / f"{name}.json").exists()]


def _read(path: Path) -> dict[str, Any]:
    report = read_json(path)
    if not isinstance(report, dict) or report.get("table") != path.stem:
        raise DataError(f"{path}: not a report of gaancore reproduce; remove it")
    return report


def _line(report: dict[str, Any]) -> list[str]:
    if "data" not in report:
        return [report["title"], "", "yes", ""]
    done = sum(len(row.get("seeds", "x")) for row in report["rows"])
    data = f"{short_words(report['task'], report['data'])} (`{report['data']['file']}`)"
    was_run = str(done) if "metrics" in report else "yes"
    return [report["title"], data, was_run, str(len(report["missing"]) or "")]


def _not_begun(reports: Sequence[dict[str, Any]]) -> list[list[str]]:
    """Every table and task that has no run on the paper's full data."""
    full = {
        (report["table"], report["task"])
        for report in reports
        if report.get("data", {}).get("kind") == "full"
        and not report["changed"]
        and any(row.get("seeds", True) for row in report["rows"])
    }
    return [
        [title, f"the full {NAMES[task]}", f"`gaancore reproduce {name} --task {task} --data PATH`"]
        for name, (title, tasks) in TABLES.items()
        if name not in ("datasets", "params")
        for task in tasks
        if (name, task) not in full and (name, task) != ("sampling", "ppi")
    ]
