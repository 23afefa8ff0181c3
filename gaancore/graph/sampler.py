"""Uniform neighbour sampling without replacement, as GaAN trains on large graphs.

The rule is the paper's, S_l and B_l are its symbols: the sizes in its Table 1 follow from it.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from gaancore.errors import GraphError
from gaancore.graph.block import Block
from gaancore.graph.checks import fanout_list, key_of, node_ids, read_only
from gaancore.graph.csr import CSRGraph
from gaancore.graph.hash_set import empty_slots, find_slot
from gaancore.graph.philox import philox
from gaancore.jit import jit
from gaancore.threads import run_ranges, split_evenly

ROWS_PER_THREAD = 1024  # fewer rows are drawn sooner than another thread wakes up


def sample_blocks(
    graph: CSRGraph, seeds: ArrayLike, fanouts: Sequence[int], *, seed: int, merge: bool = True
) -> list[Block]:
    """The blocks an L-layer model needs for `seeds`, in the order in which it applies them.

    B_0 = seeds. Step l draws for every node i of B_l, seeds and earlier finds alike, a uniform
    subset of min(|N_i|, fanouts[l]) of its incoming edges; B_{l+1} is B_l, in its order, followed
    by the nodes that are new, in the order met. Nodes and steps draw independently.

    seeds   : distinct node ids, or a bool mask (N,). None at all gives blocks without rows.
    fanouts : S_1, S_2, ..., one per layer, nearest to the seeds first; -1 takes all neighbours,
              0 takes none.
    seed    : 0 <= seed < 2^64. The result is a pure function of the arguments: the same bits for
              any number of threads, and other subsets for another seed.
    merge   : False keeps every neighbour drawn as a source of its own, so that
              |B_{l+1}| = |B_l| + draws; seeds may repeat then.
    Returns L blocks. The last one's destinations are the seeds; blocks[i].src_ids starts with its
    destinations, which are blocks[i + 1].src_ids; blocks[0].src_ids are the feature rows to fetch.
    A row taken whole keeps CSR order, any other the order in which Floyd's algorithm draws.
    Raises GraphError for a bad node, fan-out or seed.
    """
    counts = fanout_list("sample_blocks: fanouts", fanouts)
    key = key_of("sample_blocks: seed", seed)
    dst_ids = node_ids("sample_blocks: seeds", seeds, graph.num_nodes, repeats=not merge)
    blocks = []
    for step, fanout in enumerate(counts):
        indptr, neighbours = _draw(graph, dst_ids, fanout, key, step)
        blocks.append(Block.from_neighbours(dst_ids, indptr, neighbours, merge=merge))
        dst_ids = blocks[-1].src_ids
    return blocks[::-1]


def drop_edges(block: Block, rate: float, *, seed: int) -> Block:
    """`block` without a random share of its edges: each one is left out with probability `rate`.

    Destinations and sources stay, also those that lose all of their edges (DropEdge: Rong, Huang,
    Xu and Huang, ICLR 2020). The same seed leaves out the same edges. rate 0 returns the block.
    Raises GraphError unless 0 <= rate < 1.
    """
    if not 0 <= rate < 1:
        raise GraphError(f"drop_edges: rate: expected 0 <= rate < 1, got {rate}")
    if rate == 0:
        return block
    kept = np.random.default_rng(seed).random(block.num_edges, np.float32) >= rate
    before = np.concatenate([[0], np.cumsum(kept)])
    indptr = read_only(before[block.indptr])
    return Block(indptr, read_only(block.indices[kept]), block.num_src, block.src_ids)


def _draw(
    graph: CSRGraph, dst_ids: np.ndarray, fanout: int, key: np.uint64, step: int
) -> tuple[np.ndarray, np.ndarray]:
    """indptr and node ids of the neighbours drawn for each destination."""
    degrees = graph.indptr[dst_ids + 1] - graph.indptr[dst_ids]
    most = graph.num_edges if fanout == -1 else min(fanout, graph.num_edges)
    indptr = np.zeros(dst_ids.size + 1, np.int64)
    np.cumsum(np.minimum(degrees, most), out=indptr[1:])
    neighbours = np.empty(indptr[-1], graph.indices.dtype)
    bounds = split_evenly(dst_ids.size, ROWS_PER_THREAD)
    args = (graph.indptr, graph.indices, dst_ids, indptr, neighbours, most, key, step)
    run_ranges(_draw_rows, bounds, *args)
    return read_only(indptr), read_only(neighbours)


@jit
def _draw_rows(
    graph_indptr: np.ndarray,
    graph_indices: np.ndarray,
    dst_ids: np.ndarray,
    indptr: np.ndarray,
    neighbours: np.ndarray,
    most: int,
    key: np.uint64,
    step: int,
    start: int,
    stop: int,
) -> None:
    """Fill `neighbours` for the destinations start..stop-1."""
    picks, slots = np.empty(0, np.int64), empty_slots(0)
    for row in range(start, stop):
        first_edge = graph_indptr[dst_ids[row]]
        degree = graph_indptr[dst_ids[row] + 1] - first_edge
        first = indptr[row]
        if degree <= most:
            for t in range(degree):
                neighbours[first + t] = graph_indices[first_edge + t]
            continue
        if len(picks) < most:
            picks, slots = np.empty(most, np.int64), empty_slots(most)
        _choose(degree, picks, slots, key, step, row)
        for t in range(most):
            neighbours[first + t] = graph_indices[first_edge + picks[t]]


@jit
def _choose(
    degree: int, picks: np.ndarray, slots: np.ndarray, key: np.uint64, step: int, row: int
) -> None:
    """Fill `picks` with distinct numbers below `degree`, each subset equally likely.

    Floyd's algorithm (Bentley and Floyd, CACM 30(9), 1987): time and memory follow the picks, not
    the degree. A number in 0..last is cut from 64 random bits by the smallest mask that covers
    `last` and drawn again when it exceeds it, so there is no bias.
    """
    slots[:] = -1
    mask, tries, spare = np.uint64(0), 0, np.uint64(0)
    for t in range(len(picks)):
        last = np.uint64(degree - len(picks) + t)
        while mask < last:
            mask = (mask << np.uint64(1)) | np.uint64(1)
        number = last + np.uint64(1)
        while number > last:
            if tries % 2 == 0:
                word, spare = philox(key, tries // 2, row, step, 0)
            else:
                word = spare
            number = word & mask
            tries += 1
        pick = np.int64(number)
        slot = find_slot(slots, picks, pick)
        if slots[slot] >= 0:
            pick = np.int64(last)
            slot = find_slot(slots, picks, pick)
        picks[t] = pick
        slots[slot] = t
