"""Parameter counts: what is built from a row's settings, beside what the paper's tables pin."""

from dataclasses import dataclass
from typing import Any

from gaancore.nn.module import Module
from gaancore.reproduce.printed import Printed
from gaancore.reproduce.report.schema import SCHEMA, ParametersReport, ParametersRow
from gaancore.reproduce.tables import TABLES, Row, rows_of, tables_with
from gaancore.tasks import task_named


@dataclass(frozen=True)
class ModelSize:
    """One row's model. paper, printed : None where the paper's tables have no #Param for it."""

    task: str
    row: str
    variant: str
    model: Module
    paper: int | None
    printed: str | None

    @property
    def equal(self) -> bool | None:
        """Whether the count is the paper's, exactly and as it prints it."""
        if self.paper is None:
            return None
        count = self.model.num_parameters
        return count == self.paper and rounded(count) == self.printed

    def layers(self) -> list[dict[str, Any]]:
        """Every array of numbers: name, shape, size."""
        return [
            {"name": name, "shape": list(parameter.data.shape), "size": parameter.data.size}
            for name, parameter in self.model.named_parameters()
        ]


def model_sizes(task: str, variant: str | None = None, model: str | None = None) -> list[ModelSize]:
    """The models of a task's tables; only those of `model`, if it is given.

    They are the rows that the paper prints a #Param for, built as on its data sets; where it prints
    none, as for METR-LA, all rows of the task's table.
    """
    rows = counted_rows(task) or rows_of(tables_with(task)[0], task)
    changes = {"variant": variant} if variant else {}
    return [
        _size(task, row, row.settings | changes)
        for row in rows
        if model in (None, row.settings["model"])
    ]


def counted_rows(task: str) -> list[Row]:
    """Rows of the paper's tables with a #Param for `task`."""
    rows = [row for table in tables_with(task) for row in rows_of(table, task)]
    return [row for row in rows if task in row.paper and row.paper[task].num_parameters]


def rounded(count: int) -> str:
    """A count as the paper prints it: 267K, 1.23M."""
    return f"{count / 1e6:.2f}M" if count >= 1_000_000 else f"{count / 1e3:.0f}K"


def parameters_report() -> ParametersReport:
    """All counts of the paper's tables, as the settings of their rows build them."""
    table = TABLES["params"]
    rows = [_row(size) for task in table.papers for size in model_sizes(task)]
    equal = sum(row["equal"] for row in rows)
    return {
        "schema": SCHEMA,
        "table": "params",
        "title": table.title,
        "rows": rows,
        "equal": equal,
        "sentence": f"{equal} of {len(rows)} equal",
    }


def _row(size: ModelSize) -> ParametersRow:
    assert size.paper is not None
    assert size.printed is not None
    return {
        "task": size.task,
        "name": size.row,
        "built": size.model.num_parameters,
        "paper": size.paper,
        "printed": size.printed,
        "equal": bool(size.equal),
    }


def _size(name: str, row: Row, changes: dict[str, Any]) -> ModelSize:
    task = task_named(name)
    settings = task.settings((row.name, changes))
    paper = row.paper.get(name, Printed())
    counts = paper.num_parameters, paper.parameters
    return ModelSize(name, row.name, settings.variant, task.paper_model(settings), *counts)
