"""The paper's tables: a TOML file each, with settings and what the paper prints for every row.

`[ROW]` holds the settings that differ from the task's defaults, in the keys of a config file, and
`TASK = {...}` those that differ for one task alone. `[ROW.paper]` says where the paper has it,
`[ROW.paper.TASK]` what is printed there, as text (see printed.py). A row with a `task` of its own
is for that task alone. One with `taken_from` is printed by the paper from another one and is never
run; one with `extension` is not in the paper.
"""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from typing import Any

from gaancore.choices import PAPERS
from gaancore.errors import SettingsError
from gaancore.reproduce.printed import Printed, printed
from gaancore.training.choices import Layer


@dataclass(frozen=True)
class Table:
    """One table or figure.

    papers  : the paper's tasks that it is about. own: tasks for data of one's own that fit as well.
    trained : whether it is made of training runs.
    """

    title: str
    papers: tuple[str, ...]
    own: tuple[str, ...] = ()
    trained: bool = False

    @property
    def tasks(self) -> tuple[str, ...]:
        return self.papers + self.own


GRAPHS = ("labels", "classes")  # tasks for a graph of one's own
TABLES = {
    "datasets": Table("The data sets", ("ppi", "reddit", "metr-la")),
    "sampling": Table("Sampled sizes, merged and not", ("reddit", "ppi"), GRAPHS),
    "main": Table("Test micro-F1 of every model", ("ppi", "reddit"), GRAPHS, trained=True),
    "ablation": Table("Heads and sample sizes", ("ppi", "reddit"), GRAPHS, trained=True),
    "out-dim": Table("Test micro-F1 against output dimension", ("ppi",), GRAPHS, trained=True),
    "gates": Table("Gate values of nodes and heads", ("reddit", "ppi"), GRAPHS, trained=True),
    "traffic": Table("Errors of traffic forecasts", ("metr-la",), ("forecast",), trained=True),
    "edges": Table("With features of roads and without", ("metr-la",), ("forecast",), trained=True),
    "params": Table("Parameter counts", ("ppi", "reddit")),
}
TRAINED = tuple(name for name, table in TABLES.items() if table.trained)
# The paper's numbers of runs; it names none for METR-LA. One run is enough for a picture of gates.
SEEDS = {"ppi": 3, "reddit": 5, "metr-la": 3, "labels": 3, "classes": 3, "forecast": 3}


@dataclass(frozen=True)
class Row:
    """settings : what differs from the defaults of the task; on_task: beyond that, of one task.
    paper      : task -> what is printed there; place : where.
    taken_from : whose paper the row is printed from; "" for a row that can be run.
    extension  : whether it is ours alone.
    """

    name: str
    settings: dict[str, Any]
    place: str = ""
    paper: dict[str, Printed] = field(default_factory=dict)
    taken_from: str = ""
    extension: bool = False
    on_task: dict[str, dict[str, Any]] = field(default_factory=dict)


def seeds_of(table: str, task: str) -> int:
    """How many seeds a row is run with."""
    return 1 if table == "gates" else SEEDS[task]


def expect_task(table: str, task: str) -> None:
    """Raise SettingsError unless `table` can be made for `task`."""
    if task not in (tasks := TABLES[table].tasks):
        raise SettingsError(f"task: table {table} is of {', '.join(tasks)}, got {task}")


def rows_of(table: str, task: str | None = None, names: Sequence[str] = ()) -> list[Row]:
    """The rows of `table` that `task` can run, in the order of the models; only `names`, if any.

    task : None for the rows of all tasks. Raises SettingsError for a name that is no such row.
    """
    rows, known = read_rows(table), {}
    for row in rows:
        if not row.taken_from and task in (None, row.settings.get("task", task)):
            own = row.on_task.get(task or "", {})
            known[row.name] = replace(row, settings=row.settings | own)
    for name in names:
        if any(row.taken_from and row.name == name for row in rows):
            raise SettingsError(
                f"rows: {name}: the paper prints this row from another one; it is never run"
            )
        if name not in known:
            raise SettingsError(
                f"rows: {name}: table {table} has no such row; known: {', '.join(known)}"
            )
    return [known[name] for name in names] if names else list(known.values())


def rows_taken(table: str, task: str) -> list[Row]:
    """The rows of `table` that the paper takes from others and prints for `task`."""
    return [row for row in read_rows(table) if row.taken_from and task in row.paper]


def expect_common(table: str, rows: Sequence[Row], layers: Sequence[Layer]) -> None:
    """Raise SettingsError for a change that cannot hold for all rows alike: a setting in which
    they differ, the seed, or the variant, which is an argument of its own.
    """
    differing = {name for row in rows for name in row.settings} - {"task"}
    for where, changes in layers:
        for name in changes:
            if name in differing:
                raise SettingsError(
                    f"{where}: {name}: the rows of table {table} differ in it; leave it out "
                    "(rows chooses among them)"
                )
            if name == "seed":
                raise SettingsError(
                    f"{where}: seed: each row is run with seeds 0, 1, ...; seeds says how many"
                )
            if name == "variant":
                raise SettingsError(
                    f"{where}: variant: leave it out; variant is an argument of its own"
                )


def tables_with(task: str) -> list[str]:
    """Names of the tables whose rows are trained on `task`."""
    return [name for name in TRAINED if task in TABLES[name].tasks]


def read_rows(table: str) -> list[Row]:
    """Every row of a table: those taken from others, then by model as the paper lists them."""
    file = resources.files("gaancore.reproduce") / "rows" / f"{table}.toml"
    return rows_in(file.read_text(encoding="utf-8"))


def rows_in(text: str) -> list[Row]:
    """The rows of a TOML file, as `read_rows`."""
    rows = []
    for name, settings in tomllib.loads(text).items():
        paper = settings.pop("paper")
        on_task = {task: settings.pop(task) for task in PAPERS if task in settings}
        of_task = {task: printed(paper.pop(task)) for task in PAPERS if task in paper}
        rows.append(Row(name, settings, paper=of_task, on_task=on_task, **paper))
    return sorted(rows, key=_place_in_table)


ORDER = ("fnn", "avg-pool", "max-pool", "pairwise-sigmoid", "pairwise-tanh", "attention", "gaan")


def _place_in_table(row: Row) -> tuple[Any, ...]:
    """Rows that are alike in all of it keep the order of the file."""
    s = row.settings
    widths = (s.get("num_heads", 0), s.get("out_dim", 0), s.get("fanouts", []))
    return (ORDER.index(s["model"]) if "model" in s else -1, *widths)
