"""Graphs, bipartite blocks and the neighbour sampler: host side, NumPy and Numba only."""

from gaancore.choices import SelfLoops
from gaancore.graph.arcs import ArcList
from gaancore.graph.block import Block, Transpose
from gaancore.graph.csr import CSRGraph
from gaancore.graph.sampler import drop_edges, sample_blocks

__all__ = ["ArcList", "Block", "CSRGraph", "SelfLoops", "Transpose", "drop_edges", "sample_blocks"]
