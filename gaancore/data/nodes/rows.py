"""What batches read of a graph, by node id."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from gaancore.data.nodes.features.standardised import Features
from gaancore.graph.block import Block
from gaancore.graph.csr import CSRGraph
from gaancore.graph.sampler import sample_blocks
from gaancore.sparse import CSRMatrix


class NodeRows(Protocol):
    """Reads for several batches of nodes at once, so that rows which lie elsewhere are fetched once
    for all of them.
    """

    def blocks(
        self, seeds: Sequence[np.ndarray], fanouts: Sequence[int], keys: Sequence[int]
    ) -> list[list[Block]]:
        """The blocks that lead to each batch of seeds, drawn with its key (see `sample_blocks`);
        none for a batch without seeds.
        """

    def features(self, nodes: Sequence[np.ndarray]) -> Sequence[np.ndarray | CSRMatrix]:
        """(n, F) float32 of each batch, standardised."""

    def labels(self, nodes: Sequence[np.ndarray]) -> list[np.ndarray]:
        """(n,) or (n, C) of each batch, as in a dataset."""


class WholeRows:
    """NodeRows of a graph that is here as a whole, in memory or memory-mapped."""

    def __init__(self, graph: CSRGraph, features: Features, labels: np.ndarray) -> None:
        self.graph = graph
        self.matrix = features
        self._labels = labels

    def blocks(
        self, seeds: Sequence[np.ndarray], fanouts: Sequence[int], keys: Sequence[int]
    ) -> list[list[Block]]:
        return [
            sample_blocks(self.graph, batch, fanouts, seed=key) if batch.size else []
            for batch, key in zip(seeds, keys, strict=True)
        ]

    def features(self, nodes: Sequence[np.ndarray]) -> list[np.ndarray | CSRMatrix]:
        return [self.matrix[batch] for batch in nodes]

    def labels(self, nodes: Sequence[np.ndarray]) -> list[np.ndarray]:
        return [self._labels[batch] for batch in nodes]
