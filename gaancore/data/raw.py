"""From what the files say to a dataset: the one path that all layouts take."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from gaancore.data.checks import (
    check_features,
    check_graph_ids,
    check_labels,
    check_split,
    expect_option,
)
from gaancore.data.dataset import TRAIN, NodeDataset
from gaancore.errors import DataError
from gaancore.graph import CSRGraph

UNFLAGGED = -1

SelfLoops = Literal["keep", "drop", "add"]
Unflagged = Literal["drop", "train", "error"]


@dataclass(frozen=True)
class RawDataset:
    """What the files say, before any check of the values.

    graph      : the arcs as they are stored: one way or both, repeats and self-loops included.
    features   : (N, F); its rows are the nodes, so a node without edges is a node too.
    labels     : (N, C) or (N,).
    split      : (N,) 0 train, 1 validation, 2 test, -1 not said.
    node_ids   : (N,) the files' own names of the nodes, unique.
    graph_ids  : (N,) which of several graphs a node belongs to, if the files say so.
    sources    : the file that each of features, labels, split (and graph_ids) is from.
    """

    path: str | None
    graph: CSRGraph
    features: np.ndarray
    labels: np.ndarray
    split: np.ndarray
    node_ids: np.ndarray
    sources: dict[str, str]
    graph_ids: np.ndarray | None = None
    notes: tuple[str, ...] = ()


def make_dataset(
    raw: RawDataset,
    *,
    name: str,
    multi_label: bool,
    self_loops: SelfLoops = "keep",
    unflagged: Unflagged = "drop",
    kind: Literal["real", "synthetic"] = "real",
    ceiling: float | None = None,
) -> NodeDataset:
    """Check `raw` and turn it into a NodeDataset.

    The graph is made undirected and repeated arcs are merged. Self-loops: `keep`, `drop`, or `add`
    one to every node. Nodes that no split claims: `drop` them (what GraphSAGE does), take them as
    `train` nodes, or refuse them (`error`).

    multi_label : whether the task has (N, C) labels of 0 and 1. If not, labels are classes 0, 1,
                  ... in shape (N,) or (N, 1), or one-hot rows (N, C).
    Raises DataError (one line: file, row, id, remedy) for values that cannot be trained on,
    SettingsError for an unknown option.
    """
    expect_option("self_loops", self_loops, ("keep", "drop", "add"))
    expect_option("unflagged", unflagged, ("drop", "train", "error"))
    features = check_features(raw.sources["features"], raw.features, raw.node_ids)
    num_nodes = len(features)
    labels, num_classes = check_labels(raw.sources["labels"], raw.labels, raw.node_ids, multi_label)
    split = check_split(raw.sources["split"], raw.split, raw.node_ids)

    undirected = raw.graph.undirected()
    graph = undirected.self_loops(self_loops)
    notes = list(raw.notes)
    if not undirected.num_edges:
        notes.append("no edges at all: every node is on its own")
    if repeats := raw.graph.num_repeats:
        notes.append(f"{repeats:,} repeated arcs merged")
    notes += _loop_notes(undirected, graph, self_loops)

    unclaimed = np.flatnonzero(split == UNFLAGGED)
    if unclaimed.size and unflagged == "error":
        raise DataError(
            f"{raw.sources['split']}: {unclaimed.size:,} of {num_nodes:,} nodes are in no split, "
            f"first node id {raw.node_ids[unclaimed[0]]}; drop them or take them as training nodes"
        )
    if unclaimed.size and unflagged == "train":
        split[unclaimed] = TRAIN
        notes.append(f"{unclaimed.size:,} nodes in no split taken as training nodes")

    graph_ids = None
    if raw.graph_ids is not None:
        graph_ids = check_graph_ids(raw.sources["graph_ids"], raw.graph_ids, raw.node_ids)
    dataset = NodeDataset(
        name=name,
        kind=kind,
        path=raw.path,
        graph=graph,
        features=features,
        labels=labels,
        split=split,
        graph_ids=graph_ids,
        node_ids=raw.node_ids,
        num_classes=num_classes,
        ceiling=ceiling,
    )
    if unclaimed.size and unflagged == "drop":
        dataset = dataset.induced(np.flatnonzero(split != UNFLAGGED))
        notes.append(f"{unclaimed.size:,} nodes in no split dropped, with their edges")
    _expect_something_to_learn(dataset, raw.sources)
    return replace(dataset, notes=tuple(notes))


def _loop_notes(before: CSRGraph, after: CSRGraph, self_loops: SelfLoops) -> list[str]:
    if self_loops == "drop":
        return [f"{before.num_self_loops:,} self-loops dropped"] if before.num_self_loops else []
    if self_loops == "add":
        return [f"{after.num_self_loops - before.num_self_loops:,} self-loops added"]
    return [f"{before.num_self_loops:,} self-loops kept"] if before.num_self_loops else []


def _expect_something_to_learn(dataset: NodeDataset, sources: dict[str, str]) -> None:
    train = dataset.nodes(TRAIN)
    if not train.size:
        raise DataError(f"{sources['split']}: no training nodes; mark some nodes as train")
    if dataset.multi_label and not dataset.labels[train].any():
        raise DataError(
            f"{sources['labels']}: no training node has a label of 1; "
            "check that labels are 0/1 and their rows are in the nodes' order"
        )
