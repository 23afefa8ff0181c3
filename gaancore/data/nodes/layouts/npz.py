"""A whole dataset in one `.npz`: the simplest layout for your own graph.

arcs     : `src dst`, or `edge_index` (2, E), or `indptr indices` (CSR)
features : `x`, `feats` or `features`, (N, F)
labels   : `y` or `labels`, (N,) classes or (N, C) of 0 and 1
split    : `split` (N,) of 0 train, 1 validation, 2 test, -1 none;
           or `train_mask val_mask test_mask`
optional : `graph_id` (N,) integers; labels and split, of a graph that is only predicted on
The names are those of PyTorch Geometric's `Data` and of the public PPI conversions.
"""

from collections.abc import Collection
from pathlib import Path

import numpy as np

from gaancore.data.files.arrays import read_npz
from gaancore.data.nodes.checks import naming_file
from gaancore.data.nodes.dataset import UNFLAGGED
from gaancore.data.nodes.make import RawDataset
from gaancore.errors import DataError
from gaancore.graph import ArcList, CSRGraph

EDGE_NAMES = (("src", "dst"), ("edge_index",), ("indptr", "indices"))
FEATURE_NAMES = (("x",), ("feats",), ("features",))
MASKS = ("train_mask", "val_mask", "test_mask")


def looks_like_graph(names: Collection[str]) -> bool:
    """Whether arrays of these names can be edges and features of a graph."""
    return all(
        any(set(choice) <= set(names) for choice in choices)
        for choices in (EDGE_NAMES, FEATURE_NAMES)
    )


def read_one_npz(path: Path) -> RawDataset:
    """Read the layout. Raises DataError for a damaged file, or arrays missing or named twice."""
    arrays = read_npz(path)
    (features,) = _pick(path, arrays, "features", *FEATURE_NAMES)
    labels = None
    if arrays.keys() & {"y", "labels"}:
        (labels,) = _pick(path, arrays, "labels", ("y",), ("labels",))
    num_nodes = len(features) if features.ndim else 0
    return RawDataset(
        path=str(path),
        graph=_read_graph(path, arrays, num_nodes),
        features=features,
        labels=labels,
        split=_read_split(path, arrays, num_nodes),
        node_ids=np.arange(num_nodes),
        sources=dict.fromkeys(("features", "labels", "split", "graph_ids"), str(path)),
        graph_ids=arrays.get("graph_id"),
        notes=("layout: one npz file",),
    )


def _pick(
    path: Path, arrays: dict[str, np.ndarray], what: str, *choices: tuple[str, ...]
) -> tuple[np.ndarray, ...]:
    """The arrays of the one choice of names that the file has."""
    found = [names for names in choices if arrays.keys() >= set(names)]
    if len(found) != 1:
        wanted = " or ".join(" ".join(names) for names in choices)
        problem = "more than one of them" if found else "none"
        raise DataError(
            f"{path}: {what}: looked for the array(s) {wanted} and found {problem}; "
            f"the file has {', '.join(sorted(arrays)) or 'no arrays'}"
        )
    return tuple(arrays[name] for name in found[0])


def _read_graph(path: Path, arrays: dict[str, np.ndarray], num_nodes: int) -> CSRGraph | ArcList:
    found = _pick(path, arrays, "edges", *EDGE_NAMES)
    if len(found) == 1:
        (edge_index,) = found
        if edge_index.ndim != 2 or len(edge_index) != 2:
            raise DataError(
                f"{path}: edge_index: expected shape (2, edges), got {edge_index.shape}; "
                "row 0 holds the sources, row 1 the targets"
            )
        found = (edge_index[0], edge_index[1])
    first, second = found
    with naming_file(str(path)):
        if arrays.keys() >= {"indptr", "indices"}:
            return CSRGraph(first, second, num_nodes)
        return ArcList(first, second, num_nodes)


def _read_split(path: Path, arrays: dict[str, np.ndarray], num_nodes: int) -> np.ndarray | None:
    if not arrays.keys() & {"split", *MASKS}:
        return None
    found = _pick(path, arrays, "split", ("split",), MASKS)
    if len(found) == 1:
        return found[0]
    split = np.full(num_nodes, UNFLAGGED, dtype=np.int8)
    for number, (name, mask) in enumerate(zip(MASKS, found, strict=True)):
        if mask.shape != (num_nodes,) or not np.isin(mask, (0, 1)).all():
            raise DataError(
                f"{path}: {name}: expected true or false for each of {num_nodes:,} nodes, "
                f"got {mask.dtype} {mask.shape}"
            )
        twice = np.flatnonzero((mask != 0) & (split != UNFLAGGED))
        if twice.size:
            raise DataError(
                f"{path}: node {twice[0]} is in both {MASKS[split[twice[0]]]} and {name}; "
                "a node has one split"
            )
        split[mask != 0] = number
    return split
