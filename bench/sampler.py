"""Sampling and merging neighbourhoods: batches a second, on one thread and on several.

    gaancore synth reddit reddit-store                      # 114.6 million arcs, about a minute
    python bench/sampler.py reddit-store --threads 1,2 --json out.json
    python bench/sampler.py reddit-store --peer-python venv_dgl/bin/python

Batches of 512 seeds walk through a permutation of all nodes; neighbours are drawn without
replacement from each node of B_l, and merged. On one thread a batch is made when it is asked for;
on more, whole batches are made ahead (gaancore.training.prefetch). Every library gets a process of
its own for each number of threads, the same arrays (indptr.npy and indices.npy of the store, read
into memory) and the same seeds. Checked before it is timed: every row has as many distinct edges
of the graph as it should.

--peer-python names an interpreter that has DGL, pyg-lib or both; see sampler_peers.py.
"""

import argparse
import json
import subprocess
import sys
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from sampler_peers import SEEDS, read_graph, seeds_of, timed
from timing import machine

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from gaancore.data.nodes.store.reader import is_store
from gaancore.graph import Block, CSRGraph, sample_blocks
from gaancore.system.process import peak_rss_mb, prepare_process
from gaancore.training.prefetch import Prefetch


def measure(store: str, fanouts: list[int], num_threads: int, seconds: float) -> dict[str, Any]:
    """One line of the table for this library."""
    prepare_process(num_threads)
    indptr, indices = read_graph(store)
    for array in (indptr, indices):
        array.flags.writeable = False  # shared, not copied
    graph = CSRGraph(indptr, indices)

    def batch(number: int) -> list[Block]:
        return sample_blocks(graph, seeds_of(graph.num_nodes, number), fanouts, seed=number)

    check(graph, batch(0), fanouts)
    depth = 0 if num_threads == 1 else 2 * num_threads
    with Prefetch(batch, count(), depth=depth) as batches:
        sizes = (
            ([SEEDS, *(b.num_src for b in blocks[::-1])], sum(b.num_edges for b in blocks))
            for blocks in batches
        )
        line = timed(sizes, seconds)
    return {"library": "gaancore", "threads": num_threads, **line, "peak_rss_mb": peak_rss_mb()}


def check(graph: CSRGraph, blocks: list[Block], fanouts: list[int]) -> None:
    """Rows of the right length, of distinct neighbours that the graph has (it has no repeats)."""
    for block, fanout in zip(reversed(blocks), fanouts, strict=True):
        dst_ids = block.src_ids[: block.num_dst]
        degrees = graph.degrees[dst_ids]
        assert (np.diff(block.indptr) == np.minimum(degrees, fanout)).all()
        assert np.unique(block.src_ids).size == block.num_src
        for row in range(0, block.num_dst, 97):
            drawn = block.src_ids[block.indices[block.indptr[row] : block.indptr[row + 1]]]
            mine = graph.indices[graph.indptr[dst_ids[row]] : graph.indptr[dst_ids[row] + 1]]
            assert np.unique(drawn).size == drawn.size
            assert np.isin(drawn, mine).all()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("store", help="a folder that gaancore convert or synth wrote")
    parser.add_argument("--fanouts", default="25,10;15,15,15", help="lists, with ; between them")
    parser.add_argument("--threads", default="1,2", help="comma list, one process each")
    parser.add_argument("--seconds", type=float, default=5.0, help="of each case")
    parser.add_argument("--peer-python", metavar="PYTHON", help="interpreter of other libraries")
    parser.add_argument("--json", metavar="FILE", help="write the figures to FILE as well")
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        fanouts = [int(fanout) for fanout in args.fanouts.split(",")]
        print(json.dumps(measure(args.store, fanouts, args.child, args.seconds)))
        return
    if not is_store(Path(args.store)):
        parser.exit(2, f"{args.store}: no store here; write one with gaancore convert or synth\n")
    facts = machine()
    print(", ".join(f"{name} {value}" for name, value in facts.items()))
    print(f"{'library':<14}{'threads':>8}{'fanouts':>12}{'ms best':>9}{'median':>9}"
          f"{'batches/s':>11}{'seeds/s':>10}{'M edges/s':>11}  |B|")  # fmt: skip
    peers = Path(__file__).with_name("sampler_peers.py")
    rows = []
    for fanouts in args.fanouts.split(";"):
        for threads in args.threads.split(","):
            shared = [args.store, "--fanouts", fanouts, "--seconds", str(args.seconds)]
            runs = [[sys.executable, __file__, *shared, "--child", threads]]
            if args.peer_python:
                runs.append([args.peer_python, str(peers), *shared, "--threads", threads])
            for command in runs:
                for row in _lines(command):
                    rows.append({"fanouts": fanouts, **row})
                    print(_as_text(rows[-1]), flush=True)
    if args.json:
        Path(args.json).write_text(json.dumps({"machine": facts, "rows": rows}, indent=2) + "\n")


def _lines(command: list[str]) -> list[dict[str, Any]]:
    """The JSON lines that a command prints."""
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def _as_text(row: dict[str, Any]) -> str:
    sizes = " ".join(f"{size:,.0f}" for size in row["nodes"])
    return (
        f"{row['library']:<14}{row['threads']:>8}{row['fanouts']:>12}{row['ms_best']:>9.2f}"
        f"{row['ms_median']:>9.2f}{row['batches_per_s']:>11.1f}{row['seeds_per_s']:>10.0f}"
        f"{row['edges_per_s'] / 1e6:>11.1f}  {sizes}"
    )


if __name__ == "__main__":
    main()
