"""`class_map.json`, which GraphSAGE's and GraphSAINT's layouts share: node id -> label(s)."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from gaancore.errors import DataError
from gaancore.system.disk import read_json


def read_class_map(path: Path, node_ids: Sequence[str]) -> np.ndarray:
    """The labels of `node_ids`, in that order: (N,) classes or (N, C) rows of 0 and 1.

    Entries of other ids are ignored. Raises DataError if an id has no entry, or if the entries
    are not all numbers, or all lists of one length.
    """
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
    widths = [len(entry) if isinstance(entry, list) else 0 for entry in entries]
    for node, width in zip(node_ids, widths, strict=True):
        if width != widths[0]:
            raise DataError(
                f"{path}: node id {node} has {width} labels where node id {node_ids[0]} has "
                f"{widths[0]} (0 stands for a single class); all entries must have the same form"
            )
    try:
        return np.array(entries)
    except ValueError as error:  # lists within lists
        raise DataError(f"{path}: expected a class or a flat list of 0 and 1 per node") from error
