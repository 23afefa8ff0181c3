"""An `.npz` with `adj_matrix.data ...`, `attr_matrix.data ...` and `labels`: an attributed graph.

adj_matrix and attr_matrix are SciPy's CSR matrices in four arrays each (`.data .indices .indptr
.shape`; some files write `adj_data adj_indices ...`), labels a class for each node. node_names,
attr_names and class_names are their names, where they are text. Cora-ML, Citeseer, Amazon and
Coauthor are passed on so, without a split.
Origin: A. Bojchevski and S. Günnemann, "Deep Gaussian embedding of graphs" (ICLR 2018); O. Shchur
et al., "Pitfalls of graph neural network evaluation" (2018).
"""

from collections.abc import Collection
from pathlib import Path

import numpy as np
from scipy import sparse

from gaancore.choices import AS_IT_IS, Reading
from gaancore.data.files.arrays import listed, npz_names, read_npz
from gaancore.data.nodes.checks import feature_rows, naming_file
from gaancore.data.nodes.labels import label_array
from gaancore.data.nodes.make import RawDataset
from gaancore.errors import DataError
from gaancore.graph import CSRGraph

PARTS = ("data", "indices", "indptr", "shape")
ADJACENCY, ATTRIBUTES = ("adj_matrix.", "adj_"), ("attr_matrix.", "attr_")
NAMES = ("node_names", "attr_names", "class_names")
OTHERS = ("attr_matrix", "labels")


def is_attributed(names: Collection[str]) -> bool:
    """Whether arrays of these names are such a graph."""
    return any(f"{prefix}indptr" in names for prefix in ADJACENCY)


def read_attributed(path: Path, reading: Reading = AS_IT_IS) -> RawDataset:
    """Read the layout. Raises DataError for a damaged file and for sizes that do not fit."""
    names = npz_names(path)
    known = {*OTHERS, *(f"{p}{part}" for p in (*ADJACENCY, *ATTRIBUTES) for part in PARTS)}
    arrays = read_npz(path, known & {*names})
    adjacency = _matrix(path, arrays, ADJACENCY)
    assert adjacency is not None
    with naming_file(f"{path}: adjacency"):
        graph = CSRGraph.from_scipy(adjacency, duplicates="keep")
    num_nodes = graph.num_nodes
    attributes = arrays.get("attr_matrix", _matrix(path, arrays, ATTRIBUTES))
    if attributes is None:
        attributes = np.zeros((num_nodes, 0), np.float32)
    texts = _texts(path)
    notes = []
    unused = sorted({*names} - known - texts.keys())
    if unused:
        notes.append(f"arrays not used: {listed(unused)}")
    values = np.unique(graph_values(adjacency))
    if values.size > 1:
        notes.append("values of the adjacency are not used: an entry is an edge")
    labels = label_array(arrays["labels"]) if "labels" in arrays else None
    ids = texts.get("node_names")
    if ids is not None and (ids.size != num_nodes or np.unique(ids).size < num_nodes):
        notes.append("node_names are not one different name a node: nodes are called by number")
        ids = None
    columns = texts.get("attr_names")
    named = columns is not None and columns.size == attributes.shape[1]
    return RawDataset(
        path=str(path),
        graph=graph,
        features=feature_rows(str(path), "attr_matrix", attributes, num_nodes),
        labels=None if labels is None else labels.places,
        split=None,
        node_ids=np.arange(num_nodes) if ids is None else ids,
        sources=dict.fromkeys(("features", "labels", "split"), str(path)),
        class_names=_class_names(labels.names if labels else (), arrays, texts),
        feature_names=tuple(columns.tolist()) if named and columns is not None else None,
        notes=("layout: attributed graph in one npz", *notes, *(labels.notes if labels else ())),
    )


def graph_values(adjacency: sparse.csr_array) -> np.ndarray:
    """The values of the entries that are edges."""
    return adjacency.data[adjacency.data != 0]


def _class_names(
    named: tuple[str, ...], arrays: dict[str, np.ndarray], texts: dict[str, np.ndarray]
) -> tuple[str, ...] | None:
    """The names of the classes from 0 on; None unless there is one for each number."""
    if named:
        return named
    names, labels = texts.get("class_names"), arrays.get("labels")
    if names is None or labels is None or labels.dtype.kind not in "iu" or labels.ndim != 1:
        return None
    return tuple(names.tolist()) if labels.max(initial=-1) < names.size else None


def _matrix(
    path: Path, arrays: dict[str, np.ndarray], prefixes: tuple[str, ...]
) -> sparse.csr_array | None:
    prefix = next((p for p in prefixes if f"{p}indptr" in arrays), None)
    if prefix is None:
        return None
    if lacking := [part for part in PARTS if f"{prefix}{part}" not in arrays]:
        raise DataError(f"{path}: no array {prefix}{lacking[0]}, which the matrix needs")
    data, indices, indptr, shape = (arrays[f"{prefix}{part}"] for part in PARTS)
    try:
        matrix = sparse.csr_array((data, indices, indptr), shape=tuple(shape.tolist()))
        matrix.check_format(full_check=True)
    except (TypeError, ValueError) as error:
        raise DataError(f"{path}: {prefix}indptr: no sound CSR matrix: {error}") from None
    return matrix


def _texts(path: Path) -> dict[str, np.ndarray]:
    """Those arrays of names that are text, without the space around them."""
    arrays = read_npz(path, NAMES, skip_objects=True)
    return {
        name: np.char.strip(array)
        for name, array in arrays.items()
        if array.dtype.kind == "U" and array.ndim == 1
    }
