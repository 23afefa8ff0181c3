"""Small graphs in the layouts in which papers and projects pass them on."""

import gzip
import pickle
import sys
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

import numpy as np
from scipy import sparse
from scipy.io import savemat

X = [[float(i == j) for j in range(3)] + [float(i)] for i in range(9)]
PLANETOID_CLASSES = [0, 1, 0, 1, 0, 1, 1, 0, 1]


class csr_matrix:  # noqa: N801 (the name that the pickle has)
    """As a pickle of Python 2 has it: made without arguments, then its state."""

    __module__ = "scipy.sparse.csr"

    def __init__(self, dense: list[list[float]]) -> None:
        matrix = sparse.csr_matrix(np.array(dense, np.float32))
        self.__dict__ |= {"_shape": matrix.shape, "data": matrix.data, "maxprint": 50}
        self.__dict__ |= {"indices": matrix.indices, "indptr": matrix.indptr}


def old_pickle(path: Path, value: Any, protocol: int = 2) -> None:
    module = ModuleType("scipy.sparse.csr")
    module.csr_matrix = csr_matrix  # type: ignore[attr-defined]
    with patch.dict(sys.modules, {module.__name__: module}):
        path.write_bytes(pickle.dumps(value, protocol))


def write_planetoid(folder: Path, protocol: int = 2) -> Path:
    """Nodes 0 and 1 train, 2 to 4 may validate, 8 and 6 test, and there is nothing of 5 and 7."""
    one_hot = np.eye(2, dtype=np.int32)[PLANETOID_CLASSES]
    for name, value in {
        "x": csr_matrix(X[:2]), "tx": csr_matrix([X[8], X[6]]), "allx": csr_matrix(X[:5]),
        "y": one_hot[:2], "ty": one_hot[[8, 6]], "ally": one_hot[:5],
        "graph": {0: [1, 8], 1: [0], 8: [0, 0], 5: [7], 2: [], 6: [6]},
    }.items():  # fmt: skip
        old_pickle(folder / f"ind.toy.{name}", value, protocol)
    (folder / "ind.toy.test.index").write_text("8\n6\n")
    return folder


def attributed(prefixes: tuple[str, str], **changes: Any) -> dict[str, np.ndarray]:
    adjacency = sparse.csr_array(([1.0, 2.0, 1.0], ([0, 1, 3], [1, 2, 3])), shape=(4, 4))
    attributes = sparse.csr_array(np.array([[0, 1.5], [2, 0], [0, 0], [1, 1]], np.float32))
    arrays = {"labels": np.array([1, 0, 1, 0]), "metadata": np.array([{"a": 1}], object)}
    for prefix, matrix in zip(prefixes, (adjacency, attributes), strict=True):
        parts = {part: getattr(matrix, part) for part in ("data", "indices", "indptr", "shape")}
        arrays |= {f"{prefix}{part}": np.array(value) for part, value in parts.items()}
    return {name: array for name, array in (arrays | changes).items() if array is not None}


NAMES_OF_ATTRIBUTED = {
    "node_names": np.array(["a\n", "b", "c", "d"]),
    "attr_names": np.array(["p", "q"]),
    "class_names": np.array(["x", "y"]),
}

OGB = {
    "raw/edge": "0,1\n2,1\n3,3\n", "raw/node-feat": "1,2\n3,4\n5,6\n7,8\n",
    "raw/node-label": "1\n0\n1\nnan\n", "raw/num-node-list": "4\n", "raw/num-edge-list": "3\n",
    "raw/node_year": "2013\n2014\n2015\n2016\n",
    "split/time/train": "0\n", "split/time/valid": "2\n", "split/time/test": "1\n3\n",
}  # fmt: skip


def write_gz(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode(), mtime=0))


def write_ogb(folder: Path) -> Path:
    for name, text in OGB.items():
        write_gz(folder / f"{name}.csv.gz", text)
    return folder


def write_groups(folder: Path) -> Path:
    """node2vec's: an arc is an entry of network, a label a column of group."""
    network = sparse.csc_array(([1.0, 1.0], ([0, 1], [1, 2])), shape=(4, 4))
    group = sparse.csc_array(np.array([[1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 1, 1]], float))
    savemat(folder / "toy.mat", {"network": network, "group": group, "year": np.ones(3)})
    return folder / "toy.mat"


PEOPLE = np.array([[1, 1, 5, 0, 0, 2004, 9], [2, 2, 7, 0, 0, 0, 9], [1, 0, 5, 0, 0, 2005, 9],
                   [1, 2, 0, 3, 0, 2004, 9], [1, 1, 0, 3, 0, 2004, 9]])  # fmt: skip


def write_people(folder: Path) -> Path:
    """facebook100's: a row of local_info for each of five people."""
    network = sparse.csc_array(([1.0, 1.0], ([0, 1], [1, 2])), shape=(5, 5))
    savemat(folder / "toy.mat", {"A": network, "local_info": PEOPLE})
    return folder / "toy.mat"


def write_networkx(folder: Path, kind: str) -> Path:
    import networkx

    graph = networkx.Graph()
    clubs, parts = ["red", "blue", "red", "blue"], ["train", "val", "test", "test"]
    for row, (club, part) in enumerate(zip(clubs, parts, strict=True)):
        graph.add_node(f"n{row}", club=club, x=row + 0.5, split=part)
    graph.add_edge(*list(graph)[:2], weight=2.0)
    getattr(networkx, f"write_{kind}")(graph, folder / f"toy.{kind}")
    return folder / f"toy.{kind}"
