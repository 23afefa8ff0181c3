"""The blocks and widths that segment ops are timed on: made with NumPy from a seed, no files."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from train_step import NUM_GRAPHS, random_graph

from gaancore.graph.block import Block
from gaancore.graph.csr import CSRGraph

REDDIT_NODES, B1 = 232_965, 12_500  # B1: the nodes whose neighbours the second step draws
HUB, REACHED, ISOLATED = 20_000, 50_000, 10_000
EDGE_FEATURES = 4


@dataclass(frozen=True)
class Profile:
    """K heads, A key width, D value width, F features, and what the block looks like."""

    shape: str
    block: Callable[[np.random.Generator], Block]
    K: int
    A: int
    D: int
    F: int


def make_inputs(profile: Profile, block: Block, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """float32 arrays by the names that the ops give them, and a gradient for each kind of output.

    No column of `features` holds a number twice, so that a maximum has one owner. What an edge
    brings, values + edges @ to_values, is an odd multiple of 1/32, so that rounding never carries
    it over the kink of leaky ReLU at 0.
    """
    N, S, E = block.num_dst, block.num_src, block.num_edges
    K, A, D, F = profile.K, profile.A, profile.D, profile.F
    ranks = np.arange(S) / S - 0.5

    def normal(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape, np.float32)

    def quarters(*shape: int) -> np.ndarray:
        return np.rint(4 * normal(*shape)) / 4

    return {
        "scores": normal(E, K),
        "weights": rng.random((E, K), np.float32),
        "queries": normal(N, K, A),
        "keys": normal(S, K, A),
        "values": np.rint(16 * normal(S, K, D)) / 16 + np.float32(1 / 32),
        "features": rng.permuted(np.tile(ranks, (F, 1)), axis=1).T.astype(np.float32, order="C"),
        "grad_edges": normal(E, K),
        "grad_heads": normal(N, K, D),
        "grad_features": normal(N, F),
        "edges": quarters(E, EDGE_FEATURES),
        "to_keys": normal(EDGE_FEATURES, K, A),
        "to_values": quarters(EDGE_FEATURES, K, D),
    }


def _ppi(rng: np.random.Generator) -> Block:
    return CSRGraph.disjoint_union([random_graph(rng) for _ in range(NUM_GRAPHS)]).full_block()


def _road(rng: np.random.Generator) -> Block:
    return random_graph(rng, 207, 13).full_block()


def _reddit_step(num_dst: int, fanout: int) -> Callable[[np.random.Generator], Block]:
    """Up to `fanout` distinct neighbours of each destination, popular nodes more often."""

    def block(rng: np.random.Generator) -> Block:
        popularity = np.exp(0.8 * rng.standard_normal(REDDIT_NODES))
        ends = rng.choice(REDDIT_NODES, num_dst * fanout, p=popularity / popularity.sum())
        pairs = np.unique(np.repeat(np.arange(num_dst), fanout) * REDDIT_NODES + ends)
        dst, neighbours = pairs // REDDIT_NODES, pairs % REDDIT_NODES
        indptr = np.searchsorted(dst, np.arange(num_dst + 1))
        dst_ids = rng.choice(REDDIT_NODES, num_dst, replace=False)
        return Block.from_neighbours(dst_ids, indptr, neighbours, REDDIT_NODES)

    return block


def _power_law(rng: np.random.Generator) -> Block:
    """Node number r has HUB / r edges; both directions of each, and nodes without any."""
    dst = np.repeat(np.arange(HUB), HUB // np.arange(1, HUB + 1))
    src = rng.integers(0, REACHED, dst.size)
    ids = rng.permutation(REACHED + ISOLATED)
    graph = CSRGraph.from_edges(ids[src], ids[dst], ids.size, duplicates="merge")
    return graph.undirected().full_block()


def _random(rng: np.random.Generator) -> Block:
    """Ten million edges between random ends: rows that are found in no cache."""
    nodes, edges = 357_000, 10_000_000
    ends = rng.integers(0, nodes, (2, edges))
    return CSRGraph.from_edges(*ends, nodes, duplicates="keep").full_block()


PROFILES = {
    "ppi": Profile("20 graphs side by side, one layer of the paper's model", _ppi, 8, 24, 32, 64),
    "reddit-b0": Profile("512 seeds, 25 neighbours each", _reddit_step(512, 25), 4, 32, 128, 64),
    "reddit-b1": Profile("their neighbours, 10 each", _reddit_step(B1, 10), 1, 32, 512, 64),
    "power-law": Profile("a hub of thousands, many rows of one or none", _power_law, 8, 24, 32, 64),
    "tiny": Profile("207 sensors on roads", _road, 4, 16, 16, 64),
    "random": Profile("ten million edges past every cache", _random, 8, 24, 32, 64),
}
LARGE = ("random",)  # takes 13 GB, others up to 10: timed only where it is asked for
