"""A look-alike of Reddit at any size: written to a store at full size, in memory for a first run.

A post's neighbours reveal its class, since nearly half of them share it; its own features are off
topic two times in three. Scores on it say nothing about scores on Reddit.
"""

import os

import numpy as np

from gaancore.data.nodes.dataset import TEST, TRAIN, VALIDATION, NodeDataset
from gaancore.data.nodes.store.writer import store_writer
from gaancore.data.synthetic.draws import NUM_CLASSES, Draws, Size
from gaancore.errors import SettingsError
from gaancore.graph import CSRGraph
from gaancore.graph.stream.rows import Progress

NUM_NODES, MEAN_DEGREE = 232_965, 492.0  # of Reddit, as the paper uses it
SPLIT = {TRAIN: 153_431, VALIDATION: 23_831, TEST: 55_703}
NUM_FEATURES = 602
OVERDRAW = 1.08  # edges drawn for one that stays: others are loops or repeats
NOTE = "synthetic data: its scores say nothing about Reddit"


def synthetic_reddit(seed: int = 0, *, scale: float = 0.02) -> NodeDataset:
    r"""The look-alike in memory.

    scale : of 232,965 nodes; mean degree 492 sqrt(scale). All splits keep their share.
    Degrees, classes, features and labels are drawn as `Draws` says, with 602 features. Nodes are in
    the order of their splits.

    The same arguments give the same bits. Raises SettingsError below 200 nodes.

    >>> from gaancore.data import synthetic_reddit
    >>> synthetic_reddit(scale=0.001).num_classes
    41
    """
    drawn = Draws(seed, _size(scale))
    n = drawn.size.num_nodes
    src, dst = (np.concatenate(ends) for ends in zip(*drawn.edge_chunks(), strict=True))
    features = np.empty((n, NUM_FEATURES), np.float32)
    drawn.fill_features(features)
    one_way = CSRGraph.from_edges(src, dst, n, duplicates="merge")
    return NodeDataset(
        name="synthetic-reddit",
        kind="synthetic",
        path=None,
        graph=one_way.undirected(),
        features=features,
        labels=drawn.labels.astype(np.int64),
        split=drawn.split,
        graph_ids=None,
        node_ids=np.arange(n),
        num_classes=NUM_CLASSES,
        notes=(NOTE,),
        ceiling=drawn.ceiling,
    )


def write_synthetic_reddit(
    path: str | os.PathLike[str],
    seed: int = 0,
    *,
    scale: float = 1.0,
    progress: Progress = lambda share: None,
) -> None:
    """Write the same dataset to a store, in memory that is far below the graph's size.

    progress : called now and then with the share of the work that is done.
    Raises SettingsError as above, DataError if `path` exists or cannot be written.
    """
    drawn = Draws(seed, _size(scale))
    with store_writer(path) as writer:
        drawn.write(writer, [NOTE, f"drawn with seed {seed} at scale {scale:g}"], progress)


def _size(scale: float) -> Size:
    num_nodes = round(NUM_NODES * scale)
    if num_nodes < 200:
        raise SettingsError(f"synthetic reddit: scale: {scale} gives fewer than 200 nodes")
    stops = [*(round(n * scale) for n in np.cumsum([*SPLIT.values()])[:-1]), num_nodes]
    return Size(
        name="synthetic_reddit",
        sizes=dict(zip(SPLIT, np.diff(stops, prepend=0).tolist(), strict=True)),
        num_draws=round(num_nodes * MEAN_DEGREE * scale**0.5 / 2 * OVERDRAW),
        num_features=NUM_FEATURES,
        feature_type=np.float32,
        slots_per_node=64,
        entries_at_a_time=200_000_000,
    )
