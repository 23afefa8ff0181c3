"""From a graph in memory to a dataset, on the path that files take too."""

from dataclasses import replace
from typing import Any, TypedDict

import numpy as np
from scipy import sparse

from gaancore.choices import Nan, RepeatedEdges, SelfLoops, Unflagged
from gaancore.data.nodes.checks import feature_rows
from gaancore.data.nodes.dataset import NodeDataset
from gaancore.data.nodes.features.matrix import FeatureMatrix
from gaancore.data.nodes.inputs import NodeInputs, make_inputs
from gaancore.data.nodes.labels import spelling_notes
from gaancore.data.nodes.make import RawDataset, make_dataset
from gaancore.data.nodes.missing import fill_missing
from gaancore.data.nodes.split import Shares, with_drawn_validation, with_random_split
from gaancore.door.values import as_array, coded_labels, column_names, name_array, split_array
from gaancore.errors import DataError, SettingsError
from gaancore.graph import ArcList, CSRGraph


class Options(TypedDict, total=False):
    """What every function that reads a graph can be asked for; see `made`."""

    multi_label: bool | None
    self_loops: SelfLoops
    unflagged: Unflagged
    nan: Nan
    repeated_edges: RepeatedEdges
    split_shares: Shares
    split_seed: int


def made(
    where: str,
    graph: CSRGraph | ArcList,
    features: Any,
    labels: Any = None,
    split: Any = None,
    *,
    node_ids: Any = None,
    graph_ids: Any = None,
    class_names: Any = None,
    feature_names: Any = None,
    edge_names: tuple[str, ...] | None = None,
    notes: list[str] | tuple[str, ...] = (),
    multi_label: bool | None = None,
    self_loops: SelfLoops = "keep",
    unflagged: Unflagged = "context",
    nan: Nan = "error",
    repeated_edges: RepeatedEdges = "error",
    split_shares: Shares = (60.0, 20.0, 20.0),
    split_seed: int = 0,
) -> NodeDataset | NodeInputs:
    """The dataset of a graph in memory; NodeInputs if there are no labels at all.

    where    : the function that was called, to begin every error with.
    features : (N, F) numbers, dense or sparse; a frame's columns are named by it.
    labels   : see `coded_labels`. split: see `split_array`; None draws one among labelled nodes.
    The other options are those of `make_dataset`, `fill_missing` and `with_random_split`.
    """
    names = feature_names if feature_names is not None else column_names(features)
    ids = np.arange(graph.num_nodes) if node_ids is None else node_ids
    codes, found_names = (
        (None, None) if labels is None else coded_labels(f"{where}: labels", labels)
    )
    raw = RawDataset(
        path=None,
        graph=graph,
        features=_numeric(where, features),
        labels=codes,
        split=None if split is None else split_array(f"{where}: split", split),
        node_ids=name_array(where, list(ids.tolist() if isinstance(ids, np.ndarray) else ids)),
        sources=dict.fromkeys(("features", "labels", "split", "graph_ids"), where),
        graph_ids=None if graph_ids is None else as_array(f"{where}: graph_ids", graph_ids),
        class_names=found_names,
        feature_names=None if names is None else tuple(map(str, names)),
        edge_names=edge_names,
        notes=(*notes, *spelling_notes(found_names or ())),
    )
    _expect_fitting(where, raw)
    if class_names is not None:
        raw = replace(raw, class_names=_given_names(where, raw, class_names))
    if codes is None:
        if nan == "mean":
            raise SettingsError(f"{where}: nan: without labels no nodes are trained on; take zero")
        filled = fill_missing(raw, nan)
        return make_inputs(filled, self_loops=self_loops, repeated_edges=repeated_edges)
    draw = with_random_split if raw.split is None else with_drawn_validation
    raw = draw(raw, split_shares, seed=split_seed)
    return make_dataset(
        fill_missing(raw, nan),
        name="graph",
        multi_label=multi_label,
        self_loops=self_loops,
        unflagged=unflagged,
        repeated_edges=repeated_edges,
    )


def _numeric(where: str, features: Any) -> FeatureMatrix:
    if sparse.issparse(features):
        return feature_rows(where, "features", features, features.shape[0])
    array = as_array(f"{where}: features", features)
    if array.dtype.kind != "O":
        return array
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"{where}: features: not all are numbers ({error}); leave the others out or encode them"
        ) from None


def _expect_fitting(where: str, raw: RawDataset) -> None:
    """Raises DataError unless there is a row of everything for each node of the graph."""
    nodes = raw.graph.num_nodes
    rows = {
        "features": raw.features,
        "labels": raw.labels,
        "split": raw.split,
        "node_ids": raw.node_ids,
        "graph_ids": raw.graph_ids,
    }
    for name, array in rows.items():
        if array is not None and (array.ndim == 0 or array.shape[0] != nodes):
            raise DataError(
                f"{where}: {name}: expected a row for each of the graph's {nodes:,} nodes, got "
                f"shape {array.shape}"
            )
    if raw.feature_names is not None and raw.features.ndim == 2:
        expect_count(f"{where}: feature_names", raw.feature_names, raw.features.shape[1])


def _given_names(where: str, raw: RawDataset, names: Any) -> tuple[str, ...]:
    """The user's names of the classes, in the place of numbers."""
    if raw.labels is None or (raw.class_names is not None and raw.labels.ndim == 1):
        raise SettingsError(f"{where}: class_names: for labels that are 0, 1, 2, ... alone")
    if raw.labels.ndim == 2:
        count = raw.labels.shape[1]
    else:
        count = max(len(names), int(np.nanmax(raw.labels, initial=-1)) + 1)
    expect_count(f"{where}: class_names", names, count)
    return tuple(map(str, names))


def expect_count(where: str, names: Any, count: int) -> None:
    """Raises DataError unless there are so many names."""
    if len(names) != count:
        raise DataError(f"{where}: expected {count:,} names, got {len(names):,}")
