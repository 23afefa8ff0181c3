"""What the paper prints of a row: text, kept as it is printed, and the numbers in it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

ERRORS = ("mae", "rmse", "mape")  # of a cell such as "2.71 / 5.24 / 6.99"


@dataclass(frozen=True)
class Printed:
    """Of one row and task.

    scores         : name of a score -> its text, such as "98.71 ± 0.02"; {} where none is printed.
    parameters     : #Param as printed. num_parameters: the exact count that it pins.
    note           : what else is to be known of it.
    """

    scores: Mapping[str, str] = field(default_factory=dict)
    parameters: str | None = None
    num_parameters: int | None = None
    note: str = ""

    @property
    def numbers(self) -> dict[str, list[float]]:
        """Name of a score -> [mean, deviation] or [mean]."""
        return {name: numbers_in(text) for name, text in self.scores.items()}


def printed(facts: Mapping[str, Any]) -> Printed:
    """From a table of a TOML file. Three errors in one text are three scores:

    >>> printed({"15 min": "2.71 / 5.24 / 6.99"}).scores
    {'15 min mae': '2.71', '15 min rmse': '5.24', '15 min mape': '6.99'}
    """
    rest = dict(facts)
    parameters, count = rest.pop("parameters", None), rest.pop("num_parameters", None)
    note = rest.pop("note", "")
    scores: dict[str, str] = {}
    for name, text in rest.items():
        parts = text.split(" / ")
        names = [name] if len(parts) == 1 else [f"{name} {error}" for error in ERRORS]
        scores |= dict(zip(names, parts, strict=True))
    return Printed(scores, parameters, count, note)


def numbers_in(text: str) -> list[float]:
    """The numbers of a printed text.

    >>> numbers_in("98.71 ± 0.02"), numbers_in("(61.2)")
    ([98.71, 0.02], [61.2])
    """
    return [float(number) for number in re.findall(r"\d+(?:\.\d+)?", text)]


def count_in(text: str) -> int:
    """A count as it is printed, in full.

    >>> count_in("124.4K"), count_in("1.9M"), count_in("34,272")
    (124400, 1900000, 34272)
    """
    factor = {"K": 1_000, "M": 1_000_000}.get(text[-1], 1)
    return round(float(text.rstrip("KM").replace(",", "")) * factor)
