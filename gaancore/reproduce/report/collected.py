"""One page from the reports of several folders."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from gaancore.errors import DataError
from gaancore.reproduce.report.data import data_label, heading, short_words
from gaancore.reproduce.report.files import reports_in
from gaancore.reproduce.report.page import page, table
from gaancore.reproduce.report.schema import Report
from gaancore.reproduce.tables import TABLES
from gaancore.tasks import task_named

OPENING = """# Results

Made from the records of runs; no number is typed by hand. Micro-F1 is in percent, errors in the
units of the speeds. A score on anything but the paper's full data set, or with other settings,
stands in a column of its own: it is a check, not a reproduction. A cell without a run is empty, and
so is a cell of the paper where it prints no number. An order of the paper is called shown or
reversed only where a comparison over seeds says so."""
CLAIMS = (
    "Shown and reversed are comparisons over seeds whose 95 % interval lies wholly on one side of "
    "0. Each report below has all of them, with their intervals."
)
SHOWN = ("table", "data", "shown", "reversed", "not decided", "not run")
NOT_RUN = "These need the paper's full data sets, which you have to download."
# that the paper does not print
NO_RUNS = (("sampling", "ppi"), ("gates", "ppi"), ("edges", "metr-la"))


def collected_page(folders: Sequence[Path], command: Callable[[str, str], str]) -> str:
    """The page of all reports in `folders`.

    command : what makes a table for a task, in the reader's words.
    Raises DataError if there is no report, or if one is damaged.
    """
    reports = [report for folder in folders for report in reports_in(folder)]
    if not reports:
        raise DataError(f"{folders[0]}: no report there; make a table first")
    reports.sort(key=lambda report: list(TABLES).index(report["table"]))
    apart = [_apart(report, reports) for report in reports]
    told = list(zip(reports, apart, strict=True))
    overview = table(("table", "data", "runs done", "runs left"), [_line(*of) for of in told])
    parts = [OPENING, overview]
    if claims := [_claims(*of) for of in told if _has_order_of_paper(of[0])]:
        parts.append(f"## The paper's orders on these data\n\n{CLAIMS}\n\n{table(SHOWN, claims)}")
    missing = [
        [TABLES[name].title, f"the full {heading(task_named(task))}", f"`{command(name, task)}`"]
        for name, task in _not_begun(reports)
    ]
    if missing:
        header = ("table", "data", "how to run it")
        parts.append(f"## Not run at all\n\n{NOT_RUN}\n\n{table(header, missing)}")
    parts += [page(report, 2, words).rstrip("\n") for report, words in told]
    return "\n\n".join(parts) + "\n"


def _apart(report: Any, reports: Sequence[Any]) -> str:
    """Settings asked for that not all reports of the same table on the same file have."""
    if "data" not in report:
        return ""
    asked = [
        [*other["data"].get("read", []), *other["changed"]]
        for other in reports
        if other["table"] == report["table"]
        and (other["task"], other["data"]["file"]) == (report["task"], report["data"]["file"])
    ]
    mine = [*report["data"].get("read", []), *report["changed"]]
    return ", ".join(words for words in mine if not all(words in others for others in asked))


def _line(report: Report, apart: str) -> list[str]:
    if report["table"] == "datasets" or report["table"] == "params":
        return [report["title"], "", "yes", ""]
    task, data = task_named(report["task"]), report["data"]
    where = f"{short_words(task, data['kind'])} ({data_label(data, apart)})"
    if report["table"] == "sampling":
        return [report["title"], where, "yes", ""]
    done = sum(len(row["seeds"]) for row in report["rows"])
    return [report["title"], where, str(done), str(len(report["missing"]) or "")]


def _has_order_of_paper(report: Any) -> bool:
    order = report.get("order")
    return bool(order) and not order.get("ours", False)


def _claims(report: Any, apart: str) -> list[str]:
    """How the comparisons of a report ended: pairs by name, or how many."""
    pairs, task = report["order"]["pairs"], task_named(report["task"])
    of = {outcome: [f"{p['better']} ≥ {p['worse']}" for p in pairs if p["outcome"] == outcome]
          for outcome in SHOWN[2:]}  # fmt: skip
    where = f"{short_words(task, report['data']['kind'])} ({data_label(report['data'], apart)})"
    named = [", ".join(of[outcome]) for outcome in ("shown", "reversed")]
    return [report["title"], where, *named, *(str(len(of[outcome])) for outcome in SHOWN[4:])]


def _not_begun(reports: Sequence[Report]) -> list[tuple[str, str]]:
    """Every table and task of the paper that has no run on the paper's full data."""
    full = {_made(report) for report in reports}
    return [
        (name, task)
        for name, entry in TABLES.items()
        if name not in ("datasets", "params")
        for task in entry.papers
        if (name, task) not in full and (name, task) not in NO_RUNS
    ]


def _made(report: Report) -> tuple[str, str] | None:
    """The table and task that a report has numbers for, if they are the paper's."""
    if report["table"] == "datasets" or report["table"] == "params":
        return None
    if report["data"]["kind"] != "full" or report["changed"]:
        return None
    if report["table"] != "sampling" and not any(row["seeds"] for row in report["rows"]):
        return None
    return report["table"], report["task"]
