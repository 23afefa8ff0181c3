"""What a model sees of a graph: no labels and no split, so that it may be a new one."""

import os
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gaancore.data.nodes.checks import RepeatedEdges, check_features
from gaancore.data.nodes.dataset import NodeDataset
from gaancore.data.nodes.features.matrix import FeatureMatrix, arrays_of, chosen_columns
from gaancore.data.nodes.layouts.find import read_layout
from gaancore.data.nodes.layouts.reading import AS_IT_IS, Reading
from gaancore.data.nodes.make import RawDataset, settle_graph
from gaancore.data.nodes.missing import Nan, fill_missing
from gaancore.data.nodes.store.reader import is_store, open_store
from gaancore.display import Shown
from gaancore.errors import DataError, one_line
from gaancore.graph import CSRGraph, SelfLoops
from gaancore.system.disk import checksum
from gaancore.system.paths import user_path

SHOWN = 5  # ids in a message


@dataclass(frozen=True, repr=False)
class NodeInputs(Shown):
    """A graph and the features of its nodes; see NodeDataset for the arrays and names.

    >>> import gaancore
    >>> gaancore.from_scipy([[0, 1], [1, 0]], [[0.5], [1.5]], node_ids=["a", "b"]).node_ids.tolist()
    ['a', 'b']
    """

    path: str | None
    graph: CSRGraph
    features: FeatureMatrix
    node_ids: np.ndarray
    feature_names: tuple[str, ...] | None
    notes: tuple[str, ...]
    edge_names: tuple[str, ...] | None = None

    def _shown(self) -> dict[str, object]:
        return {
            "path": self.path,
            "num_nodes": self.graph.num_nodes,
            "num_edges": self.graph.num_edges,
            "features": self.features,
            "edge_attr": self.graph.edge_attr,
            "notes": len(self.notes) or None,
        }

    def facts(self) -> dict[str, str]:
        """A checksum of the graph and of the features of nodes and edges."""
        graph = self.graph
        arrays = [graph.indptr, graph.indices, *arrays_of(self.features)]
        arrays += [] if graph.edge_attr is None else [graph.edge_attr]
        return {"checksum": f"{checksum(arrays):08x}"}

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


def identity_of(inputs: NodeInputs) -> int:
    """A number that tells whether two graphs are of the same nodes in the same order: by their ids,
    and by the arcs too where a node is only called by its number.
    """
    ids = inputs.node_ids
    found = zlib.crc32("\n".join(map(str, ids.tolist())).encode())
    if not np.array_equal(ids, np.arange(ids.size)):
        return found
    return checksum([inputs.graph.indptr, inputs.graph.indices], found)


def match_categories(
    inputs: NodeInputs, known: Sequence[str] | None, of_edges: Sequence[str] | None
) -> NodeInputs:
    """`inputs` with the features `known`, and those of edges `of_edges`, where they differ in
    categories of text alone.

    A category that no node, or edge, here has becomes a feature of 0; one that is not known is left
    out, and a note says of how many nodes or arcs. Anything else that differs stays as it is.
    """
    if (found := _matched(inputs.features, inputs.feature_names, known, "node")) is not None:
        matrix, names, notes = found
        told = (*inputs.notes, *notes)
        inputs = replace(inputs, features=matrix, feature_names=names, notes=told)
    graph = inputs.graph
    if (found := _matched(graph.edge_attr, inputs.edge_names, of_edges, "arc")) is not None:
        matrix, names, notes = found
        told = (*inputs.notes, *notes)
        graph = graph.with_edge_attr(matrix)
        inputs = replace(inputs, graph=graph, edge_names=names, notes=told)
    return inputs


def _matched(
    matrix: FeatureMatrix,
    names: tuple[str, ...] | None,
    known: Sequence[str] | None,
    owner: str,
) -> tuple[FeatureMatrix, tuple[str, ...], list[str]] | None:
    """The matrix of the features `known`, their names, and what to say; None if nothing changes."""
    if known is None or names is None or tuple(known) == names:
        return None
    place = {name: at for at, name in enumerate(names)}
    lacking = [name for name in known if name not in place]
    unknown = [name for name in names if name not in {*known}]
    columns = [{_column_of(name) for name in side} - {""} for side in (known, names)]
    categories = columns[0] & columns[1]
    common = [name for name in known if name in place], [n for n in names if n not in unknown]
    differing = (*lacking, *unknown)
    if common[0] != common[1] or not all(_column_of(name) in categories for name in differing):
        return None
    found = chosen_columns(matrix, np.array([place.get(name, -1) for name in known], np.int64))
    notes = []
    if unknown:
        left_out = chosen_columns(matrix, np.array([place[name] for name in unknown]))
        count = np.unique(left_out.nonzero()[0]).size
        some = ", ".join(unknown[:SHOWN]) + (", ..." if len(unknown) > SHOWN else "")
        notes.append(
            f"warning: categories that the run has not seen, left out, of {count:,} {owner}s: "
            f"{some}"
        )
    if lacking:
        some = ", ".join(lacking[:SHOWN]) + (", ..." if len(lacking) > SHOWN else "")
        notes.append(f"categories that no {owner} here has: {some}")
    return found, tuple(known), notes


def _column_of(name: str) -> str:
    """The column of a category that is called COLUMN=TEXT; "" of any other feature."""
    column, equals, _ = name.partition("=")
    return column if equals else ""


def read_inputs(
    path: str | os.PathLike[str],
    *,
    self_loops: SelfLoops = "keep",
    nan: Nan = "error",
    reading: Reading = AS_IT_IS,
    repeated_edges: RepeatedEdges = "error",
) -> NodeInputs:
    """The graph and features at `path`: a store or any layout; labels and split are ignored.

    An `.npz` or two tables need edges and features alone. Every node is taken, whatever its split;
    see `make_dataset`, `fill_missing` and `Reading` for the options.
    Raises DataError, SettingsError.
    """
    source = user_path(path)
    if is_store(source):
        reading.expect_of_store(source)
        store = inputs_of(open_store(source))
        return replace(store, graph=store.graph.self_loops(self_loops))
    made = fill_missing(read_layout(source, reading), nan)
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
