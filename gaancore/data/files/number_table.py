"""Tables of numbers in CSV as programs really write them: with or without header and index."""

import itertools
import re
from array import array
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gaancore.data.files.arrays import read_csv_rows
from gaancore.data.files.decimal_commas import DecimalCommas
from gaancore.data.files.ids import WHOLE
from gaancore.data.files.separator import SEPARATORS, plain_separator, separator_notes
from gaancore.data.files.times import TIME_NAMES, is_time_text
from gaancore.errors import DataError

INDEX_NAMES = {"index", "unnamed: 0"} | TIME_NAMES
NOTHING = dict.fromkeys(("", "nan", "na", "n/a", "null", "none"), float("nan"))
INTEGER = re.compile(r"[+-]?\d+")
NUMBER = re.compile(r"([+-]?\d+\.\d+(?:[eE][+-]?\d+)?)(?:\.\d+)?")  # 64.5.2 is pandas' third 64.5
DATE = re.compile(r"\d{1,4}[-/]\d{1,2}[-/]\d{1,4}([ T].*)?")

LONGEST_SHOWN = 40  # of a cell in a message

# From the cells of a first line that is all numbers, and the numbers below it: whether the line is
# a header of ids; None where its looks decide.
Decide = Callable[[list[str], np.ndarray], bool | None]


@dataclass(frozen=True)
class NumberTable:
    """values: (R, C) float64, NaN where a cell is empty. columns: the header's names, if any.

    index: the text of the first column where it is no value but names the row; index_name: what
    the header says above it.
    """

    values: np.ndarray
    columns: tuple[str, ...] | None
    index: tuple[str, ...] | None
    index_name: str
    notes: tuple[str, ...]


def read_number_table(path: Path, decide: Decide = lambda names, values: None) -> NumberTable:
    """Read the table, which has commas, semicolons or tabs between its cells.

    The first column is an index if its header says so (empty, `timestamp`, ...) or it holds dates.
    The first line is a header of names if a cell of it is no number. Where all are numbers,
    `decide` tells, by what the table is joined with; where that says nothing, different integers
    are ids. A line of readings that pandas took for a header, and wrote back as one with repeated
    numbers marked (`64.5.1`), is a row again. Notes say which it was.
    Decimal commas are read (see DecimalCommas).
    Raises DataError naming the line and column of the first cell that is wrong.
    """
    separator = plain_separator(path)
    commas = DecimalCommas(path)
    rows = commas.replaced(read_csv_rows(path, separator))
    lines = list(itertools.islice(rows, 2))
    first = lines[0][1]
    has_index = _has_index(first, lines[-1][1])
    names = first[has_index:]
    if not names:
        raise DataError(f"{path}: one column and no numbers; expected a column for each sensor")
    places = range(has_index + 1, len(first) + 1)
    index: list[str] = []
    numbers = array("d")
    for line, cells in itertools.chain(lines[1:], rows):
        if len(cells) != len(first):
            raise DataError(
                f"{path}: line {line} has {len(cells):,} cells where the first has {len(first):,}; "
                f"every line needs the same number, with {SEPARATORS[separator]} between them"
            )
        index += cells[:has_index]
        numbers.extend(parse_numbers(path, line, cells[has_index:], places))
    values = np.array(numbers).reshape(-1, len(names))
    columns: tuple[str, ...] | None = tuple(names)
    notes = separator_notes(path, separator) + commas.notes()
    index_name = first[0] if has_index else ""
    if not _is_header(path, first, has_index, values, decide):
        columns, index_name = None, ""
        readings = [NUMBER.sub(r"\1", name) for name in names]
        marked = readings != names
        notes += (
            "the header line holds readings: taken as the first row"
            if marked
            else f"{path.name}: no header: the first line is taken as the first row",
        )
        values = np.vstack([parse_numbers(path, lines[0][0], readings, places), values])
        index = first[:has_index] + index
    elif not len(values):
        raise DataError(f"{path}: a header and no rows")
    elif not has_index and all(map(_is_number, names)):
        shown = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
        notes += (f"{path.name}: the first line is taken as a header of ids ({shown})",)
    return NumberTable(values, columns, tuple(index) if has_index else None, index_name, notes)


def _has_index(first: list[str], second: list[str]) -> bool:
    """Whether the first column names the rows, from two lines."""
    if any(DATE.fullmatch(cell) or is_time_text(cell) for cell in (first[0], second[0])):
        return True
    if first[0]:
        return first[0].lower() in INDEX_NAMES
    if all(map(WHOLE.fullmatch, [*first[1:], second[0]])) and len(set(first)) == len(first) > 1:
        return True  # ids and an index that became floats
    return not (NUMBER.fullmatch(second[0]) or second[0].lower() in NOTHING)


def _is_header(
    path: Path, first: list[str], has_index: bool, values: np.ndarray, decide: Decide
) -> bool:
    """Whether the first line names columns; raises DataError where only a person can tell."""
    names = first[has_index:]
    if not all(map(_is_number, names)):
        if any(map(_has_fraction, names)):
            word = next(name for name in names if not _is_number(name))
            raise DataError(
                f"{path}: the first line has numbers with fractions, as readings are, and "
                f"{shortened(word)!r}, which is no number; correct it, or write a line of names"
            )
        return True
    if has_index and first[0] and not (DATE.fullmatch(first[0]) or is_time_text(first[0])):
        return True  # such as `timestamp`
    if len(set(names)) < len(names):
        return has_index and not first[0] and all(map(INTEGER.fullmatch, names))
    integers = all(map(INTEGER.fullmatch, names))
    if integers and has_index and not first[0]:
        return True
    if (said := decide(names, values)) is not None:
        return said
    if not all(map(WHOLE.fullmatch, names)):
        return False
    ids = sorted(map(float, names))
    if ids == list(range(len(ids))):
        return True
    below = not (np.nan_to_num(values) >= ids[0]).any()
    if integers and below:
        return True
    if integers or below:
        raise DataError(
            f"{path}: the first line could be a header of sensor ids or a row of readings; "
            "name the columns, or write the readings with a decimal point"
        )
    return False


def _is_number(cell: str) -> bool:
    number = INTEGER.fullmatch(cell) or NUMBER.fullmatch(cell)
    return bool(number) or cell.lower() in NOTHING


def _has_fraction(cell: str) -> bool:
    return bool(NUMBER.fullmatch(cell)) and not WHOLE.fullmatch(cell)


def parse_numbers(
    path: Path | str,
    line: int,
    cells: list[str],
    columns: Iterable[object],
    *,
    words: Mapping[str, float] = NOTHING,
    remedy: str = "leave the cell empty if the reading is missing",
    unit: str = "line",
) -> list[float]:
    """The cells of a line as numbers.

    columns : what to call the column of each. words : what words stand for, in lower case.
    unit    : what `line` is the number of.
    Raises DataError naming the line and column of the first cell that is neither, with the remedy.
    """
    if "_" not in "".join(cells):  # Python would take 1_2 for 12
        try:
            return list(map(float, cells))
        except ValueError:
            pass
    found = []
    for column, cell in zip(columns, cells, strict=True):
        try:
            if "_" in cell:
                raise ValueError
            found.append(words[cell.lower()] if cell.lower() in words else float(cell))
        except ValueError:
            raise DataError(
                f"{path}: {unit} {line}, column {column}: {shortened(cell)!r} is not a number; "
                f"{'write decimals with a point' if ',' in cell else remedy}"
            ) from None
    return found


def shortened(cell: str) -> str:
    """The beginning of a cell, for a message."""
    return cell if len(cell) <= LONGEST_SHOWN else f"{cell[:LONGEST_SHOWN]}..."
