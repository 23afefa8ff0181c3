"""What each trick gains: a training step as it is, and with one trick switched off, by turns.

    gaancore synth reddit reddit-store
    python bench/why.py --store reddit-store --threads 1,2 --pairs 9 --json why.json --markdown
    python bench/why.py --trick baton --trick vector-moves --task ppi

The product has no switches. Two processes run the same work, and one of them first replaces
functions of the product (tricks.py). Both must give the same gradients, up to rounding. Then they
take turns: a pair is one run of each, and which of the two begins alternates. The process that
waits sleeps. Run it on a machine that does nothing else.

Tasks: `ppi` is an epoch of train_step.py, `metr-la` a step of traffic_step.py, `reddit` a batch of
reddit_epoch.py, which needs a store. `attention` is attention alone, forward and backward, over a
graph of the epoch, and `attention-large` over a random graph of a million edges. The table gives
medians of seconds, the median and the quartiles of without / with over the pairs (at 1.10 a step
takes 10 % longer without the trick), and the peak memory of both processes.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from timing import machine

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import reddit_epoch
import traffic_step
import train_step
from tricks import TRICKS, replace

from gaancore.graph import CSRGraph
from gaancore.nn.module import Parameter
from gaancore.ops import segment_attention
from gaancore.optim import Adam
from gaancore.system.process import peak_rss_mb, prepare_process

AS_IT_IS = "as-it-is"
TASKS = ("ppi", "reddit", "metr-la", "attention", "attention-large")
LARGE = (36_000, 1_000_000)  # nodes and edges
CALLS = 9  # of attention in one run
ROUNDING = 1e-4  # of the largest gradient, in float32


# ---- the work ------------------------------------------------------------------------------------


def run(task: str, num_threads: int, store: str, batches: int) -> float:
    """Seconds of one epoch, batch or step, after one that is not counted."""
    if task == "ppi":
        return train_step.measure(num_threads, 1)["seconds"]
    if task == "metr-la":
        return traffic_step.measure(num_threads, 1)["seconds"]
    if task.startswith("attention"):
        return attention_alone(num_threads, large=task == "attention-large")
    return reddit_epoch.measure(store, num_threads, batches, depth=2)["seconds"] / batches


def attention_alone(num_threads: int, *, large: bool) -> float:
    """Seconds of attention with K = 8 heads, forward and backward; the median of some calls."""
    prepare_process(num_threads)
    rng = np.random.default_rng(0)
    if large:
        nodes, edges = LARGE
        ends = rng.integers(0, nodes, (2, edges))
        graph = CSRGraph.from_edges(*ends, nodes, duplicates="keep")
    else:
        graph = train_step.random_graph(rng)
    block = graph.full_block()
    inputs = {
        name: Parameter(rng.standard_normal((block.num_dst, 8, width), np.float32))
        for name, width in (("queries", 24), ("keys", 24), ("values", 32))
    }
    grad = rng.standard_normal((block.num_dst, 8, 32), np.float32)
    optimizer, seconds = Adam(inputs, lr=0.0), []
    for _ in range(CALLS):
        clock = time.perf_counter()
        segment_attention(*inputs.values(), block=block, scale=1 / 24).backward(grad)
        seconds.append(time.perf_counter() - clock)
        optimizer.step()
        for given in inputs.values():
            given.grad = None
    return statistics.median(seconds[1:])


def shrink() -> None:
    """Sizes that a test can wait for; the networks stay as they are."""
    graph = train_step.random_graph
    for module, sizes in (
        (train_step, {"NUM_GRAPHS": 2, "NUM_NODES": 120, "MEAN_DEGREE": 24}),
        (traffic_step, {"SENSORS": 60, "ARCS": 400, "BATCH": 22, "STEPS": 2}),
    ):
        for name, size in sizes.items():
            replace(module, name, size)
    replace(train_step, "random_graph", lambda rng: graph(rng, 120, 24))
    replace(sys.modules[__name__], "LARGE", (120, 2400))


def keep_first_gradients(target: Path) -> None:
    """Leave in `target` what the first step of Adam is given."""
    step = Adam.step

    def first_step(self: Adam) -> None:
        Adam.step = step  # type: ignore[method-assign]
        given = {name: p.grad for name, p in self.parameters.items() if p.grad is not None}
        np.savez(target, **given)
        step(self)

    Adam.step = first_step  # type: ignore[method-assign]


def serve(args: argparse.Namespace) -> None:
    """Run once for each line that comes in; answer with the seconds and the peak memory."""
    (num_threads,) = args.threads
    if args.tiny:
        shrink()
    if args.serve != AS_IT_IS:
        TRICKS[args.serve].off(num_threads)
    keep_first_gradients(args.gradients)
    for _ in sys.stdin:
        seconds = run(args.task[0], num_threads, args.store, args.batches)
        print(json.dumps([seconds, peak_rss_mb()]), flush=True)


class Runner:
    """A process that runs the work when it is asked to."""

    def __init__(self, trick: str, given: list[str], folder: Path, fresh: bool) -> None:
        self.gradients = folder / f"{trick}.npz"
        self.peak_mb = 0.0
        command = [sys.executable, __file__, "--serve", trick, "--gradients", str(self.gradients)]
        own_cache = {"NUMBA_CACHE_DIR": str(folder / "cache")} if fresh else {}
        self.process = subprocess.Popen(
            [*command, *given], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=os.environ | own_cache,
        )  # fmt: skip

    def __enter__(self) -> "Runner":
        return self

    def __exit__(self, *error: object) -> None:
        self.process.communicate()  # no more lines: it ends

    def seconds(self) -> float:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit("a process stopped; its reason stands above")
        seconds, self.peak_mb = json.loads(answer)
        return seconds


# ---- comparing -----------------------------------------------------------------------------------


def compare(name: str, task: str, num_threads: int, args: argparse.Namespace) -> dict[str, Any]:
    """A row of the table. Raises SystemExit if the gradients are not the same."""
    given = ["--task", task, "--threads", str(num_threads), "--batches", str(args.batches)]
    given += ["--store", args.store] if args.store else []
    given += ["--tiny"] if args.tiny else []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        runners = [
            stack.enter_context(Runner(who, given, folder, fresh))
            for who, fresh in ((AS_IT_IS, False), (name, TRICKS[name].compiled))
        ]
        for runner in runners:
            runner.seconds()  # compiles
        error = difference(*(runner.gradients for runner in runners))
        if not error <= ROUNDING:
            raise SystemExit(f"{name} on {task}: gradients differ by {error:.1e} of the largest")
        pairs = []
        for number in range(args.pairs):
            turn = runners if number % 2 == 0 else runners[::-1]
            taken = {runner.gradients: runner.seconds() for runner in turn}
            pairs.append([taken[runner.gradients] for runner in runners])
    as_it_is, without = np.transpose(pairs)
    low, middle, high = np.percentile(without / as_it_is, [25, 50, 75])
    return {
        "trick": name,
        "task": task,
        "threads": num_threads,
        "seconds_with": float(np.median(as_it_is)),
        "seconds_without": float(np.median(without)),
        "ratio": float(middle),
        "quartiles": [float(low), float(high)],
        "peak_mb": [runner.peak_mb for runner in runners],
        "pairs": args.pairs,
        "difference": error,
    }


def difference(*files: Path) -> float:
    """The largest one, relative to the largest gradient of all: some, as those of the keys' biases,
    are 0 except for rounding.
    """
    ours, theirs = (dict(np.load(file)) for file in files)
    if ours.keys() != theirs.keys():
        raise SystemExit("not the same parameters have gradients")
    largest = max(float(np.abs(grad).max()) for grad in ours.values())
    return max(float(np.abs(grad - theirs[name]).max()) for name, grad in ours.items()) / largest


def as_markdown(rows: list[dict[str, Any]]) -> Iterator[str]:
    yield (
        "| trick | instead of it | task | threads | s with | s without | without / with "
        "| MB with | MB without |"
    )
    yield "|" + " --- |" * 9
    for row in rows:
        low, high = row["quartiles"]
        yield (
            f"| {row['trick']} | {TRICKS[row['trick']].instead} | {row['task']} "
            f"| {row['threads']} | {row['seconds_with']:.3f} | {row['seconds_without']:.3f} "
            f"| {row['ratio']:.2f} ({low:.2f} to {high:.2f}) "
            f"| {row['peak_mb'][0]:.0f} | {row['peak_mb'][1]:.0f} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trick", choices=TRICKS, action="append", help="[default: each]")
    parser.add_argument("--task", choices=TASKS, action="append", help="[default: each]")
    parser.add_argument("--store", default="", help="a store of Reddit's size, for reddit")
    parser.add_argument("--threads", type=_numbers, default=[1, 2], help="comma list")
    parser.add_argument("--pairs", type=int, default=5, help="runs of each, by turns")
    parser.add_argument("--batches", type=int, default=20, help="of Reddit in one run")
    parser.add_argument("--json", metavar="FILE", help="write the figures to FILE as well")
    parser.add_argument("--markdown", action="store_true", help="print the table for docs")
    parser.add_argument("--tiny", action="store_true", help="small sizes, to try this script")
    parser.add_argument("--serve", choices=[AS_IT_IS, *TRICKS], help=argparse.SUPPRESS)
    parser.add_argument("--gradients", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        serve(args)
        return
    facts, rows = machine(), []
    print("gaancore on", ", ".join(f"{name} {value}" for name, value in facts.items()))
    if not args.store:
        print("reddit is left out: it needs a store")
    print(
        f"{'trick':<14}{'task':<16}{'threads':>7}{'with':>9}{'without':>9}{'without / with':>26}"
        f"{'MB with':>9}{'without':>9}"
    )
    for name, trick in TRICKS.items():
        for task in trick.tasks:
            wanted = name in (args.trick or TRICKS) and task in (args.task or TASKS)
            for num_threads in args.threads:
                if not wanted or num_threads < trick.least_threads:
                    continue
                if task != "reddit" or args.store:
                    rows.append(compare(name, task, num_threads, args))
                    print(_as_text(rows[-1]), flush=True)
    if args.markdown:
        print("", *as_markdown(rows), sep="\n")
    if args.json:
        Path(args.json).write_text(json.dumps({"machine": facts, "rows": rows}, indent=2) + "\n")


def _as_text(row: dict[str, Any]) -> str:
    low, high = row["quartiles"]
    return (
        f"{row['trick']:<14}{row['task']:<16}{row['threads']:>7}{row['seconds_with']:>9.3f}"
        f"{row['seconds_without']:>9.3f}{row['ratio']:>10.2f} ({low:.2f} to {high:.2f})"
        f"{row['peak_mb'][0]:>9.0f}{row['peak_mb'][1]:>9.0f}"
    )


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",")]


if __name__ == "__main__":
    main()
