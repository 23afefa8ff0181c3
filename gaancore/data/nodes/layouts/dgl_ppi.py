"""DGL's PPI layout: `{train,valid,test}_{graph.json,feats.npy,labels.npy,graph_id.npy}`.

Each split is a separate graph; node ids count within its file, both arcs of an edge are stored,
and graph_id says which of the tissue graphs (1 to 24 in the public files) a node belongs to. The
public files hold features that are standardised already and a self-loop at every node.
Origin: dgl.data.PPIDataset, which took it from the authors of GAT.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np

from gaancore.data.files.arrays import read_npy
from gaancore.data.files.node_link import read_node_link
from gaancore.data.nodes.checks import check_features, check_graph_ids
from gaancore.data.nodes.labels import check_labels
from gaancore.data.nodes.make import RawDataset
from gaancore.errors import DataError
from gaancore.graph import CSRGraph

SPLITS = ("train", "valid", "test")
PARTS = ("graph.json", "feats.npy", "labels.npy", "graph_id.npy")
FILES = tuple(f"{split}_{part}" for split in SPLITS for part in PARTS)


def read_dgl_ppi(folder: Path) -> RawDataset:
    """Read the twelve files into one graph; node ids become `train/0`, `train/1`, ...

    Without the files of labels there are none. Raises DataError for another missing file, a damaged
    one, and arrays of different lengths.
    """
    parts = [_read_split(folder, split) for split in SPLITS]
    labels = [part.labels for part in parts if part.labels is not None]
    if len(labels) not in (0, len(parts)):
        lacking = next(s for s, p in zip(SPLITS, parts, strict=True) if p.labels is None)
        raise DataError(
            f"{folder}: no {lacking}_labels.npy beside those of other splits; add it, or give a "
            "folder without labels, which predictions do not need"
        )
    for field, arrays in (("features", [part.features for part in parts]), ("labels", labels)):
        widths = [array.shape[1] for array in arrays]
        if len(set(widths)) > 1:
            listed = ", ".join(f"{s} {w}" for s, w in zip(SPLITS, widths, strict=True))
            raise DataError(f"{folder}: the splits' {field} differ in width: {listed}")
    return replace(
        parts[0],
        path=str(folder),
        graph=CSRGraph.disjoint_union([p.graph.to_csr() for p in parts]),
        features=np.concatenate([p.features for p in parts]),
        labels=np.concatenate(labels) if labels else None,
        split=np.concatenate([p.split for p in parts]),
        node_ids=np.concatenate([p.node_ids for p in parts]),
        graph_ids=np.concatenate([p.graph_ids for p in parts]),
        sources=dict.fromkeys(parts[0].sources, str(folder)),
        notes=("layout: DGL PPI",),
    )


def _read_split(folder: Path, split: str) -> RawDataset:
    """One split's files, checked here so that messages name its own rows."""
    graph_path, features_path, labels_path, graph_id_path = (
        folder / f"{split}_{part}" for part in PARTS
    )
    document = read_node_link(graph_path)
    for place, node in enumerate(document.nodes):
        if node["id"] != place:
            raise DataError(
                f"{graph_path}: nodes[{place}] has id {node['id']!r}; expected ids 0, 1, 2, ... in "
                "order, since the arrays' rows follow them"
            )
    node_ids = np.array([f"{split}/{i}" for i in range(len(document.nodes))])
    features = check_features(str(features_path), read_npy(features_path), node_ids)
    labels = None
    if labels_path.exists():
        values = read_npy(labels_path)
        labels = check_labels(str(labels_path), values, node_ids, multi_label=True).values
    graph_ids = check_graph_ids(str(graph_id_path), read_npy(graph_id_path), node_ids)
    return RawDataset(
        path=str(graph_path),
        graph=document.graph,
        features=features,
        labels=labels,
        split=np.full(len(node_ids), SPLITS.index(split), dtype=np.int8),
        node_ids=node_ids,
        graph_ids=graph_ids,
        sources={
            "features": str(features_path),
            "labels": str(labels_path),
            "split": str(folder),
            "graph_ids": str(graph_id_path),
        },
    )
