"""A result as a table for people or as arrays for NumPy, by the ending of its file's name."""

import csv
import io
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np

from gaancore.errors import SettingsError
from gaancore.system.disk import writing_whole
from gaancore.system.mapped import Scratch
from gaancore.system.paths import user_path

KINDS = (".csv", ".npz")
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # how a cell begins that a spreadsheet computes
ROWS_AT_A_TIME = 16_384  # of a table, turned into text


def out_file(name: str) -> Path:
    """See `writable_file`. Raises SettingsError also unless the name ends in .csv or .npz."""
    path = user_path(name)
    if path.suffix.lower() not in KINDS:
        raise SettingsError(f"--out: {path}: expected a name that ends in .csv or .npz")
    return writable_file(name)


def writable_file(name: str, option: str = "--out", *, make_folder: bool = False) -> Path:
    """The path that `option` names, for what may take hours to compute before it is written.

    Raises SettingsError if a folder is there, or if no file can be made beside it.
    """
    path = user_path(name)
    if os.path.isdir(path):
        raise SettingsError(f"{option}: {path}: a folder; choose another name, or one in it")
    try:
        if make_folder:
            path.parent.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=path.parent).close()
    except OSError as error:
        raise SettingsError(
            f"{option}: {path}: no file can be made in the folder {path.parent} "
            f"({error.strerror}); make the folder, or choose another"
        ) from None
    return path


def formulas_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--escape-formulas`, for commands that write ids and names to a .csv."""
    return click.option(
        "--escape-formulas", is_flag=True,
        help="In a .csv, put an apostrophe before ids and names that begin with = + - or @, so "
        "that a spreadsheet shows them and does not compute them.  [default: as they are]",
    )(command)  # fmt: skip


def write_result(
    path: Path,
    arrays: Mapping[str, np.ndarray],
    header: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    texts: int = 1,
    escape: bool = False,
) -> list[str]:
    """Write an .npz of `arrays`, or a .csv of `header` and `rows`, whole or not at all.

    texts  : how many of the first cells of a row are ids and names; the others are numbers.
    escape : put an apostrophe before the ids and names that a spreadsheet would compute. By default
             they are written as they are, so that the table can be joined with the data again.
    Returns a note if there are such cells.
    """
    with writing_whole(path) as file:
        if path.suffix.lower() == ".npz":
            np.savez(file, **dict[str, Any](arrays))
            return []
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        table = csv.writer(text, lineterminator="\n")
        found = Formulas(escape)
        table.writerow(map(found.cell, header))
        for row in rows:
            table.writerow([*map(found.cell, row[:texts]), *row[texts:]])
        text.detach()
    return found.notes()


class Formulas:
    """Counts the cells that a spreadsheet would compute; escapes them if that is asked for."""

    def __init__(self, escape: bool) -> None:
        self.escape, self.count, self.first = escape, 0, ""

    def cell(self, value: object) -> object:
        if not isinstance(value, str) or not value.startswith(FORMULA) or _is_number(value):
            return value
        self.first = self.first or value
        self.count += 1
        return f"'{value}" if self.escape else value

    def notes(self) -> list[str]:
        if not self.count:
            return []
        cells = f"{self.count:,} ids or names begin like a formula, first {self.first!r}"
        if self.escape:
            return [f"{cells}; an apostrophe stands before each"]
        return [f"{cells}; before you open the file in a spreadsheet, use --escape-formulas"]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def layer_rows(
    ids: Sequence[np.ndarray], layers: Mapping[int, np.ndarray]
) -> Iterator[list[object]]:
    """The ids of a row, the layer's number and its numbers, as short as they can be read back.

    ids    : columns (n,); a row is the same node or arc in each of `layers`, (n, K) each. A layer
             that has fewer heads than another leaves the last columns empty.
    """
    width = max(values.shape[1] for values in layers.values())
    for number, values in layers.items():
        empty = [""] * (width - values.shape[1])
        for names, row in number_rows(ids, values):
            yield [*names, number, *row, *empty]


def number_rows(
    ids: Sequence[np.ndarray], values: np.ndarray
) -> Iterator[tuple[tuple[object, ...], list[str]]]:
    """The ids of each row of `values` (n, D), and its numbers as text that gives them back."""
    for start in range(0, len(values), ROWS_AT_A_TIME):
        part = slice(start, start + ROWS_AT_A_TIME)
        names = zip(*(column[part].tolist() for column in ids), strict=True)
        yield from zip(names, values[part].astype(str).tolist(), strict=True)


def told_of_scratch(scratch: Scratch) -> list[str]:
    """A note on the temporary files that a command has had, if it had any."""
    if not scratch.bytes:
        return []
    return [f"temporary files in {scratch.folder}: {scratch.bytes / 1e6:,.0f} MB"]


def say_written(path: Path, what: str, notes: Sequence[str]) -> None:
    """The last lines of a command: what is in the file, and what was assumed about the graph."""
    click.echo(f"written: {path}: {what}")
    for note in notes:
        click.echo(note if note.startswith("warning: ") else f"note: {note}")
