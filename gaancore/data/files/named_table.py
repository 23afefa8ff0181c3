"""A CSV table whose header names its columns, with the separator that its header has."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gaancore.data.files.arrays import read_csv_rows
from gaancore.data.files.separator import (
    SEPARATORS,
    find_separator,
    plain_separator,
    separator_notes,
)
from gaancore.errors import DataError

Choices = Sequence[tuple[str, ...]]  # names of columns, in lower case
END_NAMES: Choices = (("from", "to"), ("source", "target"), ("src", "dst"))  # ends of an edge


@dataclass(frozen=True)
class NamedTable:
    """columns: the header's names, all different. keys: the places of those asked for.

    rows: (line number from 1, a cell for each column) of each line that has any text; read once.
    """

    path: Path
    columns: tuple[str, ...]
    keys: tuple[int, ...]
    rows: Iterator[tuple[int, list[str]]]
    notes: tuple[str, ...]

    def place_of(self, names: Sequence[str]) -> int | None:
        """The place of the first of `names`, in lower case, that is a column; None without one."""
        lowered = [column.lower() for column in self.columns]
        return next((lowered.index(name) for name in names if name in lowered), None)


def has_columns(path: Path, choices: Choices) -> bool:
    """Whether the first line is a header for `open_named_table`.

    Raises DataError if the file is missing, blank or not UTF-8.
    """
    return find_separator(path, lambda cells: _found_in(cells, choices)) is not None


def open_named_table(path: Path, choices: Choices) -> NamedTable:
    """Read the header, and the rows as they are asked for.

    choices : the header must have the columns of exactly one choice. Case does not count. The
              separator is the one by which it has them.
    Raises DataError if the file is missing, blank, not UTF-8 or no such table. The rows do, naming
    the line, where one does not have a cell for each column, and if there are none.
    """
    separator = find_separator(path, lambda cells: _found_in(cells, choices))
    if separator is None:
        raise DataError(
            f"{path}: expected a header with the column(s) {_listed(choices)}, between commas, "
            f"semicolons or tabs; the first line is {_first_line(path)}"
        )
    _, columns = next(read_csv_rows(path, separator, strict=False))
    found = _found_in(columns, choices)
    if len(found) > 1:
        raise DataError(f"{path}: the header has {_listed(found, ' and ')}; keep one of them")
    lowered = [column.lower() for column in columns]
    repeated = [column for column, count in Counter(filter(None, lowered)).items() if count > 1]
    if repeated:
        raise DataError(f"{path}: the header has the column {repeated[0]} twice; keep one")
    notes = separator_notes(path, separator)
    keys = tuple(lowered.index(column) for column in found[0])
    return NamedTable(path, tuple(columns), keys, _rows(path, separator, len(columns)), notes)


def starts_with_numbers(path: Path, width: int) -> bool:
    """Whether the first line has `width` cells that are all numbers: no header, then.

    Raises DataError if the file is missing, blank or not UTF-8.
    """
    _, cells = next(read_csv_rows(path, plain_separator(path), strict=False))
    try:
        return len(list(map(float, cells))) == width
    except ValueError:
        return False


def open_bare_table(path: Path, columns: Sequence[str], keys: Sequence[str]) -> NamedTable:
    """A table without a header, whose columns are named here; see `open_named_table`.

    A note says what the columns were taken for.
    """
    separator = plain_separator(path)
    notes = separator_notes(path, separator)
    notes += (f"{path.name}: no header: its columns are taken as {', '.join(columns)}",)
    places = tuple(columns.index(key) for key in keys)
    rows = _rows(path, separator, len(columns), header=False)
    return NamedTable(path, tuple(columns), places, rows, notes)


def _found_in(columns: Sequence[str], choices: Choices) -> list[tuple[str, ...]]:
    lowered = {column.lower() for column in columns}
    return [choice for choice in choices if lowered.issuperset(choice)]


def _rows(
    path: Path, separator: str, width: int, *, header: bool = True
) -> Iterator[tuple[int, list[str]]]:
    rows = read_csv_rows(path, separator)
    if header:
        next(rows)
    empty = True
    for line, cells in rows:
        if len(cells) == width:
            if any(cells):
                empty = False
                yield line, cells
        elif any(cells):
            raise DataError(
                f"{path}: line {line} has {len(cells):,} cells where "
                f"{'the header has' if header else 'there should be'} {width:,}; "
                f"a cell with {SEPARATORS[separator]} in it needs quotes"
            )
    if empty:
        raise DataError(f"{path}: a header and no rows")


def _listed(choices: Choices, between: str = " or ") -> str:
    return between.join(",".join(choice) for choice in choices)


def _first_line(path: Path) -> str:
    _, cells = next(read_csv_rows(path, strict=False))
    shown = ",".join(cells)
    return repr(shown if len(shown) <= 80 else f"{shown[:80]}...")
