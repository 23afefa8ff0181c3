"""Many copies of one graph side by side: how a batch of sequences sees the roads."""

from functools import cache

from gaancore.graph.block import Block
from gaancore.graph.csr import CSRGraph


class GraphCopies:
    """Blocks of any number of copies of a graph, no edge between two; each is built once.

    Node i of copy c is row c * num_nodes + i, so B sequences of the same N nodes are (B * N, ...).
    The blocks are on `device` (see to_device).
    """

    def __init__(self, graph: CSRGraph, device: str = "cpu") -> None:
        self.num_nodes = graph.num_nodes
        self.block = cache(lambda copies: _block(graph, copies).to(device))


def _block(graph: CSRGraph, copies: int) -> Block:
    block = CSRGraph.disjoint_union([graph] * copies).full_block()
    block.transpose  # noqa: B018 (now, not in the first backward pass of several threads at once)
    return block
