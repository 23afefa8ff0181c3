"""A look-alike of Reddit at any size: written to a store at full size, in memory for a first run.

A post's neighbours reveal its class, since nearly half of them share it; its own features are off
topic two times in three. Scores on it say nothing about scores on Reddit.
"""

import os
from collections.abc import Iterator

import numpy as np

from gaancore.data.nodes.dataset import TEST, TRAIN, VALIDATION, NodeDataset
from gaancore.data.nodes.store.writer import store_writer
from gaancore.errors import SettingsError
from gaancore.graph import CSRGraph
from gaancore.graph.stream.rows import Progress, write_undirected
from gaancore.seeding import generator
from gaancore.system.mapped import forget_pages

NUM_NODES, MEAN_DEGREE = 232_965, 492.0  # of Reddit, as the paper uses it
SPLIT = {TRAIN: 153_431, VALIDATION: 23_831, TEST: 55_703}
NUM_FEATURES, NUM_CLASSES = 602, 41
SPREAD = 1.1  # of log degrees: a median of about half the mean, as a few hundred at full size
LARGEST = 44  # times the mean: the degree of Reddit's hub
OVERDRAW = 1.08  # edges drawn for one that stays: others are loops or repeats
SAME_CLASS = 0.5  # share of edges drawn within a class
ON_TOPIC = 0.35  # share of posts whose features are of their own class
FLIP = 0.03
SIGNAL = 0.5  # of a topic's features, in deviations of the noise
SLOTS_PER_NODE = 64  # of the table that edges are drawn from
DRAWS_AT_A_TIME = 4_000_000
ROWS_AT_A_TIME = 8_192
ENTRIES_AT_A_TIME = 300_000_000  # all at full size: to draw the edges again costs more than room
NOTE = "synthetic data: its scores say nothing about Reddit"


def synthetic_reddit(seed: int = 0, *, scale: float = 0.02) -> NodeDataset:
    r"""The look-alike in memory.

    scale : of 232,965 nodes; mean degree 492 sqrt(scale). All splits keep their share.
    Graph : heavy-tailed degrees: the ends of an edge are drawn in proportion to w_i, log w normal
            with deviation 1.1, w at most 44 times its mean. The second end is drawn among the
            first one's class for half of the edges, among all nodes for the others.
    Truth : each node has a class g_i of 41, of sizes in proportion to 1 / (c + 4), and a topic
            z_i, which is g_i with probability 0.35 and else drawn like a class.
    Features : x_i = 0.5 m_z + noise, 602 of them; m and noise are standard normal.
    Labels : g_i, but replaced by any class with probability 0.03.

    A model that sees a node alone can at best tell its topic, and is right for about 0.37 of the
    nodes; the topics of its neighbours give its class away. `ceiling` is the accuracy of g itself
    on the test nodes, which no model can beat except by luck. Nodes are in the
    order of their splits.

    The same arguments give the same bits. Raises SettingsError below 200 nodes.

    >>> from gaancore.data import synthetic_reddit
    >>> synthetic_reddit(scale=0.001).num_classes
    41
    """
    drawn = _Draws(seed, scale)
    src, dst = (np.concatenate(ends) for ends in zip(*drawn.edge_chunks(), strict=True))
    features = np.empty((drawn.num_nodes, NUM_FEATURES), np.float32)
    drawn.fill_features(features)
    one_way = CSRGraph.from_edges(src, dst, drawn.num_nodes, duplicates="merge")
    return NodeDataset(
        name="synthetic-reddit",
        kind="synthetic",
        path=None,
        graph=one_way.undirected(),
        features=features,
        labels=drawn.labels,
        split=drawn.split,
        graph_ids=None,
        node_ids=np.arange(drawn.num_nodes),
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
    drawn = _Draws(seed, scale)
    with store_writer(path) as writer:
        writer.save("split", drawn.split)
        writer.save("labels", drawn.labels)
        shape = (drawn.num_nodes, NUM_FEATURES)
        drawn.fill_features(writer.create("features", shape, np.float32))
        progress(0.1)
        counts = write_undirected(
            writer.folder,
            drawn.num_nodes,
            drawn.edge_chunks,
            entries_at_a_time=ENTRIES_AT_A_TIME,
            progress=lambda share: progress(0.1 + 0.85 * share),
        )
        writer.finish(
            name="synthetic-reddit",
            kind="synthetic",
            num_classes=NUM_CLASSES,
            num_self_loops=counts.num_self_loops,
            notes=[NOTE, f"drawn with seed {seed} at scale {scale:g}"],
            ceiling=drawn.ceiling,
        )
        progress(1.0)


class _Draws:
    """Everything about the nodes, and how their edges and features are drawn, chunk by chunk."""

    def __init__(self, seed: int, scale: float) -> None:
        self.seed = seed
        self.num_nodes = round(NUM_NODES * scale)
        if self.num_nodes < 200:
            raise SettingsError(f"synthetic reddit: scale: {scale} gives fewer than 200 nodes")
        self.num_draws = round(self.num_nodes * MEAN_DEGREE * scale**0.5 / 2 * OVERDRAW)
        stops = [round(n * scale) for n in np.cumsum(list(SPLIT.values()))]
        self.split = np.searchsorted(stops, np.arange(self.num_nodes), side="right").astype(np.int8)

        rng = generator(seed, "synthetic_reddit nodes")
        sizes = 1 / np.arange(4.0, 4.0 + NUM_CLASSES)
        classes, others = rng.choice(NUM_CLASSES, (2, self.num_nodes), p=sizes / sizes.sum())
        on_topic = rng.random(self.num_nodes) < ON_TOPIC
        self.topics = np.where(on_topic, classes, others)
        flipped = rng.random(self.num_nodes) < FLIP
        self.labels = np.where(flipped, rng.integers(NUM_CLASSES, size=self.num_nodes), classes)
        tested = self.split == TEST
        self.ceiling = float(np.mean(self.labels[tested] == classes[tested]))

        # The number of a node's slots follows its weight; a class's slots are next to each other.
        weights = np.exp(SPREAD * rng.standard_normal(self.num_nodes))
        weights = np.minimum(weights, LARGEST * weights.mean())
        order = np.argsort(classes, kind="stable").astype(np.int32)
        shares = np.cumsum(weights[order])
        stops = np.rint(shares / shares[-1] * SLOTS_PER_NODE * self.num_nodes).astype(np.int64)
        self.slots = np.repeat(order, np.diff(stops, prepend=0))
        self.classes = classes
        last_node = np.searchsorted(classes[order], np.arange(NUM_CLASSES), side="right")
        self.class_stops = np.concatenate([[0], stops])[last_node]
        self.class_starts = np.concatenate([[0], self.class_stops[:-1]])

    def edge_chunks(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """The edges, one way each, without loops; some are drawn again. The same at each call."""
        for chunk, start in enumerate(range(0, self.num_draws, DRAWS_AT_A_TIME)):
            rng = generator(self.seed, "synthetic_reddit edges", chunk)
            size = min(DRAWS_AT_A_TIME, self.num_draws - start)
            src = self.slots[rng.integers(self.slots.size, size=size)]
            within = rng.random(size) < SAME_CLASS
            first = np.where(within, self.class_starts[self.classes[src]], 0)
            stop = np.where(within, self.class_stops[self.classes[src]], self.slots.size)
            dst = self.slots[(first + (stop - first) * rng.random(size)).astype(np.int64)]
            proper = src != dst
            yield src[proper], dst[proper]

    def fill_features(self, features: np.ndarray) -> None:
        """Fill (N, 602), a chunk of rows at a time."""
        rng = generator(self.seed, "synthetic_reddit topics")
        means = SIGNAL * rng.standard_normal((NUM_CLASSES, NUM_FEATURES), np.float32)
        for chunk, start in enumerate(range(0, self.num_nodes, ROWS_AT_A_TIME)):
            rng = generator(self.seed, "synthetic_reddit features", chunk)
            topics = self.topics[start : start + ROWS_AT_A_TIME]
            noise = rng.standard_normal((topics.size, NUM_FEATURES), np.float32)
            features[start : start + topics.size] = means[topics] + noise
            forget_pages(features)
