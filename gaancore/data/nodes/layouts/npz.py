"""A whole dataset in one `.npz`: the simplest layout for your own graph. Or in a folder of `.npy`
files of the same names, which may be larger than memory: large ones are mapped, not read.

arcs     : `src dst`, or `edge_index` (2, E), or `indptr indices` (CSR)
features : `x`, `feats` or `features`, (N, F); may be missing where the graph has labels
labels   : `y` or `labels`, (N,) classes, by number or name, or (N, C) of 0 and 1
split    : `split` (N,) of 0 train, 1 validation, 2 test, -1 none;
           or `train_mask val_mask test_mask`, (N,) or (N, 1);
           of several splits, (N, S), one is chosen by its number from 0 on;
           or `train_idx val_idx test_idx`, the numbers of the nodes (`valid_...` is `val_...`)
optional : `edge_attr` or `e`, (E,) or (E, B), features of the edges, where they are asked for;
           `graph_id` (N,) integers; labels and split, of a graph that is only predicted on
The names are those of PyTorch Geometric's `Data`, of OGB's splits and of the public PPI
conversions. Arrays of other names are not unpacked, and a note names them.
"""

from collections.abc import Collection
from pathlib import Path

import numpy as np

from gaancore.data.files.arrays import listed, npz_names, read_npy, read_npz
from gaancore.data.files.columns import chosen_columns
from gaancore.data.nodes.checks import naming_file
from gaancore.data.nodes.labels import label_array
from gaancore.data.nodes.layouts.citations.attributed import is_attributed, read_attributed
from gaancore.data.nodes.layouts.reading import AS_IT_IS, Reading
from gaancore.data.nodes.layouts.splits import (
    LISTS,
    MASKS,
    chosen_split,
    split_names,
    split_of_lists,
    split_of_masks,
)
from gaancore.data.nodes.make import RawDataset
from gaancore.errors import DataError
from gaancore.graph import ArcList, CSRGraph

EDGE_NAMES = (("src", "dst"), ("edge_index",), ("indptr", "indices"))
FEATURE_NAMES = (("x",), ("feats",), ("features",))
LABEL_NAMES = (("y",), ("labels",))
EDGE_ATTR_NAMES = (("edge_attr",), ("e",))


def array_names(path: Path) -> list[str]:
    """The names of the arrays in a `.npz` file, or of the `.npy` files in a folder."""
    if path.is_dir():
        return sorted(file.stem for file in path.iterdir() if file.suffix == ".npy")
    return npz_names(path)


def looks_like_graph(names: Collection[str]) -> bool:
    """Whether arrays of these names can be edges, and features or labels, of a graph."""
    return all(
        any(set(choice) <= set(names) for choice in choices)
        for choices in (EDGE_NAMES, FEATURE_NAMES + LABEL_NAMES)
    )


def read_one_npz(path: Path, reading: Reading = AS_IT_IS) -> RawDataset:
    """Read the layout. Raises DataError for a damaged file, or arrays missing or named twice."""
    names, of_folder = array_names(path), path.is_dir()
    if not of_folder and is_attributed(names):
        return read_attributed(path, reading)
    has_features = not {"y", "labels"} & {*names} or {"x", "feats", "features"} & {*names}
    of_edges = [name for (name,) in EDGE_ATTR_NAMES if name in names]
    wants_edges = bool(chosen_columns(str(path), of_edges, reading.edge_features))
    wanted = [
        *(_pick(path, names, "features", *FEATURE_NAMES) if has_features else ()),
        *_pick(path, names, "edges", *EDGE_NAMES),
        *(_pick(path, names, "labels", *LABEL_NAMES) if {"y", "labels"} & {*names} else ()),
        *split_names(path, names),
        *({"graph_id"} & {*names}),
        *(_pick(path, names, "features of edges", *EDGE_ATTR_NAMES) if wants_edges else ()),
    ]
    if of_folder:
        arrays = {name: read_npy(path / f"{name}.npy") for name in wanted}
    else:
        arrays = read_npz(path, wanted)
    labels = next((arrays[name] for (name,) in LABEL_NAMES if name in arrays), None)
    classes = None if labels is None else label_array(labels)
    features = next((arrays[name] for (name,) in FEATURE_NAMES if name in arrays), None)
    if features is None:
        features = np.zeros((len(labels) if labels is not None and labels.ndim else 0, 0))
    num_nodes = len(features) if features.ndim else 0
    unused = sorted({*names} - {*wanted})
    notes = [f"arrays not used: {listed(unused)}"] if unused else []
    edge_attr = next((arrays[name] for (name,) in EDGE_ATTR_NAMES if name in arrays), None)
    if edge_attr is not None:
        edge_attr = edge_attr[:, None] if edge_attr.ndim == 1 else edge_attr
        notes.append(f"{edge_attr.shape[-1]} features of edges")
    return RawDataset(
        path=str(path),
        graph=_read_graph(path, arrays, num_nodes, edge_attr),
        features=features,
        labels=None if classes is None else classes.places,
        split=_read_split(path, arrays, num_nodes, reading),
        node_ids=np.arange(num_nodes),
        sources=dict.fromkeys(("features", "labels", "split", "graph_ids"), str(path)),
        graph_ids=arrays.get("graph_id"),
        class_names=(classes.names or None) if classes else None,
        notes=(
            f"layout: {'a folder of .npy files' if of_folder else 'one npz file'}",
            *notes,
            *(classes.notes if classes else ()),
        ),
    )


def _pick(
    path: Path, names: Collection[str], what: str, *choices: tuple[str, ...]
) -> tuple[str, ...]:
    """The one choice of names that the file has."""
    found = [choice for choice in choices if {*names} >= set(choice)]
    if len(found) != 1:
        wanted = " or ".join(" ".join(choice) for choice in choices)
        problem = "more than one of them" if found else "none"
        raise DataError(
            f"{path}: {what}: looked for the array(s) {wanted} and found {problem}; "
            f"there are {listed(array_names(path))}"
        )
    return found[0]


def _read_graph(
    path: Path, arrays: dict[str, np.ndarray], num_nodes: int, edge_attr: np.ndarray | None
) -> CSRGraph | ArcList:
    if "edge_index" in arrays:
        edge_index = arrays["edge_index"]
        if edge_index.ndim != 2 or len(edge_index) != 2:
            raise DataError(
                f"{path}: edge_index: expected shape (2, edges), got {edge_index.shape}; "
                "row 0 holds the sources, row 1 the targets"
            )
        first, second = edge_index
    else:
        first, second = (
            arrays[name]
            for name in (("indptr", "indices") if "indptr" in arrays else ("src", "dst"))
        )
    with naming_file(str(path)):
        if "indptr" in arrays:
            return CSRGraph(first, second, num_nodes, edge_attr=edge_attr)
        return ArcList(first, second, num_nodes, edge_attr)


def _read_split(
    path: Path, arrays: dict[str, np.ndarray], num_nodes: int, reading: Reading
) -> np.ndarray | None:
    if "split" in arrays:
        return chosen_split(path, "split", arrays["split"], reading)
    if masks := {name: arrays[name] for name in MASKS if name in arrays}:
        one = {name: chosen_split(path, name, mask, reading) for name, mask in masks.items()}
        return split_of_masks(path, one, num_nodes)
    lists = {name: arrays[name] for name in LISTS if name in arrays}
    return split_of_lists(path, lists, num_nodes) if lists else None
