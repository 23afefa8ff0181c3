"""Outputs of this rank's share of some nodes of a store in parts, layer by layer or drawn.

As nodes/inference.py does it of a whole graph, in the same chunks of rows, so with the same bits.
Each rank holds the hidden vectors of its own rows alone, and asks for those of the neighbours.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeVar

import numpy as np

from gaancore.array import Array, array_module, device_of, on_device_of, to_device, to_numpy
from gaancore.data.parts.rows import PartedRows
from gaancore.graph.block import Block
from gaancore.models.node_classifier import FeedForward, Inputs, given
from gaancore.parallel import Shares, Team, ask_rows, dealt
from gaancore.seeding import derive_seed
from gaancore.sparse import CSRMatrix
from gaancore.tensor import Tensor, no_grad
from gaancore.training.nodes.batches import features_to
from gaancore.training.nodes.build import Model
from gaancore.training.nodes.inference import cut_rows, most_sources, runs_for

T = TypeVar("T")
NONE = slice(0, 0)


def infer_own(
    model: Model, rows: PartedRows, nodes: np.ndarray, shares: Shares
) -> tuple[np.ndarray, np.ndarray]:
    """Some of the `nodes`, those that this rank computes, and their logits from their whole
    neighbourhoods.
    """
    device = device_of(model.head.bias.data)
    with no_grad(), on_device_of(model.head.bias.data):
        if isinstance(model, FeedForward):
            found = _of_features(model, rows, nodes, device, shares)
        else:
            h = _hidden(model, rows, nodes, model.num_layers, shares)
            found = _in_chunks(model.head, h.fetch, nodes.size, device, shares)
        return nodes[found.own], to_numpy(found.rows)


def infer_hidden_own(
    model: Model, rows: PartedRows, nodes: np.ndarray, layer: int, shares: Shares
) -> tuple[np.ndarray, np.ndarray]:
    """The same of what `layer`, 1 to model.num_layers, puts out."""
    with no_grad(), on_device_of(model.head.bias.data):
        found = _hidden(model, rows, nodes, layer, shares)
        return nodes[found.own], to_numpy(found.rows)


def infer_sampled_own(
    model: Model,
    rows: PartedRows,
    nodes: np.ndarray,
    fanouts: Sequence[int],
    *,
    batch_size: int,
    seed: int,
    shares: Shares,
) -> tuple[np.ndarray, np.ndarray]:
    """The same from drawn neighbours; this rank computes a run of the batches."""
    own = dealt(range(0, max(1, nodes.size), batch_size), shares.team)
    device = device_of(model.head.bias.data)
    logits = [np.empty((0, model.head.bias.data.size), model.head.bias.dtype)]
    with no_grad():
        for start in _in_step(own, rows.team):
            seeds = nodes[:0] if start is None else nodes[start : start + batch_size]
            key = derive_seed(seed, "evaluation", start or 0)
            (blocks,) = rows.blocks([seeds], fanouts, [key])
            (x,) = rows.features([blocks[0].src_ids if blocks else seeds])
            if blocks:
                there = [block.to(device) for block in blocks]
                logits.append(to_numpy(model(given(features_to(x, device)), there).data))
    met = [nodes[start : start + batch_size] for start in own]
    return np.concatenate([nodes[:0], *met]), np.concatenate(logits)


class Spread:
    """Rows of which each rank has a run. own: which ones this rank has."""

    def __init__(self, chunks: Sequence[slice], parts: Sequence[Array], team: Team) -> None:
        self.own = slice(chunks[0].start, chunks[-1].stop) if chunks else NONE
        self.rows = array_module(parts[0]).concatenate(parts)
        self.team = team
        self._bounds = np.array(team.all([self.own.start, self.own.stop]))
        self._having = np.flatnonzero(self._bounds[:, 0] < self._bounds[:, 1])  # ranks with rows
        self._here = to_numpy(self.rows)

    def fetch(self, at: np.ndarray) -> np.ndarray:
        """The rows of these numbers; all ranks have to ask."""
        starts = self._bounds[self._having, 0]
        owner = self._having[np.searchsorted(starts, at, side="right") - 1]
        return ask_rows(self.team, owner, [at - self._bounds[owner, 0]], self._here.__getitem__)


def _hidden(
    model: Model, rows: PartedRows, nodes: np.ndarray, num_layers: int, shares: Shares
) -> Spread:
    """The output of layer `num_layers`, spread over the ranks."""
    device = device_of(model.head.bias.data)
    if isinstance(model, FeedForward):
        return _of_features(partial(model.up_to, num_layers), rows, nodes, device, shares)
    needed = _hops(rows, nodes, num_layers, shares)
    h = _of_features(model.embed, rows, needed[-1], device, shares)
    for number, (inner, outer) in enumerate(zip(needed[-2::-1], needed[:0:-1], strict=True)):
        h = _next_layer(model, number, rows, h, inner, outer, shares)
    return h


def _next_layer(
    model: Model,
    number: int,
    rows: PartedRows,
    h: Spread,
    inner: np.ndarray,
    outer: np.ndarray,
    shares: Shares,
) -> Spread:
    """Layer `number` of the nodes `inner`, from `h`, that of the nodes `outer`."""
    assert not isinstance(model, FeedForward)
    device = device_of(h.rows)
    most = most_sources(model.layers[number], h.rows.shape[1])
    own, parts = _chunks(rows, inner, shares), []
    for chunk in _in_step(own or [NONE], rows.team):
        whole = rows.block_of(inner[chunk or NONE])
        blocks = [] if chunk is None else [*_blocks(whole, most)]
        for block in _in_step(blocks, rows.team):
            at = np.searchsorted(outer, whole.src_ids[:0] if block is None else block.src_ids)
            found = h.fetch(at)
            if block is not None:
                sources = Tensor(to_device(found, device))
                parts.append(model.layer(number, sources, block.to(device)).data)
    return Spread(own, parts, rows.team)


def _blocks(block: Block, most: int) -> Iterator[Block]:
    """A block, or those of even runs of its rows, with at most about `most` sources each."""
    runs = runs_for(block, most)
    if len(runs) < 2:
        yield block
        return
    for run in runs:
        indptr = block.indptr[run.start : run.stop + 1]
        neighbours = block.src_ids[block.indices[indptr[0] : indptr[-1]]]
        given = (block.src_ids[run], indptr - indptr[0], neighbours, int(block.src_ids.max()) + 1)
        attr = None if block.edge_attr is None else block.edge_attr[indptr[0] : indptr[-1]]
        yield from _blocks(Block.from_neighbours(*given, edge_attr=attr), most)


def _hops(rows: PartedRows, nodes: np.ndarray, num_steps: int, shares: Shares) -> list[np.ndarray]:
    """[B_0, B_1, ..., B_L]: the nodes, then each set with all of its neighbours, ascending."""
    sets = [nodes]
    reached = np.zeros(rows.num_nodes, bool)
    reached[nodes] = True
    for _ in range(num_steps):
        for chunk in _in_step(_chunks(rows, sets[-1], shares), rows.team):
            _, neighbours = rows.neighbours(sets[-1][chunk or NONE])
            reached[neighbours] = True
        reached[rows.team.rows(np.flatnonzero(reached))] = True
        sets.append(np.flatnonzero(reached))
    return sets


def _chunks(rows: PartedRows, nodes: np.ndarray, shares: Shares) -> Sequence[slice]:
    """This rank's chunks of `nodes`, whose degrees all ranks have to know."""
    asked = Shares(rows.team.size, rows.team).run(nodes.size)
    degrees = rows.team.rows(rows.degrees(nodes[asked]))
    return dealt(cut_rows(nodes.size, shares, degrees), rows.team)


def _of_features(
    layer: Callable[[Inputs], Tensor],
    rows: PartedRows,
    nodes: np.ndarray,
    device: str,
    shares: Shares,
) -> Spread:
    """The layer applied to the features of `nodes`."""
    return _in_chunks(layer, lambda at: rows.features([nodes[at]])[0], nodes.size, device, shares)


def _in_chunks(
    layer: Callable[[Inputs], Tensor],
    fetch: Callable[[np.ndarray], np.ndarray | CSRMatrix],
    count: int,
    device: str,
    shares: Shares,
) -> Spread:
    """The layer applied to `count` rows, which `fetch` gives by their numbers."""
    own, parts = dealt(cut_rows(count, shares), shares.team), []
    for chunk in _in_step(own or [NONE], shares.team):
        x = fetch(np.arange(count)[chunk or NONE])
        if chunk is not None:
            parts.append(layer(given(features_to(x, device))).data)
    return Spread(own, parts, shares.team)


def _in_step(own: Sequence[T], team: Team) -> Iterator[T | None]:
    """What this rank has to do, piece by piece; then None until every rank has done its own."""
    most = max(team.all(len(own)))
    yield from own
    yield from [None] * (most - len(own))
