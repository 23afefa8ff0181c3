"""A folder with `nodes.csv` and `edges.csv`: the layout for a graph whose nodes have ids.

nodes.csv : `id` (or `node_id`, or `node`), any text or numbers, and a column for each feature.
    optional: `label`, the name of a node's class, or columns `label:NAME` of 0 and 1, if a node has
    several labels; `split`: train, val, test or empty; `graph_id`, integers.
edges.csv : `src dst`, `source target` or `from to`, ids of nodes.csv.

Columns may be in any order and the case of these names does not count; every other column of
nodes.csv is a feature. Ids are compared as they are written, without the space around them. Cells
are separated by commas, semicolons or tabs.
"""

from array import array
from pathlib import Path

import numpy as np

from gaancore.data.files.named_table import END_NAMES, open_named_table
from gaancore.data.nodes.layouts.csv_nodes import read_csv_nodes
from gaancore.data.nodes.make import RawDataset
from gaancore.errors import DataError
from gaancore.graph import ArcList

NODES, EDGES = "nodes.csv", "edges.csv"


def read_csv_graph(folder: Path) -> RawDataset:
    """Read the layout; rows of nodes.csv are the nodes, those without edges too.

    Raises DataError, naming the file and the line, for a missing or damaged file, for repeated ids,
    and for ids that no node has.
    """
    nodes = read_csv_nodes(folder / NODES)
    src, dst, notes = _read_edges(folder / EDGES, nodes.rows)
    return RawDataset(
        path=str(folder),
        graph=ArcList(src, dst, len(nodes.rows)),
        features=nodes.features,
        labels=nodes.labels,
        split=nodes.split,
        node_ids=np.array(list(nodes.rows)),
        sources=dict.fromkeys(("features", "labels", "split", "graph_ids"), str(folder / NODES)),
        graph_ids=nodes.graph_ids,
        class_names=nodes.class_names,
        feature_names=nodes.feature_names,
        notes=(f"layout: {NODES} and {EDGES}", *nodes.notes, *notes),
    )


def _read_edges(path: Path, rows: dict[str, int]) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """The rows of nodes.csv at the two ends of each edge, and what to say about the file."""
    table = open_named_table(path, END_NAMES)
    src_at, dst_at = table.keys
    ends = array("q")
    unknown: list[tuple[int, str]] = []
    for line, cells in table.rows:
        src, dst = cells[src_at], cells[dst_at]
        try:
            ends.extend((rows[src], rows[dst]))
        except KeyError:
            unknown.append((line, dst if src in rows else src))
    if unknown:
        line, end = unknown[0]
        raise DataError(
            f"{path}: line {line}: no node of {NODES} has the id {end!r}, likewise in "
            f"{len(unknown):,} of {len(unknown) + len(ends) // 2:,} edges; ids are compared as "
            "they are written: correct them, add the nodes or remove the edges"
        )
    ignored = [name or "(no name)" for at, name in enumerate(table.columns) if at not in table.keys]
    notes = (f"{EDGES}: column(s) {', '.join(ignored)} ignored",) if ignored else ()
    src_rows, dst_rows = np.frombuffer(ends, np.int64).reshape(-1, 2).T
    return src_rows, dst_rows, (*table.notes, *notes)
