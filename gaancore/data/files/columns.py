"""Columns of a table as features: numbers, categories of text, vectors in one cell."""

import itertools
import re
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from gaancore.choices import AUTO, NONE
from gaancore.data.files.arrays import listed
from gaancore.data.files.number_table import NOTHING, parse_numbers, shortened
from gaancore.errors import DataError

Row = tuple[int, list[str]]
LOOKED_AT = 1_000  # lines that may be empty before a column shows what it holds
MOST_CATEGORIES = 50
MOST = float(np.finfo(np.float32).max)  # beyond it a feature is infinite
WORDS = {**NOTHING, "true": 1.0, "false": 0.0}  # as pandas writes truth values
BRACKETS = re.compile(r"[\[(](.*)[\])]", re.DOTALL)
BETWEEN = re.compile(r"[,;\s]+")


def chosen_columns(where: str, there: Sequence[str], wanted: str) -> list[str]:
    """Which of the columns `there` are wanted: all (`auto`), none (`none`), or names with commas.

    Raises DataError for a name that no column has.
    """
    if wanted in (AUTO, NONE):
        return list(there) if wanted == AUTO else []
    names = [name.strip() for name in wanted.split(",") if name.strip()]
    for name in names:
        if name not in there:
            has = ", ".join(there) or "none"
            raise DataError(f"{where}: edge_features: no column {name!r}; there are {has}")
    return names


class FeatureColumns:
    """What a column holds is told by its first cell that is not empty; all others must agree.

    A number        : a feature.
    `[1 2.5 -3]`    : as many features, called NAME[0], NAME[1], ...; also with commas, or with
                      semicolons and no brackets.
    A text          : a category: a feature of 0 and 1, called NAME=TEXT, for each text of the
                      column, in the order of the alphabet; all 0 where the cell is empty.

    columns : the place of each column, by its name. missing: whether a number may be missing: it is
              NaN then, and if not it must be finite in float32.
    remedy, leave_out : what a message tells to do about a cell, and about a column.
    unit    : what the number of a row in a message is of.
    Raises DataError naming the line and column of a cell that is something else, and for a column
    of more texts than categories can be: over 50, or over half of the rows.
    """

    def __init__(
        self,
        where: str,
        columns: Mapping[str, int],
        *,
        remedy: str,
        missing: bool = True,
        leave_out: str = "leave the column out",
        unit: str = "line",
    ) -> None:
        self.where, self.columns, self.unit = where, columns, unit
        self.remedy, self.missing, self.leave_out = remedy, missing, leave_out
        self.plain: dict[str, int] = {}
        self.texts: dict[str, int] = {}
        self.vectors: dict[str, int] = {}
        self.widths: dict[str, int] = {}
        self.numbers = array("d")
        self.codes: dict[str, array[int]] = {}
        self.names: dict[str, dict[str, int]] = {}
        self.cells: dict[str, array[float]] = {}
        self.num_rows = 0

    def watch(self, rows: Iterable[Row]) -> Iterator[Row]:
        """The same rows, of which the first have been looked at; to be asked for before `add`."""
        rows = iter(rows)
        head = list(itertools.islice(rows, LOOKED_AT))
        for name, at in self.columns.items():
            cells = (cells[at] for _, cells in head)
            self._settle(name, at, next((cell for cell in cells if not _is_none(cell)), ""))
        return itertools.chain(head, rows)

    def add(self, line: int, cells: list[str]) -> None:
        """Take the cells of one row."""
        self.num_rows += 1
        self.numbers.extend(self._parsed(line, self.plain, [cells[p] for p in self.plain.values()]))
        for name, at in self.vectors.items():
            parts, width = _parts(cells[at]), self.widths[name]
            if len(parts) != width:
                raise DataError(
                    f"{self.where}: {self.unit} {line}, column {name}: {len(parts):,} numbers "
                    f"where others have {width:,}"
                )
            self.cells[name].extend(self._parsed(line, [name] * width, parts))
        for name, at in self.texts.items():
            self.codes[name].append(self._code(line, name, cells[at]))

    def result(self) -> tuple[np.ndarray, tuple[str, ...], list[str]]:
        """(N, F) float64 in the order of the columns, the F names, and what to say."""
        plain = np.frombuffer(self.numbers).reshape(self.num_rows, -1) if self.plain else None
        if not self.texts and not self.vectors:
            empty = np.zeros((self.num_rows, 0))
            return (empty if plain is None else plain), tuple(self.plain), []
        blocks, names, notes = [], [], []
        for name in self.columns:
            if name in self.texts:
                block, own, said = self._categories(name)
                notes.append(said)
            elif name in self.vectors:
                block = np.frombuffer(self.cells[name]).reshape(self.num_rows, -1)
                own = [f"{name}[{at}]" for at in range(block.shape[1])]
                notes.append(f"column {name} holds {block.shape[1]:,} numbers a cell")
            else:
                assert plain is not None
                block, own = plain[:, [list(self.plain).index(name)]], [name]
            blocks.append(block)
            names += own
        return np.hstack(blocks), tuple(names), notes

    def _settle(self, name: str, at: int, cell: str) -> None:
        parts = _parts(cell)
        if len(parts) > 1 and all(map(_is_number, parts)):
            self.vectors[name], self.widths[name], self.cells[name] = at, len(parts), array("d")
        elif _is_text(cell) and cell.lower() not in WORDS:
            self.texts[name], self.codes[name], self.names[name] = at, array("q"), {}
        else:
            self.plain[name] = at

    def _parsed(self, line: int, columns: Iterable[str], cells: list[str]) -> list[float]:
        numbers = parse_numbers(
            self.where, line, cells, columns, words=WORDS, remedy=self.remedy, unit=self.unit
        )
        if not self.missing and not all(abs(number) <= MOST for number in numbers):
            which = next(at for at, number in enumerate(numbers) if not abs(number) <= MOST)
            raise DataError(
                f"{self.where}: {self.unit} {line}, column {list(columns)[which]}: "
                f"{shortened(cells[which])!r} is no finite number; correct it, or {self.leave_out}"
            )
        return numbers

    def _code(self, line: int, name: str, cell: str) -> int:
        if _is_none(cell):
            return -1
        if not _is_text(cell):
            raise DataError(
                f"{self.where}: {self.unit} {line}, column {name}: {shortened(cell)!r} is a number "
                "among text; make all of the column numbers, or all text"
            )
        known = self.names[name]
        return known.setdefault(cell, len(known))

    def _categories(self, name: str) -> tuple[np.ndarray, list[str], str]:
        known = self.names[name]
        if len(known) > max(2, min(MOST_CATEGORIES, self.num_rows // 2)):
            raise DataError(
                f"{self.where}: column {name}: {len(known):,} different texts in "
                f"{self.num_rows:,} rows, such as {shortened(next(iter(known)))!r}, are no "
                f"categories; {self.leave_out}"
            )
        order = sorted(known)
        codes = np.frombuffer(self.codes[name], np.int64)
        block = np.column_stack([codes == known[text] for text in order]).astype(np.float64)
        said = f"column {name} is text: {len(order):,} categories, a feature each: {listed(order)}"
        return block, [f"{name}={text}" for text in order], said


def columns_of_edges(where: str, columns: Mapping[str, int], unit: str = "line") -> FeatureColumns:
    """Those of edges, of which no number may be missing."""
    return FeatureColumns(
        where,
        columns,
        unit=unit,
        missing=False,
        remedy="make all of the column numbers, or all text, or leave it out (edge_features)",
        leave_out="leave the column out (edge_features)",
    )


def encode_columns(
    where: str, columns: Mapping[str, Sequence[object]], places: Iterable[int], unit: str
) -> tuple[tuple[str, ...], np.ndarray, list[str]]:
    """Names (B,) and numbers (n, B) float32 of columns of features of edges, and what to say.

    places : the number of each row, for messages. See FeatureColumns.

    >>> columns = {"road": ["main", "side", "main"], "km": [2, 0.5, 1]}
    >>> names, numbers, _ = encode_columns("edges", columns, range(3), "row")
    >>> names, numbers.tolist()
    (('road=main', 'road=side', 'km'), [[1.0, 0.0, 2.0], [0.0, 1.0, 0.5], [1.0, 0.0, 1.0]])
    """
    at = {name: place for place, name in enumerate(columns)}
    features = columns_of_edges(where, at, unit)
    cells = ([str(cell).strip() for cell in row] for row in zip(*columns.values(), strict=True))
    for place, row in features.watch(zip(places, cells, strict=True)):
        features.add(place, row)
    numbers, names, notes = features.result()
    return names, numbers.astype(np.float32), notes


def _is_none(cell: str) -> bool:
    return bool(np.isnan(WORDS.get(cell.lower(), 0.0)))


def _parts(cell: str) -> list[str]:
    """The numbers of a vector in a cell; one part if it is none."""
    inside = BRACKETS.fullmatch(cell)
    if inside:
        return [part for part in BETWEEN.split(inside[1].strip()) if part]
    return [part.strip() for part in cell.split(";")] if ";" in cell else cell.split()


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


def _is_text(cell: str) -> bool:
    """Whether it cannot be a number that is written otherwise: it begins with a letter."""
    return cell[:1].isalpha() and not _is_number(cell)
