"""A graph from a matrix, or from whatever a user calls one."""

from typing import Any, Unpack

import numpy as np
from scipy import sparse

from gaancore.data.nodes.dataset import NodeDataset
from gaancore.data.nodes.inputs import NodeInputs
from gaancore.door.make import Options, made
from gaancore.door.values import as_array
from gaancore.errors import DataError, GraphError
from gaancore.graph import ArcList, CSRGraph


def from_scipy(
    adjacency: Any,
    features: Any,
    labels: Any = None,
    split: Any = None,
    *,
    node_ids: Any = None,
    class_names: Any = None,
    feature_names: Any = None,
    edge_values: bool = False,
    **options: Unpack[Options],
) -> NodeDataset | NodeInputs:
    """A dataset from a sparse matrix and arrays; without labels, a graph to predict on.

    adjacency : (N, N) SciPy sparse matrix or array, or a dense array. An entry that is not 0 is an
                edge, and counts in both directions. Its value is used if `edge_values` says so.
    features  : (N, F) numbers, dense or sparse; a frame's columns name the features.
    labels    : (N,) classes as numbers or names, where -1, NaN or None means that a node has none;
                or (N, C) of 0 and 1, several labels a node.
    split     : (N,) of 0, 1, 2 and -1, or of `train`, `val`, `test` and None. By default 60, 20 and
                20 per cent of the labelled nodes are drawn.
    node_ids, class_names, feature_names : what you call the nodes, the classes and the features.
    edge_values : whether an entry's value is a feature of its edge; a direction that has no entry
                takes that of its reverse.
    options   : multi_label (True: rows of 0 and 1 are several labels, False: one class; by default
                as they look), self_loops (`keep`, `drop`, `add`), unflagged (nodes in no part:
                `context` keeps them as neighbours, `drop`, `train`, `error`), nan (features that
                are NaN: `error`, `zero`, `mean`), repeated_edges (what the values of entries that
                are stored twice become: `error`, `sum`, `mean`, `max`, `first`), split_shares (per
                cent), split_seed.
    The result's `notes` say what was dropped, assumed or drawn.
    Raises DataError, GraphError and SettingsError, each one line that names the argument.

    >>> import numpy as np
    >>> import scipy.sparse
    >>> import gaancore
    >>> ring = scipy.sparse.coo_array((np.ones(10), (range(10), np.roll(range(10), 1))))
    >>> data = gaancore.from_scipy(ring, np.eye(10), ["a", "b"] * 5)
    >>> data.num_nodes, data.num_edges, data.class_names
    (10, 20, ('a', 'b'))
    """
    graph, notes = graph_of("from_scipy: adjacency", adjacency)
    if edge_values:
        entries = sparse.coo_array(adjacency)
        stored = entries.data != 0
        ends = (entries.col[stored], entries.row[stored])
        graph = ArcList(*ends, graph.num_nodes, entries.data[stored][:, None].astype(np.float32))
        notes = []
    return made(
        "from_scipy",
        graph,
        features,
        labels,
        split,
        node_ids=node_ids,
        class_names=class_names,
        feature_names=feature_names,
        edge_names=("value",) if edge_values else None,
        notes=notes,
        **options,
    )


def graph_of(
    where: str, graph: Any, num_nodes: int | None = None
) -> tuple[CSRGraph | ArcList, list[str]]:
    """A graph, and what to say about it.

    graph : a square matrix (SciPy sparse or dense), (2, E) an edge_index, a CSRGraph, or a networkx
            graph, whose nodes are numbered in their own order.
    num_nodes : as many there must be; an edge_index cannot tell by itself.
    Raises DataError or GraphError if it is none of these.
    """
    if isinstance(graph, CSRGraph | ArcList):
        return graph, []
    if hasattr(graph, "nodes") and hasattr(graph, "edges"):
        return arcs_of_networkx(graph), []
    if not sparse.issparse(graph):
        array = as_array(where, graph)
        is_edge_index = array.ndim == 2 and len(array) == 2 and array.dtype.kind in "iu"
        if is_edge_index and num_nodes is not None and (num_nodes != 2 or array.shape[1] != 2):
            return ArcList(array[0], array[1], num_nodes), []
        if array.ndim != 2 or array.shape[0] != array.shape[1] or array.dtype.kind not in "biuf":
            also = "" if num_nodes is None else ", (2, E) integers"
            raise DataError(
                f"{where}: expected a square matrix{also} or a graph, got {array.dtype} "
                f"{array.shape}"
            )
        graph = sparse.coo_array(array)
    try:
        found = CSRGraph.from_scipy(graph, duplicates="keep")
    except GraphError as error:
        raise GraphError(f"{where}: {error}") from None
    values = graph.data[graph.data != 0]
    weighted = values.size > 0 and bool((values != values[0]).any())
    return found, ["values of the matrix are not used: an entry is an edge"] if weighted else []


def arcs_of_networkx(graph: Any, edge_attr: np.ndarray | None = None) -> ArcList:
    """The edges of a networkx graph, its nodes numbered in their own order."""
    row_of = {node: row for row, node in enumerate(graph.nodes)}
    ends = [(row_of[edge[0]], row_of[edge[1]]) for edge in graph.edges()]
    src, dst = np.array(ends, np.int64).reshape(-1, 2).T
    return ArcList(src, dst, len(row_of), edge_attr)
