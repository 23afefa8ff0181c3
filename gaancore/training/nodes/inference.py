"""Outputs for any set of nodes, from whole neighbourhoods or drawn ones, in bounded memory.

`features` is the matrix (N, F), or a Features that stands for it: only rows in use are fetched.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, pairwise

import numpy as np

from gaancore.array import Array, array_module, device_of, on_device_of, to_device, to_numpy
from gaancore.data.nodes.features.standardised import Features
from gaancore.graph.block import Block
from gaancore.graph.csr import CSRGraph
from gaancore.graph.ordered_rows import mark_neighbours
from gaancore.graph.sampler import sample_blocks
from gaancore.models.node_classifier import FeedForward, Inputs, given
from gaancore.nn.module import Module
from gaancore.parallel import ONE_SHARE, Shares, dealt
from gaancore.progress import tell
from gaancore.seeding import derive_seed
from gaancore.sparse import CSRMatrix
from gaancore.system.mapped import room_for
from gaancore.tensor import Tensor, no_grad
from gaancore.training.nodes.batches import features_to
from gaancore.training.nodes.build import Model
from gaancore.training.prefetch import Prefetch

EDGES_AT_A_TIME = 16_000_000  # of a layer; a node with more neighbours makes a chunk of its own
ROWS_AT_A_TIME = 65_536  # of a layer
# that a layer makes of the sources of a block: 1.2 GB. So few that a graph of Reddit's size is done
# in chunks of EDGES_AT_A_TIME, in which a source is projected once for very many edges
NUMBERS_AT_A_TIME = 300_000_000

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
    layer, and some 16 + 4 K bytes for each edge of a chunk. On a CPU the vectors of very many nodes
    are in temporary files, see `room_for`.

    shares : what the rows of each layer are cut into, before they are cut into chunks. Each rank
             computes a run of the chunks, and gets the others'. Attention picks its walk by the
             edges of a chunk, so the chunks decide the last digits; who computes them does not.
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
        most = most_sources(model.layers[number], h.shape[1])
        own = [*_chunks(graph, inner, shares)]
        parts = (
            model.layer(
                number, Tensor(h[to_device(row_of[block.src_ids], device)]), block.to(device)
            ).data
            for dst_ids in own
            for block in _blocks(graph, dst_ids, most)
        )
        h = shares.rows(_stacked(f"layer {number + 1}", parts, sum(map(len, own))))
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
        if sets[-1].size == graph.num_nodes:
            sets.append(sets[-1])
            continue
        for dst_ids in _chunks(graph, sets[-1], shares):
            mark_neighbours(graph.indptr, graph.indices, dst_ids, reached)
        if shares.team.size > 1:
            reached[shares.team.rows(np.flatnonzero(reached))] = True
        sets.append(np.flatnonzero(reached))
    return sets


def _chunks(graph: CSRGraph, nodes: np.ndarray, shares: Shares) -> Iterator[np.ndarray]:
    """This rank's chunks of `nodes`; one without nodes if it has none."""
    chunks = cut_rows(nodes.size, shares, graph.degrees[nodes])
    for chunk in dealt(chunks, shares.team) or [slice(0, 0)]:
        yield nodes[chunk]


def _blocks(graph: CSRGraph, dst_ids: np.ndarray, most: int) -> Iterator[Block]:
    """The block of `dst_ids`, or those of even runs of them, with at most about `most` sources."""
    block = graph.block_of(dst_ids)
    runs = runs_for(block, most)
    if len(runs) < 2:
        yield block
        return
    del block
    for run in runs:
        yield from _blocks(graph, dst_ids[run], most)


def runs_for(block: Block, most: int) -> list[slice]:
    """Even runs of the rows of a block; one if it has no more than `most` sources, or one row."""
    parts = min(-(-block.num_src // max(1, most)), block.num_dst)
    sizes = [part.size for part in np.array_split(np.arange(block.num_dst), max(1, parts))]
    bounds = np.cumsum([0, *sizes]).tolist()
    return [slice(start, stop) for start, stop in pairwise(bounds)]


def most_sources(layer: Module, width: int) -> int:
    """How many sources a block may have at most: a layer holds of each no fewer numbers than its
    input has, and what each weight makes of it.
    """
    numbers = width + sum(p.shape[1] for p in layer.parameters() if len(p.shape) == 2)
    return NUMBERS_AT_A_TIME // numbers


def _stacked(what: str, parts: Iterable[Array], count: int) -> Array:
    """All `count` rows of the parts, which are made one after the other. what: they are."""
    parts = iter(parts)
    first = next(parts)
    if device_of(first) != "cpu":
        return array_module(first).concatenate([first, *parts])
    rows, start = room_for((count, *first.shape[1:]), first.dtype), 0
    for part in chain([first], parts):
        rows[start : start + len(part)] = part
        start += len(part)
        tell(what, start / max(1, count))
    return np.asarray(rows)


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
    parts = (layer(given(rows(chunk))).data for chunk in own)
    count = sum(chunk.stop - chunk.start for chunk in own)
    return shares.rows(_stacked("rows of nodes", parts, count))
