"""What a task calls its data, scores and doubts; `words_for` finds the words of a task."""

from typing import Any, Protocol

from rich.table import Table

from gaancore.train.traffic.metrics import DEFINITION

Facts = dict[str, Any]


class Words(Protocol):
    """How a task is spoken of. `scores` are by name of what was scored."""

    def data(self, facts: Facts) -> str: ...
    def validated(self, line: Facts) -> str: ...
    def result(self, record: Facts) -> str: ...
    def rows(self, record: Facts) -> dict[str, Facts]: ...
    def table(self, scores: dict[str, Facts]) -> Table: ...
    def doubts(self, record: Facts) -> list[str]: ...


class ClassifierWords:
    def data(self, facts: Facts) -> str:
        train, validation, test = facts["nodes_per_split"]
        return (
            f"{facts['num_nodes']:,} nodes, {facts['num_edges']:,} arcs, "
            f"{facts['num_features']} features, {facts['num_classes']} classes; "
            f"train {train:,}, validation {validation:,}, test {test:,} nodes"
        )

    def validated(self, line: Facts) -> str:
        return f"val F1 {line['validation']['micro_f1']:.4f}"

    def result(self, record: Facts) -> str:
        return f"test micro-F1 {record['test']['micro_f1']:.4f}"

    def rows(self, record: Facts) -> dict[str, Facts]:
        rows = {
            "test": record["test"],
            "validation": record["validation"],
            "majority on test": record["majority"],
        }
        if "ceiling_micro_f1" in record["data"]:
            rows["ceiling on test"] = {"micro_f1": record["data"]["ceiling_micro_f1"]}
        return rows

    def table(self, scores: dict[str, Facts]) -> Table:
        """A line for each name, with its scores to four digits."""
        table = Table("", "micro-F1", "macro-F1")
        for name, found in scores.items():
            cells = [
                f"{found[key]:.4f}" if key in found else "" for key in ("micro_f1", "macro_f1")
            ]
            table.add_row(name, *cells)
        return table

    def doubts(self, record: Facts) -> list[str]:
        if record["test"]["micro_f1"] > record["majority"]["micro_f1"]:
            return []
        return [
            "warning: no better than the majority; check that labels and features are in "
            "the same order, and try --normalize standard or another --lr"
        ]


class TrafficWords:
    def data(self, facts: Facts) -> str:
        return (
            f"{facts['num_sensors']:,} sensors, {facts['num_edges']:,} arcs between them, "
            f"{facts['num_steps']:,} steps, {facts['missing_share']:.1%} missing"
        )

    def validated(self, line: Facts) -> str:
        mae = line["validation"]["all steps"]["mae"]
        shown = "none" if mae is None else f"{mae:.3f}"
        return f"val MAE {shown}  teacher {line['teacher_probability']:.2f}"

    def result(self, record: Facts) -> str:
        return f"test MAE {_errors(record['test']['mean'])} (MAE / RMSE / MAPE)"

    def rows(self, record: Facts) -> dict[str, Facts]:
        baselines = {f"{name} on test": found for name, found in record["baselines"].items()}
        return {"test": record["test"], "validation": record["validation"], **baselines}

    def table(self, scores: dict[str, Facts]) -> Table:
        """A line for each name: MAE / RMSE / MAPE of each number of minutes ahead."""
        columns = list(next(iter(scores.values())))
        table = Table("MAE / RMSE / MAPE", *columns, caption=DEFINITION)
        for name, found in scores.items():
            table.add_row(name, *(_errors(found[column]) for column in columns))
        return table

    def doubts(self, record: Facts) -> list[str]:
        test, simplest = record["test"]["all steps"], record["baselines"]["last value"]["all steps"]
        doubts = []
        unscored = [name for name, found in record["test"].items() if not found["count"]]
        if unscored:
            doubts.append(f"note: no reading to score by at {', '.join(unscored)}")
        if test["mae"] is not None and test["mae"] >= simplest["mae"]:
            doubts.append(
                "warning: no better than the last value; train longer or with another --lr"
            )
        return doubts


def words_for(task: str) -> Words:
    return TrafficWords() if task == "metr-la" else ClassifierWords()


def _errors(found: Facts) -> str:
    if found["mae"] is None:
        return "no reading"
    mape = "no MAPE" if found["mape"] is None else f"{found['mape']:.2f} %"
    return f"{found['mae']:.3f} / {found['rmse']:.3f} / {mape}"
