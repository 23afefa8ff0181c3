"""Features of edges as a model is given them."""

import numpy as np

from gaancore.data.nodes.dataset import TRAIN, NodeDataset
from gaancore.data.nodes.features.standardised import Features, statistics_of
from gaancore.graph import CSRGraph


def edge_statistics(dataset: NodeDataset) -> tuple[np.ndarray, np.ndarray] | None:
    """mean and scale (B,) of the features of edges, None where edges have none.

    As `standard` above, over the arcs that training sees (see NodeDataset.view).
    """
    graph = dataset.graph
    if graph.edge_attr is None:
        return None
    seen = dataset.split <= TRAIN
    src, dst = graph.edges()
    arcs = np.flatnonzero(seen[src] & seen[dst])
    if not arcs.size:
        return np.zeros(graph.edge_dim), np.ones(graph.edge_dim)
    return statistics_of(graph.edge_attr, arcs)


def standardised_edges(
    graph: CSRGraph, statistics: tuple[np.ndarray, np.ndarray] | None
) -> CSRGraph:
    """The graph whose blocks carry standardised features of edges; none, without statistics."""
    if statistics is None or graph.edge_attr is None:
        return graph if graph.edge_attr is None else graph.with_edge_attr(None)
    return graph.with_edge_attr(Features(graph.edge_attr, *statistics))


def with_known_categories(
    graph: CSRGraph, names: tuple[str, ...] | None, known: tuple[str, ...] | None
) -> tuple[CSRGraph, tuple[str, ...] | None]:
    """The graph and the names of its edges' features, with a column of 0 for each of the `known`
    categories (COLUMN=CATEGORY) that no edge of it has. Without names nothing is added.
    """
    if graph.edge_attr is None or not names or not known:
        return graph, names
    has = {name.partition("=")[0] for name in names if "=" in name}
    absent = [n for n in known if n not in names and "=" in n and n.partition("=")[0] in has]
    if not absent:
        return graph, names
    column = {name: graph.edge_attr[:, n] for n, name in enumerate(names)}
    none = np.zeros(graph.num_edges, graph.edge_attr.dtype)
    order = [name for name in known if name in column or name in absent]
    order += [name for name in names if name not in known]
    rows = np.stack([column.get(name, none) for name in order], axis=1)
    return graph.with_edge_attr(rows), tuple(order)
