"""Columns of a table as features: numbers, categories of text, vectors in one cell."""

import itertools
import re
from array import array
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np

from gaancore.data.files.number_table import parse_numbers, shortened
from gaancore.data.nodes.labels import listed
from gaancore.errors import DataError

Row = tuple[int, list[str]]
LOOKED_AT = 1_000  # lines that may be empty before a column shows what it holds
MOST_CATEGORIES = 50
BRACKETS = re.compile(r"[\[(](.*)[\])]", re.DOTALL)
BETWEEN = re.compile(r"[,;\s]+")


class FeatureColumns:
    """What a column holds is told by its first cell that is not empty; all others must agree.

    A number        : a feature.
    `[1 2.5 -3]`    : as many features, called NAME[0], NAME[1], ...; also with commas, or with
                      semicolons and no brackets.
    A text          : a category: a feature of 0 and 1, called NAME=TEXT, for each text of the
                      column, in the order of the alphabet; all 0 where the cell is empty.
    Raises DataError naming the line and column of a cell that is something else, and for a column
    of more texts than categories can be: over 50, or over half of the rows.
    """

    def __init__(
        self, path: Path, columns: Mapping[str, int], *, words: Mapping[str, float], remedy: str
    ) -> None:
        self.path, self.columns, self.words, self.remedy = path, columns, words, remedy
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
            self._settle(name, at, next((cell for cell in cells if not self._is_none(cell)), ""))
        return itertools.chain(head, rows)

    def add(self, line: int, cells: list[str]) -> None:
        """Take the cells of one row."""
        self.num_rows += 1
        self.numbers.extend(self._parsed(line, self.plain, [cells[p] for p in self.plain.values()]))
        for name, at in self.vectors.items():
            parts, width = _parts(cells[at]), self.widths[name]
            if len(parts) != width:
                raise DataError(
                    f"{self.path}: line {line}, column {name}: {len(parts):,} numbers where others "
                    f"have {width:,}"
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
        elif _is_text(cell) and cell.lower() not in self.words:
            self.texts[name], self.codes[name], self.names[name] = at, array("q"), {}
        else:
            self.plain[name] = at

    def _is_none(self, cell: str) -> bool:
        return np.isnan(self.words.get(cell.lower(), 0.0))

    def _parsed(self, line: int, columns: Iterable[str], cells: list[str]) -> list[float]:
        return parse_numbers(self.path, line, cells, columns, words=self.words, remedy=self.remedy)

    def _code(self, line: int, name: str, cell: str) -> int:
        if self._is_none(cell):
            return -1
        if not _is_text(cell):
            raise DataError(
                f"{self.path}: line {line}, column {name}: {shortened(cell)!r} is a number among "
                "text; make all of the column numbers, or all text"
            )
        known = self.names[name]
        return known.setdefault(cell, len(known))

    def _categories(self, name: str) -> tuple[np.ndarray, list[str], str]:
        known = self.names[name]
        if len(known) > max(2, min(MOST_CATEGORIES, self.num_rows // 2)):
            raise DataError(
                f"{self.path}: column {name}: {len(known):,} different texts in {self.num_rows:,} "
                f"rows, such as {shortened(next(iter(known)))!r}, are no categories; "
                "leave the column out"
            )
        order = sorted(known)
        codes = np.frombuffer(self.codes[name], np.int64)
        block = np.column_stack([codes == known[text] for text in order]).astype(np.float64)
        said = f"column {name} is text: {len(order):,} categories, a feature each: {listed(order)}"
        return block, [f"{name}={text}" for text in order], said


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
