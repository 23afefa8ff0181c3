"""Data of either kind from a path."""

import os
from collections.abc import Sequence
from typing import Any

from gaancore.data.nodes.dataset import NodeDataset
from gaancore.data.traffic.dataset import TrafficDataset
from gaancore.tasks import choose, task_named


def load(
    path: str | os.PathLike[str],
    task: str | None = None,
    *,
    self_loops: str | None = None,
    unflagged: str | None = None,
    nan: str | None = None,
    unknown_edges: str | None = None,
    label: str | None = None,
    split_column: str | int | None = None,
    features: str | None = None,
    edge_features: str | None = None,
    repeated_edges: str | None = None,
    split_shares: Sequence[float] | None = None,
    split_seed: int | None = None,
    graph: str | os.PathLike[str] | None = None,
    sensor_ids: str | os.PathLike[str] | None = None,
    start: str | None = None,
    graph_kind: str | None = None,
    null_value: float | str | None = None,
    channel: int | str | None = None,
    inputs: Sequence[int | str] | None = None,
    graph_from: str | None = None,
    neighbours: int | None = None,
    radius: float | None = None,
    kernel: str | None = None,
    sigma: float | None = None,
    threshold: float | None = None,
    max_pairs: float | None = None,
) -> NodeDataset | TrafficDataset:
    """The data at `path`, in any layout, as training reads them: a graph or speeds of sensors.

    path : a folder in any layout or a converted one, a prefix of GraphSAGE's or Planetoid's files,
           or a file; for traffic a folder or a file of speeds. `~` is expanded.
    task : `ppi`, `reddit`, `metr-la`, `labels`, `classes` or `forecast`, whose way of reading is
           followed; by default what fits the data.

    Options are None for what the task does.
    self_loops   : `keep`, `drop`, or `add` one to every node.
    unflagged    : nodes that are in no part: kept as neighbours (`context`), `drop`, `train`, or
                   refused (`error`).
    nan          : features that are NaN: refused (`error`), `zero`, or the `mean` over the training
                   nodes.
    unknown_edges : edges that name an id no node has: refused (`error`), or `drop`.
    label        : the column or attribute that is the label, where it has another name.
    split_column : the column of the split, likewise, or the number of one of several.
    features     : of a graph: those of the `file`, or in their place `degree`, `ones`,
                   `spectral` or `learned`; of traffic: the inputs beside the speed.
    edge_features : features of edges, of two tables, an .npz or networkx's files: `auto` (all),
                   `none`, or names with commas between; `weight` of a list of edges.
    repeated_edges : what they become where edges are merged: see `make_dataset`.
    split_shares : per cent of training, validation and test nodes, drawn with `split_seed` among
                   the labelled nodes of files that name no split.
    graph, sensor_ids, start, graph_kind, null_value, channel, inputs : of traffic: see
                   `load_metr_la`.
    graph_from, neighbours, radius, kernel, sigma, threshold, max_pairs : of traffic, what arcs are
                   made from: see `RoadChoices`. `correlation` sees the training part alone, as the
                   default settings split the series.
    Raises DataError and SettingsError, each one line with the file, the row or id, and the remedy.

    >>> import numpy as np
    >>> import gaancore
    >>> ring = np.array([range(10), np.roll(range(10), 1)])
    >>> np.savez("ring.npz", edge_index=ring, x=np.eye(10), y=np.arange(10) % 2)
    >>> data = gaancore.load("ring.npz", split_shares=(40, 30, 30))
    >>> data.counts()["nodes_per_split"]
    [4, 3, 3]
    """
    files = {"graph": graph, "sensor_ids": sensor_ids}
    options: dict[str, Any] = {
        "self_loops": self_loops,
        "unflagged": unflagged,
        "nan": nan,
        "unknown_edges": unknown_edges,
        "label": label,
        "split_column": None if split_column is None else str(split_column),
        "features": features,
        "edge_features": edge_features,
        "repeated_edges": repeated_edges,
        "split_shares": split_shares,
        "split_seed": split_seed,
        "start": start,
        "graph_kind": graph_kind,
        "null_value": null_value,
        "channel": channel,
        "inputs": inputs,
        "graph_from": graph_from,
        "neighbours": neighbours,
        "radius": radius,
        "kernel": kernel,
        "sigma": sigma,
        "threshold": threshold,
        "max_pairs": max_pairs,
        **{name: None if file is None else os.fspath(file) for name, file in files.items()},
    }
    layers = [("load", {name: value for name, value in options.items() if value is not None})]
    location = os.fspath(path)
    if task is None:
        found: NodeDataset | TrafficDataset = choose(location, layers).dataset
        return found
    chosen = task_named(task)
    read: NodeDataset | TrafficDataset = chosen.load(location, chosen.settings(*layers))
    return read
