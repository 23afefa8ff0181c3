"""From a store to a store in parts, a stream of rows at a time."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy import sparse

from gaancore.data.nodes.checks import VALUES_AT_A_TIME
from gaancore.data.nodes.dataset import NodeDataset
from gaancore.data.nodes.features.edges import edge_statistics
from gaancore.data.nodes.features.matrix import filled_in_some
from gaancore.data.nodes.features.standardised import feature_statistics
from gaancore.data.nodes.store.reader import PARTED
from gaancore.data.nodes.store.writer import StoreWriter
from gaancore.data.parts.assign import assign_parts, crossing_arcs
from gaancore.data.parts.dataset import (
    EDGE_STATISTICS,
    NODE_IDS,
    PLACES,
    STATISTICS,
    VERSION,
    identity_of_cut,
    name_of_part,
)
from gaancore.data.parts.part import OF_EDGES, PART, PART_VERSION, files_of
from gaancore.data.summary import summarize_nodes
from gaancore.errors import DataError, SettingsError
from gaancore.graph.checks import index_dtype
from gaancore.graph.ordered_rows import places_of_rows, runs_of_rows
from gaancore.graph.stream.rows import Progress
from gaancore.system.mapped import forget_pages
from gaancore.system.new_folder import new_folder

WHOLE = "whole"  # the store that is cut, if it is written for that alone
ENTRIES_AT_A_TIME = 8_000_000  # of the graph, that are copied


def write_parts(
    target: Path,
    count: int,
    make: Callable[[Path], NodeDataset],
    *,
    progress: Progress = lambda share: None,
) -> None:
    """Write a new store in `count` parts at `target`, which appears when it is whole.

    make : gives the store that is cut; what it writes to the folder that it is told is removed.
    Raises DataError (see `new_folder`) and what `cut_store` raises; nothing is left then.
    """
    with new_folder(target) as folder:
        cut_store(make(folder / WHOLE), folder, count, progress=progress)
        shutil.rmtree(folder / WHOLE, ignore_errors=True)


def cut_store(
    whole: NodeDataset,
    folder: Path,
    count: int,
    *,
    progress: Progress = lambda share: None,
) -> None:
    """Write `whole` to the empty `folder` as a store in `count` parts (see dataset.py).

    Neighbours are kept together as `assign_parts` does. Memory is a few numbers for each node
    where `whole` is memory-mapped.
    Raises SettingsError for fewer than 1 part or more than nodes, DataError for sparse features,
    which are not cut yet.
    """
    if not 1 <= count <= max(1, whole.num_nodes):
        raise SettingsError(
            f"parts: expected 1 to {whole.num_nodes:,}, the number of nodes, got {count}"
        )
    if sparse.issparse(whole.features):
        raise DataError(f"{whole.path}: sparse features are not cut; train on the store uncut")
    part_of = assign_parts(whole.graph, count, progress=lambda share: progress(0.5 * share))
    order = np.argsort(part_of, kind="stable")  # of a part, ascending ids
    writer = StoreWriter(folder)
    places: np.ndarray = np.empty(whole.num_nodes, index_dtype(whole.num_nodes))
    places[order] = np.arange(order.size)
    writer.save(PLACES, places)
    writer.save(STATISTICS, np.stack(feature_statistics(whole, "standard")))
    common = [PLACES, STATISTICS]
    if not np.array_equal(whole.node_ids, np.arange(whole.num_nodes)):
        writer.save(NODE_IDS, whole.node_ids)
        common.append(NODE_IDS)
    if of_edges := edge_statistics(whole):
        writer.save(EDGE_STATISTICS, np.stack(of_edges))
        common.append(EDGE_STATISTICS)
    files = writer.described(common)
    facts = whole.facts()
    sizes = np.bincount(part_of, minlength=count).tolist()
    parts = []
    for number, nodes in enumerate(np.split(order, np.cumsum(sizes)[:-1])):
        (folder / name_of_part(number)).mkdir()
        part = StoreWriter(folder / name_of_part(number))
        parts.append({"nodes": nodes.size, "arcs": _write_rows(part, whole, nodes)})
        part.write_meta(
            {
                "format": PART,
                "version": PART_VERSION,
                "store": identity_of_cut(files, facts),
                "part": number,
                "files": part.described(sorted(files_of(whole.edge_dim))),
            }
        )
        progress(0.5 + 0.4 * (number + 1) / count)
    writer.write_meta(
        {
            "format": PARTED,
            "version": VERSION,
            "name": whole.name,
            "kind": whole.kind,
            "multi_label": whole.multi_label,
            "parts": parts,
            "crossing_arcs": crossing_arcs(whole.graph, part_of),
            "facts": facts,
            "summary": summarize_nodes(whole),
            "label_counts": [whole.label_counts(split).tolist() for split in range(3)],
            "filled": filled_in_some(whole.features),
            "files": files,
        }
    )
    progress(1.0)


def _write_rows(part: StoreWriter, whole: NodeDataset, nodes: np.ndarray) -> int:
    """The rows of `nodes`; returns how many arcs they have."""
    graph, features = whole.graph, whole.features
    indptr = np.concatenate([[0], np.cumsum(graph.indptr[nodes + 1] - graph.indptr[nodes])])
    part.save("nodes", nodes)
    part.save("indptr", indptr)
    part.save("labels", whole.labels[nodes])
    sources = {"indices": graph.indices}
    if graph.edge_attr is not None:
        sources[OF_EDGES] = graph.edge_attr
    for name, source in sources.items():
        of_arcs = part.create(name, (int(indptr[-1]), *source.shape[1:]), source.dtype)
        for start, stop in runs_of_rows(indptr, ENTRIES_AT_A_TIME // max(1, source[:1].size)):
            places = places_of_rows(graph.indptr, nodes[start:stop])
            of_arcs[indptr[start] : indptr[stop]] = source[places]
            forget_pages(of_arcs)
            forget_pages(source)
    rows = part.create("features", (nodes.size, whole.num_features), np.float32)
    step = max(1, VALUES_AT_A_TIME // max(1, whole.num_features))
    for start in range(0, nodes.size, step):
        rows[start : start + step] = features[nodes[start : start + step]]
        forget_pages(rows)
        forget_pages(features)
    return int(indptr[-1])
