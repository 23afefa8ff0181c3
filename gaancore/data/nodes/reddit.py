"""Reddit: 232,965 posts of September 2014 in 41 communities; posts with a commenter in common are
neighbours, and tests see posts of later days.
"""

import os
from dataclasses import replace

from gaancore.choices import AS_IT_IS, Nan, Reading, SelfLoops, Unflagged
from gaancore.data.nodes.dataset import NodeDataset
from gaancore.data.nodes.load import load_nodes
from gaancore.data.paper import paper_data

PAPER = paper_data("reddit")
COUNTS = {
    "nodes": PAPER["num_nodes"],
    "arcs": PAPER["arcs"][0],
    "features": PAPER["num_features"],
    "classes": PAPER["num_classes"],
}
# Public copies treat the 1,522 nodes that GraphSAGE's files leave without a split differently.
SPLITS = {
    tuple(PAPER["nodes_per_split"]): "the paper's, as DGL and PyTorch Geometric have it",
    (153_932, 23_699, 55_334): "GraphSAINT's and Cluster-GCN's, where all open nodes train",
    (152_410, 23_699, 55_334): "GraphSAGE's, without the open nodes",
}


def load_reddit(
    path: str | os.PathLike[str],
    *,
    self_loops: SelfLoops = "keep",
    unflagged: Unflagged = "error",
    nan: Nan = "error",
    reading: Reading = AS_IT_IS,
) -> NodeDataset:
    """Load Reddit, or another graph whose nodes have one class each, from any layout.

    path       : a store (the way to go for the full set: it stays on disk); a folder in DGL's
                 (PyTorch Geometric's), GraphSAINT's or GraphSAGE's layout; a GraphSAGE prefix; a
                 folder with two tables (see csv_graph.py); or one `.npz` file (see npz.py). `~` is
                 expanded.
    self_loops : `keep` (Reddit has none), `drop`, or `add` one to every node.
    unflagged  : nodes that are in no split: refused (`error`), because public copies differ in
                 what becomes of them; or `drop` them, take them as `train` nodes, or keep them as
                 `context` (see make_dataset).
    nan        : features that are NaN: refused (`error`), taken as `zero`, or as the `mean` over
                 the training nodes.
    reading    : what to do where files leave a choice: see `Reading`.

    `notes` say which of the public splits it is, or which counts differ from the paper's Reddit.
    Raises DataError (one line: file, row or id, remedy), SettingsError.

    >>> import numpy as np
    >>> from gaancore.data import load_reddit
    >>> np.savez("mine.npz", x=np.eye(3), y=[4, 5, 5], split=[0, 1, 2], edge_index=[[0, 1], [1, 2]])
    >>> data = load_reddit("mine.npz")
    >>> data.labels.tolist(), data.class_names
    ([0, 1, 1], ('4', '5'))
    """
    dataset = load_nodes(
        path,
        name="reddit",
        multi_label=False,
        self_loops=self_loops,
        unflagged=unflagged,
        nan=nan,
        reading=reading,
    )
    if dataset.kind == "synthetic":
        return dataset
    return replace(dataset, notes=(*dataset.notes, *_compare(dataset)))


def _compare(dataset: NodeDataset) -> list[str]:
    sizes = tuple(int(dataset.nodes(split).size) for split in range(3))
    found = {
        "nodes": dataset.num_nodes,
        "arcs": dataset.num_edges - dataset.graph.num_self_loops,
        "features": dataset.num_features,
        "classes": dataset.num_classes,
    }
    differing = [
        f"{found[what]:,} {what} ({count:,})"
        for what, count in COUNTS.items()
        if found[what] != count
    ]
    notes = []
    if 0 < len(differing) < len(COUNTS):  # where all differ, it is plainly another dataset
        notes.append(f"not the paper's Reddit: {', '.join(differing)}")
    if sizes in SPLITS:
        notes.append(f"split: {SPLITS[sizes]}")
    elif not differing:
        notes.append("split: none of the public ones of Reddit")
    return notes
