"""Tables of numbers in CSV as programs really write them: with or without header and index."""

import re
from array import array
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gaancore.data.files import read_csv_rows
from gaancore.errors import DataError

INDEX_NAMES = {"", "index", "unnamed: 0", "timestamp", "timestamps", "datetime", "date", "time"}
NO_READING = {"", "nan", "na", "n/a", "null", "none"}
INTEGER = re.compile(r"[+-]?\d+")
NUMBER = re.compile(r"([+-]?\d+\.\d+(?:[eE][+-]?\d+)?)(?:\.\d+)?")  # 64.5.2 is pandas' third 64.5
DATE = re.compile(r"\d{1,4}[-/]\d{1,2}[-/]\d{1,4}([ T].*)?")


@dataclass(frozen=True)
class NumberTable:
    """values: (R, C) float64, NaN where a cell is empty. columns: the header's names, if any.

    index: the text of the first column where it is no value but names the row.
    """

    values: np.ndarray
    columns: tuple[str, ...] | None
    index: tuple[str, ...] | None
    notes: tuple[str, ...]


def read_number_table(path: Path) -> NumberTable:
    """Read the table. Raises DataError naming the line and column of the first cell that is wrong.

    The first column is an index if its header says so (empty, `timestamp`, ...) or it holds dates.
    The first line is a header of names if a cell of it is no number, or all are different integers
    (ids). A line of readings that pandas took for a header, and wrote back as one with repeated
    numbers marked (`64.5.1`), is a row again, and a note says so.
    """
    rows = read_csv_rows(path)
    line, first = next(rows, (0, []))
    if not first:
        raise DataError(f"{path}: no table in it: only blank lines")
    width = len(first)
    has_index = first[0].lower() in INDEX_NAMES or bool(DATE.fullmatch(first[0]))
    index: list[str] = []
    numbers = array("d")
    for line, cells in rows:
        if len(cells) != width:
            raise DataError(
                f"{path}: line {line} has {len(cells):,} cells where the first line has {width:,}; "
                "every line needs as many, with commas between them"
            )
        if not numbers and not index:
            has_index |= bool(DATE.fullmatch(cells[0]))
        if has_index:
            index.append(cells[0])
        numbers.extend(_numbers(path, line, cells, has_index))
    names = first[has_index:]
    values = np.frombuffer(numbers, np.float64) if numbers else np.empty(0)
    if not names:
        raise DataError(f"{path}: one column and no numbers; expected a column for each sensor")
    values = values.reshape(-1, len(names))
    notes: tuple[str, ...] = ()
    if not _is_header(path, names, values):
        row = [NUMBER.sub(r"\1", name) for name in names]
        if row != names:
            notes = ("the header line holds readings: taken as the first row",)
        values = np.vstack([_numbers(path, 1, row, False), values])
        index[:0] = first[:has_index]
        return NumberTable(values, None, tuple(index) if has_index else None, notes)
    return NumberTable(values, tuple(names), tuple(index) if has_index else None, notes)


def _is_header(path: Path, names: list[str], values: np.ndarray) -> bool:
    """Whether the first line names columns; raises DataError where only a person can tell."""
    if all(INTEGER.fullmatch(name) for name in names):
        if len(set(names)) < len(names):
            return False
        ids = [int(name) for name in names]
        highest = np.nanmax(values) if np.isfinite(values).any() else 0.0
        if min(ids) > highest or sorted(ids) == list(range(len(ids))):
            return True
        raise DataError(
            f"{path}: line 1 could be a header of sensor ids or a row of readings; "
            "name the columns, or write the readings with a decimal point"
        )
    return not all(_is_number(name) for name in names)


def _is_number(cell: str) -> bool:
    return bool(INTEGER.fullmatch(cell) or NUMBER.fullmatch(cell) or cell.lower() in NO_READING)


def _numbers(path: Path, line: int, cells: list[str], has_index: bool) -> list[float]:
    """The cells after the index as numbers."""
    cells = cells[has_index:]
    try:
        return list(map(float, cells))
    except ValueError:
        found = []
        for place, cell in enumerate(cells):
            try:
                found.append(float("nan" if cell.lower() in NO_READING else cell))
            except ValueError:
                raise DataError(
                    f"{path}: line {line}, column {place + has_index + 1}: {cell!r} is not a "
                    "number; leave the cell empty if the reading is missing"
                ) from None
        return found
