"""DGL's and PyTorch Geometric's Reddit layout: `reddit_data.npz reddit_graph.npz`.

reddit_data holds `feature` (N, F), `label` (N,), `node_types` (N,) of 1 train, 2 validation and
3 test, and `node_ids` (N,), the names of the rows; reddit_graph is a COO matrix as SciPy saves it,
of which every stored entry is an arc between rows, whatever their names. Origin:
dgl.data.RedditDataset; the names of the arrays are those of the GaAN authors' own files.
"""

from pathlib import Path

import numpy as np

from gaancore.data.files.arrays import read_npz
from gaancore.data.nodes.checks import naming_file
from gaancore.data.nodes.dataset import UNFLAGGED
from gaancore.data.nodes.labels import label_array
from gaancore.data.nodes.make import RawDataset
from gaancore.errors import DataError
from gaancore.graph import ArcList

DATA, GRAPH = FILES = ("reddit_data.npz", "reddit_graph.npz")


def read_dgl_reddit(folder: Path) -> RawDataset:
    """Read the two files; the matrix's values, which say nothing, are not read.

    Without `label` there are no labels, without `node_types` no split: predictions need neither.
    Raises DataError for a damaged file, other arrays that are missing, a matrix of another size, or
    two nodes of one name.
    """
    data_path, graph_path = folder / DATA, folder / GRAPH
    data = _read(data_path, ("feature", "node_ids"), ("label", "node_types"))
    num_nodes = len(data["feature"]) if data["feature"].ndim else 0
    matrix = _read(graph_path, ("row", "col", "shape"))
    if matrix["shape"].tolist() != [num_nodes, num_nodes]:
        raise DataError(
            f"{graph_path}: a matrix of shape {matrix['shape'].tolist()}, but {DATA} has "
            f"{num_nodes:,} rows of features; the two must agree on the number of nodes"
        )
    with naming_file(str(graph_path)):
        graph = ArcList(matrix["col"], matrix["row"], num_nodes)
    classes = label_array(data["label"]) if "label" in data else None
    types = data.get("node_types")
    return RawDataset(
        path=str(folder),
        graph=graph,
        features=data["feature"],
        labels=classes.places if classes else None,
        split=None if types is None else _split_of(data_path, types, num_nodes),
        node_ids=_node_ids(data_path, data["node_ids"], num_nodes),
        sources=dict.fromkeys(("features", "labels", "split"), str(data_path)),
        class_names=(classes.names or None) if classes else None,
        notes=("layout: DGL Reddit", *(classes.notes if classes else ())),
    )


def _read(path: Path, names: tuple[str, ...], also: tuple[str, ...] = ()) -> dict[str, np.ndarray]:
    arrays = read_npz(path, (*names, *also))
    if missing := [name for name in names if name not in arrays]:
        raise DataError(
            f"{path}: no array {' or '.join(missing)}; expected {' '.join((*names, *also))}, "
            "as DGL's reddit.zip has them"
        )
    return arrays


def _split_of(path: Path, node_types: np.ndarray, num_nodes: int) -> np.ndarray:
    """1, 2, 3 as 0, 1, 2; a node of type 0 is in no split."""
    if node_types.shape != (num_nodes,) or node_types.dtype.kind not in "iu":
        raise DataError(
            f"{path}: node_types: expected integers in shape ({num_nodes},), "
            f"got {node_types.dtype} {node_types.shape}"
        )
    strange = (node_types < 0) | (node_types > 3)
    if strange.any():
        row = int(np.argmax(strange))
        raise DataError(
            f"{path}: node_types: {node_types[row]} at row {row}; "
            "expected 1 train, 2 validation, 3 test or 0 for none"
        )
    return node_types.astype(np.int8) + np.int8(UNFLAGGED)


def _node_ids(path: Path, node_ids: np.ndarray, num_nodes: int) -> np.ndarray:
    if node_ids.shape != (num_nodes,) or node_ids.dtype.kind not in "iuU":
        raise DataError(
            f"{path}: node_ids: expected integers or text in shape ({num_nodes},), "
            f"got {node_ids.dtype} {node_ids.shape}"
        )
    _, first, counts = np.unique(node_ids, return_index=True, return_counts=True)
    if (counts > 1).any():
        row = int(first[counts > 1].min())
        again = int(np.flatnonzero(node_ids == node_ids[row])[1])
        raise DataError(
            f"{path}: node_ids: rows {row} and {again} have the same id {node_ids[row]}; results "
            "are listed by id: ids must differ"
        )
    return node_ids
