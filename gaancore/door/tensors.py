"""Datasets from graphs whose arrays are tensors: PyTorch Geometric's Data and DGL's graphs."""

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np

from gaancore.data.nodes.dataset import NodeDataset
from gaancore.data.nodes.inputs import NodeInputs
from gaancore.door.make import Options, made
from gaancore.door.values import MASKS, as_array, split_of_masks
from gaancore.errors import DataError
from gaancore.graph import ArcList


def from_pyg(
    data: Any, *, class_names: Any = None, edge_attr: bool = True, **options: Unpack[Options]
) -> NodeDataset | NodeInputs:
    """A dataset from a `torch_geometric.data.Data`; without `y`, a graph to predict on.

    data : has `x` (N, F) and `edge_index` (2, E). It may have `y` (N,) of classes, -1 or NaN for
           none, or (N, C) of 0 and 1; `train_mask`, `val_mask` and `test_mask` (N,), of
           (N, splits) the first; and `batch` (N,), the graph that each node is in. Without masks
           60, 20 and 20 per cent of the labelled nodes are drawn. Any object with these attributes
           will do; tensors may be on any device.
    edge_attr : whether `edge_attr`, (E,) or (E, B), and `edge_weight` (E,), where the data have
           them, are features of the edges.
    class_names, options : as of `from_scipy`.
    The result's `notes` say what was dropped, assumed or drawn.
    Raises DataError and SettingsError, each one line that names the attribute.

    >>> from types import SimpleNamespace  # in the place of a Data
    >>> import numpy as np
    >>> import gaancore
    >>> edge_index = np.array([range(10), np.roll(range(10), 1)])
    >>> data = SimpleNamespace(x=np.eye(10), edge_index=edge_index, y=np.arange(10) % 2)
    >>> gaancore.from_pyg(data).counts()["nodes_per_split"]
    [6, 2, 2]
    """
    where = "from_pyg"
    x, edge_index = getattr(data, "x", None), getattr(data, "edge_index", None)
    if x is None or edge_index is None:
        kind = type(data).__name__
        lacking = "x" if x is None else "edge_index"
        raise DataError(
            f"{where}: data: expected a Data with x and edge_index, but this {kind} has no "
            f"{lacking}; of a dataset take one graph (dataset[0])"
        )
    ends = as_array(f"{where}: edge_index", edge_index)
    if ends.ndim != 2 or len(ends) != 2:
        raise DataError(f"{where}: edge_index: expected shape (2, E), got {ends.shape}")
    features = as_array(f"{where}: x", x)
    split, notes = _split(where, lambda name: getattr(data, name, None), len(features))
    there = [n for n in ("edge_attr", "edge_weight") if getattr(data, n, None) is not None]
    fields = {name: getattr(data, name) for name in there}
    edge_names, numbers = _edge_features(where, fields if edge_attr else {}, ends.shape[1])
    if there:
        notes.append(f"{'features of edges' if edge_attr else 'not used'}: {', '.join(there)}")
    return made(
        where,
        ArcList(ends[0], ends[1], len(features), numbers),
        features,
        getattr(data, "y", None),
        split,
        graph_ids=getattr(data, "batch", None),
        class_names=class_names,
        edge_names=edge_names,
        notes=notes,
        **options,
    )


def from_dgl(
    graph: Any,
    *,
    features: str = "feat",
    label: str = "label",
    edge_features: Sequence[str] = (),
    class_names: Any = None,
    **options: Unpack[Options],
) -> NodeDataset | NodeInputs:
    """A dataset from a `dgl.DGLGraph` of one kind of nodes; without labels, one to predict on.

    graph    : has `edges()`, `num_nodes()` and `ndata`; a batch of graphs keeps them apart.
    features : the name in `ndata` of (N, F) numbers.
    label    : the name of (N,) classes, -1 or NaN for none, or (N, C) of 0 and 1. Masks are called
               `train_mask`, `val_mask` and `test_mask`; without them 60, 20 and 20 per cent of the
               labelled nodes are drawn.
    edge_features : names in `edata` of (E,) or (E, B) numbers, the features of the edges.
    class_names, options : as of `from_scipy`.
    The result's `notes` say what was dropped, assumed or drawn.
    Raises DataError and SettingsError, each one line that names the field.

    >>> from types import SimpleNamespace  # in the place of a DGLGraph
    >>> import numpy as np
    >>> import gaancore
    >>> graph = SimpleNamespace(
    ...     num_nodes=lambda: 10,
    ...     edges=lambda: (np.arange(10), np.roll(np.arange(10), 1)),
    ...     ndata={"feat": np.eye(10), "label": np.arange(10) % 2},
    ... )
    >>> gaancore.from_dgl(graph).num_edges
    20
    """
    where = "from_dgl"
    if not all(hasattr(graph, name) for name in ("ndata", "edges", "num_nodes")):
        raise DataError(f"{where}: graph: expected a DGLGraph, got {type(graph).__name__}")
    if len(kinds := getattr(graph, "ntypes", ["_N"])) > 1:
        raise DataError(
            f"{where}: graph: expected one kind of nodes, got {', '.join(kinds)}; take a "
            "part of it or make it homogeneous"
        )
    fields = graph.ndata
    if features not in fields:
        there = ", ".join(map(str, fields)) or "nothing"
        raise DataError(f"{where}: features: ndata has no {features!r}; it has {there}")
    num_nodes = int(graph.num_nodes())
    src, dst = (as_array(f"{where}: edges", end) for end in graph.edges())
    split, notes = _split(where, lambda name: fields.get(name), num_nodes)
    known = {features, label, *MASKS, "_ID"}
    if others := [str(name) for name in fields if name not in known]:
        notes.append(f"not used: {', '.join(sorted(others))}")
    of_edges = getattr(graph, "edata", {})
    if lacking := [name for name in edge_features if name not in of_edges]:
        has = ", ".join(map(str, of_edges)) or "nothing"
        raise DataError(f"{where}: edge_features: edata has no {lacking[0]!r}; it has {has}")
    fields_of_edges = {name: of_edges[name] for name in edge_features}
    edge_names, numbers = _edge_features(where, fields_of_edges, src.size)
    batched = hasattr(graph, "batch_num_nodes")
    counts = as_array(f"{where}: graph", graph.batch_num_nodes() if batched else [])
    return made(
        where,
        ArcList(src, dst, num_nodes, numbers),
        fields[features],
        fields.get(label),
        split,
        graph_ids=np.repeat(np.arange(len(counts)), counts) if len(counts) > 1 else None,
        class_names=class_names,
        edge_names=edge_names,
        notes=notes,
        **options,
    )


def _edge_features(
    where: str, fields: Mapping[str, Any], num_edges: int
) -> tuple[tuple[str, ...] | None, np.ndarray | None]:
    """The names and numbers (E, B) of the features of edges, from arrays (E,) or (E, B)."""
    names: list[str] = []
    parts: list[np.ndarray] = []
    for name, values in fields.items():
        array = as_array(f"{where}: {name}", values)
        if array.ndim not in (1, 2) or len(array) != num_edges or array.dtype.kind not in "biuf":
            raise DataError(
                f"{where}: {name}: expected numbers ({num_edges},) or ({num_edges}, B), a row for "
                f"each edge; got {array.dtype} {array.shape}"
            )
        parts.append(array.reshape(num_edges, -1).astype(np.float32))
        width = parts[-1].shape[1]
        names += [name] if array.ndim == 1 else [f"{name} {n}" for n in range(1, 1 + width)]
    return (tuple(names), np.concatenate(parts, axis=1)) if parts else (None, None)


def _split(where: str, find: Any, num_nodes: int) -> tuple[np.ndarray | None, list[str]]:
    return split_of_masks(where, {name: find(name) for name in MASKS}, num_nodes)
