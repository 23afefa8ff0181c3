"""Some steps of a run on the ranks that a launcher started, with a stopwatch in each: scale.py
starts it, and reads the line of JSON that rank 0 prints.

    mpiexec -n 2 python bench/scale_run.py reddit-small --task reddit --shares 8 --steps 20

It is the run of `gaancore train`, without validation. Clocks stand around the making of batches,
the sampling in it, the gradients of a share, and every call of the transport, which also counts the
bytes that go to other ranks and come from them.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scale_work import run_of

from gaancore.array import Array
from gaancore.errors import UserError
from gaancore.launcher import speaks
from gaancore.parallel import Team, agreed, leave, team
from gaancore.system.process import prepare_process
from gaancore.training.progress import RunInterrupt, Watcher
from gaancore.training.step import Step, StepGradients

WARM_UP = 2  # steps that compile kernels and fill caches


class Counted:
    """A transport that notes each call: its name, seconds, bytes sent and bytes received."""

    def __init__(self, transport: Any) -> None:
        self.transport = transport
        self.rank, self.size = transport.rank, transport.size
        self.calls: list[tuple[str, float, int, int]] = []

    def gather(self, content: np.ndarray) -> list[np.ndarray]:
        clock = time.perf_counter()
        found: list[np.ndarray] = self.transport.gather(content)
        others = sum(x.size for x in found) - content.size
        self._note("gather", clock, content.size * (self.size - 1), others)
        return found

    def trade(self, contents: Sequence[np.ndarray], counts: Sequence[int]) -> list[np.ndarray]:
        clock = time.perf_counter()
        found: list[np.ndarray] = self.transport.trade(contents, counts)
        self._note("trade", clock, sum(x.size for x in contents), sum(counts))
        return found

    def exchange(self, rows: Array, counts: Sequence[int]) -> Array:
        clock = time.perf_counter()
        found = self.transport.exchange(rows, counts)
        own = rows[0].nbytes
        self._note("exchange", clock, rows.nbytes - own, found.nbytes - own)
        return found

    def collect(self, part: Array) -> Array:
        clock = time.perf_counter()
        found = self.transport.collect(part)
        others = part.nbytes * (self.size - 1)  # to each, and from each
        self._note("collect", clock, others, others)
        return found

    def abort(self, code: int) -> NoReturn:
        self.transport.abort(code)

    def _note(self, call: str, clock: float, sent: int, received: int) -> None:
        self.calls.append((call, time.perf_counter() - clock, sent, received))


class Stopwatch:
    """Seconds and work of a step, and the step before the clocks go back to 0."""

    def __init__(self, transport: Counted) -> None:
        self.transport = transport
        self.rows: list[dict[str, Any]] = []
        self._begin()

    def _begin(self) -> None:
        self.row: dict[str, Any] = {
            **dict.fromkeys(("shares", "edges", "nodes"), 0),
            **dict.fromkeys(("make", "sample", "learn"), 0.0),
        }
        self.transport.calls = []
        self.clock = time.perf_counter()

    def lap(self) -> None:
        seconds = time.perf_counter() - self.clock
        self.rows.append({**self.row, "step": seconds, "calls": self.transport.calls})
        self._begin()

    def around(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*arguments: Any) -> Any:
            calls, before = self.transport.calls, len(self.transport.calls)
            clock = time.perf_counter()
            found = function(*arguments)
            talk = sum(call[1] for call in calls[before:])  # of a store in parts
            self.row[name] += time.perf_counter() - clock - talk
            return found

        return timed


class TimedGradients(StepGradients):
    """Those of a step, of which each share is timed and its work counted."""

    watch: Stopwatch

    def of(self, learn: Callable[[Any, Any, Any], Array], step: Step, launched: Any) -> Any:
        for batch in step.batches:
            if batch.parts:
                self.watch.row["edges"] += batch.edges
                self.watch.row["nodes"] += batch.blocks[0].num_src
        self.watch.row["shares"] = len(step.batches)
        return super().of(self.watch.around("learn", learn), step, launched)


def measure(of: Team, data: str, task: str, shares: int, steps: int) -> dict[str, Any]:
    """What scale_model.py calls a measured pair. All ranks call it; each returns it."""
    transport = Counted(of.transport)
    counted = Team(transport, of.host)
    with tempfile.TemporaryDirectory() as folder, counted.together():
        run = run_of(task, data, shares, Path(folder) / "run", team=counted)
        watch = Stopwatch(transport)
        run.gradients = TimedGradients(run.model, run.device, run.shares)
        run.gradients.watch = watch
        run.batches.blocks = watch.around("sample", run.batches.blocks)
        run.batches.step = watch.around("make", run.batches.step)
        run.watcher = Watcher(
            on_step=lambda facts: watch.lap(),
            stop_requested=lambda: run.progress.step == WARM_UP + steps,
        )
        counted.from_first(run.start)
        with suppress(RunInterrupt):
            run.train()
    rows = of.all(watch.rows[WARM_UP:])
    return {
        "ranks": of.size,
        "shares": shares,
        "numbers": run.model.num_parameters + len(run.model.parameters()),
        "steps": [list(of_ranks) for of_ranks in zip(*rows, strict=True)],
    }


def crowded(of: Team, threads: int) -> str:
    """What machine has fewer CPUs than its ranks need for so many threads each; "" if none."""
    mine = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    cpus: dict[str, set[int]] = {}
    ranks: dict[str, int] = {}
    for host, usable in of.all([of.host, mine or list(range(os.cpu_count() or 1))]):
        cpus.setdefault(host, set()).update(usable)
        ranks[host] = ranks.get(host, 0) + 1
    for host, count in ranks.items():
        if count * threads > len(cpus[host]):
            return f"{host or 'this machine'} has {len(cpus[host])} CPUs"
    return ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data")
    parser.add_argument("--task", required=True)
    parser.add_argument("--shares", type=int, required=True)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    try:
        prepare_process(args.threads)
        found: dict[str, Any] = {"crowded": crowded(team(), args.threads)}
        if not found["crowded"]:
            found = measure(team(), args.data, args.task, args.shares, args.steps)
    except UserError as error:
        if speaks() or not agreed():
            print(f"error: {error}", file=sys.stderr)
        leave(2)
    if team().first:
        print(json.dumps(found))


if __name__ == "__main__":
    main()
