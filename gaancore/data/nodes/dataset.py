"""A node-classification dataset, in memory or memory-mapped, and what each split may see of it."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import sparse

from gaancore.data.nodes.features.matrix import (
    FeatureMatrix,
    arrays_of,
    filled_in_some,
    first_rows,
    share_filled,
)
from gaancore.display import Shown
from gaancore.graph import CSRGraph
from gaancore.progress import tell
from gaancore.system.disk import checksum

TRAIN, VALIDATION, TEST = 0, 1, 2
UNFLAGGED = -1  # in no split
PARTS = ("training", "validation", "test")  # in words


@dataclass(frozen=True, repr=False)
class NodeDataset(Shown):
    """A graph whose nodes have features, labels and a split.

    graph       : undirected (both arcs of an edge stored), rows sorted, no arc twice.
    features    : (N, F) float32, finite: an array, C-contiguous (float16 where a store keeps them
                  so), or SciPy's csr_array with an entry for each number that is not 0, by column.
    labels      : (N, C) uint8 of 0 and 1 if a node has several labels, else (N,) int64 classes.
    split       : (N,) int8: TRAIN, VALIDATION, TEST, or UNFLAGGED: every split sees it as a
                  neighbour, and its own label is ignored.
    graph_ids   : (N,) int64, which of several graphs a node is in; None if the files do not say.
    node_ids    : (N,) the files' own names of the nodes (integers or strings).
    num_classes : C; kept by a view that happens to miss a class.
    class_names : (C,) the files' own names of the classes or labels; None if they have none.
    feature_names : (F,) the files' own names of the features; None if they have none.
    edge_names  : (B,) the names of the features of edges, graph.edge_attr; None if edges have none.
    learned     : whether the features are those of `with_learned`, the numbers of the nodes alone.
    notes       : one line each, for the user: what was merged, dropped or assumed.
    ceiling     : micro-F1 that no model can be expected to beat; synthetic data only.

    >>> from gaancore.data import TEST, TRAIN, synthetic_ppi
    >>> data = synthetic_ppi(num_graphs=3, nodes_per_graph=20)
    >>> data.num_nodes, data.multi_label, data.nodes(TEST).size
    (60, True, 20)
    >>> seen, ids = data.view(TRAIN)
    >>> seen.num_nodes
    20
    """

    family: ClassVar[str] = "nodes"

    name: str
    kind: Literal["real", "synthetic"]
    path: str | None
    graph: CSRGraph
    features: FeatureMatrix
    labels: np.ndarray
    split: np.ndarray
    graph_ids: np.ndarray | None
    node_ids: np.ndarray
    num_classes: int
    class_names: tuple[str, ...] | None = None
    feature_names: tuple[str, ...] | None = None
    edge_names: tuple[str, ...] | None = None
    learned: bool = False
    notes: tuple[str, ...] = ()
    ceiling: float | None = None

    @property
    def num_nodes(self) -> int:
        return self.graph.num_nodes

    @property
    def num_edges(self) -> int:
        """Stored arcs: two for an edge, one for a self-loop."""
        return self.graph.num_edges

    @property
    def num_features(self) -> int:
        return self.features.shape[1]

    @property
    def multi_label(self) -> bool:
        return self.labels.ndim == 2

    def nodes(self, split: int) -> np.ndarray:
        """The int64 ids of the nodes of TRAIN, VALIDATION or TEST, ascending."""
        return np.flatnonzero(self.split == split)

    def label_counts(self, split: int) -> np.ndarray:
        """(C,) int64: how many nodes of TRAIN, VALIDATION or TEST have each class or label."""
        labels = self.labels[self.nodes(split)]
        if self.multi_label:
            return labels.sum(axis=0, dtype=np.int64)
        return np.bincount(labels, minlength=self.num_classes)

    @property
    def filled(self) -> float:
        """The share of the features that are not 0, of some nodes."""
        return filled_in_some(self.features)

    @property
    def edge_dim(self) -> int:
        """How many features an edge has; 0 without any."""
        return self.graph.edge_dim

    def view(self, split: int) -> "tuple[NodeDataset, np.ndarray]":
        """What may be seen while `split` is trained on or scored, and the ids of its nodes here.

        TRAIN sees the subgraph induced on the training nodes, VALIDATION that on training and
        validation nodes, TEST everything: the inductive setting of GraphSAGE and of the GaAN
        paper. Each sees the nodes in no split too. Row r of the view is node ids[r] of this
        dataset.
        """
        tell(f"cutting out what {PARTS[split]} sees")
        ids = np.flatnonzero(self.split <= split)
        return self.induced(ids), ids

    def induced(self, ids: np.ndarray) -> "NodeDataset":
        """The dataset on the nodes `ids` (distinct, ascending) and the edges among them."""
        if ids.size == self.num_nodes:
            return self
        # The first nodes, as in a store: their rows are a slice of the arrays, not a copy.
        first = ids.size > 0 and ids[-1] == ids.size - 1
        rows = slice(ids.size) if first else ids
        return replace(
            self,
            graph=self.graph.induced_subgraph(ids),
            features=first_rows(self.features, ids.size) if first else self.features[ids],
            labels=self.labels[rows],
            split=self.split[rows],
            graph_ids=None if self.graph_ids is None else self.graph_ids[rows],
            node_ids=self.node_ids[rows],
        )

    def counts(self) -> dict[str, Any]:
        """How many of everything, as JSON can hold it."""
        return {
            "num_nodes": self.num_nodes,
            "num_edges": self.num_edges,
            "num_features": self.num_features,
            "num_classes": self.num_classes,
            "nodes_per_split": [int(self.nodes(split).size) for split in range(3)],
        }

    def _shown(self) -> dict[str, Any]:
        names = ("train", "validation", "test", "no split")
        sizes = [int(np.count_nonzero(self.split == part)) for part in (0, 1, 2, UNFLAGGED)]
        return {
            "name": self.name,
            "kind": self.kind,
            "path": self.path,
            "num_nodes": self.num_nodes,
            "num_edges": self.num_edges,
            "features": self.features,
            "edge_attr": self.graph.edge_attr,
            "labels": self.labels,
            "num_classes": self.num_classes,
            "split": {name: size for name, size in zip(names, sizes, strict=True) if size},
            "notes": len(self.notes) or None,
        }

    def facts(self) -> dict[str, Any]:
        """What a run writes down about its data: counts, names, notes, and a checksum of the
        graph, features, labels, split and graph ids, as JSON can hold them.
        """
        features = arrays_of(self.features)
        arrays = [self.graph.indptr, self.graph.indices, *features, self.labels, self.split]
        arrays += [x for x in (self.graph_ids, self.graph.edge_attr) if x is not None]
        facts: dict[str, Any] = {
            "kind": self.kind,
            "path": self.path,
            **self.counts(),
            "checksum": f"{checksum(arrays):08x}",
            "notes": list(self.notes),
        }
        if self.learned:
            facts["learned_features"] = True
        elif sparse.issparse(self.features):
            facts["features_filled"] = round(share_filled(self.features), 6)
        for name in ("class_names", "feature_names", "edge_names"):
            if (names := getattr(self, name)) is not None:
                facts[name] = list(names)
        if self.ceiling is not None:
            facts["ceiling_micro_f1"] = self.ceiling
        return facts
