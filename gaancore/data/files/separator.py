"""The separator of a CSV table: commas, semicolons or tabs."""

from collections.abc import Callable
from pathlib import Path

from gaancore.data.files.arrays import read_csv_rows

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}


def find_separator(path: Path, fits: Callable[[list[str]], object]) -> str | None:
    """The first separator by which the cells of the first line fit, or None.

    Raises DataError if the file is missing, blank or not UTF-8.
    """
    for separator in SEPARATORS:
        _, cells = next(read_csv_rows(path, separator, strict=False))
        if fits(cells):
            return separator
    return None


def plain_separator(path: Path) -> str:
    """The separator of a table of numbers and ids, in which no cell has a semicolon or a tab.

    Decimals may have commas, so that a table with semicolons can be refused by such a cell.
    """
    return find_separator(path, lambda cells: not {";", "\t"} & set("".join(cells))) or ","


def separator_notes(path: Path, separator: str) -> tuple[str, ...]:
    """A note on a table that has no commas between its cells."""
    return () if separator == "," else (f"{path.name}: {SEPARATORS[separator]} between cells",)
