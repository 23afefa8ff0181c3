"""Graphs of posts: heavy-tailed degrees, and classes that a node's neighbours reveal.

Drawn a chunk at a time, so that a graph may be larger than memory: it takes a few dozen bytes a
node, and its edges lie in a temporary file.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gaancore.data.nodes.dataset import TEST
from gaancore.data.nodes.store.writer import StoreWriter
from gaancore.graph import ArcList
from gaancore.graph.stream.rows import Progress, write_undirected
from gaancore.seeding import generator
from gaancore.system.mapped import forget_pages, in_a_file, scratch_in

NUM_CLASSES = 41
SPREAD = 1.1  # of log degrees: a median of about half the mean
LARGEST = 44  # times the mean: the degree of Reddit's hub
SAME_CLASS = 0.5  # share of edges drawn within a class
ON_TOPIC = 0.35  # share of nodes whose features are of their own class
FLIP = 0.03
SIGNAL = 0.5  # of a topic's features, in deviations of the noise
DRAWS_AT_A_TIME = 4_000_000
NODES_AT_A_TIME = 1_000_000
ROWS_AT_A_TIME = 8_192


@dataclass(frozen=True)
class Size:
    """What is drawn.

    name           : a part of the seeds.
    sizes          : nodes of each part of the split, by its number, in rising order.
    num_draws      : edges drawn, of which loops and repeats are none.
    slots_per_node : of the table that edges are drawn from: how finely degrees differ.
    entries_at_a_time : of the graph that is put in order, see `write_undirected`.
    """

    name: str
    sizes: dict[int, int]
    num_draws: int
    num_features: int
    feature_type: Any
    slots_per_node: int
    entries_at_a_time: int

    @property
    def num_nodes(self) -> int:
        return sum(self.sizes.values())


@dataclass
class Draws:
    """Everything about the nodes, and how their edges and features are drawn, chunk by chunk.

    Graph : heavy-tailed degrees: the ends of an edge are drawn in proportion to w_i, log w normal
            with deviation 1.1, w at most 44 times its mean. The second end is drawn among the
            first one's class for half of the edges, among all nodes for the others.
    Truth : each node has a class g_i of 41, of sizes in proportion to 1 / (c + 4), and a topic
            z_i, which is g_i with probability 0.35 and else drawn like a class.
    Features : x_i = 0.5 m_z + noise; m and noise are standard normal.
    Labels : g_i, but replaced by any class with probability 0.03.

    A model that sees a node alone can at best tell its topic, and is right for about 0.37 of the
    nodes; the topics of its neighbours give its class away. `ceiling` is the accuracy of g itself
    on the test nodes, which no model can beat except by luck.
    """

    seed: int
    size: Size
    split: np.ndarray = field(init=False)  # (N,) int8
    classes: np.ndarray = field(init=False)  # (N,) int8, like topics and labels
    topics: np.ndarray = field(init=False)
    labels: np.ndarray = field(init=False)
    ceiling: float = field(init=False)

    def __post_init__(self) -> None:
        n, sizes = self.size.num_nodes, self.size.sizes
        self.split = np.repeat(np.array([*sizes], np.int8), [*sizes.values()])
        rng = generator(self.seed, f"{self.size.name} nodes")
        shares = 1 / np.arange(4.0, 4.0 + NUM_CLASSES)
        stops = np.cumsum(shares / shares.sum())
        stops /= stops[-1]
        self.classes, self.topics = (
            _in_parts(n, lambda size: stops.searchsorted(rng.random(size), side="right"), np.int8)
            for _ in range(2)
        )
        on_topic = _in_parts(n, lambda size: rng.random(size) < ON_TOPIC, bool)
        self.topics[on_topic] = self.classes[on_topic]
        flipped = _in_parts(n, lambda size: rng.random(size) < FLIP, bool)
        self.labels = _in_parts(n, lambda size: rng.integers(NUM_CLASSES, size=size), np.int8)
        self.labels[~flipped] = self.classes[~flipped]
        tested = self.split == TEST
        self.ceiling = float(np.mean(self.labels[tested] == self.classes[tested]))

        # The number of a node's slots follows its weight; a class's slots are next to each other.
        weights = rng.standard_normal(n)
        weights *= SPREAD
        np.exp(weights, out=weights)
        np.minimum(weights, LARGEST * weights.mean(), out=weights)
        order = np.argsort(self.classes, kind="stable").astype(np.int32)
        ends = np.cumsum(weights[order])
        del weights
        ends /= ends[-1]
        ends *= self.size.slots_per_node * n
        places = np.rint(ends, out=ends).astype(np.int64)
        del ends
        last_node = np.searchsorted(self.classes[order], np.arange(NUM_CLASSES), side="right")
        self._stops = np.where(last_node, places[last_node - 1], 0)
        self._starts = np.concatenate([[0], self._stops[:-1]])
        self._slots = np.repeat(order, np.diff(places, prepend=0))

    def edge_chunks(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """The edges, one way each, without loops; some are drawn again."""
        slots, most = self._slots, self.size.num_draws
        for chunk, start in enumerate(range(0, most, DRAWS_AT_A_TIME)):
            rng = generator(self.seed, f"{self.size.name} edges", chunk)
            size = min(DRAWS_AT_A_TIME, most - start)
            src = slots[rng.integers(slots.size, size=size)]
            within = rng.random(size) < SAME_CLASS
            first = np.where(within, self._starts[self.classes[src]], 0)
            stop = np.where(within, self._stops[self.classes[src]], slots.size)
            dst = slots[(first + (stop - first) * rng.random(size)).astype(np.int64)]
            proper = src != dst
            yield src[proper], dst[proper]

    def fill_features(self, features: np.ndarray, progress: Progress = lambda share: None) -> None:
        """Fill (N, F), a chunk of rows at a time."""
        shape = NUM_CLASSES, self.size.num_features
        rng = generator(self.seed, f"{self.size.name} topics")
        means = SIGNAL * rng.standard_normal(shape, np.float32)
        for chunk, start in enumerate(range(0, len(features), ROWS_AT_A_TIME)):
            rng = generator(self.seed, f"{self.size.name} features", chunk)
            topics = self.topics[start : start + ROWS_AT_A_TIME]
            noise = rng.standard_normal((topics.size, shape[1]), np.float32)
            features[start : start + topics.size] = means[topics] + noise
            forget_pages(features)
            progress(start / len(features))

    def write(self, writer: StoreWriter, notes: list[str], progress: Progress) -> None:
        """Fill a new store, and call it by the name of the size."""
        n, size = self.size.num_nodes, self.size
        writer.save("split", self.split)
        labels = writer.create("labels", (n,), np.int64)
        for start in range(0, n, NODES_AT_A_TIME):
            part = slice(start, start + NODES_AT_A_TIME)
            labels[part] = self.labels[part]
        features = writer.create("features", (n, size.num_features), size.feature_type)
        self.fill_features(features, lambda share: progress(0.25 * share))
        with scratch_in(writer.folder):
            arcs = self._drawn_arcs(lambda share: progress(0.25 + 0.25 * share))
        counts = write_undirected(
            writer.folder, n, arcs.edge_chunks,
            entries_at_a_time=size.entries_at_a_time,
            progress=lambda share: progress(0.5 + 0.45 * share),
        )  # fmt: skip
        writer.finish(
            name=size.name.replace("_", "-"),
            kind="synthetic",
            num_classes=NUM_CLASSES,
            num_self_loops=counts.num_self_loops,
            notes=notes,
            ceiling=self.ceiling,
        )
        progress(1.0)

    def _drawn_arcs(self, progress: Progress) -> ArcList:
        """The edges in a temporary file, since they are read several times; then the table that
        they were drawn from is no longer needed."""
        most = self.size.num_draws
        ends, stop = in_a_file((2, most), np.int32), 0
        for src, dst in self.edge_chunks():
            ends[:, stop : stop + src.size] = src, dst
            stop += src.size
            forget_pages(ends)
            progress(stop / most)
        self._slots = np.zeros(0, np.int32)
        return ArcList(ends[0, :stop], ends[1, :stop], self.size.num_nodes)


def _in_parts(count: int, draw: Any, dtype: Any) -> np.ndarray:
    """`count` numbers of draw(size), which need more memory while they are made than kept."""
    found = np.empty(count, dtype)
    for start in range(0, count, NODES_AT_A_TIME):
        part = found[start : start + NODES_AT_A_TIME]
        part[:] = draw(part.size)
    return found
