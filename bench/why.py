"""What each trick gains: a training step as it is, and with one trick switched off, by turns.

    gaancore synth reddit reddit-store
    python bench/why.py --store reddit-store --threads 1,2 --pairs 9 --json why.json --markdown
    python bench/why.py --trick baton --trick vector-moves --task ppi

The product has no switches. Two processes run the same work, and in one of them functions are
replaced from outside before it starts. Both must first give the same gradients, up to rounding.
Then they take turns, and a pair is one run of each; which of the two begins alternates. The process
that waits sleeps. Run it on a machine that does nothing else.

Tasks: `ppi` is an epoch of train_step.py, `metr-la` a step of traffic_step.py, `reddit` a batch of
reddit_epoch.py, which needs a store. The table gives medians of seconds, and the median and the
quartiles of without / with over the pairs: at 1.10 the trick saves what is 10 % of a step with it.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from timing import machine

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import reddit_epoch
import traffic_step
import train_step
from threadpoolctl import threadpool_limits

from gaancore.kernels.cpu import attention, linear
from gaancore.nn import graph_gru
from gaancore.optim import Adam
from gaancore.system import threads
from gaancore.train import pieces

AS_IT_IS = "as-it-is"
ROUNDING = 1e-4  # of the largest gradient, in float32


# ---- tricks, and how each is switched off --------------------------------------------------------


class LockBaton:
    """A hand-over from thread to thread by a lock: who waits, sleeps at once."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._lock.acquire()

    def give(self) -> None:
        self._lock.release()

    def take(self) -> None:
        self._lock.acquire()

    def take_after_giving(self, other: "LockBaton") -> None:
        other.give()
        self.take()


class Alone:
    """The aggregators of a Graph GRU, each computed by itself."""

    def __init__(self, aggregators: list[Any]) -> None:
        self.aggregators = aggregators

    def __call__(self, x: Any, z: Any, block: Any) -> list[Any]:
        return [aggregator(x, z, block) for aggregator in self.aggregators]


def _replace(owner: Any, name: str, other: Any) -> None:
    """Put `other` in the place of owner.name, which must be there."""
    getattr(owner, name)
    setattr(owner, name, other)


def _no_baton(num_threads: int) -> None:
    _replace(threads, "Baton", LockBaton)


def _no_moves(num_threads: int) -> None:
    import plain_moves

    plain_moves.take_the_place_of_moves()


def _no_head_by_head(num_threads: int) -> None:
    _replace(attention, "SHORT", 1 << 40)


def _no_all_heads(num_threads: int) -> None:
    _replace(attention, "SHORT", -1)


def _no_side_by_side(num_threads: int) -> None:
    _replace(graph_gru, "SideBySide", Alone)


def _no_row_pieces(num_threads: int) -> None:
    """One call of BLAS for a product, on BLAS's own threads."""
    _replace(threads, "limit_blas", lambda: None)
    _replace(linear, "_piece", lambda count, four_of: max(1, count))
    threadpool_limits(num_threads, user_api="blas")


def _no_batch_pieces(num_threads: int) -> None:
    """As on a CUDA device: few large pieces, one after the other, each kernel on all threads."""
    _replace(pieces, "ROWS", pieces.ROWS_ON_CUDA)
    _replace(pieces, "share_pieces", lambda work, count, device="cpu": work(0, count))


def _no_prefetch(num_threads: int) -> None:
    ahead: Any = reddit_epoch.Prefetch
    when_asked_for = lambda make, numbers, depth: ahead(make, numbers, depth=0)  # noqa: E731
    _replace(reddit_epoch, "Prefetch", when_asked_for)


class Trick(NamedTuple):
    """What the other process does to itself, and where the trick is at work at all."""

    off: Callable[[int], None]
    instead: str
    tasks: tuple[str, ...]
    least_threads: int = 1
    compiled: bool = False  # kernels are other machine code: none may come from the user's cache


TRICKS = {
    "baton": Trick(_no_baton, "a lock wakes a thread", ("ppi", "reddit", "metr-la"), 2),
    "vector-moves": Trick(
        _no_moves, "plain Numba loops", ("ppi", "reddit", "metr-la"), compiled=True
    ),
    # Reddit drops attention weights, which the walk of all heads cannot do
    "head-by-head": Trick(_no_head_by_head, "all heads of an edge at once", ("ppi",)),
    "all-heads": Trick(_no_all_heads, "head by head over packed copies", ("metr-la",)),
    "side-by-side": Trick(_no_side_by_side, "each aggregator alone", ("metr-la",)),
    "row-pieces": Trick(_no_row_pieces, "whole products on BLAS's threads", ("ppi", "reddit")),
    "batch-pieces": Trick(_no_batch_pieces, "4,096 rows in turn, on all threads", ("metr-la",)),
    "prefetch": Trick(_no_prefetch, "a batch is made when it is asked for", ("reddit",)),
}


# ---- the work ------------------------------------------------------------------------------------


def run(task: str, num_threads: int, store: str, batches: int) -> float:
    """Seconds of one epoch, batch or step, after one that is not counted."""
    if task == "ppi":
        return train_step.measure(num_threads, 1)["seconds"]
    if task == "metr-la":
        return traffic_step.measure(num_threads, 1)["seconds"]
    return reddit_epoch.measure(store, num_threads, batches, depth=2)["seconds"] / batches


def shrink() -> None:
    """Sizes that a test can wait for; the networks stay as they are."""
    graph = train_step.random_graph
    for module, sizes in (
        (train_step, {"NUM_GRAPHS": 2, "NUM_NODES": 120, "MEAN_DEGREE": 24}),
        (traffic_step, {"SENSORS": 60, "ARCS": 400, "BATCH": 22, "STEPS": 2}),
    ):
        for name, size in sizes.items():
            _replace(module, name, size)
    _replace(train_step, "random_graph", lambda rng: graph(rng, 120, 24))


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
    """Run once for each line that comes in, and answer with the seconds."""
    (num_threads,) = args.threads
    if args.tiny:
        shrink()
    if args.serve != AS_IT_IS:
        TRICKS[args.serve].off(num_threads)
    keep_first_gradients(args.gradients)
    for _ in sys.stdin:
        seconds = run(args.task[0], num_threads, args.store, args.batches)
        print(json.dumps(seconds), flush=True)


class Runner:
    """A process that runs the work when it is asked to."""

    def __init__(self, trick: str, given: list[str], folder: Path, fresh: bool) -> None:
        self.gradients = folder / f"{trick}.npz"
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
        return json.loads(answer)


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
    yield "| trick | instead of it | task | threads | s with | s without | without / with |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for row in rows:
        low, high = row["quartiles"]
        yield (
            f"| {row['trick']} | {TRICKS[row['trick']].instead} | {row['task']} "
            f"| {row['threads']} | {row['seconds_with']:.3f} | {row['seconds_without']:.3f} "
            f"| {row['ratio']:.2f} ({low:.2f} to {high:.2f}) |"
        )


def main() -> None:
    tasks = ("ppi", "reddit", "metr-la")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trick", choices=TRICKS, action="append", help="[default: each]")
    parser.add_argument("--task", choices=tasks, action="append", help="[default: each]")
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
    print(f"{'trick':<14}{'task':<9}{'threads':>7}{'with':>9}{'without':>9}{'without / with':>26}")
    for name, trick in TRICKS.items():
        for task in trick.tasks:
            wanted = name in (args.trick or TRICKS) and task in (args.task or tasks)
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
        f"{row['trick']:<14}{row['task']:<9}{row['threads']:>7}{row['seconds_with']:>9.3f}"
        f"{row['seconds_without']:>9.3f}{row['ratio']:>10.2f} ({low:.2f} to {high:.2f})"
    )


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",")]


if __name__ == "__main__":
    main()
