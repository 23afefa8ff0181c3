"""Outputs for any set of nodes, layer by layer over whole neighbourhoods, in bounded memory."""

from collections.abc import Callable, Iterator

import numpy as np

from gaancore.graph.csr import CSRGraph
from gaancore.models.node_classifier import FeedForward
from gaancore.tensor import Tensor, no_grad
from gaancore.train.build import Model

EDGES_AT_A_TIME = 1_000_000  # of a layer; a node with more neighbours makes a chunk of its own
ROWS_AT_A_TIME = 65_536  # of a layer without edges


def infer(model: Model, graph: CSRGraph, features: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    """Logits (len(nodes), classes) from the whole neighbourhoods of `nodes`, without dropout.

    Each layer is computed once for each node that the next one needs, a chunk of rows at a time:
    memory is one vector per node of the widest layer, plus one chunk's edges and sources.
    """
    with no_grad():
        if isinstance(model, FeedForward):
            return _in_chunks(lambda x: model(x), features, nodes)
        needed = _hops(graph, nodes, model.num_steps)
        h = _in_chunks(model.embed, features, needed[-1])
        row_of = np.zeros(graph.num_nodes, np.int64)
        for number, (inner, outer) in enumerate(zip(needed[-2::-1], needed[:0:-1], strict=True)):
            row_of[outer] = np.arange(outer.size)
            parts = []
            for dst_ids in _chunks(graph, inner):
                block = graph.block_of(dst_ids)
                parts.append(model.layer(number, Tensor(h[row_of[block.src_ids]]), block).data)
            h = np.concatenate(parts)
        return _in_chunks(model.head, h, np.arange(nodes.size))


def _hops(graph: CSRGraph, nodes: np.ndarray, num_steps: int) -> list[np.ndarray]:
    """[B_0, B_1, ..., B_L]: the nodes, then each set with all of its neighbours, ascending."""
    sets = [nodes]
    reached = np.zeros(graph.num_nodes, bool)
    reached[nodes] = True
    for _ in range(num_steps):
        for dst_ids in _chunks(graph, sets[-1]):
            reached[graph.block_of(dst_ids).src_ids] = True
        sets.append(np.flatnonzero(reached))
    return sets


def _chunks(graph: CSRGraph, nodes: np.ndarray) -> Iterator[np.ndarray]:
    """Consecutive runs of `nodes` with at most EDGES_AT_A_TIME edges each (or one node)."""
    if not nodes.size:
        yield nodes
        return
    stops = np.cumsum(graph.degrees[nodes])
    start = 0
    while start < nodes.size:
        before = stops[start - 1] if start else 0
        stop = int(np.searchsorted(stops, before + EDGES_AT_A_TIME, side="right"))
        stop = min(max(stop, start + 1), start + ROWS_AT_A_TIME, nodes.size)
        yield nodes[start:stop]
        start = stop


def _in_chunks(layer: Callable[[Tensor], Tensor], x: np.ndarray, rows: np.ndarray) -> np.ndarray:
    starts = range(0, max(1, rows.size), ROWS_AT_A_TIME)
    return np.concatenate(
        [layer(Tensor(x[rows[start : start + ROWS_AT_A_TIME]])).data for start in starts]
    )
