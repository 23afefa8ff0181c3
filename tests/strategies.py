"""Hypothesis strategies: hypothesis draws structure, and shrinks it; a seed draws the numbers.

Empty rows, isolated nodes, self-loops and repeated neighbours are ordinary cases here.
"""

from typing import Any

import numpy as np
from hypothesis import strategies as st

from gaancore.graph import Block, CSRGraph


def seeds() -> st.SearchStrategy[int]:
    """A seed for numpy.random.default_rng, or for anything else that takes one."""
    return st.integers(0, 2**32 - 1)


@st.composite
def edge_lists(
    draw: Any, max_nodes: int = 12, max_edges: int = 40
) -> tuple[list[tuple[int, int]], int]:
    """(src, dst) pairs in any order, repeats and self-loops among them, and the node count."""
    num_nodes = draw(st.integers(0, max_nodes))
    nodes = st.integers(0, max(0, num_nodes - 1))
    most = max_edges if num_nodes else 0
    return draw(st.lists(st.tuples(nodes, nodes), max_size=most)), num_nodes


@st.composite
def graphs(
    draw: Any, max_nodes: int = 12, max_edges: int = 40, duplicates: str = "keep"
) -> CSRGraph:
    """A directed graph; `duplicates` says what happens to repeated edges."""
    edges, num_nodes = draw(edge_lists(max_nodes, max_edges))
    src, dst = [s for s, _ in edges], [d for _, d in edges]
    return CSRGraph.from_edges(src, dst, num_nodes, duplicates=duplicates)


@st.composite
def blocks(draw: Any, max_dst: int = 6, max_new: int = 6, max_degree: int = 6) -> Block:
    """A bipartite block: the destinations are the first of the sources, rows are in any order."""
    num_dst = draw(st.integers(0, max_dst))
    num_src = num_dst + draw(st.integers(0, max_new))
    sources = st.integers(0, max(0, num_src - 1))
    rows = draw(
        st.lists(st.lists(sources, max_size=max_degree), min_size=num_dst, max_size=num_dst)
    )
    indptr = np.cumsum([0, *map(len, rows)])
    return Block(indptr, [source for row in rows for source in row], num_src)
