"""Arcs as a stream of chunks, so that a graph larger than memory can be put in order."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gaancore.graph.checks import edge_rows, expect_ends, index_dtype, whole_number
from gaancore.graph.csr import EDGES_AT_A_TIME, CSRGraph
from gaancore.system.mapped import forget_pages

# Each call gives the same arcs from the start: (src, dst) arrays of equal length, in any order.
EdgeChunks = Callable[[], Iterator[tuple[np.ndarray, np.ndarray]]]


class ArcList:
    """The arcs src[e] -> dst[e] as a file lists them: in any order, repeats and loops included.

    src, dst : (E,) integers in 0..num_nodes-1; memory-mapped arrays are never read as a whole.
    edge_attr : (E, B) floats, the features of each arc; None if they have none.
    Raises GraphError naming the first arc that leaves the graph, and says if ids look 1-based.

    >>> from gaancore.graph import ArcList
    >>> arcs = ArcList([0, 2, 2], [1, 1, 1], num_nodes=3)
    >>> arcs.to_csr()
    CSRGraph(num_nodes=3, num_edges=3)
    """

    def __init__(
        self, src: ArrayLike, dst: ArrayLike, num_nodes: int, edge_attr: Any = None
    ) -> None:
        self.num_nodes = whole_number("ArcList: num_nodes", num_nodes, 0)
        self.src, self.dst = expect_ends("ArcList", src, dst, self.num_nodes)
        self.edge_attr = edge_rows("ArcList: edge_attr", edge_attr, self.src.size)

    @property
    def num_edges(self) -> int:
        return self.src.size

    def edge_chunks(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """(src, dst) of at most EDGES_AT_A_TIME arcs at a time."""
        dtype = index_dtype(self.num_nodes)
        for start in range(0, self.num_edges, EDGES_AT_A_TIME):
            part = slice(start, start + EDGES_AT_A_TIME)
            # again, for the arrays are the caller's, and compiled loops trust what they are given
            src, dst = expect_ends("ArcList", self.src[part], self.dst[part], self.num_nodes)
            yield src.astype(dtype, copy=False), dst.astype(dtype, copy=False)
            forget_pages(self.src)
            forget_pages(self.dst)

    def to_csr(self) -> CSRGraph:
        """The same arcs in order, in memory; repeats are kept."""
        arcs = (self.src, self.dst, self.num_nodes)
        return CSRGraph.from_edges(*arcs, duplicates="keep", edge_attr=self.edge_attr)
