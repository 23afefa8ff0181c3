"""What the records of a table's runs say, as plain facts: the content of TABLE.json.

Nothing else goes in: a report made again from the same records is the same, byte for byte.
"""

import statistics
from collections.abc import Sequence
from typing import Any

from gaancore.reproduce.data_facts import data_kind, describe, file_name
from gaancore.reproduce.order import judged
from gaancore.reproduce.runs import TableRun
from gaancore.reproduce.tables import TABLES, Row
from gaancore.train.choices import differences
from gaancore.train.run_folder import AnySettings
from gaancore.train.traffic.settings import ForecastSettings

AHEAD = ("15 min", "30 min", "60 min", "mean")
ERRORS = ("mae", "rmse", "mape")
# settings that say what the data are, not what is done with them
OF_DATA = ("graph", "sensor_ids", "start", "unflagged", "nan")
Facts = dict[str, Any]


def metrics_of(task: str) -> list[str]:
    """Names of a task's scores, as the paper prints them."""
    if task == "metr-la":
        return [f"{ahead} {error}" for ahead in AHEAD for error in ERRORS]
    return ["micro_f1"]


def scores_in(task: str, test: Facts) -> dict[str, float]:
    """The scores of a record's `test`: micro-F1 in percent, errors in the units of the speeds."""
    if task != "metr-la":
        return {"micro_f1": 100 * test["micro_f1"]}
    found = {f"{a} {e}": test[a][e] for a in AHEAD if a in test for e in ERRORS}
    return {name: value for name, value in found.items() if value is not None}


def spread(values: Sequence[float]) -> Facts:
    """Mean, sample standard deviation (None for one value) and number of values."""
    std = round(statistics.stdev(values), 4) if len(values) > 1 else None
    return {"mean": round(statistics.fmean(values), 4), "std": std, "n": len(values)}


def changed_settings(asked: AnySettings, of_row: AnySettings) -> list[str]:
    """What the user's --set or --config change beyond how the files are to be read.

    asked  : the settings of a run. of_row : those of its row alone, same variant and seed.
    """
    changes = differences(of_row, asked)
    return [change for change in changes if change.partition(":")[0] not in OF_DATA]


def table_report(
    table: str,
    task: str,
    rows: Sequence[Row],
    runs: Sequence[TableRun],
    data: Facts,
    changed: Sequence[str],
    command: str,
) -> Facts:
    """A table's report. Every row is there, also those without a run.

    runs    : those that the rows were asked to have, finished or not.
    data    : as in a record. changed : settings that are not the paper's, in words.
    command : what runs all that is missing.

    The scores of a row are under `full` if the data are the paper's and the settings too, else
    under `other`, so that nothing else can come to stand beside the paper's.
    """
    kind = data_kind(task, data)
    where = "full" if kind == "full" and not changed else "other"
    facts = [_row_facts(row, task, [run for run in runs if run.row == row], where) for row in rows]
    if table == "traffic":
        facts += _baselines(runs, where)
    return {
        "table": table,
        "title": TABLES[table][0],
        "task": task,
        "data": {
            "kind": kind,
            "words": describe(task, data),
            "file": file_name(data),
            "checksum": data["checksum"],
        },
        "changed": list(changed),
        "metrics": metrics_of(task),
        "rows": facts,
        "order": judged(table, {row["name"]: row[where] for row in facts}),
        "missing": [run.name for run in runs if not run.finished],
        "command": command,
    }


def _row_facts(row: Row, task: str, runs: Sequence[TableRun], where: str) -> Facts:
    done = [(run, run.record()) for run in runs if run.finished]
    scores = [scores_in(task, record["test"]) for _, record in done]
    means = {
        name: spread([score[name] for score in scores])
        for name in metrics_of(task)
        if scores and all(name in score for score in scores)
    }
    paper = row.paper.get(task, {})
    facts: Facts = {
        "name": row.name,
        "model": row.settings.get("model"),
        "place": row.place,
        "paper": {name: paper[name] for name in metrics_of(task) if name in paper},
        "paper_parameters": paper.get("printed"),
        "full": {},
        "other": {},
        "seeds": [run.seed for run, _ in done],
    }
    facts[where] = means
    if done:
        records = [record for _, record in done]
        facts |= {
            "num_parameters": records[0]["num_parameters"],
            "variant": runs[0].settings.variant,
            "device": ", ".join(sorted({record["device"] for record in records})),
            "epochs": round(statistics.fmean(record["epochs"] for record in records), 1),
            "seconds": round(sum(record["seconds"] for record in records), 1),
        }
        if not isinstance(runs[0].settings, ForecastSettings):
            facts["out_dim"] = runs[0].settings.out_dim
    return facts


def _baselines(runs: Sequence[TableRun], where: str) -> list[Facts]:
    """Guesses that learn nothing; every run scores the same ones on the same windows."""
    records = [run.record() for run in runs if run.finished]
    guesses = records[0]["baselines"] if records else {}
    rows = []
    for name, test in guesses.items():
        scores = {key: spread([value]) for key, value in scores_in("metr-la", test).items()}
        empty: Facts = {"paper": {}, "paper_parameters": None, "full": {}, "other": {}, "seeds": []}
        rows.append({"name": name, "model": None, "place": ""} | empty | {where: scores})
    return rows
