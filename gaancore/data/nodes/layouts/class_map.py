"""`class_map.json`, which GraphSAGE's and GraphSAINT's layouts share: node id -> label(s)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gaancore.data.nodes.labels import NONE_WORDS, CodedClasses, code_classes
from gaancore.errors import DataError
from gaancore.system.disk import read_json


def read_class_map(path: Path, node_ids: Sequence[str]) -> CodedClasses | None:
    """The labels of `node_ids`, in that order: (N,) classes or (N, C) rows of 0 and 1; None if
    there is no such file, as predictions need none.

    null, NaN and the words of NONE_WORDS mean no label. Classes may have names; without them
    `names` is empty, and `places` are the numbers of the file. Entries of other ids are ignored.
    Raises DataError if an id has no entry, or if the entries are not all numbers, all text, or all
    lists of one length.
    """
    if not path.exists():
        return None
    class_map = read_json(path)
    if not isinstance(class_map, dict):
        raise DataError(f"{path}: expected an object of node id: label(s)")
    missing = [i for i in node_ids if i not in class_map]
    if missing:
        raise DataError(
            f"{path}: {len(missing):,} of {len(node_ids):,} nodes have no entry, first node id "
            f"{missing[0]}; add their labels or remove the nodes"
        )
    entries = [class_map[i] for i in node_ids]
    if any(isinstance(entry, str) and not _is_nothing(entry) for entry in entries):
        return _by_name(path, node_ids, entries)
    width = next((len(entry) for entry in entries if isinstance(entry, list)), 0)
    nothing: Any = [np.nan] * width if width else np.nan
    filled = [nothing if _is_nothing(entry) else entry for entry in entries]
    widths = [len(entry) if isinstance(entry, list) else 0 for entry in filled]
    for node, found in zip(node_ids, widths, strict=True):
        if found != widths[0]:
            raise DataError(
                f"{path}: node id {node} has {found} labels where node id {node_ids[0]} has "
                f"{widths[0]} (0 stands for a single class); all entries must have the same form"
            )
    try:
        return CodedClasses(np.array(filled), (), ())
    except ValueError as error:  # lists within lists
        raise DataError(f"{path}: expected a class or a flat list of 0 and 1 per node") from error


def _is_nothing(entry: Any) -> bool:
    if isinstance(entry, str):
        return entry.strip().casefold() in NONE_WORDS
    return entry is None or (isinstance(entry, float) and entry != entry)


def _by_name(path: Path, node_ids: Sequence[str], entries: list[Any]) -> CodedClasses:
    for node, entry in zip(node_ids, entries, strict=True):
        if isinstance(entry, list | dict):
            raise DataError(
                f"{path}: node id {node} has {entry!r:.40} where others have the name of a class; "
                "all entries must have the same form"
            )
    return code_classes(["" if entry is None else str(entry).strip() for entry in entries])
