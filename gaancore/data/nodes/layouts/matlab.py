"""A MATLAB file with `Network` (N, N), `Attributes` (N, F) and `Label`: no split.

An entry of Network is an arc, Attributes are features, Label is one class per node (N, 1) or rows
of 0 and 1. So the attributed networks BlogCatalog and Flickr are passed on.
Origin: X. Huang, J. Li and X. Hu, "Accelerated attributed network embedding" (SDM 2017).
"""

import os
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from gaancore.data.files.matlab.reader import read_matlab_file
from gaancore.data.nodes.checks import naming_file
from gaancore.data.nodes.make import RawDataset
from gaancore.errors import DataError
from gaancore.graph import CSRGraph

NAMES = ("Network", "Attributes", "Label")


def read_matlab(path: Path) -> RawDataset:
    """Read the layout. Raises DataError for a damaged file, or one without the three matrices."""
    matrices = read_matlab_file(path, NAMES)
    network = matrices["Network"]
    with naming_file(f"{path}: Network"):
        graph = CSRGraph.from_scipy(sparse.csr_array(network), duplicates="keep")
    num_nodes = graph.num_nodes
    return RawDataset(
        path=str(path),
        graph=graph,
        features=_dense(path, "Attributes", matrices["Attributes"], num_nodes),
        labels=_dense(path, "Label", matrices["Label"], num_nodes),
        split=None,
        node_ids=np.arange(num_nodes),
        sources=dict.fromkeys(("features", "labels", "split"), str(path)),
        notes=("layout: MATLAB",),
    )


def _dense(path: Path, name: str, matrix: Any, num_nodes: int) -> np.ndarray:
    """The matrix with all its zeros. Raises DataError if memory cannot hold them."""
    if matrix.shape[0] != num_nodes:
        raise DataError(
            f"{path}: {name}: expected {num_nodes:,} rows (one per node), got {matrix.shape[0]:,}"
        )
    if not sparse.issparse(matrix):
        return np.asarray(matrix)
    size = 4 * num_nodes * matrix.shape[1]
    if size > os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"):
        raise DataError(
            f"{path}: {name}: {num_nodes:,} x {matrix.shape[1]:,} numbers take {size / 1e9:,.0f} "
            "GB, more than this machine has; leave out columns"
        )
    with np.errstate(over="ignore"):  # too large for float32 is inf, and reported as such
        return sparse.csr_array(matrix, dtype=np.float32).toarray()
