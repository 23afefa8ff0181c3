"""Seconds per epoch of GaAN K = 8 on a graph collection of PPI's size, whole process.

    python bench/train_step.py --threads 1,2 --json out.json
    python bench/train_step.py --task metr-la       a step of the Graph GRU: see traffic_step.py

20 graphs of about 2,245 nodes and 61 thousand arcs (random, log-normal degrees), one graph a step:
forward, backward, clipping and Adam; float32. Each thread count runs in a process of its own, so
that the peak memory is its own. The first epoch, which compiles kernels, is not counted.

To compare with another library in the same run, name its interpreter and script:

    --peer PYTHON SCRIPT ARGS...   the peer must print JSON lines with `s_per_epoch` (`s_per_step`
                                   for metr-la)
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from products_alone import flop, products_of, seconds_alone
from timing import machine

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import traffic_step

from gaancore.graph.csr import CSRGraph
from gaancore.models.node_classifier import NodeClassifier
from gaancore.nn import AggregatorSpec
from gaancore.ops import bce_with_logits
from gaancore.optim import Adam, clip_grad_norm
from gaancore.system.process import peak_rss_mb, prepare_process, rss_mb
from gaancore.tensor import Tensor

NUM_GRAPHS, NUM_NODES, MEAN_DEGREE, NUM_FEATURES, NUM_LABELS = 20, 2245, 28, 50, 121


def random_graph(
    rng: np.random.Generator, num_nodes: int = NUM_NODES, mean_degree: int = MEAN_DEGREE
) -> CSRGraph:
    """Undirected, edge i-j drawn with probability proportional to w_i w_j, log w ~ N(0, 1)."""
    weights = np.exp(rng.standard_normal(num_nodes))
    wanted, edges = num_nodes * mean_degree // 2, np.empty(0, np.int64)
    while edges.size < wanted:
        ends = rng.choice(num_nodes, (2, wanted), p=weights / weights.sum())
        low, high = ends.min(axis=0), ends.max(axis=0)
        edges = np.unique(np.concatenate([edges, (low * num_nodes + high)[low != high]]))
    edges = rng.permutation(edges)[:wanted]
    src, dst = edges // num_nodes, edges % num_nodes
    return CSRGraph.from_edges(src, dst, num_nodes, duplicates="merge").undirected()


def measure(num_threads: int, epochs: int) -> dict[str, float]:
    """Median seconds of an epoch and the memory of the process."""
    prepare_process(num_threads)
    rng = np.random.default_rng(0)
    blocks = [random_graph(rng).full_block() for _ in range(NUM_GRAPHS)]
    inputs = [rng.standard_normal((NUM_NODES, NUM_FEATURES), np.float32) for _ in blocks]
    labels = [(rng.random((NUM_NODES, NUM_LABELS)) < 0.3).astype(np.uint8) for _ in blocks]
    spec = AggregatorSpec("gaan", num_heads=8, key_dim=24, value_dim=32, gate_dim=64)
    model = NodeClassifier(
        NUM_FEATURES,
        NUM_LABELS,
        layers=[spec, spec],
        embed_dim=64,
        out_dim=128,
        dropout=0.1,
        rng=rng,
    )
    optimizer = Adam(model.named_parameters(), lr=0.01)
    seconds, memory = [], []

    def learn(epoch: int) -> None:
        for step, (block, x, y) in enumerate(zip(blocks, inputs, labels, strict=True)):
            logits = model(Tensor(x), [block, block], seed=epoch * NUM_GRAPHS + step)
            loss = bce_with_logits(logits, y)
            model.zero_grad()
            loss.backward()
            clip_grad_norm(model.named_parameters(), 0.0)
            optimizer.step()

    for epoch in range(epochs + 1):
        clock = time.perf_counter()
        learn(epoch)
        seconds.append(time.perf_counter() - clock)
        memory.append(rss_mb())
    peak = peak_rss_mb()
    products = products_of(lambda: learn(epochs + 1))
    return {
        "seconds": statistics.median(seconds[1:]),
        "seconds_min": min(seconds[1:]),
        "products_seconds": seconds_alone(products),
        "products_gflop": flop(products) / 1e9,
        "arcs": sum(block.num_edges for block in blocks),
        "parameters": model.num_parameters,
        "rss_mb_after_epoch_2": memory[min(2, epochs)],
        "rss_mb_at_end": memory[-1],
        "peak_rss_mb": peak,
    }


TASKS = {"ppi": (measure, "epoch", 5), "metr-la": (traffic_step.measure, "step", 3)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--task", choices=TASKS, default="ppi")
    parser.add_argument("--threads", default="1,2", help="comma list, one process each")
    parser.add_argument("--repeats", type=int, default=0, help="timed epochs or steps [5 or 3]")
    parser.add_argument("--json", metavar="FILE", help="write the figures to FILE as well")
    parser.add_argument("--peer", nargs=argparse.REMAINDER, default=[], metavar="PYTHON SCRIPT")
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    function, unit, repeats = TASKS[args.task]
    if args.child:
        print(json.dumps(function(args.child, args.repeats or repeats)))
        return
    facts = machine()
    print(", ".join(f"{name} {value}" for name, value in facts.items()))
    rows = []
    for num_threads in map(int, args.threads.split(",")):
        own = [sys.executable, __file__, "--task", args.task, "--child", str(num_threads)]
        own += ["--repeats", str(args.repeats)]
        rows.append({"library": "gaancore", "threads": num_threads, **_run(own)[-1]})
    peers = [line for line in _run(args.peer) if f"s_per_{unit}" in line] if args.peer else []
    for line in peers:
        seconds = {"seconds": line[f"s_per_{unit}"]}
        rows.append({"library": line.get("backend", "peer"), **line, **seconds})
    print(f"{'library':<14}{'threads':>8}{f's / {unit}':>12}{'peak MB':>10}{'ours = 1':>11}")
    ours = {row["threads"]: row["seconds"] for row in rows if row["library"] == "gaancore"}
    for row in rows:
        ratio = row["seconds"] / ours.get(row["threads"], float("nan"))
        print(
            f"{row['library']:<14}{row['threads']:>8}{row['seconds']:>12.3f}"
            f"{row['peak_rss_mb']:>10.0f}{ratio:>11.2f}"
        )
    for row in rows:
        if "products_seconds" in row:
            print(
                f"{row['threads']} threads: {row['products_gflop']:.0f} GFLOP of products, which "
                f"alone take {row['products_seconds']:.3f} s"
            )
    if args.json:
        Path(args.json).write_text(json.dumps({"machine": facts, "rows": rows}, indent=2) + "\n")


def _run(command: list[str]) -> list[dict[str, object]]:
    """The JSON lines that a command prints."""
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


if __name__ == "__main__":
    main()
