"""Reports of earlier versions, brought up to this one."""

from typing import Any

from gaancore.data.paper import paper_data
from gaancore.reproduce.claims import claim_of
from gaancore.reproduce.datasets import with_found
from gaancore.reproduce.report.of_runs import printed_row
from gaancore.reproduce.report.schema import SCHEMA, Pair
from gaancore.reproduce.sampling import PAPER_SIZES, PLACE, PRINTED
from gaancore.reproduce.tables import TABLES, rows_of, rows_taken
from gaancore.tasks import task_named


def up_to_date(report: dict[str, Any]) -> dict[str, Any]:
    """A report of any version as one of this version.

    Before version 2 many numbers of the paper were not known: they come from the rows of today.
    An order was told by means alone: without the scores of single runs it is not decided.
    Raises KeyError or TypeError for a report that lacks what it must have.
    """
    if report.get("schema", 0) >= SCHEMA:
        return report
    table = report["table"]
    if table == "datasets":
        return report | {"counts": [_counts(part) for part in report["counts"]]}
    if table == "sampling":
        sizes = [
            row | {"place": PLACE, "paper": PAPER_SIZES[merge], "printed": list(PRINTED[merge])}
            for row, merge in zip(report["rows"], (False, True), strict=True)
        ]
        return report | {"rows": sizes}
    return _of_runs(report) if TABLES[table].trained else report


def _counts(part: dict[str, Any]) -> dict[str, Any]:
    found = {row["quantity"]: row["found"] for row in part["rows"]}
    place = paper_data(part["task"])["place"]
    return part | {"place": place, "rows": with_found(part["task"], found)}


def _of_runs(report: dict[str, Any]) -> dict[str, Any]:
    table, task = report["table"], task_named(report["task"])
    there = {row["name"]: row for row in report["rows"]}
    rows: list[Any] = [printed_row(row, task) for row in rows_taken(table, task.name)]
    for row in rows_of(table, task.name):
        facts: Any = printed_row(row, task)
        found = there.pop(row.name, {})
        rows.append(facts | {key: found[key] for key in found if key not in NOT_KEPT})
    rows += there.values()  # guesses that learn nothing, and rows that are no longer there
    return report | {"rows": rows, "order": _order(report)}


NOT_KEPT = ("place", "paper", "paper_parameters")  # of a row: as today's rows have them


def _order(report: dict[str, Any]) -> dict[str, Any] | None:
    """The claims of today; of each pair, the difference of the means."""
    claim = claim_of(report["table"], report["task"])
    if not report["order"] or claim is None:
        return None
    scores = {
        row["name"]: (row["full"] or row["other"]).get(claim.metric) for row in report["rows"]
    }
    sign = -1 if claim.metric.endswith("mae") else 1
    pairs: list[Pair] = []
    for better, worse in claim.pairs:
        a, b = scores.get(better), scores.get(worse)
        pair: Pair = {"better": better, "worse": worse, "outcome": "not run", "n": 0}
        if a and b:
            pair["outcome"], pair["n"], pair["interval"] = "not decided", min(a["n"], b["n"]), None
            pair["difference"] = round(sign * (a["mean"] - b["mean"]), 4)
        pairs.append(pair)
    return {"claim": claim.words, "metric": claim.metric, "pairs": pairs}
