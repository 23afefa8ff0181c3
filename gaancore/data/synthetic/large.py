"""A graph of any size, up to thousands of millions of arcs, written to a store in bounded memory.

It is drawn as the look-alike of Reddit is, and has the proportions of a large graph of citations:
few arcs a node, and labels for one node in seventy, all others being neighbours alone.
"""

import os

import numpy as np

from gaancore.data.nodes.dataset import TEST, TRAIN, UNFLAGGED, VALIDATION
from gaancore.data.nodes.store.writer import store_writer
from gaancore.data.synthetic.draws import Draws, Size
from gaancore.errors import SettingsError
from gaancore.graph.stream.rows import MOST_NODES, Progress

# Shares of the nodes: those of the graph of 111 million papers that OGB calls papers100M
SHARES = {TRAIN: 0.0109, VALIDATION: 0.0011, TEST: 0.0019}
NOTE = "synthetic data: its scores say nothing about any other graph"


def write_synthetic_graph(
    path: str | os.PathLike[str],
    seed: int = 0,
    *,
    num_nodes: int,
    num_arcs: int,
    num_features: int = 64,
    progress: Progress = lambda share: None,
) -> None:
    """Write a graph to a store, see `Draws`.

    num_arcs : about so many, two for an edge: those that are drawn again are merged, which makes
               a difference where arcs are many for the nodes.
    Features are float16. 1.39 % of the nodes have a label and a part in the split; the others are
    in none. Memory is some 80 bytes a node and 1 GB; a temporary file beside `path` has 4 bytes for
    each arc while the graph is put in order.
    progress : called now and then with the share of the work that is done.
    The same arguments give the same bytes. Raises SettingsError below 2,000 nodes, for 2^31 or
    more, and without arcs or features; DataError if `path` exists or cannot be written.

    >>> from gaancore.data import open_store
    >>> from gaancore.data.synthetic.large import write_synthetic_graph
    >>> write_synthetic_graph("graph", num_nodes=20_000, num_arcs=100_000, num_features=8)
    >>> data = open_store("graph")
    >>> data.num_edges, data.features.dtype.name
    (98352, 'float16')
    """
    for name, value, least, most in (
        ("nodes", num_nodes, 2_000, MOST_NODES),
        ("arcs", num_arcs, 2, 2**62),
        ("features", num_features, 1, 2**31),
    ):
        if not least <= value <= most:
            raise SettingsError(
                f"synthetic graph: {name}: expected {least:,} to {most:,}, got {value:,}"
            )
    labelled = {part: round(share * num_nodes) for part, share in SHARES.items()}
    size = Size(
        name="synthetic_graph",
        sizes={UNFLAGGED: num_nodes - sum(labelled.values()), **labelled},
        num_draws=num_arcs // 2,
        num_features=num_features,
        feature_type=np.float16,
        slots_per_node=8,
        entries_at_a_time=200_000_000,
    )
    asked = f"drawn with seed {seed} for {num_nodes:,} nodes and {num_arcs:,} arcs"
    with store_writer(path) as writer:
        Draws(seed, size).write(writer, [NOTE, asked], progress)
