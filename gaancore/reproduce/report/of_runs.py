"""What the records of a table's runs say, as plain facts.

Nothing else goes in: a report made again from the same records is the same, byte for byte.
"""

import statistics
from collections.abc import Sequence
from typing import Any, cast

from gaancore.reproduce.claims import claim_of
from gaancore.reproduce.plan import TableRun
from gaancore.reproduce.printed import Printed
from gaancore.reproduce.report.data import OF_DATA, Facts, data_part
from gaancore.reproduce.report.order import judged
from gaancore.reproduce.report.schema import SCHEMA, RunsReport, RunsRow, Spread
from gaancore.reproduce.tables import TABLES, Row, rows_taken
from gaancore.tasks import Task
from gaancore.training.choices import differences


def spread(values: Sequence[float]) -> Spread:
    """Mean, sample standard deviation (None for one value) and number of values."""
    std = round(statistics.stdev(values), 4) if len(values) > 1 else None
    return {"mean": round(statistics.fmean(values), 4), "std": std, "n": len(values)}


def metrics_of(task: Task) -> list[str]:
    """Names of a task's scores, in the order of the columns."""
    return [name for group in task.score_groups.values() for name in group]


def changed_settings(asked: Any, of_row: Any) -> list[str]:
    """What was asked for beyond how the files are to be read.

    asked  : the settings of a run. of_row : those of its row alone, same variant and seed.
    """
    changes = differences(of_row, asked)
    return [change for change in changes if change.partition(":")[0] not in OF_DATA]


def table_report(
    table: str,
    task: Task,
    rows: Sequence[Row],
    runs: Sequence[TableRun],
    facts: Facts,
    *,
    chosen: str | None,
    changed: Sequence[str],
    read: Sequence[str],
    command: str,
) -> RunsReport:
    """A table's report. Every row is there, also those without a run and those that the paper
    prints from others.

    runs    : those that the rows were asked to have, finished or not.
    facts   : of the data, as in a record.
    chosen  : settings that were chosen to suit data of one's own, in words.
    changed : settings that were asked for, in words.
    read    : those of them that say how the files are to be read.
    command : what runs all that is missing.

    The scores of a row are under `full` if the data are the paper's and the settings too, else
    under `other`, so that nothing else can come to stand beside the paper's.
    """
    data = data_part(task, facts, read)
    full = data["kind"] == "full" and not changed
    taken = [printed_row(row, task) for row in rows_taken(table, task.name)]
    found = [_row(row, task, [run for run in runs if run.row == row], full) for row in rows]
    claim = claim_of(table, task.name)
    compares = claim is not None and (task.of_paper or claim.ours)
    return {
        "schema": SCHEMA,
        "table": cast(Any, table),
        "title": TABLES[table].title,
        "task": task.name,
        "data": data,
        "settings": chosen,
        "changed": list(changed),
        "metrics": metrics_of(task),
        "rows": [*taken, *found, *_baselines(task, runs, full)],
        "order": judged(table, task.name, _by_seed(found)) if compares else None,
        "missing": [run.name for run in runs if not run.finished],
        "command": command,
    }


def _empty(name: str) -> RunsRow:
    return {
        "name": name,
        "model": None,
        "place": "",
        "paper": {},
        "paper_parameters": None,
        "full": {},
        "other": {},
        "seeds": [],
    }


def printed_row(row: Row, task: Task) -> RunsRow:
    """A row without a run: what the paper prints, and where."""
    facts, paper = _empty(row.name), row.paper.get(task.name, Printed())
    numbers = paper.numbers
    facts["model"] = row.settings.get("model")
    facts["place"] = row.place
    facts["paper"] = {name: numbers[name] for name in metrics_of(task) if name in numbers}
    facts["printed"] = dict(paper.scores)
    facts["paper_parameters"] = paper.parameters
    if paper.note:
        facts["note"] = paper.note
    if row.taken_from:
        facts["taken_from"] = row.taken_from
    if row.extension and task.of_paper:
        facts["extension"] = True
    return facts


def _row(row: Row, task: Task, runs: Sequence[TableRun], full: bool) -> RunsRow:
    done = [(run, run.record()) for run in runs if run.finished]
    records = [record for _, record in done]
    scores = [task.scores_in(record["test"]) for record in records]
    metrics = metrics_of(task)
    facts = printed_row(row, task)
    facts["full" if full else "other"] = {
        name: spread([score[name] for score in scores])
        for name in metrics
        if scores and all(name in score for score in scores)
    }
    facts["seeds"] = [run.seed for run, _ in done]
    facts["scores"] = [{name: round(s[name], 4) for name in metrics if name in s} for s in scores]
    if done:
        first = records[0]
        facts["num_parameters"] = first["num_parameters"]
        facts["variant"] = runs[0].settings.variant
        facts["device"] = ", ".join(sorted({record["device"] for record in records}))
        facts["epochs"] = round(statistics.fmean(record["epochs"] for record in records), 1)
        facts["seconds"] = round(sum(record["seconds"] for record in records), 1)
        if "out_dim" in first["settings"]:
            facts["out_dim"] = first["settings"]["out_dim"]
    return facts


def _by_seed(rows: Sequence[RunsRow]) -> dict[str, dict[int, dict[str, float]]]:
    """Row -> seed -> its scores."""
    return {
        row["name"]: dict(zip(row["seeds"], row.get("scores", []), strict=True)) for row in rows
    }


def _baselines(task: Task, runs: Sequence[TableRun], full: bool) -> list[RunsRow]:
    """Guesses that learn nothing; every run scores the same ones on the same data."""
    first = next((run.record() for run in runs if run.finished), None)
    guesses = first.get("baselines", {}) if first else {}
    rows = []
    for name, test in guesses.items():
        facts = _empty(name)
        facts["full" if full else "other"] = {
            key: spread([value]) for key, value in task.scores_in(test).items()
        }
        rows.append(facts)
    return rows
