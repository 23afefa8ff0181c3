"""A dataset from a networkx graph."""

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np

from gaancore.data.nodes.dataset import NodeDataset
from gaancore.data.nodes.inputs import NodeInputs
from gaancore.data.nodes.layouts.texts.networkx_files import attributes_of_edges
from gaancore.door.make import Options, made
from gaancore.door.matrices import arcs_of_networkx
from gaancore.door.values import is_missing, name_array
from gaancore.errors import DataError


def from_networkx(
    graph: Any,
    features: Any,
    label: Any = None,
    split: Any = None,
    *,
    class_names: Any = None,
    edge_attrs: Sequence[str] = (),
    **options: Unpack[Options],
) -> NodeDataset | NodeInputs:
    """A dataset from a networkx graph; without a label, a graph to predict on.

    graph    : Graph, DiGraph or a multigraph, of N nodes. Its node names become the node ids. Edges
               count in both directions and once.
    features : the name of a node attribute (a number or a vector), a list of such names, a mapping
               from node to vector, or (N, F) numbers in the order of `graph.nodes`.
    label    : the name of a node attribute, a mapping, or an array in that order. A value is the
               class of the node, a collection of the names of its labels, or None.
    split    : the same: `train`, `val`, `test` or None; by default 60, 20 and 20 per cent of the
               labelled nodes are drawn.
    edge_attrs : names of attributes of edges that are their features: numbers, or text, of which
               every different one is a feature of 0 and 1. Every edge must have them.
    class_names, options : as of `from_scipy`.
    The result's `notes` say what was dropped, assumed or drawn.
    Raises DataError and SettingsError, each one line that names the argument and the node.

    >>> import networkx as nx  # doctest: +SKIP
    >>> import numpy as np
    >>> graph = nx.karate_club_graph()
    >>> degrees = [degree for _, degree in graph.degree]
    >>> data = gaancore.from_networkx(graph, np.eye(18)[degrees], label="club")
    >>> data.class_names
    ('Mr. Hi', 'Officer')
    """
    where = "from_networkx"
    if not (hasattr(graph, "nodes") and hasattr(graph, "edges")):
        raise DataError(f"{where}: graph: expected a networkx graph, got {type(graph).__name__}")
    attributes = dict(graph.nodes(data=True))
    nodes = list(attributes)
    values = _features(where, attributes, features)
    notes = []
    if graph.is_directed():
        notes.append("directed edges count in both directions")
    named = {str(name) for *_, facts in graph.edges(data=True) for name in facts}
    if unused := sorted(named - {*edge_attrs}):
        notes.append(f"attributes of edges are not used: {', '.join(unused)}")
    edge_names, numbers, said = attributes_of_edges(f"{where}: edge_attrs", graph, edge_attrs)
    notes += said
    return made(
        where,
        arcs_of_networkx(graph, numbers),
        values,
        _of_nodes(where, "label", attributes, label, absent=None),
        _of_nodes(where, "split", attributes, split, absent=None),
        node_ids=name_array(f"{where}: graph", nodes),
        class_names=class_names,
        feature_names=_feature_names(features),
        edge_names=edge_names,
        notes=notes,
        **options,
    )


def _features(where: str, attributes: dict[Any, dict[Any, Any]], given: Any) -> Any:
    if isinstance(given, list | tuple) and given and all(isinstance(name, str) for name in given):
        columns = [_of_nodes(where, "features", attributes, name) for name in given]
        return np.column_stack(columns) if attributes else np.zeros((0, len(given)))
    values = _of_nodes(where, "features", attributes, given)
    if isinstance(values, list) and values and np.ndim(values[0]) == 0:
        return [[value] for value in values]
    return values


def _feature_names(given: Any) -> Any:
    if isinstance(given, str):
        return None
    is_names = isinstance(given, list | tuple) and all(isinstance(name, str) for name in given)
    return given if is_names and given else None


def _of_nodes(
    where: str, what: str, attributes: dict[Any, dict[Any, Any]], given: Any, **absent: Any
) -> Any:
    """What is given for each node: by attribute, by a mapping, or in the nodes' order.

    absent : stands for what a node does not have; without it such a node is refused.
    """
    if isinstance(given, str):
        has = {node: facts[given] for node, facts in attributes.items() if given in facts}
        if not has:
            there = sorted({str(name) for facts in attributes.values() for name in facts})
            raise DataError(
                f"{where}: {what}: no node has an attribute {given!r}; there are "
                f"{', '.join(there) or 'none'}"
            )
    elif isinstance(given, Mapping):
        has = dict(given)
    else:
        return given
    missing = [node for node in attributes if node not in has or is_missing(has[node])]
    if missing and not absent:
        raise DataError(
            f"{where}: {what}: {len(missing):,} of {len(attributes):,} nodes have none, first "
            f"{missing[0]!r}"
        )
    return [has.get(node) for node in attributes]
