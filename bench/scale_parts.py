"""What ranks read of each other's nodes on a store in parts, from the cut and what is drawn."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from gaancore.data.parts.rows import OpenParts, PartedRows

QUESTION = 24  # bytes of a node whose neighbours are drawn: its place, number and batch
NUMBER = 8  # bytes of a place, and of a count
FLOAT = 4  # bytes of a feature


class Reading:
    """Of so many ranks, to which parts are dealt out as OpenParts does it.

    fetched, kept : rows of others' nodes that had to be fetched so far, and that were kept.
    """

    def __init__(self, parts: OpenParts, ranks: int) -> None:
        dataset = parts.dataset
        bounds = [dataset.num_parts * rank // ranks for rank in range(ranks + 1)]
        part = np.searchsorted(dataset.firsts, dataset.places, side="right") - 1
        self.owner = np.searchsorted(bounds, part, side="right") - 1
        nodes = np.arange(dataset.num_nodes)
        degrees = PartedRows(parts, dataset.num_nodes).degrees(nodes)
        count = int(dataset.cache * dataset.num_nodes)
        self.is_kept = np.zeros(dataset.num_nodes, bool)
        self.is_kept[np.lexsort((nodes, -degrees))[:count]] = True
        self.row_bytes = FLOAT * dataset.num_features + NUMBER
        self.id_bytes = dataset.places.itemsize  # of a neighbour
        self.fetched = self.kept = 0

    def bytes(self, batches: Sequence[Any], rank: int) -> float:
        """What its shares of a step cost a rank in bytes: questions, which it also answers as many
        of, the neighbours that are drawn with the features of edges to them, and the features of
        each node once. Labels, a few bytes for each seed, are left out.
        """
        outermost = [batch.blocks[0].src_ids for batch in batches if batch.blocks]
        read = np.unique(np.concatenate([np.zeros(0, np.int64), *outermost]))
        total = self.row_bytes * self._elsewhere(read, rank).sum()
        for block in (block for batch in batches for block in batch.blocks):
            asked = self._elsewhere(block.src_ids[: block.num_dst], rank)
            drawn = np.diff(block.indptr)[asked].sum()
            of_edge = self.id_bytes + FLOAT * block.edge_dim
            total += (QUESTION + NUMBER) * asked.sum() + of_edge * drawn
        return float(total)

    def _elsewhere(self, nodes: np.ndarray, rank: int) -> np.ndarray:
        others = self.owner[nodes] != rank
        asked = others & ~self.is_kept[nodes]
        self.fetched += int(asked.sum())
        self.kept += int(others.sum() - asked.sum())
        return asked
