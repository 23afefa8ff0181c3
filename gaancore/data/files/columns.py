"""Columns of text as numbers: those of numbers as they are, others by their categories."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from gaancore.data.files.number_table import NOTHING, shortened
from gaancore.errors import DataError

MOST = float(np.finfo(np.float32).max)  # beyond it a feature is infinite
MOST_CATEGORIES = 50  # of a column; each is a column of 0 and 1
AUTO, NONE = "auto", "none"  # instead of names


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


def encode_columns(
    where: str, columns: Mapping[str, Sequence[str]], places: Sequence[int], unit: str = "line"
) -> tuple[tuple[str, ...], np.ndarray, list[str]]:
    """Names (B,) and numbers (n, B) float32 of columns of text (n,), and what to say about them.

    A column whose cells are numbers is one; a column of text becomes a column NAME=CATEGORY of 0
    and 1 for each different text, in alphabetical order.
    places : the number of each cell, a line say (`unit`), for messages.
    Raises DataError for a cell that is empty, NaN or infinite in float32, for a column of both
    numbers and text, and for too many categories.

    >>> names, numbers, notes = encode_columns("edges.csv", {"road": ["a", "b", "a"]}, [2, 3, 4])
    >>> names, numbers.tolist(), notes
    (('road=a', 'road=b'), [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]], ['road: 2 categories'])
    """
    names: list[str] = []
    found: list[np.ndarray] = []
    notes: list[str] = []
    for name, cells in columns.items():
        numbers = [_number(cell) for cell in cells]
        missing = next((n for n, x in enumerate(numbers) if x is not None and not abs(x) <= MOST),
                       None)  # fmt: skip
        if missing is not None:
            raise DataError(
                f"{where}: {unit} {places[missing]}, column {name}: "
                f"{shortened(cells[missing])!r} is no finite number; correct it, or leave the "
                "column out of edge_features"
            )
        if all(x is not None for x in numbers):
            names.append(name)
            found.append(np.array(numbers, np.float64))
            continue
        if any(x is not None for x in numbers):
            first = next(n for n, x in enumerate(numbers) if (x is None) != (numbers[0] is None))
            what = "a number among text" if numbers[0] is None else "text among numbers"
            raise DataError(
                f"{where}: {unit} {places[first]}, column {name}: {shortened(cells[first])!r} is "
                f"{what}; make all of the column numbers, or all text, or leave it out of "
                "edge_features"
            )
        categories = sorted(set(cells))
        if len(categories) > MOST_CATEGORIES:
            raise DataError(
                f"{where}: column {name}: {len(categories):,} different texts, more than "
                f"{MOST_CATEGORIES} categories; leave the column out of edge_features"
            )
        place = {text: n for n, text in enumerate(categories)}
        names += [f"{name}={text}" for text in categories]
        found += list(np.eye(len(categories))[:, [place[cell] for cell in cells]])
        notes.append(f"{name}: {len(categories)} categories")
    matrix = np.stack(found, axis=1) if found else np.zeros((len(places), 0))
    return tuple(names), matrix.astype(np.float32), notes


def _number(cell: str) -> float | None:
    """None if the cell is no number; NaN for a word that means nothing."""
    if cell.strip().lower() in NOTHING:
        return math.nan
    try:
        return None if "_" in cell else float(cell)
    except ValueError:
        return None
