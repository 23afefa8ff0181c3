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
from gaancore.graph.hash_set import find_slot, merge_ids, table_size
from gaancore.graph.philox import HALF, LOW, philox
from gaancore.system.jit import jit

MOST = np.iinfo(np.int64).max


def sample_blocks(
    graph: CSRGraph,
    seeds: ArrayLike,
    fanouts: Sequence[int],
    *,
    seed: int,
    merge: bool = True,
    edge_ids: bool = False,
) -> list[Block]:
    """The blocks an L-layer model needs for `seeds`, in the order in which it applies them.

    B_0 = seeds. Step l draws for every node i of B_l, a seed or found earlier, a uniform subset
    of min(|N_i|, fanouts[l]) of its incoming edges; B_{l+1} is B_l, in its order, followed
    by the nodes that are new, in the order met. Nodes and steps draw independently.

    seeds   : distinct node ids, or a bool mask (N,). None at all gives blocks without rows.
    fanouts : S_1, S_2, ..., one per layer, nearest to the seeds first; -1 takes all neighbours,
              0 takes none.
    seed    : 0 <= seed < 2^64. The result is a pure function of the arguments: the same bits for
              any number of threads, and other subsets for another seed.
    merge   : False keeps every neighbour drawn as a source of its own, so that
              |B_{l+1}| = |B_l| + draws; seeds may repeat then.
    edge_ids : whether a block says which of the graph's entries its edges are. One whose graph has
              edge_attr always does, and has the features of its own edges.
    Returns L blocks. The last one's destinations are the seeds; blocks[i].src_ids starts with its
    destinations, which are blocks[i + 1].src_ids; blocks[0].src_ids are the feature rows to fetch.
    A row taken whole keeps CSR order, any other the order in which Floyd's algorithm draws.
    Memory follows the edges drawn, never the size of the graph.
    Raises GraphError for a bad node, fan-out or seed, and for a node that is named twice: its
    merged block has one row for it, so rows would no longer be those of `seeds`.

    >>> from gaancore.graph import CSRGraph, sample_blocks
    >>> graph = CSRGraph.from_edges([0, 2, 1], [1, 1, 2], num_nodes=3, duplicates="merge")
    >>> first, last = sample_blocks(graph, [1], fanouts=[-1, 1], seed=0)
    >>> last, last.src_ids.tolist()
    (Block(num_dst=1, num_src=3, num_edges=2), [1, 0, 2])
    """
    counts = fanout_list("sample_blocks: fanouts", fanouts)
    key = key_of("sample_blocks: seed", seed)
    dst_ids = node_ids("sample_blocks: seeds", seeds, graph.num_nodes, repeats=True)
    if merge:
        dst_ids = _distinct(dst_ids)
    blocks = []
    for step, fanout in enumerate(counts):
        indptr, entries = _entries(graph, dst_ids, fanout, key, step)
        neighbours = read_only(_fetch(graph.indices, entries))
        edges = graph.of_edges(entries, ids=edge_ids)
        blocks.append(
            Block.from_neighbours(
                dst_ids, indptr, neighbours, graph.num_nodes, merge=merge, **edges
            )
        )
        dst_ids = blocks[-1].src_ids
    return blocks[::-1]


def drop_edges(block: Block, rate: float, *, seed: int) -> Block:
    """`block` without a random share of its edges: each one is left out with probability `rate`.

    Destinations and sources stay, also those that lose all of their edges (DropEdge: Rong, Huang,
    Xu and Huang, ICLR 2020). The same seed leaves out the same edges. rate 0 returns the block.
    Raises GraphError unless 0 <= rate < 1.

    >>> from gaancore.graph import Block, drop_edges
    >>> block = Block([0, 1000], [0] * 1000, num_src=1)
    >>> 400 < drop_edges(block, 0.5, seed=0).num_edges < 600
    True
    """
    if not 0 <= rate < 1:
        raise GraphError(f"drop_edges: rate: expected 0 <= rate < 1, got {rate}")
    if rate == 0:
        return block
    kept = np.random.default_rng(seed).random(block.num_edges, np.float32) >= rate
    before = np.concatenate([[0], np.cumsum(kept)])
    indptr = read_only(before[block.indptr])
    of_edges = {
        name: None if rows is None else rows[kept]
        for name, rows in (("edge_ids", block.edge_ids), ("edge_attr", block.edge_attr))
    }
    indices = read_only(block.indices[kept])
    return Block(indptr, indices, block.num_src, block.src_ids, **of_edges)


def _distinct(seeds: np.ndarray) -> np.ndarray:
    distinct, _ = merge_ids(np.empty(0, np.int64), seeds, seeds.size)
    if repeats := seeds.size - distinct.size:
        raise GraphError(
            f"sample_blocks: seeds: {repeats} of {seeds.size} repeat a node; name each once, or "
            "use merge=False"
        )
    return read_only(distinct)


def _entries(
    graph: CSRGraph, dst_ids: np.ndarray, fanout: int, key: np.uint64, step: int
) -> tuple[np.ndarray, np.ndarray]:
    """indptr, and the positions in the graph's indices, of the edges drawn for each destination."""
    rows = graph.indptr[:-1], graph.indptr[1:]
    return draw_entries(*rows, dst_ids, np.arange(dst_ids.size), fanout, key, step)


def draw_entries(
    starts: np.ndarray,
    stops: np.ndarray,
    rows: np.ndarray,
    numbers: np.ndarray,
    fanout: int,
    key: np.uint64,
    step: int,
) -> tuple[np.ndarray, np.ndarray]:
    """indptr, and the positions, of the entries drawn from each of some rows: entries starts[r] to
    stops[r] are those of row r.

    numbers : which destination of its batch each row is. What is drawn of a row's entries is a
              function of that number, of how many there are, and of key and step: the same on any
              machine, for rows in any order.

    One thread draws a whole batch, because two do better on two batches (see
    training/prefetch.py). It draws first and fetches after: fetches that wait only for memory
    overlap.
    """
    most = MOST if fanout == -1 else min(fanout, MOST)
    indptr, largest = _offsets(starts, stops, rows, most)
    if largest > LOW:
        raise GraphError(f"sample_blocks: a node has {largest} neighbours, more than 2^32 - 1")
    edges = _draw(starts, stops, rows, numbers, indptr, most, key, step)
    return read_only(indptr), edges


@jit
def _offsets(
    starts: np.ndarray, stops: np.ndarray, rows: np.ndarray, most: int
) -> tuple[np.ndarray, np.int64]:
    """indptr of min(degree, most) for each row, and the largest degree to draw from."""
    indptr = np.zeros(len(rows) + 1, np.int64)
    largest = np.int64(0)
    for row in range(len(rows)):
        degree = stops[rows[row]] - starts[rows[row]]
        indptr[row + 1] = indptr[row] + min(degree, most)
        if degree > most:
            largest = max(largest, degree)
    return indptr, largest


@jit
def _draw(
    starts: np.ndarray,
    stops: np.ndarray,
    rows: np.ndarray,
    numbers: np.ndarray,
    indptr: np.ndarray,
    most: int,
    key: np.uint64,
    step: int,
) -> np.ndarray:
    """The positions of the entries drawn for each row.

    Each subset of a row is equally likely: Floyd's algorithm (Bentley and Floyd, CACM 30(9),
    1987), whose time and memory follow the picks, not the degree. It has to know whether an edge
    was picked before: `slots` is a table of places in `edges` (see hash_set.py). Those below the
    row's first place are left over from earlier rows and count as free, so nothing is ever cleared.
    """
    edges = np.empty(indptr[-1], np.int64)
    slots = np.empty(0, np.int64)
    for row in range(len(rows)):
        base, stop = starts[rows[row]], stops[rows[row]]
        first, number = indptr[row], numbers[row]
        if stop - base <= most:
            for t in range(stop - base):
                edges[first + t] = base + t
            continue
        if len(slots) == 0:
            slots = np.full(table_size(4 * most), -1, np.int64)
        words, more = np.uint64(0), np.uint64(0)
        for t in range(most):
            if t % 4 == 0:
                words, more = philox(key, t // 4, number, step, 0)
            elif t % 4 == 2:
                words = more
            else:
                words >>= HALF
            last = stop - most + t
            edge = base + _below(last - base + 1, words & LOW, key, t, number, step)
            slot = find_slot(slots, edges, edge, edge, first)  # picks are random: no hashing
            if slots[slot] >= first:
                edge = last
                slot = find_slot(slots, edges, edge, edge, first)
            slots[slot] = first + t
            edges[first + t] = edge
    return edges


@jit
def _below(bound: int, word: np.uint64, key: np.uint64, t: int, row: int, step: int) -> np.int64:
    """A number in 0..bound-1, each equally likely, from 32 random bits: the high half of
    word * bound. If its low half is below 2^32 mod bound, other bits are drawn in place of `word`
    (Lemire, "Fast random integer generation in an interval", TOMACS 29(1), 2019).
    """
    wide, attempt = np.uint64(bound), 0
    product = word * wide
    while (product & LOW) < wide and (product & LOW) < (LOW + np.uint64(1)) % wide:
        attempt += 1
        product = (philox(key, t, row, step, attempt)[0] & LOW) * wide
    return np.int64(product >> HALF)


@jit
def _fetch(graph_indices: np.ndarray, edges: np.ndarray) -> np.ndarray:
    neighbours = np.empty(len(edges), graph_indices.dtype)
    for e in range(len(edges)):
        neighbours[e] = graph_indices[edges[e]]
    return neighbours
