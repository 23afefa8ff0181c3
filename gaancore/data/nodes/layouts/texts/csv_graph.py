"""A folder with `nodes.csv` and `edges.csv`: the layout for a graph whose nodes have ids.

nodes.csv : `id` (or `node_id`, or `node`), any text or numbers, and a column for each feature.
    optional: `label`, the name of a node's class, or columns `label:NAME` of 0 and 1, if a node has
    several labels; `split`: train, val, test or empty, or columns `train_mask`, `val_mask` and
    `test_mask` of true and false; `graph_id`, integers. A label that is empty, NA, NaN, None, NULL,
    <NA>, -1 or -100 is none.
edges.csv : `src dst`, `source target` or `from to`, ids of nodes.csv.
    optional: features of the edges, numbers or text (a category each), where they are asked for.

In place of edges.csv there may be one list of edges, as in edge_list.py.
Columns may be in any order and the case of these names does not count; every other column of
nodes.csv is a feature. Ids are compared as they are written, without the space around them. Cells
are separated by commas, semicolons or tabs. Either file may be packed: `nodes.csv.gz`.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from gaancore.choices import AS_IT_IS, Reading
from gaancore.data.files.arrays import listed
from gaancore.data.files.columns import chosen_columns, columns_of_edges
from gaancore.data.files.named_table import END_NAMES, open_named_table
from gaancore.data.nodes.layouts.citations.content import ends_of
from gaancore.data.nodes.layouts.texts.csv_nodes import read_csv_nodes
from gaancore.data.nodes.layouts.texts.edge_list import EdgeLines, bare, edge_lists
from gaancore.data.nodes.layouts.texts.joined_edges import join_edges
from gaancore.data.nodes.make import RawDataset
from gaancore.graph import ArcList

NODES, EDGES = "nodes.csv", "edges.csv"


def read_csv_graph(folder: Path, reading: Reading = AS_IT_IS) -> RawDataset:
    """Read the layout; rows of nodes.csv are the nodes, those without edges too.

    Raises DataError, naming the file and the line, for a missing or damaged file, for repeated ids,
    and for ids that no node has.
    """
    nodes_file, edges_file = either(folder, NODES), _edges_file(folder)
    nodes = read_csv_nodes(nodes_file, reading)
    read = _read_edges if _is_table(edges_file) else _read_list
    arcs, edge_names, notes = read(edges_file, nodes.rows, reading)
    return nodes.with_edges(
        folder,
        arcs,
        edge_names,
        of_nodes=nodes_file,
        layout=f"{nodes_file.name} and {edges_file.name}",
        notes=notes,
    )


def either(folder: Path, name: str) -> Path:
    """The file of that name, or its `.gz` if only that is there."""
    packed = folder / f"{name}.gz"
    return packed if packed.exists() and not (folder / name).exists() else folder / name


def _is_table(path: Path) -> bool:
    """Whether edges are in a table, and not in a list without a header."""
    return bare(path).suffix.lower() == ".csv"


def _edges_file(folder: Path) -> Path:
    """edges.csv, or the one list of edges that a folder without it has."""
    table = either(folder, EDGES)
    lists = [] if table.exists() else edge_lists(folder)
    return lists[0] if len(lists) == 1 else table


Edges = tuple[ArcList, tuple[str, ...] | None, tuple[str, ...]]


def _read_list(path: Path, rows: dict[str, int], reading: Reading) -> Edges:
    """The edges of a list, as `_read_edges`."""
    edges = EdgeLines(path, reading)

    def pairs() -> Iterator[tuple[int, tuple[str, str]]]:
        for line, cells in edges:
            ends = ends_of(path, line, cells)
            if all(end in rows for end in ends):
                edges.keep(line, cells)
            yield line, ends

    drop = reading.unknown_edges == "drop"
    src, dst, notes = join_edges(path, pairs(), rows, NODES, drop=drop)
    names, numbers, said = edges.result()
    return ArcList(src, dst, len(rows), numbers), names, (*notes, *said)


def _read_edges(path: Path, rows: dict[str, int], reading: Reading) -> Edges:
    """The edges between rows of nodes.csv, the names of their features, if they have any, and what
    to say about the file.
    """
    table = open_named_table(path, END_NAMES)
    first, second = table.keys
    others = [name for at, name in enumerate(table.columns) if at not in table.keys]
    wanted = chosen_columns(str(path), [name for name in others if name], reading.edge_features)
    places = {name: table.columns.index(name) for name in wanted}
    features = columns_of_edges(str(path), places)

    def pairs() -> Iterator[tuple[int, tuple[str, str]]]:
        for line, cells in features.watch(table.rows):
            ends = cells[first], cells[second]
            if all(end in rows for end in ends):
                features.add(line, cells)
            yield line, ends

    drop = reading.unknown_edges == "drop"
    src, dst, said = join_edges(path, pairs(), rows, NODES, drop=drop)
    notes = [*table.notes, *said]
    ignored = [name or "(no name)" for name in others if name not in places]
    if ignored:
        notes.append(f"{path.name}: column(s) {', '.join(ignored)} ignored")
    if not wanted:
        return ArcList(src, dst, len(rows)), None, tuple(notes)
    numbers, names, found = features.result()
    found.insert(0, f"{len(names)} features of edges: {listed(names)}")
    arcs = ArcList(src, dst, len(rows), numbers.astype(np.float32))
    return arcs, names, (*notes, *(f"{path.name}: {note}" for note in found))
