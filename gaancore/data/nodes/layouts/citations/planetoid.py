"""Planetoid's layout: eight files `ind.NAME.x .tx .allx .y .ty .ally .graph .test.index`.

x, tx and allx are sparse features, y, ty and ally one-hot classes, of the labelled training nodes,
the test nodes, and all nodes but the test nodes; graph maps a node to its neighbours, and
test.index has the numbers of the test nodes in the order of tx. Cora, Citeseer and Pubmed are
passed on so. The public split: the rows of y for training, the 500 nodes that follow for
validation, test.index for testing. All but test.index are pickles of Python 2, of which only plain
containers, arrays and SciPy's CSR matrices are read.
Origin: Z. Yang, W. Cohen and R. Salakhutdinov, "Revisiting semi-supervised learning with graph
embeddings" (ICML 2016).
"""

from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from gaancore.choices import AS_IT_IS, Reading
from gaancore.data.files.arrays import open_text
from gaancore.data.files.plain_pickle import read_plain_pickle
from gaancore.data.nodes.checks import dense_rows, feature_rows, naming_file
from gaancore.data.nodes.dataset import TEST, TRAIN, UNFLAGGED, VALIDATION
from gaancore.data.nodes.features.matrix import FeatureMatrix
from gaancore.data.nodes.make import RawDataset
from gaancore.errors import DataError
from gaancore.graph import ArcList

PREFIX, GRAPH = "ind.", ".graph"
NUM_VALIDATION = 500


def read_planetoid(prefix: Path, reading: Reading = AS_IT_IS) -> RawDataset:
    """Read the files that start with `prefix`, such as `cora/ind.cora`.

    Numbers below the largest that no file has features for (Citeseer lacks 15 test nodes) become
    nodes with features of 0, no label and no part of the split.
    Raises DataError for a missing or damaged file and for sizes that do not fit each other.
    """
    parts = {
        part: prefix.with_name(f"{prefix.name}.{part}")
        for part in ("tx", "allx", "y", "ty", "ally", "graph", "test.index")
    }
    pieces = {part: _matrix(parts[part]) for part in ("tx", "allx", "y", "ty", "ally")}
    graph = read_plain_pickle(parts["graph"], sparse=True)
    order = _numbers(parts["test.index"])
    before, count = pieces["ally"].shape[0], 1 + int(order.max(initial=-1))
    num_nodes = max(before, count)
    _expect_sizes(parts, pieces, order, before)
    features = _placed(pieces["allx"], pieces["tx"], order, num_nodes)
    one_hot = dense_rows(
        str(prefix), "classes", _placed(pieces["ally"], pieces["ty"], order, num_nodes), num_nodes
    )
    split = np.full(num_nodes, UNFLAGGED, np.int8)
    num_train = pieces["y"].shape[0]
    split[num_train : min(num_train + NUM_VALIDATION, before)] = VALIDATION
    split[:num_train], split[order] = TRAIN, TEST
    lacking = np.setdiff1d(np.arange(before, num_nodes), order)
    notes = [
        f"the public split: the first {num_train:,} nodes for training, the next "
        f"{int((split == VALIDATION).sum()):,} for validation, test.index for testing"
    ]
    if lacking.size:
        some = ", ".join(map(str, lacking[:5])) + (", ..." if lacking.size > 5 else "")
        notes.append(
            f"{lacking.size:,} nodes that the files have only numbers of ({some}): features of 0, "
            "no label, in no part"
        )
    src, dst = _arcs(parts["graph"], graph)
    with naming_file(str(parts["graph"])):
        arcs = ArcList(src, dst, num_nodes)
    return RawDataset(
        path=str(prefix),
        graph=arcs,
        features=feature_rows(str(prefix), "features", features, num_nodes),
        labels=_classes(one_hot),
        split=split,
        node_ids=np.arange(num_nodes),
        sources={
            "features": str(parts["allx"]),
            "labels": str(parts["ally"]),
            "split": str(parts["test.index"]),
        },
        notes=("layout: Planetoid", *notes),
    )


def _matrix(path: Path) -> FeatureMatrix:
    """The matrix in a pickle."""
    value: Any = read_plain_pickle(path, sparse=True)
    if not (sparse.issparse(value) or isinstance(value, np.ndarray)) or value.ndim != 2:
        raise DataError(f"{path}: expected a matrix of numbers, got {type(value).__name__}")
    return value


def _placed(
    first: FeatureMatrix, test: FeatureMatrix, order: np.ndarray, num_nodes: int
) -> FeatureMatrix:
    """The rows of all nodes: the first ones, those of the test nodes `order`, and zeros."""
    width, before = first.shape[1], first.shape[0]
    if not (sparse.issparse(first) or sparse.issparse(test)):
        whole = np.zeros((num_nodes, width), np.float32)
        whole[:before], whole[order] = first, test
        return whole
    parts = [sparse.csr_array(part) for part in (first, test, np.zeros((1, width)))]
    rows = np.full(num_nodes, before + order.size)
    rows[:before], rows[order] = np.arange(before), before + np.arange(order.size)
    return sparse.csr_array(sparse.vstack(parts))[rows]


def _numbers(path: Path) -> np.ndarray:
    """The numbers of the test nodes, a line each."""
    found = []
    with open_text(path) as lines:
        for number, line in enumerate(lines, 1):
            text = line.strip()
            if text and not (text.isdecimal() and len(text) < 10):
                raise DataError(f"{path}: line {number}: {text[:40]!r} is not the number of a node")
            if text:
                found.append(int(text))
    order = np.array(found, np.int64)
    if np.unique(order).size < order.size:
        raise DataError(f"{path}: a node is named twice; each test node has one row of tx")
    return order


def _expect_sizes(
    parts: dict[str, Path], pieces: dict[str, FeatureMatrix], order: np.ndarray, before: int
) -> None:
    wanted = {"allx": before, "tx": order.size, "ty": order.size}
    for part, rows in wanted.items():
        if (found := pieces[part].shape[0]) != rows:
            raise DataError(
                f"{parts[part]}: {found:,} rows, but {rows:,} "
                f"{'nodes in ally' if part == 'allx' else 'numbers in test.index'}"
            )
    for part, other in (("tx", "allx"), ("y", "ally"), ("ty", "ally")):
        if pieces[part].shape[1] != pieces[other].shape[1]:
            raise DataError(
                f"{parts[part]}: {pieces[part].shape[1]:,} columns, but {other} has "
                f"{pieces[other].shape[1]:,}"
            )
    if pieces["y"].shape[0] > before or (order.size and order.min() < before):
        raise DataError(
            f"{parts['test.index']}: test nodes are numbered behind the {before:,} rows of allx"
        )
    if order.size and order.max() >= 10 * (before + order.size):
        raise DataError(
            f"{parts['test.index']}: node {order.max():,}, where the files have features of "
            f"{before + order.size:,} nodes"
        )


def _arcs(path: Path, graph: Any) -> tuple[list[int], list[int]]:
    """The ends of each arc of a dictionary of node: list of its neighbours."""
    src: list[int] = []
    dst: list[int] = []
    for node, neighbours in graph.items() if isinstance(graph, dict) else [(None, None)]:
        if type(node) is not int or not isinstance(neighbours, list):
            raise DataError(f"{path}: expected a dictionary of node: list of its neighbours")
        if not all(type(other) is int for other in neighbours):
            raise DataError(f"{path}: the neighbours of {node} are not all numbers of nodes")
        src += neighbours
        dst += [node] * len(neighbours)
    return src, dst


def _classes(one_hot: np.ndarray) -> np.ndarray:
    """(N,) classes, NaN for a row of zeros; the rows themselves if one has several labels."""
    counts = one_hot.sum(axis=1)
    if (counts > 1).any():
        one_hot[counts == 0] = np.nan
        return one_hot
    classes: np.ndarray = np.where(counts > 0, one_hot.argmax(axis=1), np.nan)
    return classes
