"""From what is asked of a table to its report: data, runs, files."""

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from gaancore.data import find_dataset
from gaancore.errors import SettingsError
from gaancore.reproduce.claims import most_telling_first
from gaancore.reproduce.datasets import datasets_report
from gaancore.reproduce.estimate import announce
from gaancore.reproduce.jobs import Display, Jobs, Means
from gaancore.reproduce.parameters import parameters_report
from gaancore.reproduce.plan import plan, runs_folder
from gaancore.reproduce.report.data import Facts, read_with
from gaancore.reproduce.report.files import expect_same_data, write_report
from gaancore.reproduce.report.of_runs import changed_settings, table_report
from gaancore.reproduce.report.pictures import draw_gates, draw_report
from gaancore.reproduce.report.schema import RunsReport
from gaancore.reproduce.sampling import sampling_report
from gaancore.reproduce.tables import TABLES, Row, expect_common, expect_task, rows_of, seeds_of
from gaancore.tasks import Task, choose, task_named
from gaancore.training.choices import Layer


@dataclass(frozen=True)
class Asked:
    """What is asked of a table.

    out     : folder of runs and reports.
    task    : by default what fits `data`, else the table's first.
    data    : path, by default the task's data in the user's data folder, else its look-alike.
    layers  : settings for every row, weakest first.
    rows    : names of those to run, by default all. seeds: runs of each row.
    variant : which reading of the paper, by default the task's.
    """

    table: str
    out: Path
    task: str | None = None
    data: str | None = None
    layers: Sequence[Layer] = ()
    rows: Sequence[str] = ()
    seeds: int | None = None
    variant: str | None = None


@dataclass(frozen=True)
class Made:
    """What came out: in words, as files, and how it ended.

    unequal : a parameter count is not the paper's. failed : a run went wrong.
    """

    words: str
    files: Sequence[Path]
    end: Literal["done", "unequal", "failed", "interrupted"] = "done"


class TableDisplay(Display, AbstractContextManager[Any], Protocol):
    """What shows the runs under way, while it is open, and lines of text."""

    def say(self, line: str) -> None: ...


def make_table(
    asked: Asked, means: Means | None, display: TableDisplay, command: Callable[[str], str]
) -> Made:
    """Do the runs of a table that are not finished, and write its report and pictures.

    means   : how runs are done; None to report on what there is.
    command : from the name of a task what makes the rest, in the reader's words.
    Raises SettingsError, DataError; a run that goes wrong does not stop the others.
    """
    _expect_of_use(asked)
    table, out = asked.table, asked.out
    if table == "params":
        counts = parameters_report()
        end: Any = "done" if counts["equal"] == len(counts["rows"]) else "unequal"
        return Made(counts["sentence"], write_report(counts, out), end)
    if table == "datasets":
        return Made("", write_report(datasets_report(_facts_of_data(asked)), out))
    if asked.task:
        expect_task(table, asked.task)
    if TABLES[table].trained:  # before the data are read
        rows_of(table, asked.task, asked.rows)
        expect_common(table, rows_of(table, asked.task), asked.layers)
    task, dataset = _task_and_data(asked, display)
    if table == "edges" and not dataset.edge_names:
        raise SettingsError(
            f"{dataset.where}: the file of the roads gives no features of them, which table edges "
            "is about; give one with distances or weights (graph)"
        )
    facts = dataset.facts()
    expect_same_data(out, table, task.name, facts["checksum"])
    if not TABLES[table].trained:
        read = read_with(task.settings(*asked.layers), task.settings())
        sizes = sampling_report(task, dataset.graph, facts, read)
        return Made(sizes["data"]["words"], write_report(sizes, out))
    return TrainedTable(asked, task, dataset, facts).make(means, display, command(task.name))


def _expect_of_use(asked: Asked) -> None:
    """Raise SettingsError for an argument that means nothing to the table."""
    if TABLES[asked.table].trained:
        return
    useless = ["rows", "seeds", "variant"]
    if asked.table == "params":
        useless += ["data", "layers"]
    for name in useless:
        if value := getattr(asked, name):
            where = value[0][0] if name == "layers" else name
            raise SettingsError(f"{where}: table {asked.table} has no runs that it could be for")


def _facts_of_data(asked: Asked) -> dict[str, Any]:
    """Task -> facts of its data, None where there are none; all tasks, so that all of the paper's
    counts are there."""
    first = asked.task
    if asked.data and not first:
        first = choose(asked.data, asked.layers).task.name
    if first:
        expect_task(asked.table, first)
    found = {}
    for name in TABLES[asked.table].tasks:
        task = task_named(name)
        wanted = asked.task in (None, name)
        source = (asked.data if name == first else None) or (find_dataset(name) if wanted else None)
        dataset = task.load(str(source), task.settings(*asked.layers)) if source else None
        found[name] = dataset.facts() if dataset else None
    return found


def _task_and_data(asked: Asked, display: TableDisplay) -> tuple[Task, Any]:
    if asked.task or not asked.data:
        task = task_named(asked.task or TABLES[asked.table].papers[0])
        return task, task.load(asked.data, task.settings(*asked.layers))
    chosen = choose(asked.data, asked.layers)
    display.say(chosen.words)
    expect_task(asked.table, chosen.task.name)
    return chosen.task, chosen.dataset


class TrainedTable:
    """A table that is made of training runs, for one task on its data."""

    def __init__(self, asked: Asked, task: Task, dataset: Any, facts: Facts) -> None:
        """Raises SettingsError for a row that the task has not, or where there is a run with other
        settings."""
        self.asked = asked
        self.task = task
        self.dataset = dataset
        self.facts = facts
        self.rows = rows_of(asked.table, task.name)
        self.wanted = rows_of(asked.table, task.name, asked.rows)
        folder = runs_folder(asked.out, task.name, facts["checksum"])
        seeds = asked.seeds or seeds_of(asked.table, task.name)
        self.runs = plan(self.rows, seeds, folder, facts, self.settings)

    def settings(self, row: Row, seed: int) -> Any:
        """Those of a run: the task's for these data, the row's, and what was asked for."""
        return self._settled(row, seed, self.asked.layers)[0]

    @property
    def chosen(self) -> str | None:
        """Settings that were chosen to suit the data, in words."""
        return self._settled(self.rows[0], 0, self.asked.layers)[1]

    def _settled(self, row: Row, seed: int, asked: Sequence[Layer]) -> tuple[Any, str | None]:
        layers: list[Layer] = [(row.name, row.settings), *asked, ("seed", {"seed": seed})]
        if self.asked.variant:
            layers.append(("variant", {"variant": self.asked.variant}))
        named = frozenset(name for _, changes in layers for name in changes)
        return self.task.settled(self.dataset, *layers, named=named)

    def make(self, means: Means | None, display: TableDisplay, command: str) -> Made:
        """Do the runs, as `make_table`."""
        if chosen := self.chosen:
            display.say(chosen)
        end: Any = self._work(means, display) if means else "done"
        report, pictures = self.report(command)
        return Made(
            report["data"]["words"], [*write_report(report, self.asked.out), *pictures], end
        )

    def _work(self, means: Means, display: TableDisplay) -> str:
        rows = most_telling_first(self.asked.table, self.task.name, self.wanted)
        runs = [run for row in rows for run in self.runs if run.row == row]
        runs.sort(key=lambda run: run.seed)  # of the same seed, rows stay in their order
        data, begun = self.asked.data, time.monotonic()
        with display:
            try:
                announce(runs, data, means.device, means.prefetch, means.budget, display.say)
                spent = time.monotonic() - begun
                jobs = Jobs(data, means.after(spent), display)
                jobs.work(runs, self.asked.out)
            except KeyboardInterrupt:
                return "interrupted"
        return jobs.end

    def report(self, command: str) -> tuple[RunsReport, list[Path]]:
        """What the runs say so far, and the pictures that were drawn of it."""
        asked = self.asked
        pairs = [(self.settings(row, 0), self._settled(row, 0, ())[0]) for row in self.rows]
        changed = dict.fromkeys(change for pair in pairs for change in changed_settings(*pair))
        report = table_report(
            asked.table,
            self.task,
            self.rows,
            self.runs,
            self.facts,
            chosen=self.chosen,
            changed=list(changed),
            read=read_with(*pairs[0]),
            command=command,
        )
        pictures = draw_report(report, self.runs, asked.out)
        if asked.table == "gates":
            report["gates"] = draw_gates(report, self.runs, self.dataset, asked.out)
            pictures += [asked.out / "gates.png"] if report["gates"] else []
        return report, pictures
