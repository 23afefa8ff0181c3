"""A dataset from two data frames."""

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np

from gaancore.data.files.columns import encode_columns
from gaancore.data.files.named_table import END_NAMES
from gaancore.data.nodes.dataset import NodeDataset
from gaancore.data.nodes.inputs import NodeInputs
from gaancore.data.nodes.layouts.texts.node_columns import (
    CLASS,
    GRAPH_ID,
    ID_NAMES,
    LABEL_PREFIX,
    SPLIT,
)
from gaancore.door.make import Options, made
from gaancore.door.values import as_array, is_missing, name_array
from gaancore.errors import DataError
from gaancore.graph import ArcList


def from_pandas(
    nodes: Any,
    edges: Any,
    *,
    node_id: str | None = None,
    label: str | list[str] | None = None,
    split: str | None = None,
    edge_features: Sequence[str] = (),
    **options: Unpack[Options],
) -> NodeDataset | NodeInputs:
    """A dataset from a frame of nodes and one of edges; without labels, a graph to predict on.

    nodes   : a row for each node. Every column that is none of the following is a feature, and has
              to hold numbers.
    edges   : a row for each edge. Its ends are in the columns src and dst, source and target, or
              from and to, as ids of nodes. They count in both directions and once.
    node_id : the column of ids; by default `id`, `node_id` or `node`, else the frame's index.
    label   : the column of classes, where None, NaN or -1 means none; or a list of two or more
              columns of 0 and 1, several labels a node. By default `label`, or all columns called
              `label:NAME`.
    split   : the column of `train`, `val`, `test` or None; by default `split`. If there is none,
              60, 20 and 20 per cent of the labelled nodes are drawn.
    edge_features : the columns of `edges` that are features of the edges: numbers, or text, of
              which every different one is a feature of 0 and 1.
    options : as of `from_scipy`. A column `graph_id` of integers says which graph a node is in.
    The result's `notes` say what was dropped, assumed or drawn.
    Raises DataError and SettingsError, each one line that names the column and the id.

    >>> import pandas as pd  # doctest: +SKIP
    >>> nodes = pd.DataFrame({"id": ["anna", "bert", "cleo"], "age": [31, 27, 45]})
    >>> edges = pd.DataFrame({"src": ["anna", "bert"], "dst": ["bert", "cleo"]})
    >>> gaancore.from_pandas(nodes, edges).node_ids
    array(['anna', 'bert', 'cleo'], dtype='<U4')
    """
    where = "from_pandas"
    for name, frame in (("nodes", nodes), ("edges", edges)):
        if not hasattr(frame, "columns"):
            raise DataError(f"{where}: {name}: expected a frame, got {type(frame).__name__}")
    columns = list(nodes.columns)
    id_at = _column(where, columns, "node_id", node_id, [name for (name,) in ID_NAMES])
    split_at = _column(where, columns, "split", split, [SPLIT])
    graph_at = _column(where, columns, "graph_id", None, [GRAPH_ID])
    label_at, label_names = _labels(where, columns, label)
    taken = {id_at, split_at, graph_at, *label_at}
    features = [name for name in columns if name not in taken]
    if not features:
        raise DataError(f"{where}: nodes: no column is left to be a feature")
    source = nodes.index if id_at is None and hasattr(nodes, "index") else nodes[id_at]
    ids = as_array(f"{where}: node_id", source).tolist()
    src, dst, notes = _ends(where, edges, ids, edge_features)
    edge_names, numbers = None, None
    if edge_features:
        there = list(edges.columns)
        cells = {
            str(name): edges[_column(where, there, "edge_features", name, [])]
            for name in edge_features
        }
        found = encode_columns(f"{where}: edges", cells, range(src.size), "row")
        edge_names, numbers, said = found
        notes += [f"edges: {note}" for note in said]
    graph_ids = None if graph_at is None else as_array(f"{where}: graph_id", nodes[graph_at])
    labels: Any = None
    if label_names:
        labels = np.column_stack([_numbers(where, nodes, name) for name in label_at])
    elif label_at:
        labels = nodes[label_at[0]]
    return made(
        where,
        ArcList(src, dst, len(ids), numbers),
        np.column_stack([_numbers(where, nodes, name) for name in features]),
        labels,
        None if split_at is None else nodes[split_at],
        node_ids=name_array(f"{where}: node_id", ids),
        graph_ids=graph_ids,
        class_names=label_names or None,
        feature_names=features,
        edge_names=edge_names,
        notes=notes,
        **options,
    )


def _column(
    where: str, columns: list[Any], argument: str, name: Any, usual: list[str]
) -> Any | None:
    """The column that was asked for, else one with a usual name, else None."""
    if name is not None:
        if name not in columns:
            there = ", ".join(map(str, columns))
            raise DataError(f"{where}: {argument}: no column {name!r}; there are {there}")
        return name
    return next((c for u in usual for c in columns if str(c).lower() == u), None)


def _labels(where: str, columns: list[Any], label: Any) -> tuple[list[Any], list[str]]:
    """The columns of labels, and the names of these if a node has several."""
    if isinstance(label, list | tuple):
        if len(label) < 2:
            raise DataError(f"{where}: label: a list names two or more columns of 0 and 1")
        return [_column(where, columns, "label", c, []) for c in label], [str(c) for c in label]
    if label is None:
        several = [c for c in columns if str(c).lower().startswith(LABEL_PREFIX)]
        if len(several) > 1:
            return several, [str(c)[len(LABEL_PREFIX) :].strip() for c in several]
    found = _column(where, columns, "label", label, [CLASS])
    return ([] if found is None else [found]), []


def _numbers(where: str, nodes: Any, name: Any) -> np.ndarray:
    """(N,) float64, NaN where there is none."""
    values = as_array(f"{where}: column {name!r}", nodes[name])
    if values.dtype.kind == "O":
        values = np.array([np.nan if is_missing(v) else v for v in values.tolist()], object)
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"{where}: column {name!r} is a feature, but not all of it are numbers ({error}); drop "
            "the column or encode it"
        ) from None


def _ends(
    where: str, edges: Any, ids: list[Any], used: Sequence[str]
) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """The rows of `nodes` at the two ends of each edge, and what to say about the frame."""
    by_name = {str(name).lower(): name for name in edges.columns}
    named = next((pair for pair in END_NAMES if all(name in by_name for name in pair)), None)
    if named is None:
        wanted = ", ".join(" and ".join(pair) for pair in END_NAMES)
        there = ", ".join(map(str, edges.columns)) or "none"
        raise DataError(f"{where}: edges: expected columns {wanted}; there are {there}")
    row_of = {name: row for row, name in enumerate(ids)}
    ends = [as_array(f"{where}: edges", edges[by_name[name]]).tolist() for name in named]
    if unknown := [name for end in ends for name in end if name not in row_of]:
        raise DataError(
            f"{where}: edges: {len(unknown):,} ends are ids of no node, first {unknown[0]!r}; ids "
            f"are such as {ids[0] if ids else None!r}"
        )
    src, dst = (np.array([row_of[name] for name in end], np.int64) for end in ends)
    others = [str(name) for key, name in by_name.items() if key not in named and name not in used]
    notes = [f"columns of edges are not used: {', '.join(others)}"] if others else []
    return src, dst, notes
