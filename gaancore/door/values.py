"""What users hold in memory, as NumPy arrays: tensors, columns, lists, masks and names."""

from collections.abc import Hashable, Iterable, Sequence
from contextlib import suppress
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse

from gaancore.data.nodes.dataset import TEST, TRAIN, UNFLAGGED, VALIDATION
from gaancore.data.nodes.labels import NONE_NUMBERS, NONE_WORDS, without_label
from gaancore.data.nodes.layouts.texts.csv_nodes import SPLITS
from gaancore.errors import DataError

MASKS = {"train_mask": TRAIN, "val_mask": VALIDATION, "test_mask": TEST}
SHOWN = 5  # names in a message


def as_array(where: str, values: Any) -> np.ndarray:
    """`values` as a NumPy array: an array, list, tensor on any device, sparse matrix or column.

    where : the argument, to begin an error with. Raises DataError if it is nothing of the kind.
    """
    try:
        if hasattr(values, "detach"):  # a tensor of torch
            return np.asarray(values.detach().cpu().numpy())
        if hasattr(values, "__cuda_array_interface__"):
            return np.asarray(values.get())
        if sparse.issparse(values):
            return np.asarray(values.toarray())
        if hasattr(values, "to_numpy"):  # a frame or a column
            return np.asarray(values.to_numpy())
        return np.asarray(values)
    except (TypeError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise DataError(
            f"{where}: expected an array, got {type(values).__name__} ({reason})"
        ) from None


def shape_of(where: str, values: Any) -> tuple[int, ...]:
    """The shape of what `as_array` takes; a sparse matrix stays as it is."""
    return values.shape if sparse.issparse(values) else as_array(where, values).shape


def is_missing(value: Any) -> bool:
    """Whether a value stands for none: None, NaN, an empty text, pandas' NA or NaT."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return (isinstance(value, str) and not value) or (isinstance(value, float) and value != value)


def is_no_label(value: Any) -> bool:
    """Whether a value stands for no label, as in a file: see NONE_WORDS and NONE_NUMBERS."""
    if isinstance(value, str):
        return value.strip().casefold() in NONE_WORDS
    return is_missing(value) or (isinstance(value, int | float) and value in NONE_NUMBERS)


def plain(value: Any) -> Any:
    """A NumPy scalar as a Python one; anything else as it is."""
    return value.item() if isinstance(value, np.generic) else value


def name_array(where: str, ids: Sequence[Hashable]) -> np.ndarray:
    """(N,) the names of nodes: integers if all are, else text. Raises DataError if two are one."""
    if all(isinstance(name, Integral) and not isinstance(name, bool) for name in ids):
        names = np.array(ids, np.int64).reshape(len(ids))
    else:
        names = np.array([str(name) for name in ids], str).reshape(len(ids))
    unique, counts = np.unique(names, return_counts=True)
    if unique.size != names.size:
        twice = plain(unique[counts.argmax()])
        raise DataError(f"{where}: {counts.max():,} nodes are called {twice!r}; names must differ")
    return names


def column_names(values: Any) -> tuple[str, ...] | None:
    """The names of the columns of a frame; None of anything else."""
    columns = getattr(values, "columns", None)
    return None if columns is None else tuple(map(str, columns))


def coded_labels(where: str, values: Any) -> tuple[np.ndarray, tuple[str, ...] | None]:
    """(N,) classes or (N, C) rows of 0 and 1, NaN where a node has none; and the names of classes.

    values : numbers, of which -1, -100 and NaN mean none; names, or None; (N, C) of 0 and 1; or for
             each node a list, tuple or set of the names of its labels.
    Classes 0, 1, 2, ... have no names but these. Raises DataError.
    """
    if isinstance(values, list | tuple) and any(_is_collection(value) for value in values):
        return _several(where, values)
    array = as_array(where, values)
    if array.dtype.kind == "O" and array.ndim == 1 and any(map(_is_collection, array)):
        return _several(where, array.tolist())
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim == 2:
        rows = _numbers(where, array)
        rows[without_label(rows)] = np.nan
        return rows, column_names(values)
    if array.ndim != 1:
        raise DataError(f"{where}: expected shape (nodes,) or (nodes, labels), got {array.shape}")
    if array.dtype.kind not in "biuf":
        return _named_classes(where, array)
    numbers = array.astype(np.float64)
    numbers[without_label(numbers)] = np.nan
    found = np.unique(numbers[~np.isnan(numbers)])
    if (found % 1).any() or np.array_equal(found, np.arange(found.size)):
        return numbers, None
    names = tuple(str(int(number)) for number in found)
    return np.where(np.isnan(numbers), np.nan, np.searchsorted(found, numbers)), names


def _is_collection(value: Any) -> bool:
    return isinstance(value, list | tuple | set | frozenset | np.ndarray)


def _named_classes(where: str, array: np.ndarray) -> tuple[np.ndarray, tuple[str, ...]]:
    texts = ["" if is_no_label(value) else str(plain(value)) for value in array.tolist()]
    names = _sorted_names({*texts} - {""})
    if not names:
        raise DataError(f"{where}: no node has a label")
    place = {name: float(at) for at, name in enumerate(names)}
    return np.array([place.get(text, np.nan) for text in texts]), names


def _several(where: str, values: Sequence[Any]) -> tuple[np.ndarray, tuple[str, ...] | None]:
    """Labels of nodes that have a collection each: rows of 0 and 1, or names."""
    missing = [not _is_collection(value) and is_missing(value) for value in values]
    rows = [() if none else value for value, none in zip(values, missing, strict=True)]
    if wrong := [row for row in rows if not _is_collection(row)]:
        raise DataError(f"{where}: expected a collection of labels for each node, got {wrong[0]!r}")
    widths = {len(row) for row, none in zip(rows, missing, strict=True) if not none}
    ordered = not any(isinstance(row, set | frozenset) for row in rows)
    if ordered and len(widths) == 1 and all(plain(x) in (0, 1) for row in rows for x in row):
        out = np.full((len(rows), widths.pop()), np.nan)
        for at, row in enumerate(rows):
            if not missing[at]:
                out[at] = row
        return out, None
    names = _sorted_names({str(plain(name)) for row in rows for name in row})
    if len(names) < 2:
        raise DataError(f"{where}: expected two or more labels among all nodes, got {len(names)}")
    place = {name: at for at, name in enumerate(names)}
    out = np.zeros((len(rows), len(names)))
    for at, row in enumerate(rows):
        out[at, [place[str(plain(name))] for name in row]] = 1
    out[missing] = np.nan
    return out, names


def _sorted_names(names: Iterable[str]) -> tuple[str, ...]:
    """By value if all are numbers, else as text."""
    ordered = sorted(names)
    with suppress(ValueError):
        ordered = sorted(ordered, key=float)
    return tuple(ordered)


def _numbers(where: str, array: np.ndarray) -> np.ndarray:
    """A fresh float64 copy. Raises DataError for what is no number."""
    try:
        return np.array(array, np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{where}: expected numbers, got {array.dtype} {array.shape}") from None


def split_array(where: str, values: Any) -> np.ndarray:
    """(N,) int8: 0 train, 1 validation, 2 test, -1 none, from these numbers or from names.

    Raises DataError for a value that names no part.
    """
    array = as_array(where, values)
    if array.ndim != 1:
        raise DataError(f"{where}: expected shape (nodes,), got {array.shape}")
    out = np.full(len(array), UNFLAGGED, np.int8)
    for row, value in enumerate(array.tolist()):
        if is_missing(value):
            continue
        part = SPLITS.get(value.lower()) if isinstance(value, str) else value
        if part not in (-1, TRAIN, VALIDATION, TEST):
            raise DataError(
                f"{where}: {value!r} at row {row}; expected train, val, test or none, or 0, 1, 2 "
                "or -1"
            )
        out[row] = part
    return out


def split_of_masks(
    where: str, masks: dict[str, Any], num_nodes: int
) -> tuple[np.ndarray | None, list[str]]:
    """The split that masks of MASKS make, None if there are none; and what to say about them.

    Raises DataError for a mask that is not one, and for a node in two of them.
    """
    split = np.full(num_nodes, UNFLAGGED, np.int8)
    notes: list[str] = []
    given = {name: mask for name, mask in masks.items() if mask is not None}
    for name, mask in given.items():
        array = as_array(f"{where}: {name}", mask)
        if array.ndim == 2 and array.shape[0] == num_nodes and array.shape[1] > 0:
            notes.append(f"{name} has {array.shape[1]} columns, one for each split: the first used")
            array = array[:, 0]
        if array.shape != (num_nodes,) or not (
            array.dtype.kind in "biu" and np.isin(array, (0, 1)).all()
        ):
            raise DataError(
                f"{where}: {name}: expected True or False for each of {num_nodes:,} nodes, got "
                f"{array.dtype} {array.shape}"
            )
        chosen = array.astype(bool)
        if (both := chosen & (split != UNFLAGGED)).any():
            raise DataError(
                f"{where}: {name}: {both.sum():,} nodes are in another mask too, first row "
                f"{int(both.argmax())}; a node is in one part"
            )
        split[chosen] = MASKS[name]
    return (split if given else None), list(dict.fromkeys(notes))
