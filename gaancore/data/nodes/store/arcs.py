"""The arcs of a dataset, and their features, as a stream of chunks on the way to a store."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from gaancore.choices import RepeatedEdges
from gaancore.data.nodes.checks import (
    as_float32,
    beyond_float32,
    check_edge_features,
    expect_one_of_each,
)
from gaancore.data.nodes.make import RawDataset
from gaancore.errors import DataError, GraphError
from gaancore.graph import ArcList, CSRGraph
from gaancore.graph.checks import index_dtype
from gaancore.graph.stream.features import write_edge_attr
from gaancore.graph.stream.rows import Progress
from gaancore.system.mapped import forget_pages


class ArcsBetween:
    """The arcs of `graph` between the nodes `order`, by their places in it."""

    def __init__(self, graph: CSRGraph | ArcList, order: np.ndarray) -> None:
        self.graph = graph
        self.new_id: np.ndarray = np.full(graph.num_nodes, -1, index_dtype(order.size))
        self.new_id[order] = np.arange(order.size)

    def __call__(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for src, dst, _ in self._chunks():
            yield src, dst

    def with_features(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """The same, and the features (n, B) float32 of these arcs."""
        for src, dst, positions in self._chunks():
            yield src, dst, as_float32(self.graph.edge_attr[positions])
            forget_pages(self.graph.edge_attr)

    def _chunks(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        start = 0
        for src, dst in self.graph.edge_chunks():
            src, dst = self.new_id[src], self.new_id[dst]
            stays = np.flatnonzero((src >= 0) & (dst >= 0))
            yield src[stays], dst[stays], start + stays
            start += src.size


def check_features_of_arcs(raw: RawDataset) -> list[str]:
    """What to say about the features of edges, if they have any; see `check_edge_features`."""
    if raw.graph.edge_attr is None:
        return []
    return check_edge_features(raw.path or "edges", raw.graph.edge_attr, raw.edge_names)


def write_features_of_arcs(
    folder: Path,
    raw: RawDataset,
    arcs: ArcsBetween,
    repeats: int,
    repeated_edges: RepeatedEdges,
    *,
    progress: Progress,
) -> None:
    """Write the features of edges, if they have any, beside their graph in `folder`.

    Raises DataError if nothing says how to merge those of so many `repeats`.
    """
    if raw.graph.edge_attr is None:
        return
    where = raw.path or "edges"
    expect_one_of_each(where, repeats, repeated_edges)
    how = "first" if repeated_edges == "error" else repeated_edges
    try:
        width = raw.graph.edge_attr.shape[1]
        write_edge_attr(folder, arcs.with_features, width, how, progress=progress)
    except GraphError:
        raise DataError(beyond_float32(where, repeated_edges)) from None
