"""What is in a dataset: the numbers that tell whether it is the one that was meant."""

from typing import Any

import numpy as np
from scipy import sparse

from gaancore.data.nodes.checks import VALUES_AT_A_TIME
from gaancore.data.nodes.dataset import TRAIN, UNFLAGGED, NodeDataset
from gaancore.data.nodes.features.matrix import FeatureMatrix, arrays_of, share_filled
from gaancore.data.traffic.dataset import TrafficDataset
from gaancore.graph.ordered_rows import runs_of_rows
from gaancore.progress import told
from gaancore.system.jit import jit
from gaancore.system.mapped import forget_pages

Facts = dict[str, Any]
SPLITS = ("train", "validation", "test")
ARCS_AT_A_TIME = 20_000_000


def summarize_nodes(dataset: NodeDataset) -> Facts:
    """Counts of a graph whose nodes have labels, using a few bytes of memory per node.

    unflagged    : nodes in no split, which every split sees.
    arcs_seen    : of each split, the arcs of the graph that it sees (see `NodeDataset.view`).
    mean_degree  : of each split, how many neighbours a node of that graph has. Where training sees
                   far fewer than test, a maximum or a sum over neighbours is not what it was.
    isolated     : nodes without a neighbour, themselves not counted.
    filled       : the share of the features that are not 0, where they are kept sparse.
    constant     : features with one value for all nodes. zero_rows: nodes whose features are all 0.
    rarest, commonest : [class or label, by name if the files have names, nodes that have it].
    """
    graph, sizes = dataset.graph, [int(dataset.nodes(split).size) for split in range(3)]
    degrees = np.diff(graph.indptr)
    arcs, loops, isolated = _arcs_seen(dataset)
    nodes_seen = np.cumsum(sizes) + np.count_nonzero(dataset.split == UNFLAGGED)
    return {
        "nodes": dataset.num_nodes,
        "nodes_per_split": dict(zip(SPLITS, sizes, strict=True)),
        "unflagged": dataset.num_nodes - sum(sizes),
        "graphs": None if dataset.graph_ids is None else int(np.unique(dataset.graph_ids).size),
        "arcs": dataset.num_edges,
        "self_loops": loops,
        "isolated": isolated,
        "degree": {
            "min": int(degrees.min()),
            "median": float(np.median(degrees)),
            "mean": float(degrees.mean()),
            "max": int(degrees.max()),
        },
        "arcs_seen": dict(zip(SPLITS, arcs, strict=True)),
        "mean_degree": {
            name: seen / count if count else 0.0
            for name, seen, count in zip(SPLITS, arcs, nodes_seen.tolist(), strict=True)
        },
        "features": _features(dataset.features),
        "edge_features": graph.edge_dim,
        "edge_names": list(dataset.edge_names or ()),
        "labels": _labels(dataset),
        "bytes": {
            "graph": graph.indptr.nbytes + graph.indices.nbytes,
            "features": sum(array.nbytes for array in arrays_of(dataset.features)),
            "edge_features": 0 if graph.edge_attr is None else graph.edge_attr.nbytes,
        },
    }


def _arcs_seen(dataset: NodeDataset) -> tuple[list[int], int, int]:
    """The arcs that each split sees, the self-loops, and the nodes without a neighbour."""
    graph, counts = dataset.graph, np.zeros(3, np.int64)
    split, found = np.asarray(dataset.split), np.zeros(2, np.int64)
    for first, stop in told("arcs", [*runs_of_rows(graph.indptr, ARCS_AT_A_TIME)]):
        found += _count_arcs(graph.indptr, graph.indices, split, first, stop, counts)
        forget_pages(graph.indices)
    loops, isolated = found.tolist()
    return np.cumsum(counts).tolist(), loops, isolated


@jit
def _count_arcs(
    indptr: np.ndarray,
    indices: np.ndarray,
    split: np.ndarray,
    first: int,
    stop: int,
    counts: np.ndarray,
) -> tuple[int, int]:
    """Of the rows first..stop-1 the self-loops, and the rows without other arcs. An arc counts for
    the first split that sees both of its ends.
    """
    loops, isolated = 0, 0
    for row in range(first, stop):
        begin, end = indptr[row], indptr[row + 1]
        own = 0
        for e in range(begin, end):
            own += indices[e] == row
            counts[max(split[row], split[indices[e]], TRAIN)] += 1
        loops += own
        isolated += own == end - begin
    return loops, isolated


def _features(features: FeatureMatrix) -> Facts:
    if sparse.issparse(features):
        return _sparse_features(features)
    count, step = features.shape[1], max(1, VALUES_AT_A_TIME // features.shape[1])
    low, high, zero_rows = np.full(count, np.inf), np.full(count, -np.inf), 0
    for start in told("features", range(0, len(features), step)):
        part = features[start : start + step]
        low, high = np.minimum(low, part.min(axis=0)), np.maximum(high, part.max(axis=0))
        zero_rows += int(np.count_nonzero(~part.any(axis=1)))
        forget_pages(features)
    constant = int(np.count_nonzero(low == high))
    return {"count": count, "constant": constant, "zero_rows": zero_rows}


def _sparse_features(features: sparse.csr_array) -> Facts:
    low, high = (ends.toarray().ravel() for ends in (features.min(axis=0), features.max(axis=0)))
    return {
        "count": features.shape[1],
        "filled": share_filled(features),
        "constant": int(np.count_nonzero(low == high)),
        "zero_rows": int(np.count_nonzero(np.diff(features.indptr) == 0)),
    }


def _labels(dataset: NodeDataset) -> Facts:
    labels = dataset.labels[dataset.split != UNFLAGGED]
    if dataset.multi_label:
        counts, per_node = labels.sum(axis=0, dtype=np.int64), labels.sum(axis=1, dtype=np.int64)
        more = {"per_node": float(per_node.mean()), "nodes_without": int((per_node == 0).sum())}
    else:
        counts, more = np.bincount(labels, minlength=dataset.num_classes), {}
    ends = {"rarest": int(counts.argmin()), "commonest": int(counts.argmax())}
    names = dataset.class_names or range(dataset.num_classes)
    found = {name: [names[label], int(counts[label])] for name, label in ends.items()}
    return {"count": dataset.num_classes, **more, **found}


def summarize_traffic(dataset: TrafficDataset) -> Facts:
    """Counts of speeds along roads.

    missing   : share of the readings that are missing. most_missing: [sensor id, its share].
    stretches : runs of rows without a gap between two. isolated: sensors without a neighbour.
    """
    missing = 1 - dataset.valid.mean(axis=0)
    worst = int(missing.argmax())
    speeds = dataset.speeds[dataset.valid]
    src, dst = dataset.graph.edges()
    times = dataset.times
    return {
        "sensors": dataset.num_sensors,
        "arcs": dataset.graph.num_edges,
        "isolated": dataset.num_sensors - int(np.unique(dst[src != dst]).size),
        "steps": dataset.num_steps,
        "step_seconds": dataset.step,
        "first": None if times is None else str(times[0]),
        "last": None if times is None else str(times[-1]),
        "stretches": len(dataset.stretches) - 1,
        "missing": float(1 - dataset.valid.mean()),
        "most_missing": [dataset.sensor_ids[worst], float(missing[worst])],
        "speeds": {
            "min": float(speeds.min()),
            "mean": float(speeds.mean(dtype=np.float64)),
            "max": float(speeds.max()),
        },
        "time_of_day": dataset.time_of_day is not None,
        "coordinates": dataset.coordinates is not None,
    }
