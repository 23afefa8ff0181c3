"""Which nodes a training step is about, the blocks that lead to them, and what goes in."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any

import numpy as np

from gaancore.array import (
    Array,
    array_module,
    memory_of,
    on_device_of,
    to_device,
    to_device_together,
)
from gaancore.data.nodes.dataset import TRAIN, NodeDataset
from gaancore.data.nodes.features.standardised import ROWS_AT_A_TIME, Features
from gaancore.data.nodes.rows import NodeRows
from gaancore.data.parts.rows import PartedRows
from gaancore.errors import DataError
from gaancore.graph.block import Block
from gaancore.graph.sampler import drop_edges, sample_blocks
from gaancore.parallel import ONE_SHARE, Shares
from gaancore.seeding import derive_seed, generator
from gaancore.sparse import CSRMatrix
from gaancore.training.nodes.settings import NodeSettings
from gaancore.training.pieces import WHOLE
from gaancore.training.step import Step

RISING = 30  # epochs until consistency has its whole weight: first outputs are no teachers
Key = tuple[int, ...]  # epoch, step, and share if there are several
SHARE = 0.5  # of the free memory that features may take; the model and its tape need the rest


@dataclass(frozen=True)
class Batch:
    """All that a share of a step needs: made on the host, ahead of the step if need be.

    x (num_src of the outermost block, F) float32, dense or sparse, or the rows of its nodes in
    `table`, which has the features of all on the device; labels as in a dataset, a row for each
    seed. dropout_seed is that of this share. Without seeds there are no parts.

    consistency : the weight of consistency_loss in this share; with it, the last block has also the
                  nodes without a label to learn from, behind the seeds.
    """

    seeds: np.ndarray
    blocks: list[Block]
    x: Array | CSRMatrix
    labels: Array
    dropout_seed: int
    table: Array | None = None
    consistency: float = 0.0

    def inputs(self) -> Array:
        """(num_src of the outermost block, F), on the device."""
        if self.table is None:
            return self.x
        with on_device_of(self.table):
            return self.table[self.x]

    @property
    def parts(self) -> Sequence[None]:
        return (WHOLE,) if self.seeds.size or self.consistency else ()

    @property
    def edges(self) -> int:
        return sum(block.num_edges for block in self.blocks)

    def to(self, device: str) -> "Batch":
        """The same with blocks, x and labels on `device` (see to_device)."""
        if device == "cpu":
            return self
        distinct = {id(block): block for block in self.blocks}  # some are used twice
        small: list[Any] = [x for block in distinct.values() for x in block.offsets()]
        small += [self.labels] if self.table is None else [self.labels, self.x]
        there = iter(to_device_together(small, device))  # in one copy
        moved = {
            key: block.made_of(list(islice(there, len(block.offsets()))))
            for key, block in distinct.items()
        }
        labels = next(there)
        x = features_to(self.x, device) if self.table is None else next(there)
        blocks = [moved[id(block)] for block in self.blocks]
        return replace(self, blocks=blocks, x=x, labels=labels)


def features_to(x: Array | CSRMatrix, device: str) -> Array | CSRMatrix:
    """Features, dense or sparse, on `device`."""
    return x.to(device) if isinstance(x, CSRMatrix) else to_device(x, device)


class Batches:
    """The steps of every epoch over a training view, each a function of (run seed, epoch, step).

    `batch = "seeds"`: a permutation of `nodes`, the training nodes, in batches of `batch_size`, the
    last one short; with `batch_size` 0 all of them in one.
    `batch = "graphs"`: whole graphs, put together once (in the order of their ids) until a step
    has at least `batch_size` training nodes (a rest goes to the last one); their order is drawn
    each epoch. With `batch_size` 0 one step takes all of them.
    Graphs are those that the files name, else the connected components.

    view : its nodes are learned from. rows: reads what belongs to them.

    A step is cut into `shares`, runs of its seeds; each draws neighbours and dropout of its own,
    by the number of the share. With `consistency`, the other nodes of the view are cut likewise.
    Raises DataError for whole graphs if an edge leads from one to another.
    """

    def __init__(
        self,
        view: NodeDataset | PartedRows,
        rows: NodeRows,
        settings: NodeSettings,
        num_layers: int,
        shares: Shares = ONE_SHARE,
        table: Array | None = None,
    ) -> None:
        self.rows, self.table = rows, table
        self.settings = settings
        self.shares = shares
        self.fanouts = settings.fanouts[:num_layers]
        self.groups: list[np.ndarray] = []
        if isinstance(view, NodeDataset) and settings.batch == "graphs":
            self.groups, self.graph = _whole_graphs(view, settings), view.graph
        self.nodes = view.nodes(TRAIN)
        self.others = self.nodes[:0]  # without a label to learn from
        if settings.consistency:
            self.others = np.delete(np.arange(view.num_nodes), self.nodes)
        self.size = settings.batch_size or max(1, self.nodes.size)
        self._whole: dict[int, list[Block]] = {}
        self._order = (-1, np.zeros(0, np.int64))

    @property
    def steps_per_epoch(self) -> int:
        return len(self.groups) or -(-self.nodes.size // self.size)

    def seeds(self, epoch: int, step: int) -> np.ndarray:
        """The nodes whose loss step number `step` of `epoch` is about."""
        drawn, order = self._order
        if drawn != epoch:
            rng = generator(self.settings.seed, "order", epoch)
            order = rng.permutation(len(self.groups) or self.nodes)
            self._order = (epoch, order)
        if self.groups:
            return self.groups[order[step]]
        return order[step * self.size : (step + 1) * self.size]

    def step(self, number: int) -> Step:
        """This rank's shares of step `number` of the run, counted from 0. Several threads may make
        steps at once.
        """
        epoch, step = divmod(number, self.steps_per_epoch)
        seeds = self.seeds(epoch, step)
        cuts = (self.shares.cut(nodes.size) for nodes in (seeds, self.others))
        parts = [(seeds[part], self.others[more]) for part, more in zip(*cuts, strict=True)]
        alone = self.shares.count == 1  # its key is that of the step alone
        keys = [(epoch, step) if alone else (epoch, step, share) for share in self.shares.own]
        return Step(self._batches(parts, keys), seeds.size)

    def _batches(
        self, parts: Sequence[tuple[np.ndarray, np.ndarray]], keys: Sequence[Key]
    ) -> list[Batch]:
        """What is to be learned from each of several runs of seeds, and from other nodes without
        their labels.
        """
        nodes = [np.concatenate(part) if part[1].size else part[0] for part in parts]
        of_parts = self.blocks(nodes, keys)
        for block in chain(*of_parts):
            _ = block.transpose  # the gradient will ask for it
        pairs = zip(of_parts, nodes, strict=True)
        met = [blocks[0].src_ids if blocks else own for blocks, own in pairs]
        xs = self.rows.features(met) if self.table is None else met
        for x in xs:
            if isinstance(x, CSRMatrix):
                _ = x.transpose
        labels = self.rows.labels([seeds for seeds, _ in parts])
        dropout_seeds = [derive_seed(self.settings.seed, "dropout", *key) for key in keys]
        made = zip(parts, of_parts, xs, labels, dropout_seeds, keys, strict=True)
        return [
            Batch(seeds, blocks, x, y, dropout_seed, self.table, self._weight(others, key))
            for (seeds, others), blocks, x, y, dropout_seed, key in made
        ]

    def _weight(self, others: np.ndarray, key: Key) -> float:
        """Of consistency_loss in a share that has some of the nodes without a label."""
        rising = self.settings.consistency * min(1.0, (key[0] + 1) / RISING)
        return rising * others.size / max(1, self.others.size)

    def blocks(self, parts: Sequence[np.ndarray], keys: Sequence[Key]) -> list[list[Block]]:
        """The blocks for each run of seeds, outermost first, less a share `edge_dropout` of their
        edges; none without seeds.
        """
        rate, seed = self.settings.edge_dropout, self.settings.seed
        return [
            [
                drop_edges(
                    block, rate, seed=derive_seed(seed, "edge dropout", *key[:2], layer, *key[2:])
                )
                for layer, block in enumerate(blocks)
            ]
            for blocks, key in zip(self._all_edges(parts, keys), keys, strict=True)
        ]

    def _all_edges(self, parts: Sequence[np.ndarray], keys: Sequence[Key]) -> list[list[Block]]:
        """The blocks as they are sampled; those of whole graphs are built once and kept."""
        if not self.fanouts:
            return [[] for _ in parts]
        seeds = [derive_seed(self.settings.seed, "sampler", *key) for key in keys]
        if not self.groups or any(fanout != -1 for fanout in self.fanouts):
            return self.rows.blocks(parts, self.fanouts, seeds)
        return [self._of_graphs(part) if part.size else [] for part in parts]

    def _of_graphs(self, nodes: np.ndarray) -> list[Block]:
        first = int(nodes[0])
        if first not in self._whole:  # nothing is drawn
            seen = self.nodes.size + self.others.size
            if seen == self.graph.num_nodes and self.shares.count == 1:  # closed under neighbours
                self._whole[first] = [self.graph.block_of(nodes)] * len(self.fanouts)
            else:
                self._whole[first] = sample_blocks(self.graph, nodes, self.fanouts, seed=0)
        return self._whole[first]


def table_on(device: str, features: Features) -> tuple[Array | None, str]:
    """All rows of `features` on a CUDA device, standardised as they are fetched, or None where they
    do not fit; and a line on which it is. On a CPU, or of sparse rows, None and nothing to say.
    """
    if device == "cpu" or isinstance(features[np.arange(0)], CSRMatrix):
        return None, ""
    size, free = 4 * int(np.prod(features.shape)), memory_of(device)[0]
    sizes = f"{size / 1e6:,.0f} MB of features, {free / 1e6:,.0f} MB free on {device}"
    if size > SHARE * free:
        return None, f"{sizes}: their rows are sent step by step"
    first: Array = to_device(np.zeros(0), device)
    with on_device_of(first):
        table = array_module(first).empty(features.shape, np.float32)
        for start in range(0, features.shape[0], ROWS_AT_A_TIME):
            nodes = np.arange(start, min(start + ROWS_AT_A_TIME, features.shape[0]))
            table[start : start + nodes.size] = features_to(features[nodes], device)
    return table, f"{sizes}: they are kept there"


def _whole_graphs(view: NodeDataset, settings: NodeSettings) -> list[np.ndarray]:
    graph_ids = view.graph_ids
    if graph_ids is None:  # of what training sees: other edges must not decide who shares a step
        graph_ids = view.graph.connected_components()
    src, dst = view.graph.edges()
    if (crossing := np.flatnonzero(graph_ids[src] != graph_ids[dst])).size:
        a, b = src[crossing[0]], dst[crossing[0]]
        raise DataError(
            f"{view.path}: the edge {view.node_ids[a]} - {view.node_ids[b]} leads from graph "
            f"{graph_ids[a]} to graph {graph_ids[b]}; use batch = seeds"
        )
    nodes = view.nodes(TRAIN)
    order = nodes[np.argsort(graph_ids[nodes], kind="stable")]
    _, starts = np.unique(graph_ids[order], return_index=True)
    groups: list[np.ndarray] = []
    waiting: list[np.ndarray] = []
    for nodes in np.split(order, starts[1:]):
        waiting.append(nodes)
        if settings.batch_size and sum(map(len, waiting)) >= settings.batch_size:
            groups.append(np.concatenate(waiting))
            waiting = []
    if waiting:  # too few for a step of their own
        waiting = [groups.pop(), *waiting] if groups else waiting
        groups.append(np.concatenate(waiting))
    return groups
