"""A MATLAB file with `Network` (N, N), `Attributes` (N, F) and `Label`: no split.

An entry of Network is an arc, Attributes are features, Label is one class per node (N, 1) or rows
of 0 and 1. So the attributed networks BlogCatalog and Flickr are passed on.
Origin: X. Huang, J. Li and X. Hu, "Accelerated attributed network embedding" (SDM 2017).
"""

from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from scipy.io import loadmat

from gaancore.data.files.arrays import refusing_damage
from gaancore.data.nodes.checks import naming_file
from gaancore.data.nodes.make import RawDataset
from gaancore.errors import DataError
from gaancore.graph import CSRGraph

NAMES = ("Network", "Attributes", "Label")


def read_matlab(path: Path) -> RawDataset:
    """Read the layout. Raises DataError for a damaged file, or one without the three matrices."""
    with refusing_damage(path, "MATLAB file"):
        variables = loadmat(path, variable_names=NAMES)
    network, attributes, label = (_matrix(path, variables, name) for name in NAMES)
    with naming_file(f"{path}: Network"):
        graph = CSRGraph.from_scipy(sparse.csr_array(network), duplicates="keep")
    num_nodes = graph.num_nodes
    return RawDataset(
        path=str(path),
        graph=graph,
        features=_dense(attributes),
        labels=_dense(label),
        split=None,
        node_ids=np.arange(num_nodes),
        sources=dict.fromkeys(("features", "labels", "split"), str(path)),
        notes=("layout: MATLAB",),
    )


def _matrix(path: Path, variables: dict[str, Any], name: str) -> Any:
    """A sparse or dense matrix of numbers; MATLAB's cells and structures are refused."""
    found = variables.get(name)
    if found is None or found.ndim != 2 or found.dtype.kind not in "biuf":
        what = "found none" if found is None else f"got {found.dtype} {found.shape}"
        raise DataError(
            f"{path}: {name}: expected a matrix of numbers, {what}; a file of this layout has the "
            f"matrices {', '.join(NAMES)}"
        )
    return found


def _dense(matrix: Any) -> np.ndarray:
    if not sparse.issparse(matrix):
        return np.asarray(matrix)
    return sparse.csr_array(matrix, dtype=np.float32).toarray()
