"""How a run that classifies nodes is spoken of: its data, scores and doubts."""

from typing import Any

Facts = dict[str, Any]


def data(facts: Facts) -> str:
    """The size of the data in one phrase."""
    train, validation, test = facts["nodes_per_split"]
    return (
        f"{facts['num_nodes']:,} nodes, {facts['num_edges']:,} arcs, "
        f"{facts['num_features']} features, {facts['num_classes']} classes; "
        f"train {train:,}, validation {validation:,}, test {test:,} nodes"
    )


def validated(line: Facts) -> str:
    """The score of a line of the log."""
    return f"val F1 {line['validation']['micro_f1']:.4f}"


def result(record: Facts) -> str:
    """The headline score of a record."""
    if "test" not in record:
        return f"validation micro-F1 {record['validation']['micro_f1']:.4f} (no test nodes)"
    return f"test micro-F1 {record['test']['micro_f1']:.4f}"


def caption(scores: dict[str, Facts]) -> None:
    """Nothing below a table of scores."""


def rows(record: Facts) -> dict[str, Facts]:
    """All scores of a record, by what was scored."""
    if "test" not in record:
        return {"validation": record["validation"]}
    found = {
        "test": record["test"],
        "validation": record["validation"],
        "majority on test": record["majority"],
    }
    if "ceiling_micro_f1" in record["data"]:
        found["ceiling on test"] = {"micro_f1": record["data"]["ceiling_micro_f1"]}
    return found


def columns(scores: dict[str, Facts]) -> list[str]:
    """The header of a table with a line for each of `scores`."""
    return ["", "micro-F1", "macro-F1"]


def cells(scores: dict[str, Facts], name: str) -> list[str]:
    """One of `scores`, to four digits."""
    found = scores[name]
    return [f"{found[key]:.4f}" if key in found else "" for key in ("micro_f1", "macro_f1")]


def doubts(record: Facts) -> list[str]:
    """What a reader of the scores should know."""
    if "test" not in record or record["test"]["micro_f1"] > record["majority"]["micro_f1"]:
        return []
    return [
        "warning: no better than the majority; check that labels and features are in the same "
        "order, and try normalize = standard or another learning rate (lr)"
    ]
