"""GraphSAINT's layout: `adj_full.npz adj_train.npz feats.npy class_map.json role.json`.

adj_full is a sparse matrix as SciPy saves it (every stored entry is an arc), feats.npy has one row
per node, class_map maps each node's position, as text, to a class or to a row of 0 and 1, and role
lists the positions of the training (`tr`), validation (`va`) and test (`te`) nodes.
Origin: github.com/GraphSAINT/GraphSAINT, section "Data format".
"""

from pathlib import Path
from typing import Any

import numpy as np

from gaancore.data.files.arrays import listed_names, read_npy, read_npz
from gaancore.data.nodes.checks import naming_file
from gaancore.data.nodes.dataset import TEST, TRAIN, UNFLAGGED, VALIDATION
from gaancore.data.nodes.layouts.class_map import read_class_map
from gaancore.data.nodes.make import RawDataset
from gaancore.errors import DataError
from gaancore.graph import CSRGraph
from gaancore.system.disk import read_json

ARRAYS = ("format", "shape", "indptr", "indices", "row", "col")  # the values say nothing
FILES = ("adj_full.npz", "feats.npy", "class_map.json", "role.json")


def read_graphsaint(folder: Path) -> RawDataset:
    """Read the layout. `adj_train.npz` is only compared, since training sees an induced subgraph.

    Raises DataError for a missing or damaged file and for ids that do not fit each other.
    """
    features = read_npy(folder / "feats.npy")
    num_nodes = len(features) if features.ndim else 0
    graph = _read_adjacency(folder / "adj_full.npz", num_nodes)
    split = _read_roles(folder / "role.json", num_nodes)
    sources = {
        "features": str(folder / "feats.npy"),
        "labels": str(folder / "class_map.json"),
        "split": str(folder / "role.json"),
    }
    classes = read_class_map(folder / "class_map.json", [str(i) for i in range(num_nodes)])
    train_notes = _compare_train(folder / "adj_train.npz", graph, split)
    return RawDataset(
        path=str(folder),
        graph=graph,
        features=features,
        labels=classes.places,
        split=split,
        node_ids=np.arange(num_nodes),
        sources=sources,
        class_names=classes.names or None,
        notes=("layout: GraphSAINT", *classes.notes, *train_notes),
    )


def _read_adjacency(path: Path, num_nodes: int) -> CSRGraph:
    arrays = read_npz(path, ARRAYS)
    layout = arrays["format"].tolist() if "format" in arrays else "csr"
    shape = arrays["shape"].tolist() if "shape" in arrays else [num_nodes, num_nodes]
    if shape != [num_nodes, num_nodes]:
        raise DataError(
            f"{path}: a matrix of shape {shape}, but feats.npy has {num_nodes:,} rows; "
            "the two must agree on the number of nodes"
        )
    with naming_file(str(path)):
        if layout in (b"csr", "csr", b"csc", "csc") and {"indptr", "indices"} <= arrays.keys():
            return CSRGraph(arrays["indptr"], arrays["indices"], num_nodes)
        if layout in (b"coo", "coo") and {"row", "col"} <= arrays.keys():
            row, col = arrays["row"], arrays["col"]
            return CSRGraph.from_edges(col, row, num_nodes, duplicates="keep")
    raise DataError(
        f"{path}: expected a sparse matrix saved by scipy.sparse.save_npz as csr, csc or coo; "
        f"found format {layout!r} and arrays {listed_names(path)}"
    )


def _read_roles(path: Path, num_nodes: int) -> np.ndarray:
    roles = read_json(path)
    if not isinstance(roles, dict) or not {"tr", "va", "te"} <= roles.keys():
        raise DataError(f"{path}: expected an object with the lists tr, va and te")
    split = np.full(num_nodes, UNFLAGGED, dtype=np.int8)
    for key, number in (("tr", TRAIN), ("va", VALIDATION), ("te", TEST)):
        ids = _role_ids(path, key, roles[key], num_nodes)
        taken = ids[split[ids] != UNFLAGGED]
        if taken.size:
            other = ("tr", "va", "te")[split[taken[0]]]
            raise DataError(
                f"{path}: node {taken[0]} is in both {other} and {key}; a node has one role"
            )
        split[ids] = number
    return split


def _role_ids(path: Path, key: str, ids: Any, num_nodes: int) -> np.ndarray:
    if not isinstance(ids, list):
        raise DataError(f"{path}: {key}: expected a list of node positions")
    for place, i in enumerate(ids):
        if type(i) is not int or not 0 <= i < num_nodes:
            raise DataError(
                f"{path}: {key}[{place}] is {i!r}; expected a node position from 0 to "
                f"{num_nodes - 1}"
            )
    return np.array(ids, dtype=np.int64)


def _compare_train(path: Path, full: CSRGraph, split: np.ndarray) -> tuple[str, ...]:
    """A remark if adj_train is not what training will see: adj_full between training nodes."""
    if not path.is_file():
        return ()
    stored = _read_adjacency(path, split.size)
    outside = stored.num_edges - stored.induced_subgraph(split == TRAIN).num_edges
    expected = full.induced_subgraph(split == TRAIN).num_edges
    if outside == 0 and stored.num_edges == expected:
        return ()
    return (
        f"adj_train.npz has {stored.num_edges:,} arcs, {outside:,} of them at other than training "
        f"nodes; it is not used: training sees the {expected:,} arcs of adj_full.npz between "
        "training nodes",
    )
