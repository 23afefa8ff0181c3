"""GraphML, GML and GEXF, read by networkx where it is installed.

A node's attributes are its label (`label`, or the one that is chosen), its `split`, `graph_id` or
masks, and its features, under the names and by the rules of nodes.csv: numbers, categories of text.
In GML `label`, where all differ, is a node's name, and no class. Attributes of edges are features
of these where they are asked for; of all of them those that every edge has, but for its id. What is
not used is named: nested attributes, such as GEXF's places and colours, those of the graph, and
directions.
"""

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gaancore.choices import AS_IT_IS, AUTO, Reading
from gaancore.data.files.arrays import listed, refusing_damage
from gaancore.data.files.columns import chosen_columns, encode_columns
from gaancore.data.files.named_table import NamedTable
from gaancore.data.nodes.layouts.texts.csv_nodes import read_nodes
from gaancore.data.nodes.layouts.texts.node_columns import CLASS
from gaancore.data.nodes.make import RawDataset
from gaancore.errors import DataError
from gaancore.graph import ArcList

READERS = {".graphml": "read_graphml", ".gml": "read_gml", ".gexf": "read_gexf"}
OF_FORMAT = {"node_default", "edge_default", "mode"}  # what networkx notes of the file itself
ID = "\0id"  # the column of ids, which no attribute is called
IDS = {"id", "key"}  # of edges


def read_networkx_file(path: Path, reading: Reading = AS_IT_IS) -> RawDataset:
    """Read the layout. Raises DataError where networkx is not installed, for a damaged file, and,
    naming nodes by their number in the file as lines, for what `read_csv_nodes` refuses."""
    found = _parsed(path, reading)
    attributes = found.attributes
    names = dict.fromkeys(str(name) for facts in attributes.values() for name in facts)
    nested = {
        str(name)
        for facts in attributes.values()
        for name, value in facts.items()
        if any(isinstance(part, dict) for part in (value if isinstance(value, list) else [value]))
    }
    unused = sorted(nested | ({"name"} & names.keys()))
    if found.by_label:
        names.pop("label")
    kept = [name for name in names if name not in unused]
    classes = reading.label or CLASS
    for node, facts in attributes.items():
        if isinstance(facts.get(classes), list | dict):
            raise DataError(
                f"{path}: node {node[:80]!r} has several values of {classes}; a class is one"
            )
    rows = (
        (number, [node, *(_text(facts.get(name)) for name in kept)])
        for number, (node, facts) in enumerate(attributes.items(), 1)
    )
    nodes = read_nodes(NamedTable(path, (ID, *kept), (0,), rows, ()), reading)
    wanted, notes = _wanted_of_edges(path, found.graph, reading)
    edge_names, edge_attr, said = attributes_of_edges(str(path), found.graph, wanted)
    of_graph = sorted({str(name) for name in found.graph.graph} - OF_FORMAT)
    for what, others in (("nodes", unused), ("the graph", of_graph)):
        if others:
            notes.append(f"attributes of {what} not used: {listed(others)}")
    if found.graph.is_directed():
        notes.append("directions of edges not used: each counts both ways")
    src, dst = found.ends
    arcs = ArcList(src, dst, len(nodes.rows), edge_attr)
    layout = f"{path.name}, read by networkx"
    notes += said
    return nodes.with_edges(path, arcs, edge_names, of_nodes=path, layout=layout, notes=notes)


class _Parsed(NamedTuple):
    """networkx's graph; the attributes of each node by its name, whether that is its label; and the
    ends of the edges, (2, E), as places of nodes.
    """

    graph: Any
    attributes: dict[str, dict[Any, Any]]
    by_label: bool
    ends: np.ndarray


def _parsed(path: Path, reading: Reading) -> _Parsed:
    """The file as networkx reads it. Raises DataError unless every node has a name of its own."""
    try:
        networkx: Any = importlib.import_module("networkx")
    except ImportError:
        raise DataError(
            f"{path}: files of this kind are read by networkx, which is not installed; install it, "
            "or write nodes.csv and edges.csv"
        ) from None
    kind = path.suffix.lower()
    with refusing_damage(path, f"{kind} file"):
        options = {"label": "id"} if kind == ".gml" else {}
        graph = getattr(networkx, READERS[kind])(path, **options)
        named = [_one_name(facts.get("label")) for _, facts in graph.nodes(data=True)]
        by_label = kind == ".gml" and reading.label != "label" and _are_names(named)
        called = named if by_label else [str(node) for node in graph.nodes]
        attributes = dict(zip(called, (facts for _, facts in graph.nodes(data=True)), strict=True))
        row_of = {node: row for row, node in enumerate(graph.nodes)}
        ends = [(row_of[edge[0]], row_of[edge[1]]) for edge in graph.edges()]
    if not attributes:
        raise DataError(f"{path}: a graph without nodes")
    if "None" in attributes and kind != ".gml":  # what networkx calls it
        raise DataError(
            f"{path}: a node, or the end of an edge, has no id, or the id None; name it"
        )
    if by_label and not all(named):
        raise DataError(
            f"{path}: node {list(row_of)[named.index('')]} has no label, or several; those of the "
            "others all differ, as names do: name it too, or, if they are classes, choose label "
            "(label)"
        )
    if len(attributes) < len(row_of):
        raise DataError(f"{path}: ids of two nodes are written alike; ids must differ")
    return _Parsed(graph, attributes, by_label, np.array(ends, np.int64).reshape(-1, 2).T)


def _wanted_of_edges(path: Path, graph: Any, reading: Reading) -> tuple[list[str], list[str]]:
    """The attributes of edges that are features of them, and what to say about the others."""
    edges = [facts for *_, facts in graph.edges(data=True)]
    there = sorted({str(name) for facts in edges for name in facts} - IDS)
    if reading.edge_features == AUTO:
        of_all = [name for name in there if all(name in facts for facts in edges)]
        lacking = [name for name in there if name not in of_all]
        notes = [f"attributes that some edges lack, not used: {listed(lacking)}"] if lacking else []
        return of_all, notes
    wanted = chosen_columns(str(path), there, reading.edge_features)
    unused = [name for name in there if name not in wanted]
    return wanted, [f"attributes of edges not used: {listed(unused)}"] if unused else []


def attributes_of_edges(
    where: str, graph: Any, names: Sequence[str]
) -> tuple[tuple[str, ...] | None, np.ndarray | None, list[str]]:
    """The names and numbers (E, B) of the features of edges, in the order of `graph.edges`, and
    what to say; None without any. Raises DataError for an edge that lacks an attribute.
    """
    if not names:
        return None, None, []
    cells: dict[str, list[Any]] = {name: [] for name in names}
    for src, dst, facts in graph.edges(data=True):
        for name in names:
            if name not in facts:
                raise DataError(
                    f"{where}: the edge {src!r} - {dst!r} has no attribute {name!r}; give it one, "
                    "or leave it out (edge_features)"
                )
            cells[name].append(facts[name])
    places = range(1, 1 + len(cells[names[0]]))
    found, numbers, said = encode_columns(where, cells, places, "edge")
    told = f"{len(found)} features of edges: {listed(found)}"
    return found, numbers, [told, *(f"edges: {note}" for note in said)]


def _are_names(texts: list[str]) -> bool:
    """Whether there are several, and all differ, leaving out nodes that have none."""
    names = [text for text in texts if text]
    return (len(names) > 1 or names == texts) and len({*names}) == len(names)


def _one_name(label: Any) -> str:
    return "" if label is None or isinstance(label, list | dict) else str(label)


def _text(value: Any) -> str:
    """An attribute as a cell of nodes.csv would have it."""
    if value is None:
        return ""
    if isinstance(value, list | tuple):
        return f"[{' '.join(map(str, value))}]"
    return str(value).strip()
