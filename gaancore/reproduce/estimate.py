"""How long runs take on this machine, measured by a few steps of each row before they begin.

A process of its own measures, as workers do: it reads the data once, takes a few steps of each row
and one validation in a folder that is thrown away, and writes a line of JSON for each. Where a row
cannot be measured the line says why, and its runs begin all the same.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from itertools import accumulate
from pathlib import Path
from typing import Any, NotRequired, TypedDict

from gaancore.errors import UserError
from gaancore.optim import PlateauSchedule
from gaancore.reproduce.plan import TableRun
from gaancore.reproduce.worker import stop_with_parent
from gaancore.system.jit import functions_made_ready
from gaancore.system.process import prepare_process
from gaancore.system.threads import get_num_threads
from gaancore.tasks import task_named
from gaancore.training.choices import with_changes
from gaancore.training.progress import RunInterrupt, Watcher
from gaancore.training.run import Run
from gaancore.training.run_folder import RunFolder

PROGRAM = "from gaancore.reproduce.estimate import main; main()"
STEPS = 3  # that are timed, after the first, which reads pages in, and all that compile
ENOUGH = 20.0  # seconds after which one will do


class Probe(TypedDict):
    """What is to be measured: the settings of a run of each row."""

    task: str
    data: str | None
    folder: str
    settings: list[dict[str, Any]]
    device: str
    prefetch: int | None
    threads: int


class Pace(TypedDict):
    """Of one row: seconds of a step and of a validation, and how many steps lie between."""

    step: float
    validation: float
    steps_per_epoch: int
    between: int
    error: NotRequired[str]  # then the rest means nothing


def announce(
    runs: Sequence[TableRun],
    data: str | None,
    device: str,
    prefetch: int | None,
    budget: float | None,
    say: Callable[[str], None],
) -> None:
    """Say how many runs are to do, about how long each takes here, and all of them.

    runs   : all of a table that are asked for, in the order in which they are done.
    budget : seconds for them, None for no limit: of the first, say how many it is enough for.
    """
    waiting = [run for run in runs if not run.finished]
    if not waiting:
        return
    first = {run.row.name: run for run in reversed(waiting)}  # of each row
    order = sorted(first.values(), key=waiting.index)
    say(
        f"{len(runs)} run{'s' * (len(runs) > 1)}, {len(waiting)} of them to do; measured by a few "
        "steps of each row on this machine:"
    )
    found: dict[str, tuple[Pace, float, str]] = {}
    for run, pace in zip(order, paces(order, data, device, prefetch), strict=True):
        if error := pace.get("error"):
            say(f"  {run.row.name}: could not be measured ({error})")
            continue
        done = [other.record() for other in runs if other.row == run.row and other.finished]
        steps, bound = expected_steps(run.settings, pace, [record["steps"] for record in done])
        found[run.row.name] = pace, steps, bound
        say(
            f"  {run.row.name}: {pace['step']:.2g} s a step, {pace['validation']:.2g} s a "
            f"validation, {bound} {duration(seconds_of(steps, pace))} a run"
        )
    if not found:
        return
    each = [_left(run, *found[run.row.name][:2]) for run in waiting if run.row.name in found]
    bounds = {bound for _, _, bound in found.values()}
    bound = bounds.pop() if len(bounds) == 1 else "about"
    say(f"in all {bound} {duration(sum(each))}; runs at the same time share the threads")
    if budget and sum(each) > budget:
        fitting = sum(total <= budget for total in accumulate(each))
        say(f"{duration(budget)} are enough for about {fitting} of {len(waiting)} runs")


def expected_steps(settings: Any, pace: Pace, of_others: Sequence[int]) -> tuple[float, str]:
    """How many steps a run takes, and how sure that is: "about" as many as other runs of its row
    took, "at most" those of its epochs, or "at least" those after which early stopping can end it.
    """
    if of_others:
        return statistics.fmean(of_others), "about"
    if settings.epochs:
        return settings.epochs * pace["steps_per_epoch"], "at most"
    s, validations = settings, 0
    schedule = PlateauSchedule(s.lr, s.lr_floor, s.lr_factor, s.decay_patience, s.stop_patience)
    while not schedule.stopped:
        schedule.update(0.0)
        validations += 1
    return validations * pace["between"], "at least"


def seconds_of(steps: float, pace: Pace) -> float:
    """The time of so many steps, with the validations between them."""
    return steps * (pace["step"] + pace["validation"] / pace["between"])


def _left(run: TableRun, pace: Pace, steps: float) -> float:
    """Seconds that a run still takes, beyond what it has done."""
    last = run.last_validation() if run.begun else None
    return seconds_of(max(0.0, steps - (last["step"] if last else 0)), pace)


def duration(seconds: float) -> str:
    """A time in one unit, as people say it.

    >>> duration(41.3), duration(600), duration(3 * 3600), duration(200_000)
    ('41 s', '10 min', '3.0 h', '2.3 days')
    """
    if seconds < 90:
        return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.2g} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 1.7e5 else f"{seconds / 86400:.1f} days"


def paces(
    runs: Sequence[TableRun], data: str | None, device: str, prefetch: int | None
) -> Iterator[Pace]:
    """The pace of each run, as it is measured; they are of one task on the same data."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as errors:
        probe: Probe = {
            "task": runs[0].task.name,
            "data": data,
            "folder": folder,
            "settings": [asdict(run.settings) for run in runs],
            "device": device,
            "prefetch": prefetch,
            "threads": get_num_threads(),
        }
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", PROGRAM, json.dumps(probe)],
            stdin=subprocess.PIPE,  # its end tells the process that this one is gone
            stdout=subprocess.PIPE,
            stderr=errors,
        )
        assert process.stdout is not None
        with process:
            try:
                for _ in runs:
                    line = process.stdout.readline()
                    yield json.loads(line) if line else _lost(process, errors)
            finally:
                process.kill()


def _lost(process: subprocess.Popen[bytes], errors: Any) -> Pace:
    """Of a row that the process did not come to."""
    code = process.wait()
    errors.seek(0)
    lines = errors.read().decode(errors="replace").splitlines()
    return _unknown(lines[-1] if lines else f"exit {code}")


def _unknown(error: str) -> Pace:
    return {"step": 0.0, "validation": 0.0, "steps_per_epoch": 1, "between": 1, "error": error}


def main() -> None:
    """Measure what the only argument of the process asks for."""
    threading.Thread(target=stop_with_parent, daemon=True).start()
    probe: Probe = json.loads(sys.argv[1])
    prepare_process(probe["threads"])
    task, dataset = task_named(probe["task"]), None
    for number, changes in enumerate(probe["settings"]):
        try:
            settings = with_changes(task.settings(), ("settings", changes))
            dataset = dataset or task.load(probe["data"], settings)
            folder = RunFolder(Path(probe["folder"]) / str(number))
            pace = measured(task.run(settings, dataset, folder, probe["device"], probe["prefetch"]))
        except UserError as error:
            pace = _unknown(str(error))
        except MemoryError:
            pace = _unknown("out of memory")
        print(json.dumps(pace), flush=True)


def measured(run: Run) -> Pace:
    """The pace of a run that has not begun; its folder is of no use after that.

    Where no machine code is kept, the second step compiles too, and the first validation. A run
    of hours does that once: steps and validations in which it happens are not its pace.
    """
    taken: list[float] = []  # seconds of each step
    counting: list[float] = []  # of those that neither compile nor are the first
    begun = time.perf_counter()
    began: float | None = begun  # this step; None once it is noted
    before = 0  # functions that were ready when it began

    def on_step(facts: dict[str, Any]) -> None:
        nonlocal began
        if began is None:
            return  # on a GPU a validation waits for one more
        seconds, began = time.perf_counter() - began, None
        if taken and ready.count == before:
            counting.append(seconds)
        taken.append(seconds)

    def stop_requested() -> bool:
        nonlocal began, before
        began, before = time.perf_counter(), ready.count
        return len(counting) >= (1 if began - begun > ENOUGH else STEPS)

    run.watcher = Watcher(on_step=on_step, stop_requested=stop_requested)
    run.start()
    with functions_made_ready() as ready:
        with suppress(RunInterrupt):
            run.train()
        before = ready.count
        validation = _timed(run.validate)
        if ready.count > before or validation < ENOUGH / 4:
            validation = _timed(run.validate)
    return {
        "step": statistics.median(counting or taken[-1:]),  # a run may end too soon
        "validation": validation,
        "steps_per_epoch": run.steps_per_epoch,
        "between": run.steps_between_validations(),
    }


def _timed(work: Callable[[], Any]) -> float:
    clock = time.perf_counter()
    work()
    return time.perf_counter() - clock
