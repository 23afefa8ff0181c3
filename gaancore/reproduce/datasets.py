"""The paper's counts of its data sets beside those of files."""

from collections.abc import Mapping
from typing import Any

from gaancore.data.paper import COUNTED, paper_data
from gaancore.reproduce.report.data import Facts, data_kind, describe
from gaancore.reproduce.report.schema import SCHEMA, Count, CountsPart, DatasetsReport
from gaancore.reproduce.tables import TABLES
from gaancore.tasks import task_named

COUNTS = (*COUNTED, "nodes_per_split", "edges")


def datasets_report(found: Mapping[str, Facts | None]) -> DatasetsReport:
    """found : task -> the facts of its data, or None where there are no data."""
    return {
        "schema": SCHEMA,
        "table": "datasets",
        "title": TABLES["datasets"].title,
        "counts": [_part(task, facts) for task, facts in found.items()],
    }


def _part(name: str, facts: Facts | None) -> CountsPart:
    task = task_named(name)
    return {
        "task": name,
        "place": paper_data(name)["place"],
        "kind": data_kind(task, facts) if facts else None,
        "words": describe(task, facts) if facts else "No data were found.",
        "rows": _rows(name, facts),
    }


def _rows(name: str, facts: Facts | None) -> list[Count]:
    """The counts of the paper's data `name` beside those of files."""
    found: dict[str, Any] = {**facts, "edges": facts["num_edges"]} if facts else {}
    paper = paper_data(name)
    return [
        {
            "quantity": _words(count),
            "paper": paper.get(count),
            "printed": paper["printed"].get(count),
            "found": found.get(count),
        }
        for count in COUNTS
        if count in paper or count in paper["printed"]
    ]


def _words(name: str) -> str:
    return {
        "edges": "edges (the paper's counting; found: stored arcs)",
        "nodes_per_split": "nodes to train, validate, test",
    }.get(name, name.removeprefix("num_"))
