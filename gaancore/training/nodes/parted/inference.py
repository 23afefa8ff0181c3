"""Outputs of this rank's share of some nodes of a store in parts, layer by layer or drawn.

As nodes/inference.py does it of a whole graph, with the same runs of rows, so the same bits. Each
rank holds the hidden vectors of its own rows alone, and asks for those of the neighbours.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import numpy as np

from gaancore.array import Array, array_module, device_of, on_device_of, to_device, to_numpy
from gaancore.data.parts.rows import PartedRows
from gaancore.models.node_classifier import FeedForward, Inputs, given
from gaancore.parallel import Shares, Team, ask_rows
from gaancore.seeding import derive_seed
from gaancore.tensor import Tensor, no_grad
from gaancore.training.nodes.batches import features_to
from gaancore.training.nodes.build import Model
from gaancore.training.nodes.inference import runs_of, runs_of_rows

T = TypeVar("T")


def infer_own(model: Model, rows: PartedRows, nodes: np.ndarray, shares: Shares) -> np.ndarray:
    """Logits (n, classes) of nodes[shares.run(len(nodes))], from their whole neighbourhoods."""
    device = device_of(model.head.bias.data)
    with no_grad(), on_device_of(model.head.bias.data):
        if isinstance(model, FeedForward):
            return to_numpy(_of_features(model, rows, nodes, device, shares))
        needed = _hops(rows, nodes, model.num_layers, shares)
        h = _of_features(model.embed, rows, needed[-1], device, shares)
        for number, (inner, outer) in enumerate(zip(needed[-2::-1], needed[:0:-1], strict=True)):
            h = _next_layer(model, number, rows, h, inner, outer, shares)
        first = shares.run(nodes.size).start
        parts = [
            model.head(Tensor(h[part.start - first : part.stop - first])).data
            for part in runs_of_rows(nodes.size, shares)
        ]
        return to_numpy(array_module(h).concatenate(parts))


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
    """Some of the `nodes`, those of this rank's batches, and their logits from drawn neighbours."""
    starts = range(0, max(1, nodes.size), batch_size)
    own = starts[shares.run(len(starts))]
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


def _next_layer(
    model: Model,
    number: int,
    rows: PartedRows,
    h: Array,
    inner: np.ndarray,
    outer: np.ndarray,
    shares: Shares,
) -> Array:
    """Layer `number` of this rank's share of the nodes `inner`, from that of its neighbours, which
    are among `outer`, of which this rank has h.
    """
    assert not isinstance(model, FeedForward)
    team, device = shares.team, device_of(h)
    own = shares.run(outer.size)
    bounds = np.array(team.all([own.start, own.stop]))
    having = np.flatnonzero(bounds[:, 0] < bounds[:, 1])  # the ranks that have rows of h
    here = to_numpy(h)
    parts = []
    for part in _in_step(_runs(rows, inner, shares), team):
        block = rows.block_of(inner[part or slice(0, 0)])
        at = np.searchsorted(outer, block.src_ids)
        owner = having[np.searchsorted(bounds[having, 0], at, side="right") - 1]
        found = ask_rows(team, owner, [at - bounds[owner, 0]], here.__getitem__)
        if part is not None:
            sources = Tensor(to_device(found, device))
            parts.append(model.layer(number, sources, block.to(device)).data)
    return array_module(h).concatenate(parts)


def _hops(rows: PartedRows, nodes: np.ndarray, num_steps: int, shares: Shares) -> list[np.ndarray]:
    """[B_0, B_1, ..., B_L]: the nodes, then each set with all of its neighbours, ascending."""
    sets, team = [nodes], shares.team
    reached = np.zeros(rows.num_nodes, bool)
    reached[nodes] = True
    for _ in range(num_steps):
        for part in _in_step(_runs(rows, sets[-1], shares), team):
            _, neighbours = rows.neighbours(sets[-1][part or slice(0, 0)])
            reached[neighbours] = True
        reached[team.rows(np.flatnonzero(reached))] = True
        sets.append(np.flatnonzero(reached))
    return sets


def _runs(rows: PartedRows, nodes: np.ndarray, shares: Shares) -> list[slice]:
    own = shares.run(nodes.size)
    degrees = np.zeros(nodes.size, np.int64)
    degrees[own] = rows.degrees(nodes[own])
    return list(runs_of(degrees, shares))


def _of_features(
    layer: Callable[[Inputs], Tensor],
    rows: PartedRows,
    nodes: np.ndarray,
    device: str,
    shares: Shares,
) -> Array:
    """The layer applied to the features of this rank's share of `nodes`."""
    parts = []
    for part in _in_step(list(runs_of_rows(nodes.size, shares)), shares.team):
        (x,) = rows.features([nodes[part or slice(0, 0)]])
        if part is not None:
            parts.append(layer(given(features_to(x, device))).data)
    return array_module(parts[0]).concatenate(parts)


def _in_step(own: Sequence[T], team: Team) -> Iterator[T | None]:
    """What this rank has to do, piece by piece; then None until every rank has done its own."""
    most = max(team.all(len(own)))
    yield from own
    yield from [None] * (most - len(own))
