"""An epoch of GaAN K = 4 on a store of Reddit's size: seconds, edges, memory, waiting; and DGL's.

    gaancore synth reddit reddit-store                      # 114.6 million arcs, about a minute
    python bench/reddit_epoch.py reddit-store --threads 1,2 --json out.json
    python bench/reddit_epoch.py reddit-store --batches 20 --peer-python venv_dgl/bin/python

The paper's recipe as `gaancore train --task reddit` runs it: batches of 512 training nodes, 25 and
10 neighbours drawn among the training nodes, features standardised as they are fetched, forward,
backward, clipping and Adam, batches made ahead. A part of an epoch (--batches) is scaled to all of
it. The first batches, which compile kernels, are not counted; neither is opening the store.

--peer-python names an interpreter that has DGL: it trains a network of the same size on the same
training graph with DGL's sampler and kernels, see reddit_peer.py. Each library gets a process of
its own for each number of threads, one after the other, --rounds times. CPU seconds say more than
seconds where the machine is shared. "products s" is how long the matrix products of our batches
take with nothing else between them (products_alone.py).
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import count, islice
from pathlib import Path
from typing import Any

import numpy as np
from products_alone import products_of, seconds_alone
from segment_peers import KEPT
from timing import machine

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from gaancore.data import TRAIN, Features, NodeDataset, feature_statistics, open_store
from gaancore.data.nodes.rows import WholeRows
from gaancore.data.nodes.store.reader import is_store
from gaancore.ops import softmax_cross_entropy
from gaancore.optim import Adam, clip_grad_norm
from gaancore.system.process import peak_rss_mb, prepare_process
from gaancore.tensor import Tensor
from gaancore.training.nodes.batches import Batch, Batches
from gaancore.training.nodes.build import build_model
from gaancore.training.nodes.settings import task_settings
from gaancore.training.prefetch import Prefetch

WARM_UP = 2
PEER = Path(__file__).with_name("reddit_peer.py")


def measure(store: str, num_threads: int, num_batches: int, depth: int) -> dict[str, Any]:
    """One line of the table for this library."""
    prepare_process(num_threads)
    settings = task_settings("reddit")
    dataset = open_store(store)
    view, _ = dataset.view(TRAIN)
    features = Features(view.features, *feature_statistics(dataset, settings.normalize))
    model = build_model(settings, dataset.num_features, dataset.num_classes)
    rows = WholeRows(view.graph, features, view.labels)
    batches = Batches(view, rows, settings, model.num_steps)
    optimizer = Adam(model.named_parameters(), settings.lr)
    edges = []

    def learn(batch: Batch, number: int) -> None:
        logits = model(Tensor(batch.x), batch.blocks, seed=number)
        loss = softmax_cross_entropy(logits, batch.labels)
        model.zero_grad()
        loss.backward()
        clip_grad_norm(model.named_parameters(), settings.clip_norm)
        optimizer.step()

    with Prefetch(batches.step, count(), depth=depth) as ahead:
        for number, step in enumerate(islice(ahead, WARM_UP + num_batches)):
            (batch,) = step.batches  # the only share
            if number == WARM_UP:
                ahead.waited, cpu, clock = 0.0, time.process_time(), time.perf_counter()
            learn(batch, number)
            edges.append(sum(block.num_edges for block in batch.blocks))
            if number == WARM_UP + num_batches - 1:  # before what lies ahead is waited for
                seconds, cpu = time.perf_counter() - clock, time.process_time() - cpu
                waited = ahead.waited
    peak = peak_rss_mb()
    products = products_of(lambda: learn(batch, number + 1))  # those of one batch
    every = products * num_threads  # a batch for each thread: one alone is not cut evenly
    alone = statistics.median(seconds_alone(every) for _ in range(3)) / num_threads
    return {
        "library": "gaancore",
        "threads": num_threads,
        "batches": num_batches,
        "batches_per_epoch": batches.steps_per_epoch,
        "seconds": seconds,
        "cpu_seconds": cpu,
        "edges": sum(edges[WARM_UP:]),
        "waiting_share": waited / seconds,
        "products_seconds": alone * num_batches,
        "parameters": model.num_parameters,
        "peak_rss_mb": peak,
    }


def write_training_graph(store: str, folder: Path) -> None:
    """What the peer cannot cut out itself: the graph on the training nodes, and their labels."""
    view: NodeDataset = open_store(store).view(TRAIN)[0]
    arrays = {"indptr": view.graph.indptr, "indices": view.graph.indices, "labels": view.labels}
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("store", help="a folder that gaancore convert or synth wrote")
    parser.add_argument("--threads", default="1,2", help="comma list, one process each")
    parser.add_argument("--batches", type=int, default=300, help="timed ones, of 512 nodes")
    parser.add_argument("--prefetch", type=int, default=2, help="batches made ahead")
    parser.add_argument("--rounds", type=int, default=1, help="runs of each, by turns")
    parser.add_argument("--peer-python", metavar="PYTHON", help="interpreter of DGL")
    parser.add_argument("--json", metavar="FILE", help="write the figures to FILE as well")
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        print(json.dumps(measure(args.store, args.child, args.batches, args.prefetch)))
        return
    if not is_store(Path(args.store)):
        parser.exit(2, f"{args.store}: no store here; write one with gaancore convert or synth\n")
    facts, rows = machine(), []
    print(", ".join(f"{name} {value}" for name, value in facts.items()))
    print(f"{'library':<10}{'threads':>8}{'s / epoch':>11}{'CPU s':>9}{'M edges/s':>11}"
          f"{'products s':>12}{'waiting':>9}{'peak MB':>9}{'parameters':>12}")  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        if args.peer_python:
            write_training_graph(args.store, Path(folder))
        for threads in args.threads.split(","):
            own = [sys.executable, __file__, args.store, "--child", threads]
            own += ["--batches", str(args.batches), "--prefetch", str(args.prefetch)]
            runs = [(own, {})]
            if args.peer_python:
                peer = [args.peer_python, str(PEER), folder, str(Path(args.store) / "features.npy")]
                peer += ["--threads", threads, "--batches", str(args.batches)]
                runs.append((peer, peer_environment(threads)))
            for _ in range(args.rounds):
                for command, environment in runs:
                    rows.append(_line(command, environment))
                    print(_as_text(rows[-1]), flush=True)
    for row in _ratios(rows):
        print(row)
    if args.json:
        Path(args.json).write_text(json.dumps({"machine": facts, "rows": rows}, indent=2) + "\n")


def peer_environment(threads: str) -> dict[str, str]:
    """Its threads, and an allocator that keeps what is freed, as ours does."""
    return {
        **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), threads),
        **KEPT,
        "DGLBACKEND": "pytorch",
    }


def _line(command: list[str], environment: dict[str, str]) -> dict[str, Any]:
    """The JSON line that a command prints."""
    done = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True, env=os.environ | environment
    )
    (line,) = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return line


def _as_text(row: dict[str, Any]) -> str:
    epoch = row["batches_per_epoch"] / row["batches"]
    alone = f"{row['products_seconds'] * epoch:.1f}" if "products_seconds" in row else ""
    return (
        f"{row['library']:<10}{row['threads']:>8}{row['seconds'] * epoch:>11.1f}"
        f"{row['cpu_seconds'] * epoch:>9.1f}{row['edges'] / row['seconds'] / 1e6:>11.3f}"
        f"{alone:>12}{row['waiting_share']:>9.1%}{row['peak_rss_mb']:>9.0f}{row['parameters']:>12,}"
    )


def _ratios(rows: list[dict[str, Any]]) -> list[str]:
    """Medians of ours over medians of the peer's, for each number of threads."""
    lines = []
    for threads in sorted({row["threads"] for row in rows}):
        of = {
            (library, what): statistics.median(
                row[what] for row in rows if (row["library"], row["threads"]) == (library, threads)
            )
            for library in {row["library"] for row in rows}
            for what in ("seconds", "cpu_seconds")
        }
        if len(of) == 4:
            seconds, cpu = (
                of["gaancore", what] / of["dgl", what] for what in ("seconds", "cpu_seconds")
            )
            lines.append(f"{threads} threads: {seconds:.2f} of DGL's seconds, {cpu:.2f} of its CPU")
    return lines


if __name__ == "__main__":
    main()
