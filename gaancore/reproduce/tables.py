"""The paper's tables: a TOML file each, with settings and what the paper prints for every row.

`[ROW]` holds the settings that differ from the task's defaults, in the keys of a config file.
`[ROW.paper]` says where the paper has it, `[ROW.paper.TASK]` what is printed there: scores as
[mean, deviation] or [mean], `printed` and `num_parameters` for #Param. A number that could not be
confirmed is left out. A row with a `task` of its own is for that task alone.
"""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from gaancore.errors import SettingsError
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
    "gates": Table("Gate values of nodes and heads", ("ppi", "reddit"), GRAPHS, trained=True),
    "traffic": Table("Errors of traffic forecasts", ("metr-la",), ("forecast",), trained=True),
    "params": Table("Parameter counts", ("ppi", "reddit")),
}
TRAINED = tuple(name for name, table in TABLES.items() if table.trained)
# The paper's numbers of runs; it names none for METR-LA. One run is enough for a picture of gates.
SEEDS = {"ppi": 3, "reddit": 5, "metr-la": 3, "labels": 3, "classes": 3, "forecast": 3}


@dataclass(frozen=True)
class Row:
    """settings : what differs from the defaults of the task.
    paper    : task -> what is printed there; place : where.
    """

    name: str
    settings: dict[str, Any]
    place: str
    paper: dict[str, dict[str, Any]]


def seeds_of(table: str, task: str) -> int:
    """How many seeds a row is run with."""
    return 1 if table == "gates" else SEEDS[task]


def expect_task(table: str, task: str) -> None:
    """Raise SettingsError unless `table` can be made for `task`."""
    if task not in (tasks := TABLES[table].tasks):
        raise SettingsError(f"task: table {table} is of {', '.join(tasks)}, got {task}")


def rows_of(table: str, task: str | None = None, names: Sequence[str] = ()) -> list[Row]:
    """The rows of `table` that `task` has, in the order of the models; only `names`, if any.

    task : None for the rows of all tasks. Raises SettingsError for a name that is no row.
    """
    rows = [row for row in read_rows(table) if task in (None, row.settings.get("task", task))]
    known = {row.name: row for row in rows}
    for name in names:
        if name not in known:
            raise SettingsError(
                f"rows: {name}: table {table} has no such row; known: {', '.join(known)}"
            )
    return [known[name] for name in names] if names else rows


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
    """Every row of a table, sorted by model as the paper lists them, then by name."""
    file = resources.files("gaancore.reproduce") / "rows" / f"{table}.toml"
    rows = []
    for name, settings in tomllib.loads(file.read_text(encoding="utf-8")).items():
        paper = settings.pop("paper")
        rows.append(Row(name, settings, paper.pop("place"), paper))
    return sorted(rows, key=_place_in_table)


ORDER = ("fnn", "avg-pool", "max-pool", "pairwise-sigmoid", "pairwise-tanh", "attention", "gaan")


def _place_in_table(row: Row) -> tuple[Any, ...]:
    s = row.settings
    widths = (s.get("num_heads", 0), s.get("out_dim", 0), s.get("fanouts", []))
    return (ORDER.index(s["model"]) if "model" in s else -1, *widths, row.name)
