"""The samplers of DGL and pyg-lib, run by bench/sampler.py with the interpreter that has them.

Needs nothing of gaancore. Prints a JSON line for each library that can be imported. DGL's block
sampler expands all of B_l, as GaAN does; pyg-lib expands only the nodes that are new, so it draws
fewer edges.
"""

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Iterator
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

SEEDS = 512
WARM_UP, WINDOW = 3, 10

Sizes = tuple[list[int], int]  # |B_0|, |B_1|, ... and the number of edges


def read_graph(store: str) -> tuple[np.ndarray, np.ndarray]:
    """indptr and indices of a store, in memory."""
    folder = Path(store)
    return np.load(folder / "indptr.npy"), np.load(folder / "indices.npy")


@cache
def order_of(num_nodes: int) -> np.ndarray:
    return np.random.default_rng(0).permutation(num_nodes)


def seeds_of(num_nodes: int, number: int) -> np.ndarray:
    """The seeds of a batch: the next of a permutation of all nodes, over and over."""
    start = number % (num_nodes // SEEDS) * SEEDS
    return order_of(num_nodes)[start : start + SEEDS]


def timed(batches: Iterator[Sizes], seconds: float) -> dict[str, Any]:
    """Rates of an endless run of batches over about `seconds`; ms_best is the mean of the best
    WINDOW in a row, which batches that were made ahead do not flatter."""
    for _ in range(WARM_UP):
        next(batches)
    times, nodes, edges = [], [], []
    start = last = time.perf_counter()
    while len(times) < WINDOW or last - start < seconds:
        found = next(batches)
        now = time.perf_counter()
        times.append(now - last)
        nodes.append(found[0])
        edges.append(found[1])
        last = now
    rate = len(times) / (last - start)
    return {
        "ms_best": min(np.convolve(times, np.ones(WINDOW) / WINDOW, "valid")) * 1e3,
        "ms_median": statistics.median(times) * 1e3,
        "batches_per_s": rate,
        "seeds_per_s": rate * SEEDS,
        "edges_per_s": rate * statistics.fmean(edges),
        "nodes": np.mean(nodes, axis=0).tolist(),
    }


def dgl_sampler(indptr: np.ndarray, indices: np.ndarray, fanouts: list[int]) -> Iterator[Sizes]:
    import dgl
    import torch

    columns = torch.from_numpy(indices).long()
    empty = torch.empty(0, dtype=torch.long)
    graph = dgl.graph(("csc", (torch.from_numpy(indptr), columns, empty)))
    sampler = dgl.dataloading.NeighborSampler(fanouts[::-1], replace=False, fused=True)
    order = torch.from_numpy(order_of(len(indptr) - 1))
    while True:
        loader = dgl.dataloading.DataLoader(graph, order, sampler, batch_size=SEEDS, drop_last=True)
        for _, _, blocks in loader:
            nodes = [SEEDS, *(block.num_src_nodes() for block in reversed(blocks))]
            yield nodes, sum(block.num_edges() for block in blocks)


def pyg_lib_sampler(indptr: np.ndarray, indices: np.ndarray, fanouts: list[int]) -> Iterator[Sizes]:
    import pyg_lib
    import torch

    rows, columns = torch.from_numpy(indptr), torch.from_numpy(indices).long()
    for number in count():
        seeds = torch.from_numpy(seeds_of(len(indptr) - 1, number))
        found = pyg_lib.sampler.neighbor_sample(
            rows, columns, seeds, fanouts, replace=False, directed=True
        )
        yield np.cumsum(found[4]).tolist(), len(found[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("store")
    parser.add_argument("--fanouts", required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    args = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(args.threads)  # before the libraries are imported
    graph, fanouts = read_graph(args.store), [int(fanout) for fanout in args.fanouts.split(",")]
    for name, sampler in (("dgl", dgl_sampler), ("pyg-lib", pyg_lib_sampler)):
        try:
            line = timed(sampler(*graph, fanouts), args.seconds)
        except ImportError as error:
            print(f"{name}: left out: {error}", file=sys.stderr)
            continue
        print(json.dumps({"library": name, "threads": args.threads, **line}))


if __name__ == "__main__":
    main()
