"""From any layout to a store, a stream of chunks at a time."""

import os

import numpy as np

from gaancore.choices import RepeatedEdges, Unflagged
from gaancore.data.nodes.checks import check_graph_ids, expect_features
from gaancore.data.nodes.labels import Labels
from gaancore.data.nodes.make import (
    RawDataset,
    graph_notes,
    kept_nodes,
    settle_targets,
    split_notes,
)
from gaancore.data.nodes.store.arcs import (
    ArcsBetween,
    check_features_of_arcs,
    write_features_of_arcs,
)
from gaancore.data.nodes.store.features import write_features
from gaancore.data.nodes.store.writer import StoreWriter, store_writer
from gaancore.graph.stream.rows import Progress, write_undirected


def write_store(
    raw: RawDataset,
    path: str | os.PathLike[str],
    *,
    name: str,
    unflagged: Unflagged = "error",
    repeated_edges: RepeatedEdges = "error",
    progress: Progress = lambda share: None,
) -> None:
    """Check `raw` and write it to a new store at `path`, nodes in the order of their splits.

    It holds what `make_dataset` would make of `raw` (undirected, repeats merged, self-loops kept),
    except for the order of the nodes: those in no split, if they are kept, then all training nodes,
    then validation, then test, each in their order before. node_ids.npy says which node a row was.
    Whether a node has one class or several labels is seen from the labels (see `check_labels`).
    Memory is far below the graph's where `raw` is memory-mapped, as large arrays are.
    repeated_edges : see `make_dataset`.

    progress : called now and then with the share of the work that is done.
    Raises DataError (one line: file, row, id, remedy); nothing is left at `path` then.
    """
    expect_features(raw.sources["features"], raw.features, raw.node_ids)
    said_of_edges = check_features_of_arcs(raw)
    labels, split, target_notes = settle_targets(raw, unflagged, None)
    kept = kept_nodes(split, unflagged)
    order = kept[np.argsort(split[kept], kind="stable")]
    with store_writer(path) as writer:
        _write_nodes(writer, raw, labels, split, order)
        progress(0.2)
        arcs = ArcsBetween(raw.graph, order)
        counts = write_undirected(
            writer.folder, order.size, arcs, progress=lambda s: progress(0.2 + 0.6 * s)
        )
        write_features_of_arcs(
            writer.folder, raw, arcs, counts.num_repeats, repeated_edges,
            progress=lambda s: progress(0.8 + 0.2 * s),
        )  # fmt: skip
        loops = counts.num_self_loops
        notes = [
            *raw.notes,
            *said_of_edges,
            *graph_notes(counts.num_arcs, counts.num_repeats),
            *([f"{loops:,} self-loops kept"] if loops else []),
            *labels.notes,
            *target_notes,
            *split_notes(split),
        ]
        writer.finish(
            name=name,
            kind="real",
            num_classes=labels.num_classes,
            num_features=raw.features.shape[1],
            class_names=labels.class_names,
            feature_names=raw.feature_names,
            edge_names=raw.edge_names,
            num_self_loops=loops,
            notes=notes,
            ceiling=None,
        )
        progress(1.0)


def _write_nodes(
    writer: StoreWriter, raw: RawDataset, labels: Labels, split: np.ndarray, order: np.ndarray
) -> None:
    writer.save("split", split[order])
    writer.save("labels", labels.values[order])
    if raw.graph_ids is not None:
        graph_ids = check_graph_ids(raw.sources["graph_ids"], raw.graph_ids, raw.node_ids)
        writer.save("graph_id", graph_ids[order])
    node_ids = raw.node_ids[order]
    if not np.array_equal(node_ids, np.arange(order.size)):
        writer.save("node_ids", node_ids)
    write_features(writer, raw.features, order)
