"""Check what files say of a graph whose nodes have labels, and make a NodeDataset of it."""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from gaancore.data.files.arrays import listed
from gaancore.data.nodes.checks import (
    RepeatedEdges,
    as_float32,
    beyond_float32,
    check_edge_features,
    check_features,
    check_graph_ids,
    check_split,
    expect_one_of_each,
)
from gaancore.data.nodes.dataset import PARTS, TRAIN, UNFLAGGED, VALIDATION, NodeDataset
from gaancore.data.nodes.features.matrix import FeatureMatrix
from gaancore.data.nodes.labels import (
    MEANT,
    Labels,
    are_numbers,
    check_labels,
    name_classes,
    without_label,
)
from gaancore.errors import DataError, expect_choice, one_line
from gaancore.graph import ArcList, CSRGraph, SelfLoops

Unflagged = Literal["drop", "train", "context", "error"]


@dataclass(frozen=True)
class RawDataset:
    """What the files say, before any check of the values.

    graph      : the arcs as they are stored: one way or both, repeats and self-loops included.
    features   : (N, F), dense or as `feature_rows` gives them; its rows are the nodes, so a node
                 without edges is a node too.
    labels     : (N, C) or (N,), where NaN, -1 and -100 mean none; None if the file has none, as a
                 graph to predict on.
    split      : (N,) 0 train, 1 validation, 2 test, -1 not said; None if no node has one.
    node_ids   : (N,) the files' own names of the nodes, unique.
    graph_ids  : (N,) which of several graphs a node belongs to, if the files say so.
    class_names, feature_names : of the classes from 0 on, or of the C labels, and of the F
                 features, if the files have names for them.
    edge_names : of the features of edges, graph.edge_attr, if they have names.
    sources    : the file that each of features, labels, split (and graph_ids) is from.
    columns    : of a table, those that are features, of which one can be chosen as the label.
    """

    path: str | None
    graph: CSRGraph | ArcList
    features: FeatureMatrix
    labels: np.ndarray | None
    split: np.ndarray | None
    node_ids: np.ndarray
    sources: dict[str, str]
    graph_ids: np.ndarray | None = None
    class_names: tuple[str, ...] | None = None
    feature_names: tuple[str, ...] | None = None
    edge_names: tuple[str, ...] | None = None
    columns: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def make_dataset(
    raw: RawDataset,
    *,
    name: str,
    multi_label: bool | None,
    self_loops: SelfLoops = "keep",
    unflagged: Unflagged = "drop",
    repeated_edges: RepeatedEdges = "error",
    kind: Literal["real", "synthetic"] = "real",
    ceiling: float | None = None,
) -> NodeDataset:
    """Check `raw` and turn it into a NodeDataset in memory.

    The graph is made undirected and repeated arcs are merged. Self-loops: `keep`, `drop`, or `add`
    one to every node. Nodes that no split claims: `drop` them (what GraphSAGE does), take them as
    `train` nodes, keep them as `context`, neighbours that are neither learned from nor scored, or
    refuse them (`error`). They need no label unless they are trained on. With `context`, a node of
    the split that has no label is taken out of it; otherwise it is refused.

    repeated_edges : what the features of edges that are merged become: their `sum`, `mean`, `max`,
                  or those of the `first`; `error` refuses edges that would have to be merged.
    multi_label : whether a node has several labels, (N, C) of 0 and 1. If not, labels are classes
                  in shape (N,) or (N, 1), or one-hot rows (N, C): those that a node of the split
                  has, renumbered from 0 on. None takes what the labels say: see `check_labels`.
    Raises DataError (one line: file, row, id, remedy) for values that cannot be trained on,
    SettingsError for an unknown option.
    """
    expect_choice("self_loops", self_loops, get_args(SelfLoops))
    features = check_features(raw.sources["features"], raw.features, raw.node_ids)
    labels, split, split_notes = settle_targets(raw, unflagged, multi_label)
    graph, notes_of_graph = settle_graph(raw, self_loops, repeated_edges)
    notes = [*raw.notes, *notes_of_graph, *labels.notes, *split_notes]
    graph_ids = None
    if raw.graph_ids is not None:
        graph_ids = check_graph_ids(raw.sources["graph_ids"], raw.graph_ids, raw.node_ids)
    dataset = NodeDataset(
        name=name,
        kind=kind,
        path=raw.path,
        graph=graph,
        features=features,
        labels=labels.values,
        split=split,
        graph_ids=graph_ids,
        node_ids=raw.node_ids,
        num_classes=labels.num_classes,
        class_names=labels.class_names,
        feature_names=raw.feature_names,
        edge_names=raw.edge_names,
        notes=tuple(map(one_line, notes)),
        ceiling=ceiling,
    )
    return dataset.induced(kept_nodes(split, unflagged))


def kept_nodes(split: np.ndarray, unflagged: Unflagged) -> np.ndarray:
    """The ids of the nodes that stay in the dataset, ascending."""
    return np.flatnonzero((split != UNFLAGGED) | (unflagged == "context"))


def settle_graph(
    raw: RawDataset, self_loops: SelfLoops, repeated_edges: RepeatedEdges = "error"
) -> tuple[CSRGraph, list[str]]:
    """The graph, undirected and without repeats, and notes.

    Raises DataError for features of edges that are not finite, or that nothing says how to merge.
    """
    expect_choice("repeated_edges", repeated_edges, get_args(RepeatedEdges))
    stored, said = raw.graph.to_csr(), []
    if stored.edge_attr is None:
        undirected = stored.undirected()
    else:
        where = raw.path or "edges"
        said = check_edge_features(where, stored.edge_attr, raw.edge_names)
        stored = stored.with_edge_attr(as_float32(stored.edge_attr))
        expect_one_of_each(where, stored.num_repeats, repeated_edges)
        undirected = stored.undirected(reduce=None if repeated_edges == "error" else repeated_edges)
        if stored.num_repeats and not np.isfinite(undirected.edge_attr).all():
            raise DataError(beyond_float32(where, repeated_edges))
    graph = undirected.self_loops(self_loops)
    merged = graph_notes(undirected.num_edges, stored.num_repeats)
    return graph, [*said, *merged, *_loop_notes(undirected, graph, self_loops)]


def settle_targets(
    raw: RawDataset, unflagged: Unflagged, multi_label: bool | None
) -> tuple[Labels, np.ndarray, list[str]]:
    """The labels (see `check_labels`), the split, int8 (N,), and notes on nodes that had none.
    Labels of nodes in no split are ignored, and mean nothing afterwards.

    Raises DataError if there is no label or no split, for one that is unsound, for nodes in no
    split if `unflagged` says so, and if there is nothing to learn from.
    """
    if raw.labels is None:
        choose = ""
        if raw.columns:
            choose = f"if one of {listed(raw.columns)} is one, choose it (label); or "
        raise DataError(
            f"{raw.sources.get('labels', raw.path)}: no labels, which training and scores need; "
            f"{choose}predict with a trained model instead: that needs none"
        )
    split, notes = _settle_split(raw, unflagged)
    values = _without_unflagged(raw.labels, split)
    labels = check_labels(raw.sources["labels"], values, raw.node_ids, multi_label)
    _expect_something_to_learn(raw, labels, split)
    labels = name_classes(labels, raw.class_names)
    return labels, split, [*notes, *_remarks(raw, labels, split)]


def _without_unflagged(labels: np.ndarray, split: np.ndarray) -> np.ndarray:
    """`labels` where each node in no split has the sound label of some other node."""
    flagged = split != UNFLAGGED
    if flagged.all() or not are_numbers(labels, split.size):
        return labels
    finite = np.isfinite(labels).reshape(len(labels), -1).all(axis=1)
    out = labels.copy()
    out[~flagged] = labels[(flagged & finite & ~without_label(labels)).argmax()]
    return out


def _remarks(raw: RawDataset, labels: Labels, split: np.ndarray) -> list[str]:
    """What to say about labels that are not there, or that leave nothing to tell apart.

    Raises DataError where -1 could be a class: all other nodes have class 1.
    """
    assert raw.labels is not None
    lacking = int(without_label(raw.labels).sum())
    notes = [f"{lacking:,} of {split.size:,} nodes have no label"] if lacking else []
    if labels.values.ndim == 1 and labels.num_classes == 1:
        name = (labels.class_names or ("0",))[0]
        if lacking and name in ("1", "1.0"):
            raise DataError(
                f"{raw.sources['labels']}: labels: every node has class 1 or none, as {MEANT}; if "
                "-1 is a class, write 0 and 1"
            )
        notes.append(f"all nodes of the split have one class, {name}: there is nothing to tell")
    return notes


def _settle_split(raw: RawDataset, unflagged: Unflagged) -> tuple[np.ndarray, list[str]]:
    """The split, where nodes that have none are UNFLAGGED, and notes on these."""
    expect_choice("unflagged", unflagged, get_args(Unflagged))
    if raw.split is None:
        raise DataError(
            f"{raw.sources.get('split', raw.path)}: the files name no split; split_shares: "
            "per cent such as 60,20,20, to draw one"
        )
    split = check_split(raw.sources["split"], raw.split, raw.node_ids)
    notes = _take_out_unlabelled(raw, split) if unflagged == "context" else []
    unclaimed = np.flatnonzero(split == UNFLAGGED)
    if not unclaimed.size:
        return split, []
    if unflagged == "error":
        raise DataError(
            f"{raw.sources['split']}: {unclaimed.size:,} of {split.size:,} nodes are in no split, "
            f"first node id {raw.node_ids[unclaimed[0]]}; unflagged: drop them, train on them, or "
            "keep them as context, as neighbours alone"
        )
    if unflagged == "train":
        split[unclaimed] = TRAIN
        return split, [f"{unclaimed.size:,} nodes in no split taken as training nodes"]
    if unflagged == "context":
        kept = (
            f"{unclaimed.size:,} nodes in no split kept as neighbours, not learned from or scored"
        )
        return split, [*notes, kept]
    return split, [f"{unclaimed.size:,} nodes in no split dropped, with their edges"]


def _take_out_unlabelled(raw: RawDataset, split: np.ndarray) -> list[str]:
    """Take nodes without a label out of `split`, in place, and say how many of each part.

    Raises DataError if no training node has a label.
    """
    assert raw.labels is not None
    if not are_numbers(raw.labels, split.size):  # what is wrong with them is said elsewhere
        return []
    lacking = without_label(raw.labels) & (split != UNFLAGGED)
    if not lacking.any():
        return []
    sizes = [int((lacking & (split == part)).sum()) for part in range(3)]
    if sizes[TRAIN] and sizes[TRAIN] == (split == TRAIN).sum():
        raise DataError(
            f"{raw.sources['labels']}: labels: none of {sizes[TRAIN]:,} training nodes has any, as "
            f"{MEANT}; label them"
        )
    split[lacking] = UNFLAGGED
    parts = [f"{size:,} {part}" for size, part in zip(sizes, PARTS, strict=True) if size]
    return [f"{sum(sizes):,} nodes of the split have no label and are taken out of it: "
            f"{', '.join(parts)} ({MEANT})"]  # fmt: skip


def _expect_something_to_learn(raw: RawDataset, labels: Labels, split: np.ndarray) -> None:
    """Raises DataError without training nodes, or if none of them has any of several labels."""
    train = split == TRAIN
    if not train.any():
        raise DataError(f"{raw.sources['split']}: no training nodes; mark some nodes as train")
    if labels.values.ndim == 2 and not labels.values[train].any():
        raise DataError(
            f"{raw.sources['labels']}: no training node has a label of 1; "
            "check that labels are 0/1 and their rows are in the nodes' order"
        )


def split_notes(split: np.ndarray) -> list[str]:
    """A note on a split that training cannot do with."""
    if (split == VALIDATION).any():
        return []
    return [
        "no validation nodes, by which training chooses its weights: mark some training nodes as "
        "validation, or leave the split out of the files to have one drawn"
    ]


def graph_notes(num_arcs: int, num_repeats: int) -> list[str]:
    """Notes on the undirected graph and the repeated arcs that were merged into it."""
    notes = [] if num_arcs else ["no edges at all: no node has a neighbour"]
    return [*notes, f"{num_repeats:,} repeated arcs merged"] if num_repeats else notes


def _loop_notes(before: CSRGraph, after: CSRGraph, self_loops: SelfLoops) -> list[str]:
    if self_loops == "drop":
        return [f"{before.num_self_loops:,} self-loops dropped"] if before.num_self_loops else []
    if self_loops == "add":
        return [f"{after.num_self_loops - before.num_self_loops:,} self-loops added"]
    return [f"{before.num_self_loops:,} self-loops kept"] if before.num_self_loops else []
