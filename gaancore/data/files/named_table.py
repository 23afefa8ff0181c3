"""A CSV table whose header names its columns, with the separator that its header has."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gaancore.data.files.arrays import read_csv_rows
from gaancore.data.files.separator import SEPARATORS, find_separator, separator_notes
from gaancore.errors import DataError

END_NAMES = (("from", "to"), ("source", "target"), ("src", "dst"))  # of the ends of an edge


@dataclass(frozen=True)
class NamedTable:
    """columns: the header's names, none empty and none twice. keys: the places of those wanted.

    rows: (line number from 1, a cell for each column) of each line that has any text; read once.
    """

    path: Path
    columns: tuple[str, ...]
    keys: tuple[int, ...]
    rows: Iterator[tuple[int, list[str]]]
    notes: tuple[str, ...]


def open_named_table(path: Path, choices: Sequence[tuple[str, ...]]) -> NamedTable:
    """Read the header, and the rows as they are asked for.

    choices : names of columns, in lower case; the header must have those of exactly one choice.
              Case does not count. The separator is the one by which it has them.
    Raises DataError if the file is missing, blank, not UTF-8 or no such table; the rows do, naming
    the line, where one has not a cell for each column, and if there are none.
    """

    def found_in(columns: Sequence[str]) -> list[tuple[str, ...]]:
        lowered = {column.lower() for column in columns}
        return [choice for choice in choices if lowered.issuperset(choice)]

    separator = find_separator(path, found_in)
    if separator is None:
        raise DataError(
            f"{path}: expected a header with the column(s) {_listed(choices)}, between commas, "
            f"semicolons or tabs; the first line is {_first_line(path)}"
        )
    _, columns = next(read_csv_rows(path, separator, strict=False))
    lowered, found = [column.lower() for column in columns], found_in(columns)
    if len(found) > 1:
        raise DataError(f"{path}: the header has {_listed(found, ' and ')}; keep one of them")
    for place, column in enumerate(lowered):
        if not column or column.startswith("unnamed:"):  # by pandas, of its index
            raise DataError(
                f"{path}: column {place + 1} of the header has no name; name it, or leave it out "
                "(pandas: index=False)"
            )
    repeated = [column for column, count in Counter(lowered).items() if count > 1]
    if repeated:
        raise DataError(f"{path}: the header has the column {repeated[0]} twice; keep one")
    notes = separator_notes(path, separator)
    keys = tuple(lowered.index(column) for column in found[0])
    return NamedTable(path, tuple(columns), keys, _rows(path, separator, len(columns)), notes)


def _rows(path: Path, separator: str, width: int) -> Iterator[tuple[int, list[str]]]:
    rows = read_csv_rows(path, separator)
    next(rows)
    empty = True
    for line, cells in rows:
        if len(cells) == width:
            if any(cells):
                empty = False
                yield line, cells
        elif any(cells):
            raise DataError(
                f"{path}: line {line} has {len(cells):,} cells where the header has {width:,}; "
                f"a cell with {SEPARATORS[separator]} in it needs quotes"
            )
    if empty:
        raise DataError(f"{path}: a header and no rows")


def _listed(choices: Sequence[tuple[str, ...]], between: str = " or ") -> str:
    return between.join(",".join(choice) for choice in choices)


def _first_line(path: Path) -> str:
    _, cells = next(read_csv_rows(path, strict=False))
    shown = ",".join(cells)
    return repr(shown if len(shown) <= 80 else f"{shown[:80]}...")
