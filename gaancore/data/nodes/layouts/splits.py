"""A split as masks or as lists of nodes, under the names that PyTorch Geometric and OGB use."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from gaancore.choices import Reading
from gaancore.data.nodes.dataset import TEST, TRAIN, UNFLAGGED, VALIDATION
from gaancore.errors import DataError

PARTS = {"train": TRAIN, "val": VALIDATION, "valid": VALIDATION, "test": TEST}
MASKS = {f"{part}_mask": number for part, number in PARTS.items()}
LISTS = {f"{part}_idx": number for part, number in PARTS.items()}


def split_names(path: Path, names: Iterable[str]) -> list[str]:
    """Those of `names` that make up the split: `split` alone, masks, or lists; [] without any.

    Raises DataError if there are two kinds of them, or two names for one part.
    """
    names = list(names)
    kinds = [[name for name in names if name in kind] for kind in (("split",), MASKS, LISTS)]
    found = [kind for kind in kinds if kind]
    every = [name for kind in found for name in kind]
    parts = {(MASKS | LISTS).get(name) for name in every}
    if len(found) > 1 or len(parts) < len(every):
        raise DataError(
            f"{path}: split: looked for split, for train_mask val_mask test_mask or for train_idx "
            f"val_idx test_idx, and found more than one of them: {' '.join(every)}; keep one"
        )
    return found[0] if found else []


def chosen_split(path: Path, name: str, array: np.ndarray, reading: Reading) -> np.ndarray:
    """One of several splits (N, S), by its number from 0 on; (N,) and (N, 1) are but one.

    Raises DataError unless `reading` chooses such a number; where none is needed, the first does.
    """
    if array.ndim != 2 or array.shape[1] == 1:
        return array[:, 0] if array.ndim == 2 else array
    count, column = array.shape[1], reading.split_column
    if not reading.needed:
        return array[:, 0]
    if not (column.isdecimal() and int(column) < count):
        raise DataError(
            f"{path}: {name}: {count:,} splits; choose one by its number, 0 to {count - 1} "
            f"(split_column){f', got {column!r}' if column else ''}"
        )
    return array[:, int(column)]


def split_of_masks(path: Path, masks: Mapping[str, np.ndarray], num_nodes: int) -> np.ndarray:
    """(N,) int8 from masks, (N,) or (N, 1), of 0 and 1; nodes in none of them are UNFLAGGED.

    Raises DataError for what is no mask, and for a node in two of them.
    """
    chosen = {}
    for name, mask in masks.items():
        column = mask[:, 0] if mask.ndim == 2 and mask.shape[1] == 1 else mask
        if (
            column.shape != (num_nodes,)
            or column.dtype.kind not in "biuf"
            or not np.isin(column, (0, 1)).all()
        ):
            raise DataError(
                f"{path}: {name}: expected true or false for each of {num_nodes:,} nodes, "
                f"got {mask.dtype} {mask.shape}"
            )
        chosen[name] = np.flatnonzero(column)
    return _combined(path, chosen, num_nodes)


def split_of_lists(path: Path, lists: Mapping[str, np.ndarray], num_nodes: int) -> np.ndarray:
    """(N,) int8 from the numbers of the nodes in each part, (n,) or (n, 1); the others are
    UNFLAGGED. Raises DataError for what is no such list, and for a node in two of them.
    """
    chosen = {}
    for name, nodes in lists.items():
        column = nodes[:, 0] if nodes.ndim == 2 and nodes.shape[1] == 1 else nodes
        if column.ndim != 1 or (column.size and column.dtype.kind not in "iu"):
            raise DataError(
                f"{path}: {name}: expected the numbers of nodes in shape (nodes of the part,), got "
                f"{nodes.dtype} {nodes.shape}"
            )
        outside = (column < 0) | (column >= num_nodes)
        if outside.any():
            place = int(outside.argmax())
            raise DataError(
                f"{path}: {name}: {column[place]} at place {place}; expected numbers of nodes from "
                f"0 to {num_nodes - 1}"
            )
        chosen[name] = column.astype(np.int64)
    return _combined(path, chosen, num_nodes)


def _combined(path: Path, chosen: Mapping[str, np.ndarray], num_nodes: int) -> np.ndarray:
    split = np.full(num_nodes, UNFLAGGED, np.int8)
    taken_by: dict[int, str] = {}
    for name, nodes in chosen.items():
        number = (MASKS | LISTS)[name]
        twice = nodes[split[nodes] != UNFLAGGED]
        if twice.size:
            raise DataError(
                f"{path}: node {twice[0]} is in both {taken_by[int(split[twice[0]])]} and {name}; "
                "a node has one split"
            )
        split[nodes] = number
        taken_by[number] = name
    return split
