"""Parameter counts: what is built from a row's settings, beside what the paper's tables pin."""

from dataclasses import dataclass
from typing import Any

from gaancore.data.paper import paper_data
from gaancore.data.traffic.batches import WIDTHS
from gaancore.nn.module import Module
from gaancore.reproduce.tables import Row, rows_of
from gaancore.train.nodes.build import build_model
from gaancore.train.run_folder import default_settings
from gaancore.train.traffic.build import build_forecaster
from gaancore.train.traffic.settings import ForecastSettings


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

    Those of PPI and Reddit are the rows that the paper prints a #Param for, built as on its data
    sets; those of METR-LA read the speed and the time of day, and have no such column.
    """
    rows = rows_of("traffic", task) if task == "metr-la" else counted_rows(task)
    changes = {"variant": variant} if variant else {}
    return [
        _size(task, row, row.settings | changes)
        for row in rows
        if model in (None, row.settings["model"])
    ]


def counted_rows(task: str) -> list[Row]:
    """Rows of the paper's tables with a #Param for `task`."""
    rows = rows_of("main", task) + rows_of("ablation", task)
    return [row for row in rows if "num_parameters" in row.paper.get(task, {})]


def rounded(count: int) -> str:
    """A count as the paper prints it: 267K, 1.23M."""
    return f"{count / 1e6:.2f}M" if count >= 1_000_000 else f"{count / 1e3:.0f}K"


def parameters_report() -> dict[str, Any]:
    """All counts of the paper's tables, as the settings of their rows build them."""
    sizes = [size for task in ("ppi", "reddit") for size in model_sizes(task)]
    rows = [
        {
            "task": size.task,
            "name": size.row,
            "built": size.model.num_parameters,
            "paper": size.paper,
            "printed": size.printed,
            "equal": size.equal,
        }
        for size in sizes
    ]
    equal = sum(row["equal"] is True for row in rows)
    return {
        "table": "params",
        "title": "Parameter counts",
        "rows": rows,
        "equal": equal,
        "sentence": f"{equal} of {len(rows)} equal",
    }


def _size(task: str, row: Row, changes: dict[str, Any]) -> ModelSize:
    settings = default_settings(task, (row.name, changes))
    if isinstance(settings, ForecastSettings):
        model: Module = build_forecaster(settings, 1 + WIDTHS["time_of_day"])
    else:
        data = paper_data(task)
        model = build_model(settings, data["num_features"], data["num_classes"])
    paper = row.paper.get(task, {})
    return ModelSize(
        task, row.name, settings.variant, model, paper.get("num_parameters"), paper.get("printed")
    )
