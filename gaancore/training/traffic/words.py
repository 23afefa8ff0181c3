"""How a run that forecasts traffic is spoken of: its data, errors and doubts."""

from typing import Any

from gaancore.training.traffic.scores.metrics import DEFINITION, WAPE
from gaancore.training.traffic.scores.scorer import ALL, PARTS

Facts = dict[str, Any]
ZEROS, MANY_TIMES = 0.01, 3  # of readings; of WAPE, see relative_error


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
    relative = relative_error({"test": record["test"]})
    shown = errors(record["test"]["mean"], relative)
    return f"test MAE {shown} (MAE / RMSE / {relative.upper()})"


def caption(scores: dict[str, Facts]) -> str:
    """Below a table of errors: what they are, and how large the readings are."""
    means = [
        f"{name} {found['all steps']['target']:.4g}"
        for name, found in scores.items()
        if name in (*PARTS, ALL) and found["all steps"].get("target") is not None
    ]
    lines = [DEFINITION]
    if relative_error(scores) == "wape":
        lines.append(f"readings near 0 take most of MAPE or are left out of it: {WAPE}")
    return "; ".join([*lines, f"mean of the readings: {', '.join(means)}"] if means else lines)


def relative_error(scores: dict[str, Facts]) -> str:
    """Which relative error says something of `scores`: `mape`, or `wape` in its place.

    MAPE does not where more than 1 % of the readings are 0, which it leaves out, or where readings
    near 0 make it more than three times WAPE. Records of older versions have MAPE alone.
    """
    for name in (*PARTS, ALL):
        found = scores.get(name, {}).get("all steps", {})
        if not found.get("wape"):
            continue
        only_zeros = found["mape_count"] + found["zeros"] == found["count"]
        if only_zeros and found["zeros"] > ZEROS * found["count"]:
            return "wape"
        if found["mape"] is None or found["mape"] > MANY_TIMES * found["wape"]:
            return "wape"
    return "mape"


def rows(record: Facts) -> dict[str, Facts]:
    """All errors of a record, by what was scored."""
    baselines = {f"{name} on test": found for name, found in record["baselines"].items()}
    return {"test": record["test"], "validation": record["validation"], **baselines}


def columns(scores: dict[str, Facts]) -> list[str]:
    """The header of a table with a line for each of `scores`."""
    times = map(ahead, next(iter(scores.values())))
    return [f"MAE / RMSE / {relative_error(scores).upper()}", *times]


def ahead(name: str) -> str:
    """`720 min` in hours, from two on, or days."""
    number, _, unit = name.partition(" ")
    if unit != "min" or not number.isdecimal():
        return name
    days, hours = int(number) / 1440, int(number) / 60
    if days.is_integer():
        return f"{days:.0f} day{'s' if days > 1 else ''}"
    return f"{hours:.0f} h" if hours.is_integer() and hours > 1 else name


def cells(scores: dict[str, Facts], name: str) -> list[str]:
    """Errors of one of `scores` at each number of minutes ahead."""
    relative = relative_error(scores)
    return [errors(found, relative) for found in scores[name].values()]


def errors(found: Facts, relative: str = "mape") -> str:
    """MAE / RMSE / MAPE, or WAPE."""
    if found["mae"] is None:
        return "no reading"
    share = found[relative]
    shown = f"no {relative.upper()}" if share is None else f"{share:.2f} %"
    return f"{found['mae']:.3f} / {found['rmse']:.3f} / {shown}"


def doubts(record: Facts) -> list[str]:
    """What a reader of the errors should know."""
    test, simplest = record["test"]["all steps"], record["baselines"]["last value"]["all steps"]
    found = []
    unscored = [name for name, scores in record["test"].items() if not scores["count"]]
    if unscored:
        found.append(f"note: no reading to score by at {', '.join(map(ahead, unscored))}")
    if test["mae"] is not None and test["mae"] >= simplest["mae"]:
        found.append(
            "warning: no better than the last value; train longer or with another learning rate"
        )
    return found
