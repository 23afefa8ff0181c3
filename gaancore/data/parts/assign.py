"""Which part each node goes to, so that neighbours stay together and parts are equally large."""

import numpy as np

from gaancore.graph import CSRGraph
from gaancore.graph.ordered_rows import runs_of_rows
from gaancore.graph.stream.rows import Progress
from gaancore.system.jit import jit
from gaancore.system.mapped import forget_pages

PASSES = 10  # over the arcs
ENTRIES_AT_A_TIME = 8_000_000  # of the graph, between two looks at memory and progress


def assign_parts(
    graph: CSRGraph, count: int, *, progress: Progress = lambda share: None
) -> np.ndarray:
    """(N,) int32: the part, 0 to count - 1, of each node. No part has more than ceil(N / count).

    The nodes pass in the order of their ids. Each goes to the part p, of those that are not full,
    with the largest |neighbours in p| (1 - |p| / capacity); of equal ones to the smallest, then the
    first: linear deterministic greedy (Stanton and Kliot, KDD 2012). They pass again, each knowing
    where all of its neighbours were: restreaming (Nishimura and Ugander, KDD 2013). A function of
    the graph alone. Memory: 4 bytes for each node; the arcs are read from beginning to end.
    """
    part_of = np.full(graph.num_nodes, -1, np.int32)
    capacity = -(-graph.num_nodes // count)
    for number in range(PASSES if count > 1 else 1):
        sizes = np.zeros(count, np.int64)
        for start, stop in runs_of_rows(graph.indptr, ENTRIES_AT_A_TIME):
            _assign(graph.indptr, graph.indices, part_of, sizes, capacity, start, stop)
            forget_pages(graph.indices)
            progress((number + stop / graph.num_nodes) / PASSES)
    return part_of


def crossing_arcs(graph: CSRGraph, part_of: np.ndarray) -> int:
    """How many arcs lead from one part to another."""
    found = 0
    for src, dst in graph.edge_chunks():
        found += int(np.count_nonzero(part_of[src] != part_of[dst]))
        forget_pages(graph.indices)
    return found


@jit
def _assign(
    indptr: np.ndarray,
    indices: np.ndarray,
    part_of: np.ndarray,
    sizes: np.ndarray,
    capacity: int,
    start: int,
    stop: int,
) -> None:
    """Put the nodes start .. stop - 1 into parts, which have `sizes` nodes in this pass so far."""
    neighbours = np.zeros(len(sizes), np.int64)
    for node in range(start, stop):
        neighbours[:] = 0
        for e in range(indptr[node], indptr[node + 1]):
            part = part_of[indices[e]]
            if part >= 0 and indices[e] != node:
                neighbours[part] += 1
        best, most = -1, -1.0
        for part in range(len(sizes)):
            if sizes[part] == capacity:
                continue
            score = neighbours[part] * (1 - sizes[part] / capacity)
            if score > most or (score == most and sizes[part] < sizes[best]):
                best, most = part, score
        part_of[node] = best
        sizes[best] += 1
