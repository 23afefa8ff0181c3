"""Rows of a store in parts by node id: this rank's own are read, the others' are asked for.

All ranks have to ask at the same time, even for nothing (see `gaancore.parallel.ask_rows`).
"""

from collections.abc import Sequence
from functools import partial
from itertools import pairwise

import numpy as np

from gaancore.data.nodes.features.standardised import shares_in_place
from gaancore.data.parts.dataset import PartedDataset
from gaancore.data.parts.part import HeldRows, Part, lists_in_order, open_part
from gaancore.errors import SettingsError
from gaancore.graph.block import Block
from gaancore.graph.checks import read_only
from gaancore.kernels.cpu.gather import gather_pieces, gather_rows
from gaancore.parallel import ALONE, Shares, Team, ask_lists, ask_pieces, ask_rows

ALL = -1  # of a node's neighbours


class OpenParts:
    """The parts of one rank, the rows it keeps of others' nodes, and the way to all others.

    Parts are dealt out in runs, by their numbers: rank r of R has parts P r // R .. P (r + 1) // R.

    Each rank also keeps the rows of those of others' nodes that have the most neighbours: of all
    nodes the share `dataset.cache` (of those with as many neighbours, the lowest ids).

    Raises DataError (see `open_part`), SettingsError for fewer parts than ranks; on all ranks.
    """

    def __init__(self, dataset: PartedDataset, team: Team = ALONE) -> None:
        count = dataset.num_parts
        if count < team.size:
            raise SettingsError(
                f"{dataset.path}: {count} parts for {team.size} processes; cut it into "
                f"{team.size} parts or more, or start {count} at most"
            )
        team.expect_same({"data: parts": dataset.identity, "cache": dataset.cache})
        self.dataset, self.team = dataset, team
        shares = Shares(count, team)
        with team.together():
            who = team.name if team.size > 1 else "this process"
            own = [open_part(dataset, number, who) for number in shares.own]
        owners = team.all(len(own))
        self._owner_of_part = np.repeat(np.arange(team.size), owners)
        self.held = HeldRows(own, dataset.firsts[shares.own.start : shares.own.stop].tolist())
        self._kept = np.zeros(0, np.int64)  # ids whose rows are kept, ascending
        self._rows = np.zeros(3, np.int64)  # that were read: own, kept, fetched
        if team.size > 1:
            self._keep(self._most_asked(own, int(dataset.cache * dataset.num_nodes)))

    def locate(self, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The rank that is to be asked for each node, and the node's place there."""
        places = self.dataset.places[nodes].astype(np.int64)
        part = np.searchsorted(self.dataset.firsts, places, side="right") - 1
        owner, rank = self._owner_of_part[part], self.team.rank
        if self.team.size == 1:
            return owner, places
        elsewhere = np.flatnonzero(owner != rank)
        if self._kept.size:
            wanted = nodes[elsewhere]
            at = np.minimum(np.searchsorted(self._kept, wanted), self._kept.size - 1)
            kept = self._kept[at] == wanted
            owner[elsewhere[kept]] = rank
            places[elsewhere[kept]] = self.dataset.num_nodes + at[kept]
        fetched = int(np.count_nonzero(owner != rank))
        self._rows += [nodes.size - elsewhere.size, elsewhere.size - fetched, fetched]
        return owner, places

    def rows_read(self) -> tuple[int, int, int]:
        """How many rows all ranks have read since this was last asked: own ones, kept ones, and
        those that they had to fetch.
        """
        own, kept, fetched = np.sum(self.team.all(self._rows.tolist()), axis=0).tolist()
        self._rows[:] = 0
        return own, kept, fetched

    def _most_asked(self, own: Sequence[Part], count: int) -> np.ndarray:
        """The ids of the `count` nodes with the most neighbours, ascending."""
        nodes = np.concatenate([part.nodes for part in own])
        degrees = np.concatenate([np.diff(part.indptr) for part in own])
        best = np.lexsort((nodes, -degrees))[:count]
        found = self.team.all([nodes[best], degrees[best]])
        nodes, degrees = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return np.sort(nodes[np.lexsort((nodes, -degrees))[:count]])

    def _keep(self, nodes: np.ndarray) -> None:
        """Fetch the rows of those `nodes` that other ranks have, and keep them."""
        owner, _ = self.locate(nodes)
        nodes = nodes[owner != self.team.rank]
        rows = PartedRows(self, self.dataset.num_nodes)
        ((indptr, (neighbours, *attr)),) = rows.drawn([nodes], ALL, [0], 0, edges=True)
        features, labels = rows.features([nodes])[0], rows.labels([nodes])[0]
        part = Part(nodes, read_only(indptr), neighbours, read_only(features), labels, *attr)
        firsts = [*self.held.firsts.tolist(), self.dataset.num_nodes]
        self.held = HeldRows([*self.held.parts, part], firsts)
        self._kept = nodes
        self._rows[:] = 0

    @property
    def num_kept(self) -> int:
        """Nodes of other ranks whose rows are kept here."""
        return self._kept.size


class PartedRows:
    """The first `seen` nodes of a store in parts, those that some split may see, and their rows.

    statistics : (mean, scale), each (F,), by which features are standardised; None: as they are.
    by_row     : see Features.
    edges      : (mean, scale), each (B,), by which features of edges are standardised; None: blocks
                 carry none.
    """

    def __init__(
        self,
        parts: OpenParts,
        seen: int,
        statistics: tuple[np.ndarray, np.ndarray] | None = None,
        *,
        by_row: bool = False,
        edges: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> None:
        self.parts, self.team = parts, parts.team
        self.num_nodes = seen
        self.statistics = statistics
        self.by_row = by_row
        self.edges = edges

    def nodes(self, split: int) -> np.ndarray:
        """As of a dataset."""
        return self.parts.dataset.nodes(split)

    def blocks(
        self, seeds: Sequence[np.ndarray], fanouts: Sequence[int], keys: Sequence[int]
    ) -> list[list[Block]]:
        """The blocks that `sample_blocks` would draw of the whole graph, of each of several batches
        of seeds; none for a batch without seeds.
        """
        found: list[list[Block]] = [[] for _ in seeds]
        rows = list(seeds)
        for step, fanout in enumerate(fanouts):
            drawn = self.drawn(rows, fanout, keys, step, edges=self.edges is not None)
            for batch, of_batch in enumerate(drawn):
                if rows[batch].size:
                    block = self._block(rows[batch], *of_batch)
                    found[batch].append(block)
                    rows[batch] = block.src_ids
        return [blocks[::-1] for blocks in found]

    def block_of(self, nodes: np.ndarray) -> Block:
        """The given nodes with their whole neighbourhoods, as CSRGraph.block_of."""
        (drawn,) = self.drawn([nodes], ALL, [0], 0, edges=self.edges is not None)
        return self._block(nodes, *drawn)

    def _block(self, nodes: np.ndarray, indptr: np.ndarray, drawn: Sequence[np.ndarray]) -> Block:
        """The block of what was drawn, with standardised features of edges."""
        neighbours, *attr = drawn
        edge_attr = None
        if attr and self.edges:
            edge_attr = read_only(gather_rows(attr[0], np.arange(len(attr[0])), *self.edges))
        arcs = (read_only(indptr), neighbours)
        return Block.from_neighbours(nodes, *arcs, self.num_nodes, edge_attr=edge_attr)

    def neighbours(self, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """counts (n,), and the ids of the neighbours of each node, one node's after the other's."""
        ((indptr, (neighbours,)),) = self.drawn([nodes], ALL, [0], 0, edges=False)
        return np.diff(indptr), neighbours

    def degrees(self, nodes: np.ndarray) -> np.ndarray:
        """(n,) int64: how many neighbours each node has."""
        owner, places = self.parts.locate(nodes)
        return ask_rows(
            self.team, owner, [places], lambda at: self.parts.held.degrees(at, self.num_nodes)
        )

    def features(self, nodes: Sequence[np.ndarray]) -> list[np.ndarray]:
        """(n, F) float32 of each of several batches of nodes; each row is fetched once."""
        distinct, row_of = np.unique(_one(nodes), return_inverse=True)
        matrices, matrix_of, row_in = self._found(distinct)
        mean, scale = self.statistics or self.parts.dataset.statistics("none")
        bounds = np.cumsum([len(batch) for batch in nodes])[:-1]
        made = []
        for rows in np.split(row_of, bounds) if nodes else []:
            places = [np.flatnonzero(matrix_of[rows] == n) for n in range(len(matrices))]
            own = [row_in[rows[at]] for at in places]
            x = gather_pieces(zip(matrices, own, places, strict=True), rows.size, mean, scale)
            made.append(shares_in_place(x) if self.by_row else x)
        return made

    def _found(self, nodes: np.ndarray) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
        """Where the features of distinct `nodes` (n,) are, once those of others are fetched: some
        matrices, and for each node which of them and which row of it has them.
        """
        held, (owner, places) = self.parts.held, self.parts.locate(nodes)
        mine = owner == self.team.rank
        here, away = np.flatnonzero(mine), np.flatnonzero(~mine)
        matrices = [part.features for part in held.parts]
        matrix_of, row_in = np.empty_like(nodes), np.empty_like(nodes)
        matrix_of[here], row_in[here] = held.find(places[here])
        for which, rows in ask_pieces(self.team, owner[away], [places[away]], held.features):
            matrix_of[away[which]], row_in[away[which]] = len(matrices), np.arange(which.size)
            matrices.append(read_only(rows))
        return matrices, matrix_of, row_in

    def labels(self, nodes: Sequence[np.ndarray]) -> list[np.ndarray]:
        """(n,) or (n, C) of each of several batches of nodes."""
        every = _one(nodes)
        owner, places = self.parts.locate(every)
        found = ask_rows(self.team, owner, [places], lambda at: self.parts.held.labels(at))
        return np.split(found, np.cumsum([len(batch) for batch in nodes])[:-1]) if nodes else []

    def drawn(
        self,
        batches: Sequence[np.ndarray],
        fanout: int,
        keys: Sequence[int],
        step: int,
        edges: bool,
    ) -> list[tuple[np.ndarray, list[np.ndarray]]]:
        """indptr and the neighbours drawn for each node, of each of several batches; with `edges`,
        and where they have some, the features of the edges too, as in the store.
        """
        sizes = [nodes.size for nodes in batches]
        owner, places = self.parts.locate(_one(batches))
        numbers = _one([np.arange(size) for size in sizes])
        batch = np.repeat(np.arange(len(sizes)), sizes)
        draw = partial(self._draw, fanout=fanout, step=step, edges=edges)
        asked = [places, numbers, batch]
        counts, columns, order = ask_lists(
            self.team, owner, asked, draw, told=[np.array(keys, np.uint64)]
        )
        counts, columns = lists_in_order(counts, columns, order)
        ends = _indptr(counts)[np.cumsum([0, *sizes])]
        found = []
        for at, per_node in enumerate(np.split(counts, np.cumsum(sizes)[:-1]) if sizes else []):
            told = [read_only(column[ends[at] : ends[at + 1]]) for column in columns]
            found.append((_indptr(per_node), told))
        return found

    def _draw(
        self,
        keys: np.ndarray,
        places: np.ndarray,
        numbers: np.ndarray,
        batch: np.ndarray,
        *,
        fanout: int,
        step: int,
        edges: bool,
    ) -> tuple[np.ndarray, ...]:
        """What a rank is answered that asks for nodes of several batches, in their order."""
        bounds = np.searchsorted(batch, np.arange(len(keys) + 1)).tolist()
        held, seen = self.parts.held, self.num_nodes
        drawn = [
            held.draw(places[start:stop], numbers[start:stop], seen, fanout, key, step, edges)
            for key, (start, stop) in zip(keys.tolist(), pairwise(bounds), strict=True)
        ]
        columns = [[column[:0]] for column in held.parts[0].columns(edges)]
        for _, of_batch in drawn:
            for column, x in zip(columns, of_batch, strict=True):
                column.append(x)
        return _one([counts for counts, _ in drawn]), *map(np.concatenate, columns)


def _one(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Integers, one array after the other; there may be none."""
    return np.concatenate([np.zeros(0, np.int64), *parts])


def _indptr(counts: np.ndarray) -> np.ndarray:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
