"""What a model sees of a graph: no labels and no split, so that it may be a new one."""

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from gaancore.data.files.columns import NONE
from gaancore.data.nodes.checks import check_features
from gaancore.data.nodes.dataset import NodeDataset
from gaancore.data.nodes.layouts.csv_graph import UnknownEdges
from gaancore.data.nodes.layouts.find import read_layout
from gaancore.data.nodes.make import RawDataset, RepeatedEdges, settle_graph
from gaancore.data.nodes.missing import Nan, fill_missing
from gaancore.data.nodes.store.reader import is_store, open_store
from gaancore.errors import DataError, one_line
from gaancore.graph import CSRGraph, SelfLoops
from gaancore.system.paths import user_path

SHOWN = 5  # ids in a message


@dataclass(frozen=True)
class NodeInputs:
    """A graph and the features of its nodes; see NodeDataset for the arrays and names.

    >>> import gaancore
    >>> gaancore.from_scipy([[0, 1], [1, 0]], [[0.5], [1.5]], node_ids=["a", "b"]).node_ids.tolist()
    ['a', 'b']
    """

    path: str | None
    graph: CSRGraph
    features: np.ndarray
    node_ids: np.ndarray
    feature_names: tuple[str, ...] | None
    notes: tuple[str, ...]
    edge_names: tuple[str, ...] | None = None

    def rows_of(self, ids: Iterable[str]) -> np.ndarray:
        """(n,) int64: the rows of the nodes that the files call `ids`, one for each, in this order.

        Raises DataError for ids that no node has: how many, and up to five of them.
        """
        asked = list(ids)
        wanted = dict.fromkeys(asked)
        names = map(str, self.node_ids.tolist())
        row_of = {name: row for row, name in enumerate(names) if name in wanted}
        if unknown := [name for name in wanted if name not in row_of]:
            some = ", ".join(f"{name[:80]!r}" for name in unknown[:SHOWN])
            some += ", ..." if len(unknown) > SHOWN else ""
            raise DataError(
                f"{self.path or 'the built-in data'}: {len(unknown):,} of {len(wanted):,} ids "
                f"belong to no node: {some}; ids look like {self.node_ids[0]}"
            )
        return np.array([row_of[name] for name in asked], np.int64)


def inputs_of(dataset: NodeDataset) -> NodeInputs:
    """What a model sees of the whole dataset."""
    d = dataset
    names = (d.feature_names, d.notes, d.edge_names)
    return NodeInputs(d.path, d.graph, d.features, d.node_ids, *names)


def read_inputs(
    path: str | os.PathLike[str],
    *,
    self_loops: SelfLoops = "keep",
    nan: Nan = "error",
    unknown_edges: UnknownEdges = "error",
    edge_features: str = NONE,
    repeated_edges: RepeatedEdges = "error",
) -> NodeInputs:
    """The graph and features at `path`: a store or any layout; labels and split are ignored.

    An `.npz` or two tables need edges and features alone. Every node is taken, whatever its split;
    see `make_dataset`, `fill_missing` and `load_nodes` for the options.
    Raises DataError, SettingsError.
    """
    source = user_path(path)
    if is_store(source):
        store = inputs_of(open_store(source))
        return replace(store, graph=store.graph.self_loops(self_loops))
    raw = read_layout(source, unknown_edges=unknown_edges, edge_features=edge_features)
    made = fill_missing(raw, nan)
    return make_inputs(made, self_loops=self_loops, repeated_edges=repeated_edges)


def make_inputs(
    raw: RawDataset,
    *,
    self_loops: SelfLoops = "keep",
    repeated_edges: RepeatedEdges = "error",
) -> NodeInputs:
    """The graph and features of `raw`, checked; labels and split are not looked at.

    Raises DataError for features that are unsound, SettingsError.
    """
    features = check_features(raw.sources["features"], raw.features, raw.node_ids)
    graph, notes_of_graph = settle_graph(raw, self_loops, repeated_edges)
    notes = tuple(map(one_line, [*raw.notes, *notes_of_graph]))
    names = (raw.feature_names, notes, raw.edge_names)
    return NodeInputs(raw.path, graph, features, raw.node_ids, *names)
