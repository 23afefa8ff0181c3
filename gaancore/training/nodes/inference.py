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
from gaancore.parallel import ONE_SHARE, Shares, dealt
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

    shares : what the rows of each layer are cut into, before they are cut into chunks. Each rank
             computes a run of the chunks, and gets the others'. BLAS rounds a row of a product
             by its place in it, so the chunks decide the last digits; who computes them does not.
    """
    with no_grad(), on_device_of(model.head.bias.data):
        if isinstance(model, FeedForward):
            device = device_of(model.head.bias.data)
            return to_numpy(_of_features(model, features, nodes, device, shares))
        h = _hidden(model, graph, features, nodes, model.num_layers, shares)
        return to_numpy(_in_chunks(model.head, h.__getitem__, nodes.size, shares))


def infer_hidden(
    model: Model,
    graph: CSRGraph,
    features: Matrix,
    nodes: np.ndarray,
    layer: int,
    shares: Shares = ONE_SHARE,
) -> np.ndarray:
    """What `layer`, 1 to model.num_layers, puts out for `nodes`: (len(nodes), its width).

    Whole neighbourhoods, in the memory of `infer`, with its `shares`; later layers are not
    computed. The head makes the logits from the last one.
    """
    with no_grad(), on_device_of(model.head.bias.data):
        return to_numpy(_hidden(model, graph, features, nodes, layer, shares))


def _hidden(
    model: Model,
    graph: CSRGraph,
    features: Matrix,
    nodes: np.ndarray,
    num_layers: int,
    shares: Shares,
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

    shares : of whose ranks each computes a run of the batches, and gets the others'.
    """
    own = dealt(range(0, max(1, nodes.size), batch_size), shares.team)
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
    """This rank's chunks of `nodes`; one without nodes if it has none."""
    chunks = cut_rows(nodes.size, shares, graph.degrees[nodes])
    for chunk in dealt(chunks, shares.team) or [slice(0, 0)]:
        yield nodes[chunk]


def cut_rows(count: int, shares: Shares, degrees: np.ndarray | None = None) -> list[slice]:
    """Chunks of `count` rows, none across two shares, with at most ROWS_AT_A_TIME rows and, where
    rows have `degrees` (count,), EDGES_AT_A_TIME edges each (or one row).
    """
    stops = None if degrees is None else np.cumsum(degrees)
    chunks = []
    for share in Shares(shares.count).cut(count):
        start = share.start
        while start < share.stop:
            stop = min(start + ROWS_AT_A_TIME, share.stop)
            if stops is not None:
                before = stops[start - 1] if start else 0
                limit = np.searchsorted(stops, before + EDGES_AT_A_TIME, side="right")
                stop = min(max(int(limit), start + 1), stop)
            chunks.append(slice(start, stop))
            start = stop
    return chunks


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
    own = dealt(cut_rows(count, shares), shares.team) or [slice(0, 0)]
    parts = [layer(given(rows(chunk))).data for chunk in own]
    return shares.rows(array_module(parts[0]).concatenate(parts))
