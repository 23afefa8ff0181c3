"""GraphSAGE's layout: `PREFIX-G.json PREFIX-id_map.json PREFIX-class_map.json PREFIX-feats.npy`.

G.json is a node-link graph whose nodes carry `val` and `test`; id_map gives a node id's row of
feats.npy, class_map its class or its row of 0 and 1. A training node is one with both flags false;
GraphSAGE drops nodes that lack a flag. Origin: github.com/williamleif/GraphSAGE, "Input format".
"""

from pathlib import Path
from typing import Any

import numpy as np

from gaancore.choices import AS_IT_IS, Reading
from gaancore.data.files.arrays import listed, read_npy
from gaancore.data.files.node_link import read_node_link
from gaancore.data.nodes.dataset import TEST, TRAIN, UNFLAGGED, VALIDATION
from gaancore.data.nodes.layouts.class_map import read_class_map
from gaancore.data.nodes.make import RawDataset
from gaancore.errors import DataError
from gaancore.system.disk import read_json


def read_graphsage(prefix: Path, reading: Reading = AS_IT_IS) -> RawDataset:
    """Read the four files that start with `prefix` (a folder and the first part of the names).

    Without class_map.json there are no labels. Raises DataError for another missing file, a damaged
    one, and ids that do not fit each other.
    """
    paths = {
        part: prefix.with_name(f"{prefix.name}-{part}")
        for part in ("G.json", "id_map.json", "class_map.json", "feats.npy")
    }
    document = read_node_link(paths["G.json"], drop=reading.unknown_edges == "drop")
    ids = document.ids
    features = read_npy(paths["feats.npy"])
    rows = _read_rows(paths["id_map.json"], ids, len(features) if features.ndim else 0)
    classes = read_class_map(paths["class_map.json"], ids)
    return RawDataset(
        path=str(prefix),
        graph=document.graph,
        features=features[rows],
        labels=classes.places if classes else None,
        split=np.array(
            [_split_of(paths["G.json"], node) for node in document.nodes], dtype=np.int8
        ),
        node_ids=document.id_array(str(paths["G.json"])),
        sources={
            "features": str(paths["feats.npy"]),
            "labels": str(paths["class_map.json"]),
            "split": str(paths["G.json"]),
        },
        class_names=(classes.names or None) if classes else None,
        notes=(
            "layout: GraphSAGE",
            *document.notes,
            *_unused(document.nodes),
            *(classes.notes if classes else ()),
        ),
    )


def _unused(nodes: list[dict[str, Any]]) -> tuple[str, ...]:
    """A note on attributes of nodes that are not used."""
    names = sorted({name for node in nodes for name in node} - {"id", "val", "test"})
    return (f"attributes of nodes not used: {listed(names)}",) if names else ()


def _read_rows(path: Path, ids: list[str], num_rows: int) -> np.ndarray:
    """The row of feats.npy of each node."""
    id_map = read_json(path)
    if not isinstance(id_map, dict):
        raise DataError(f"{path}: expected an object of node id: row of feats.npy")
    owner: dict[int, str] = {}
    for node_id in ids:
        row = id_map.get(node_id)
        if type(row) is not int or not 0 <= row < num_rows:
            raise DataError(
                f"{path}: node id {node_id} has row {row!r}; expected one of the {num_rows:,} "
                "rows of feats.npy, counted from 0"
            )
        if owner.setdefault(row, node_id) != node_id:
            raise DataError(
                f"{path}: node ids {owner[row]} and {node_id} both have row {row}; "
                "every node needs its own"
            )
    return np.array(list(owner), dtype=np.int64)


def _split_of(path: Path, node: dict[str, Any]) -> int:
    flags = (node.get("val"), node.get("test"))
    if None in flags:
        return UNFLAGGED
    if flags == (True, True):
        raise DataError(f"{path}: node id {node['id']} is both val and test; a node has one split")
    if flags == (False, False):
        return TRAIN
    if flags == (True, False):
        return VALIDATION
    if flags == (False, True):
        return TEST
    raise DataError(
        f"{path}: node id {node['id']} has val {flags[0]!r} and test {flags[1]!r}; "
        "expected true or false"
    )
