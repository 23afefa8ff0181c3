"""A MATLAB file with a graph: three layouts, by the names of the matrices. None has a split.

Network Attributes Label : an entry of Network is an arc, Attributes are features, Label is one
    class per node (N, 1) or rows of 0 and 1. So BlogCatalog and Flickr are passed on with
    attributes. Origin: X. Huang, J. Li and X. Hu, "Accelerated attributed network embedding" (SDM
    2017).
network group : group has a row of 0 and 1 for each node, its labels; no features. So BlogCatalog,
    PPI and Wikipedia are passed on by A. Grover and J. Leskovec, "node2vec" (KDD 2016).
A local_info : people of a university; local_info has a column for each of PEOPLE, in which 0 means
    unknown. One is chosen as the label, the others are features of 0 and 1 for each value. Origin:
    A. Traud, P. Mucha and M. Porter, "Social structure of Facebook networks" (Physica A 2012).
"""

from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from gaancore.choices import AS_IT_IS, Reading
from gaancore.data.files.arrays import listed
from gaancore.data.files.matlab.reader import read_matlab_file
from gaancore.data.nodes.checks import dense_rows, feature_rows, naming_file
from gaancore.data.nodes.make import RawDataset
from gaancore.errors import DataError, SettingsError
from gaancore.graph import CSRGraph

ATTRIBUTED = ("Network", "Attributes", "Label")
GROUPS = ("network", "group")
UNIVERSITY = ("A", "local_info")
PEOPLE = ("status", "gender", "major", "second_major", "dorm", "year", "high_school")


def read_matlab(path: Path, reading: Reading = AS_IT_IS) -> RawDataset:
    """Read the layout. Raises DataError for a damaged file, or one without these matrices,
    SettingsError for a label that is none of its columns."""
    matrices, others = read_matlab_file(path, ATTRIBUTED, GROUPS, UNIVERSITY)
    name = next(name for name in ("Network", "network", "A") if name in matrices)
    network = matrices[name]
    if network.ndim != 2 or network.shape[0] != network.shape[1]:  # before memory for its rows
        raise DataError(f"{path}: {name}: expected a square matrix, got shape {network.shape}")
    with naming_file(f"{path}: {name}"):
        graph = CSRGraph.from_scipy(sparse.csr_array(network), duplicates="keep")
    num_nodes = graph.num_nodes
    facts: dict[str, Any] = {"features": np.zeros((num_nodes, 0), np.float32)}
    notes = ["layout: MATLAB", *([f"matrices not used: {listed(others)}"] if others else [])]
    if reading.needed and reading.label and "local_info" not in matrices:
        raise SettingsError(f"label: {path} has its labels in one matrix; leave it out")
    if "Attributes" in matrices:
        attributes = feature_rows(str(path), "Attributes", matrices["Attributes"], num_nodes)
        label = dense_rows(str(path), "Label", matrices["Label"], num_nodes)
        facts |= {"features": attributes, "labels": label}
    elif "group" in matrices:
        facts["labels"] = dense_rows(str(path), "group", matrices["group"], num_nodes)
    else:
        info = dense_rows(str(path), "local_info", matrices["local_info"], num_nodes)
        facts |= _people(path, info, reading.label)
        columns = [column for column in PEOPLE if column != reading.label]
        notes.append(f"{reading.label} is the label, 0 means none; {', '.join(columns)} are "
                     "features, one of 0 and 1 for each value but 0")  # fmt: skip
    return RawDataset(
        path=str(path),
        graph=graph,
        split=None,
        node_ids=np.arange(num_nodes),
        sources=dict.fromkeys(("features", "labels", "split"), str(path)),
        notes=tuple(notes),
        **facts,
    )


def _people(path: Path, info: np.ndarray, label: str) -> dict[str, Any]:
    """Labels and features of the people in local_info."""
    if info.ndim != 2 or info.shape[1] != len(PEOPLE):
        raise DataError(
            f"{path}: local_info: expected {len(PEOPLE)} columns ({', '.join(PEOPLE)}), got shape "
            f"{info.shape}"
        )
    if label not in PEOPLE:
        found = f"has no column {label!r}" if label else "has a column for each of these"
        raise DataError(f"{path}: local_info {found}: {', '.join(PEOPLE)}; choose one (label)")
    classes = info[:, PEOPLE.index(label)].astype(np.float64)
    classes[classes == 0] = np.nan
    rows, columns, names = [], [], list[str]()
    for at, column in enumerate(PEOPLE):
        if column != label:
            known = np.flatnonzero(info[:, at])
            values, places = np.unique(info[known, at], return_inverse=True)
            rows.append(known)
            columns.append(places + len(names))
            names += [f"{column}={value:g}" for value in values]
    ends = np.concatenate(rows), np.concatenate(columns)
    shape = (len(info), len(names))
    matrix = sparse.coo_array((np.ones(ends[0].size, np.float32), ends), shape=shape)
    features = feature_rows(str(path), "local_info", matrix, len(info))
    return {"labels": classes, "features": features, "feature_names": tuple(names)}
