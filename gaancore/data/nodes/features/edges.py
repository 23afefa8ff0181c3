"""Features of edges as a model is given them."""

from collections.abc import Iterator

import numpy as np

from gaancore.data.nodes.dataset import TRAIN, NodeDataset
from gaancore.data.nodes.features.standardised import ROWS_AT_A_TIME, Features, statistics_of
from gaancore.graph import CSRGraph


def edge_statistics(dataset: NodeDataset) -> tuple[np.ndarray, np.ndarray] | None:
    """mean and scale (B,) of the features of edges, None where edges have none.

    As `standard` above, over the arcs that training sees (see NodeDataset.view).
    """
    graph = dataset.graph
    if graph.edge_attr is None:
        return None
    seen = dataset.split <= TRAIN
    count = sum(part.size for part in _arcs_among(graph, seen))
    if not count:
        return np.zeros(graph.edge_dim), np.ones(graph.edge_dim)
    return statistics_of(graph.edge_attr, lambda: _arcs_among(graph, seen), count)


def _arcs_among(graph: CSRGraph, nodes: np.ndarray) -> Iterator[np.ndarray]:
    """The positions of the arcs between the `nodes` (N,) bool, ROWS_AT_A_TIME at a time."""
    found, start = np.zeros(0, np.int64), 0
    for src, dst in graph.edge_chunks():
        found = np.concatenate([found, start + np.flatnonzero(nodes[src] & nodes[dst])])
        start += src.size
        whole = found.size - found.size % ROWS_AT_A_TIME
        yield from found[:whole].reshape(-1, ROWS_AT_A_TIME)
        found = found[whole:]
    if found.size:
        yield found


def standardised_edges(
    graph: CSRGraph, statistics: tuple[np.ndarray, np.ndarray] | None
) -> CSRGraph:
    """The graph whose blocks carry standardised features of edges; none, without statistics."""
    if statistics is None or graph.edge_attr is None:
        return graph if graph.edge_attr is None else graph.with_edge_attr(None)
    return graph.with_edge_attr(Features(graph.edge_attr, *statistics))
