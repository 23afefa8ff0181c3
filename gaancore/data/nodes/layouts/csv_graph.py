"""A folder with `nodes.csv` and `edges.csv`: the layout for a graph whose nodes have ids.

nodes.csv : `id` (or `node_id`, or `node`), any text or numbers, and a column for each feature.
    optional: `label`, the name of a node's class, or columns `label:NAME` of 0 and 1, if a node has
    several labels; `split`: train, val, test or empty, or columns `train_mask`, `val_mask` and
    `test_mask` of true and false; `graph_id`, integers. A label that is empty, NA, NaN, None, NULL,
    <NA>, -1 or -100 is none.
edges.csv : `src dst`, `source target` or `from to`, ids of nodes.csv.
    optional: features of the edges, numbers or text (a category each), where they are asked for.

Columns may be in any order and the case of these names does not count; every other column of
nodes.csv is a feature. Ids are compared as they are written, without the space around them. Cells
are separated by commas, semicolons or tabs.
"""

from array import array
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from gaancore.data.files.columns import NONE, chosen_columns, encode_columns
from gaancore.data.files.named_table import END_NAMES, open_named_table
from gaancore.data.files.text_array import text_array
from gaancore.data.nodes.layouts.csv_nodes import read_csv_nodes
from gaancore.data.nodes.make import RawDataset
from gaancore.errors import DataError, expect_choice
from gaancore.graph import ArcList

UnknownEdges = Literal["error", "drop"]
NODES, EDGES = "nodes.csv", "edges.csv"
SHOWN = 5  # ids in a message


def read_csv_graph(
    folder: Path, unknown_edges: UnknownEdges = "error", edge_features: str = NONE
) -> RawDataset:
    """Read the layout; rows of nodes.csv are the nodes, those without edges too.

    unknown_edges : edges that name an id no node has: refused (`error`), or `drop` them and say so.
    edge_features : the columns of edges.csv that are features of edges, see `chosen_columns`.
    Raises DataError, naming the file and the line, for a missing or damaged file, for repeated ids,
    and for ids that no node has.
    """
    expect_choice("unknown_edges", unknown_edges, get_args(UnknownEdges))
    nodes = read_csv_nodes(folder / NODES)
    arcs, edge_names, notes = _read_edges(folder / EDGES, nodes.rows, unknown_edges, edge_features)
    return RawDataset(
        path=str(folder),
        graph=arcs,
        features=nodes.features,
        labels=nodes.labels,
        split=nodes.split,
        node_ids=text_array(str(folder / NODES), list(nodes.rows)),
        sources=dict.fromkeys(("features", "labels", "split", "graph_ids"), str(folder / NODES)),
        graph_ids=nodes.graph_ids,
        class_names=nodes.class_names,
        feature_names=nodes.feature_names,
        edge_names=edge_names,
        notes=(f"layout: {NODES} and {EDGES}", *nodes.notes, *notes),
    )


def _read_edges(
    path: Path, rows: dict[str, int], unknown_edges: UnknownEdges, edge_features: str
) -> tuple[ArcList, tuple[str, ...] | None, tuple[str, ...]]:
    """The edges between rows of nodes.csv, the names of their features, if they have any, and what
    to say about the file.
    """
    table = open_named_table(path, END_NAMES)
    others = [name for at, name in enumerate(table.columns) if at not in table.keys]
    wanted = chosen_columns(str(path), [name for name in others if name], edge_features)
    texts: dict[str, list[str]] = {name: [] for name in wanted}
    places = [table.columns.index(name) for name in wanted]
    lines = array("q")
    ends = array("q")
    unknown: dict[str, int] = {}  # id -> the first line that names it
    lacking = 0
    for line, cells in table.rows:
        pair = [cells[at] for at in table.keys]
        try:
            ends.extend([rows[end] for end in pair])
            lines.append(line)
            for at, column in zip(places, texts.values(), strict=True):
                column.append(cells[at])
        except KeyError:
            lacking += 1
            for end in pair:
                if end not in rows:
                    unknown.setdefault(end, line)
    notes = list(table.notes)
    if unknown:
        total = lacking + len(ends) // 2
        some = ", ".join(f"{end[:80]!r}" for end in list(unknown)[:SHOWN])
        which = f"{lacking:,} of {total:,} edges name {len(unknown):,} ids that no node of {NODES}"
        which += f" has: {some}{', ...' if len(unknown) > SHOWN else ''}"
        if unknown_edges == "error":
            raise DataError(
                f"{path}: line {min(unknown.values())}: {which}; ids are compared as they are "
                "written: correct them, add the nodes, or choose unknown_edges: drop"
            )
        notes.append(f"{EDGES}: {which}; these edges are dropped")
    ignored = [name or "(no name)" for name in others if name not in texts]
    if ignored:
        notes.append(f"{EDGES}: column(s) {', '.join(ignored)} ignored")
    src_rows, dst_rows = np.frombuffer(ends, np.int64).reshape(-1, 2).T
    if not texts:
        return ArcList(src_rows, dst_rows, len(rows)), None, tuple(notes)
    names, numbers, said = encode_columns(str(path), texts, lines)
    said.insert(0, f"{len(names)} features of edges: {', '.join(names)}")
    arcs = ArcList(src_rows, dst_rows, len(rows), numbers.astype(np.float32))
    return arcs, names, (*notes, *(f"{EDGES}: {note}" for note in said))
