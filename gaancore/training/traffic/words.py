"""How a run that forecasts traffic is spoken of: its data, errors and doubts."""

from typing import Any

from gaancore.training.traffic.metrics import DEFINITION
from gaancore.training.traffic.scorer import PARTS

Facts = dict[str, Any]


def data(facts: Facts) -> str:
    """The size of the data in one phrase."""
    return (
        f"{facts['num_sensors']:,} sensors, {facts['num_edges']:,} arcs between them, "
        f"{facts['num_steps']:,} steps, {facts['missing_share']:.1%} missing"
    )


def inputs_read(found: Facts, missing: str) -> list[str]:
    """A line on the readings that training windows see, if not all of them are there."""
    if found["share"] == 1:
        return []
    stands_in = {
        "zero": "a speed of 0",
        "nan": "the mean",
        "interpolate": "a line between the others",
    }[missing]
    return [
        f"{found['share']:.1%} of the readings that training windows see are there; "
        f"{found['empty']:.1%} of a sensor's windows have none; {stands_in} stands in (missing)"
    ]


def validated(line: Facts) -> str:
    """The error of a line of the log."""
    mae = line["validation"]["all steps"]["mae"]
    shown = "none" if mae is None else f"{mae:.3f}"
    return f"val MAE {shown}  teacher {line['teacher_probability']:.2f}"


def result(record: Facts) -> str:
    """The headline errors of a record."""
    return f"test MAE {errors(record['test']['mean'])} (MAE / RMSE / MAPE)"


def caption(scores: dict[str, Facts]) -> str:
    """Below a table of errors: what they are, and how large the readings are."""
    means = [
        f"{name} {found['all steps']['target']:.4g}"
        for name, found in scores.items()
        if name in PARTS and found["all steps"].get("target") is not None
    ]
    return f"{DEFINITION}; mean of the readings: {', '.join(means)}" if means else DEFINITION


def rows(record: Facts) -> dict[str, Facts]:
    """All errors of a record, by what was scored."""
    baselines = {f"{name} on test": found for name, found in record["baselines"].items()}
    return {"test": record["test"], "validation": record["validation"], **baselines}


def columns(scores: dict[str, Facts]) -> list[str]:
    """The header of a table with a line for each of `scores`."""
    return ["MAE / RMSE / MAPE", *next(iter(scores.values()))]


def cells(scores: Facts) -> list[str]:
    """Errors at each number of minutes ahead."""
    return [errors(found) for found in scores.values()]


def errors(found: Facts) -> str:
    """MAE / RMSE / MAPE."""
    if found["mae"] is None:
        return "no reading"
    mape = "no MAPE" if found["mape"] is None else f"{found['mape']:.2f} %"
    return f"{found['mae']:.3f} / {found['rmse']:.3f} / {mape}"


def doubts(record: Facts) -> list[str]:
    """What a reader of the errors should know."""
    test, simplest = record["test"]["all steps"], record["baselines"]["last value"]["all steps"]
    found = []
    unscored = [name for name, scores in record["test"].items() if not scores["count"]]
    if unscored:
        found.append(f"note: no reading to score by at {', '.join(unscored)}")
    if test["mae"] is not None and test["mae"] >= simplest["mae"]:
        found.append(
            "warning: no better than the last value; train longer or with another learning rate"
        )
    return found
