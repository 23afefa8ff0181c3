"""A node-classification dataset, in memory or memory-mapped, and what each split may see of it."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from gaancore.data.checks import expect_option
from gaancore.errors import ShapeError
from gaancore.graph import CSRGraph

TRAIN, VALIDATION, TEST = 0, 1, 2


@dataclass(frozen=True)
class NodeDataset:
    """A graph whose nodes have features, labels and a split.

    graph       : undirected (both arcs of an edge stored), rows sorted, no arc twice.
    features    : (N, F) float32, C-contiguous, finite.
    labels      : (N, C) uint8 of 0 and 1 if a node has several labels, else (N,) int64 classes.
    split       : (N,) int8: TRAIN, VALIDATION or TEST.
    graph_ids   : (N,) int64, which of several graphs a node is in; None if the files do not say.
    node_ids    : (N,) the files' own names of the nodes (integers or strings).
    num_classes : C; kept by a view that happens to miss a class.
    notes       : one line each, for the user: what was merged, dropped or assumed.
    ceiling     : micro-F1 that no model can be expected to pass; synthetic data only.
    """

    name: str
    kind: Literal["real", "synthetic"]
    path: str | None
    graph: CSRGraph
    features: np.ndarray
    labels: np.ndarray
    split: np.ndarray
    graph_ids: np.ndarray | None
    node_ids: np.ndarray
    num_classes: int
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

    def view(self, split: int) -> "tuple[NodeDataset, np.ndarray]":
        """What may be seen while `split` is trained on or scored, and the ids of its nodes here.

        TRAIN sees the subgraph induced on the training nodes, VALIDATION that on training and
        validation nodes, TEST everything: the inductive setting of GraphSAGE and of the GaAN
        paper. Row r of the view is node ids[r] of this dataset.
        """
        ids = np.flatnonzero(self.split <= split)
        return self.induced(ids), ids

    def induced(self, ids: np.ndarray) -> "NodeDataset":
        """The dataset on the nodes `ids` (distinct, ascending) and the edges among them."""
        if ids.size == self.num_nodes:
            return self
        # The first nodes, as they lie in a store: their rows are a part of the arrays, no copy.
        first = ids.size > 0 and ids[-1] == ids.size - 1
        rows = slice(ids.size) if first else ids
        return replace(
            self,
            graph=self.graph.induced_subgraph(ids),
            features=self.features[rows],
            labels=self.labels[rows],
            split=self.split[rows],
            graph_ids=None if self.graph_ids is None else self.graph_ids[rows],
            node_ids=self.node_ids[rows],
        )


def normalize(dataset: NodeDataset, how: str) -> tuple[NodeDataset, tuple[np.ndarray, np.ndarray]]:
    """Shift and scale the features: `none`, or `standard` (training nodes get mean 0, std 1).

    x' = (x - mean) / scale, per feature, with the mean and the population standard deviation of
    the TRAINING nodes alone. A feature that is constant there (std below 1e-12 of |mean|) keeps
    scale 1 and is only centred. Returns the dataset and (mean, scale), float64 (F,) each: store
    them with a model and give them to `apply_normalization` for any other graph.
    Raises SettingsError for another `how`.
    """
    expect_option("normalize", how, ("none", "standard"))
    if how == "none":
        return dataset, (np.zeros(dataset.num_features), np.ones(dataset.num_features))
    seen = dataset.features[dataset.nodes(TRAIN)]
    mean = seen.mean(axis=0, dtype=np.float64)
    scale = seen.std(axis=0, dtype=np.float64, mean=mean[None])
    scale[scale <= 1e-12 * np.abs(mean)] = 1.0
    features = apply_normalization(dataset.features, mean, scale)
    return replace(dataset, features=features), (mean, scale)


def apply_normalization(features: np.ndarray, mean: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """(features - mean) / scale as float32 (N, F), computed in float64.

    Raises ShapeError unless features has as many columns as mean and scale (F,).
    """
    if features.ndim != 2 or features.shape[1:] != mean.shape:
        raise ShapeError(
            f"apply_normalization: features: expected (N, {mean.size}), got {features.shape}; "
            "the statistics belong to data with other features"
        )
    return ((features - mean) / scale).astype(np.float32)
