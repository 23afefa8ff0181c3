"""Label propagation: what can be had from the graph and the training labels, without features."""

import numpy as np
import scipy.sparse

from gaancore.graph import CSRGraph

ROUNDS = 50
MOST_SUMS = 10_000_000_000  # arcs x classes that are gone over, in all rounds: some ten seconds
MOST_CELLS = 50_000_000  # nodes x classes that are held
ARCS_AT_A_TIME = 4_000_000


def rounds_for(graph: CSRGraph, num_classes: int) -> int:
    """How many rounds there is time and memory for, at most ROUNDS; 0 if for none."""
    width = num_classes + 1
    if graph.num_nodes * width > MOST_CELLS:
        return 0
    return int(min(ROUNDS, MOST_SUMS // max(1, graph.num_edges * width)))


def propagated(
    graph: CSRGraph, targets: np.ndarray, seen: np.ndarray, rounds: int
) -> tuple[np.ndarray, np.ndarray]:
    """The shares (N, C) of each class around a node, and (N,) whether any label reaches it.

    In every round each node takes the mean of its neighbours; the nodes `seen` (n,) then take their
    own targets (n, C), of 0 and 1, again (Zhu and Ghahramani, 2002). What a node gets is divided by
    how much of all labels it gets, so that the classes of one class a node sum to 1. A node that no
    label reaches gets the mean of the targets.
    """
    width = targets.shape[1]
    own = np.ones((seen.size, width + 1), np.float32)  # the last column: that there is a label
    own[:, :width] = targets
    values = np.zeros((graph.num_nodes, width + 1), np.float32)
    values[seen] = own
    for _ in range(rounds):
        values = _means(graph, values)
        values[seen] = own
    reached = values[:, -1] > 0
    shares = np.tile(own[:, :width].mean(axis=0, dtype=np.float64), (graph.num_nodes, 1))
    shares[reached] = values[reached, :width] / values[reached, -1:]
    return shares, reached


def _means(graph: CSRGraph, values: np.ndarray) -> np.ndarray:
    """The mean of each node's neighbours; 0 without any."""
    out = np.zeros_like(values)
    indptr, nodes = np.asarray(graph.indptr), graph.num_nodes
    start = 0
    while start < nodes:
        stop = int(np.searchsorted(indptr, indptr[start] + ARCS_AT_A_TIME, side="right")) - 1
        stop = min(max(stop, start + 1), nodes)
        first, last = indptr[start], indptr[stop]
        ones = np.ones(last - first, np.float32)
        arcs = (ones, graph.indices[first:last], indptr[start : stop + 1] - first)
        part = scipy.sparse.csr_array(arcs, shape=(stop - start, nodes))
        out[start:stop] = part @ values
        start = stop
    return out / np.maximum(graph.degrees, 1)[:, None].astype(np.float32)
