"""One graph of six proteins, written by hand in every layout.

Train 0-1-2 with a self-loop at 2, validation 3 on its own, test 4-5. No edge crosses the splits, so
that DGL's layout can hold it too.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from scipy.io import savemat

ARCS = {(0, 1), (1, 0), (1, 2), (2, 1), (2, 2), (4, 5), (5, 4)}
FEATURES = [[0.0, 1.5], [1.0, -2.0], [2.0, 0.25], [3.0, 0.0], [4.0, 9.0], [5.0, -1.0]]
LABELS = [[1, 0, 1], [0, 0, 0], [1, 1, 1], [0, 1, 0], [0, 0, 1], [1, 0, 0]]
SPLIT = [0, 0, 0, 1, 2, 2]


def write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value), encoding="utf-8")


def write_graphsaint(folder: Path) -> Path:
    csr = {"format": np.array(b"csr"), "shape": np.array([6, 6])}
    np.savez(
        folder / "adj_full.npz",
        indptr=np.array([0, 1, 3, 5, 5, 6, 7], np.int32),
        indices=np.array([1, 0, 2, 1, 2, 5, 4], np.int32),
        data=np.ones(7, bool),
        **csr,
    )
    np.savez(
        folder / "adj_train.npz",
        indptr=np.array([0, 1, 3, 5, 5, 5, 5], np.int32),
        indices=np.array([1, 0, 2, 1, 2], np.int32),
        data=np.ones(5, bool),
        **csr,
    )
    np.save(folder / "feats.npy", np.array(FEATURES))
    write_json(folder / "class_map.json", {str(i): row for i, row in enumerate(LABELS)})
    write_json(folder / "role.json", {"tr": [0, 1, 2], "va": [3], "te": [5, 4]})
    return folder


def write_graphsage(
    folder: Path, ids: list[Any] | None = None, key: str = "links", ends: list[Any] | None = None
) -> Path:
    """ids: the nodes' ids; ends: how a link names each node (by default its position)."""
    ids = list(range(6)) if ids is None else ids
    ends = list(range(6)) if ends is None else ends
    nodes = [
        {"id": node_id, "val": split == 1, "test": split == 2}
        for node_id, split in zip(ids, SPLIT, strict=True)
    ]
    links = [{"source": ends[a], "target": ends[b]} for a, b in [(0, 1), (1, 2), (2, 2), (5, 4)]]
    write_json(folder / "toy-G.json", {"directed": False, "nodes": nodes, key: links})
    rows = [3, 0, 5, 1, 4, 2]
    write_json(folder / "toy-id_map.json", {str(i): r for i, r in zip(ids, rows, strict=True)})
    write_json(folder / "toy-class_map.json", {str(i): y for i, y in zip(ids, LABELS, strict=True)})
    shuffled = np.empty((6, 2))
    shuffled[rows] = FEATURES
    np.save(folder / "toy-feats.npy", shuffled)
    return folder


def write_dgl(folder: Path) -> Path:
    links = {
        "train": [(0, 1), (1, 0), (1, 2), (2, 1), (2, 2)],
        "valid": [],
        "test": [(0, 1), (1, 0)],
    }
    members = {"train": [0, 1, 2], "valid": [3], "test": [4, 5]}
    for number, (split, nodes) in enumerate(members.items()):
        graph = {
            "directed": True,
            "nodes": [{"id": i} for i in range(len(nodes))],
            "links": [{"source": a, "target": b} for a, b in links[split]],
        }
        write_json(folder / f"{split}_graph.json", graph)
        np.save(folder / f"{split}_feats.npy", np.array(FEATURES)[nodes])
        np.save(folder / f"{split}_labels.npy", np.array(LABELS)[nodes])
        np.save(folder / f"{split}_graph_id.npy", np.full(len(nodes), 20 + number))
    return folder


def npz_arrays() -> dict[str, np.ndarray]:
    src, dst = np.array(sorted(ARCS)).T
    return {
        "src": src,
        "dst": dst,
        "x": np.array(FEATURES),
        "y": np.array(LABELS),
        "split": np.array(SPLIT),
    }


def write_npz(folder: Path, **changes: Any) -> Path:
    """The npz layout; a change gives an array another value, or None to leave it out."""
    arrays = {k: v for k, v in (npz_arrays() | changes).items() if v is not None}
    np.savez(folder / "toy.npz", **arrays)
    return folder / "toy.npz"


def write_npz_edge_index(folder: Path) -> Path:
    masks = {
        name: np.array(SPLIT) == number
        for number, name in enumerate(["train_mask", "val_mask", "test_mask"])
    }
    one_way = np.array([[0, 1, 2, 4], [1, 2, 2, 5]], np.uint32)
    return write_npz(folder, src=None, dst=None, split=None, edge_index=one_way, **masks)


def write_npz_csr(folder: Path) -> Path:
    indptr = np.array([0, 1, 3, 5, 5, 6, 7])
    indices = np.array([1, 2, 0, 2, 1, 5, 4], np.int16)  # rows need not be sorted
    return write_npz(folder, src=None, dst=None, indptr=indptr, indices=indices)


NAMES = ["P12", "Q9-2", "007", "7", "yeast:5", "a b"]


def write_csv(folder: Path) -> Path:
    """The layout of two tables: ids that are text, the columns mixed, each edge one way."""
    words = ["train", "val", "test"]
    lines = ["label:x,f 0,Split,label:y,id,f1,label:z"]
    for name, (f0, f1), (x, y, z), split in zip(NAMES, FEATURES, LABELS, SPLIT, strict=True):
        lines.append(f"{x},{f0},{words[split]},{y},{name},{f1},{z}")
    (folder / "nodes.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    edges = [f"{NAMES[a]},{NAMES[b]}" for a, b in [(5, 4), (2, 2), (1, 0), (2, 1)]]
    (folder / "edges.csv").write_text("\n".join(["source,target", *edges]), encoding="utf-8")
    return folder


CLASSES = [2, 0, 1, 2, 0, 1]


def write_reddit(
    folder: Path, data: dict[str, Any] | None = None, graph: dict[str, Any] | None = None
) -> Path:
    """DGL's Reddit layout, one class per node; a change gives an array another value, or None."""
    dst, src = np.array(sorted(ARCS), np.int32).T
    arrays = {
        "feature": np.array(FEATURES, np.float32),
        "label": np.array(CLASSES),
        "node_types": np.array(SPLIT) + 1,
        "node_ids": np.arange(6) + 50,
    }
    matrix = {
        "row": dst,
        "col": src,
        "shape": np.array([6, 6]),
        "format": np.array(b"coo"),
        "data": np.ones(len(ARCS)),
    }
    for name, found, changes in (("data", arrays, data), ("graph", matrix, graph)):
        kept = {k: v for k, v in (found | (changes or {})).items() if v is not None}
        np.savez(folder / f"reddit_{name}.npz", **kept)
    return folder


def write_matlab(folder: Path, **changes: Any) -> Path:
    """The MATLAB layout, classes counted from 1 and no split."""
    dst, src = np.array(sorted(ARCS)).T
    variables = {
        "Network": sparse.csc_array((np.ones(len(ARCS)), (dst, src)), shape=(6, 6)),
        "Attributes": sparse.csc_array(np.array(FEATURES)),
        "Label": np.array(CLASSES, np.uint8)[:, None] + 1,
    }
    savemat(folder / "toy.mat", {k: v for k, v in (variables | changes).items() if v is not None})
    return folder / "toy.mat"


LAYOUTS: dict[str, Callable[[Path], Path]] = {
    "graphsaint": write_graphsaint,
    "graphsage, networkx 1 positions": lambda f: write_graphsage(f, ids=list("fabced")),
    "graphsage, networkx 2 ids": lambda f: write_graphsage(
        f, ids=[10, 40, 20, 7, 8, 9], ends=[10, 40, 20, 7, 8, 9]
    ),
    "graphsage, networkx 3 edges": lambda f: write_graphsage(
        f, ids=[5, 4, 3, 2, 1, 0], ends=[5, 4, 3, 2, 1, 0], key="edges"
    ),
    "graphsage, string ids": lambda f: write_graphsage(f, ids=list("fabced"), ends=list("fabced")),
    "dgl": write_dgl,
    "npz, src dst": write_npz,
    "npz, edge_index and masks": write_npz_edge_index,
    "npz, csr": write_npz_csr,
    "csv": write_csv,
}
