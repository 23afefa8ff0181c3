"""Outputs for any set of nodes, from whole neighbourhoods or drawn ones, in bounded memory.

`features` is the matrix (N, F), or a Features that stands for it: only rows in use are fetched.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from gaancore.array import Array, array_module, device_of, on_device_of, to_device, to_numpy
from gaancore.data.nodes.features.standardised import Features
from gaancore.graph.block import Block
from gaancore.graph.csr import CSRGraph
from gaancore.graph.sampler import sample_blocks
from gaancore.models.node_classifier import FeedForward, Inputs, given
from gaancore.parallel import ONE_SHARE, Shares
from gaancore.seeding import derive_seed
from gaancore.sparse import CSRMatrix
from gaancore.tensor import Tensor, no_grad
from gaancore.training.nodes.batches import features_to
from gaancore.training.nodes.build import Model
from gaancore.training.prefetch import Prefetch

EDGES_AT_A_TIME = 16_000_000  # of a layer; a node with more neighbours makes a chunk of its own
ROWS_AT_A_TIME = 65_536  # of a layer without edges

Matrix = np.ndarray | Features


def infer(
    model: Model,
    graph: CSRGraph,
    features: Matrix,
    nodes: np.ndarray,
    shares: Shares = ONE_SHARE,
) -> np.ndarray:
    """Logits (len(nodes), classes) from the whole neighbourhoods of `nodes`, without dropout.

    Each layer is computed once for each node that the next one needs, a chunk of rows at a time.
    Memory, whatever the degrees: a few vectors for each node that is reached, of the widths of one
    layer, and some 16 + 4 K bytes for each edge of a chunk.

    shares : what the rows of each layer are cut into; each rank computes its own, and gets the
             others'.
    """
    with no_grad(), on_device_of(model.head.bias.data):
        if isinstance(model, FeedForward):
            device = device_of(model.head.bias.data)
            return to_numpy(_of_features(model, features, nodes, device, shares))
        h = _hidden(model, graph, features, nodes, model.num_layers, shares)
        return to_numpy(_in_chunks(model.head, h.__getitem__, nodes.size, shares))


def infer_hidden(
    model: Model, graph: CSRGraph, features: Matrix, nodes: np.ndarray, layer: int
) -> np.ndarray:
    """What `layer`, 1 to model.num_layers, puts out for `nodes`: (len(nodes), its width).

    Whole neighbourhoods, in the memory of `infer`; later layers are not computed. The head makes
    the logits from the last one.
    """
    with no_grad(), on_device_of(model.head.bias.data):
        return to_numpy(_hidden(model, graph, features, nodes, layer))


def _hidden(
    model: Model,
    graph: CSRGraph,
    features: Matrix,
    nodes: np.ndarray,
    num_layers: int,
    shares: Shares = ONE_SHARE,
) -> Array:
    """The output of layer `num_layers`, on the device of the model."""
    device = device_of(model.head.bias.data)
    if isinstance(model, FeedForward):
        return _of_features(partial(model.up_to, num_layers), features, nodes, device, shares)
    needed = _hops(graph, nodes, num_layers, shares)
    h = _of_features(model.embed, features, needed[-1], device, shares)
    row_of = np.zeros(graph.num_nodes, np.int64)
    for number, (inner, outer) in enumerate(zip(needed[-2::-1], needed[:0:-1], strict=True)):
        row_of[outer] = np.arange(outer.size)
        parts = []
        for dst_ids in _chunks(graph, inner, shares):
            block = graph.block_of(dst_ids)
            sources = Tensor(h[to_device(row_of[block.src_ids], device)])
            parts.append(model.layer(number, sources, block.to(device)).data)
        h = shares.rows(array_module(h).concatenate(parts))
    return h


def infer_sampled(
    model: Model,
    graph: CSRGraph,
    features: Matrix,
    nodes: np.ndarray,
    fanouts: Sequence[int],
    *,
    batch_size: int,
    seed: int,
    prefetch: int,
    shares: Shares = ONE_SHARE,
) -> np.ndarray:
    """The same from up to fanouts[l] neighbours at step l, drawn once (as the paper tests Reddit).

    Batches of `batch_size` nodes; the draw is a function of (seed, batch). Memory is that of a
    training step without gradients, for each of `prefetch` batches made ahead and the one in use.

    shares : what the batches are dealt out to; each rank computes its own, and gets the others'.
    """
    starts = range(0, max(1, nodes.size), batch_size)
    own = starts[shares.run(len(starts))]
    none = np.empty((0, model.head.bias.data.size), model.head.bias.dtype)
    device = device_of(model.head.bias.data)

    def batch(start: int) -> tuple[np.ndarray | CSRMatrix, list[Block]]:
        key = derive_seed(seed, "evaluation", start)
        blocks = sample_blocks(graph, nodes[start : start + batch_size], fanouts, seed=key)
        return features[blocks[0].src_ids], blocks

    def outputs(x: np.ndarray | CSRMatrix, blocks: list[Block]) -> np.ndarray:
        there = [block.to(device) for block in blocks]
        return to_numpy(model(given(features_to(x, device)), there).data)

    with no_grad(), Prefetch(batch, iter(own), depth=prefetch) as batches:
        logits = [outputs(*batch) for batch in batches]
    return shares.rows(np.concatenate(logits) if logits else none)


def _hops(graph: CSRGraph, nodes: np.ndarray, num_steps: int, shares: Shares) -> list[np.ndarray]:
    """[B_0, B_1, ..., B_L]: the nodes, then each set with all of its neighbours, ascending."""
    sets = [nodes]
    reached = np.zeros(graph.num_nodes, bool)
    reached[nodes] = True
    for _ in range(num_steps):
        for dst_ids in _chunks(graph, sets[-1], shares):
            reached[graph.block_of(dst_ids).src_ids] = True
        if shares.team.size > 1:
            reached[shares.team.rows(np.flatnonzero(reached))] = True
        sets.append(np.flatnonzero(reached))
    return sets


def _chunks(graph: CSRGraph, nodes: np.ndarray, shares: Shares) -> Iterator[np.ndarray]:
    """The runs of `nodes` that `runs_of` says."""
    for part in runs_of(graph.degrees[nodes], shares):
        yield nodes[part]


def runs_of(degrees: np.ndarray, shares: Shares) -> Iterator[slice]:
    """Runs of the rows of this rank's shares, with at most EDGES_AT_A_TIME edges each (or one row),
    none across two shares; one without rows if there are none.

    degrees : (n,) of all rows; those of other ranks do not matter.
    """
    stops = np.cumsum(degrees)
    for share in own_shares(shares, degrees.size):
        start, stop = share.start, -1
        while stop < share.stop:
            before = stops[start - 1] if start else 0
            stop = int(np.searchsorted(stops, before + EDGES_AT_A_TIME, side="right"))
            stop = min(max(stop, start + 1), start + ROWS_AT_A_TIME, share.stop)
            yield slice(start, stop)
            start = stop


def own_shares(shares: Shares, count: int) -> list[slice]:
    """Which of `count` rows this rank's shares have, and no share that has none; one slice of no
    rows if there is nothing.
    """
    return [share for share in shares.cut(count) if share.start < share.stop] or [slice(0, 0)]


def _of_features(
    layer: Callable[[Inputs], Tensor],
    features: Matrix,
    nodes: np.ndarray,
    device: str,
    shares: Shares,
) -> Array:
    """The layer applied to the features of `nodes`, which are fetched a chunk at a time."""

    def rows(part: slice) -> Array | CSRMatrix:
        return features_to(features[nodes[part]], device)

    return _in_chunks(layer, rows, nodes.size, shares)


def _in_chunks(
    layer: Callable[[Inputs], Tensor],
    rows: Callable[[slice], Array | CSRMatrix],
    count: int,
    shares: Shares,
) -> Array:
    """The layer applied to all `count` rows, which `rows` gives a chunk at a time."""
    parts = [layer(given(rows(part))).data for part in runs_of_rows(count, shares)]
    return shares.rows(array_module(parts[0]).concatenate(parts))


def runs_of_rows(count: int, shares: Shares) -> Iterator[slice]:
    """Runs of this rank's shares of `count` rows without edges, as `runs_of`."""
    for share in own_shares(shares, count):
        for start in range(share.start, max(share.stop, share.start + 1), ROWS_AT_A_TIME):
            yield slice(start, min(start + ROWS_AT_A_TIME, share.stop))
