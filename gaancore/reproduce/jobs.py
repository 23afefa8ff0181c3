"""Runs in worker processes, several at once, within a budget of time.

A worker is a process of its own also when there is only one at a time: its peak memory is then the
run's, and a run that is killed by the system takes no other with it.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import IO, Literal, Protocol

from gaancore.errors import DataError, SettingsError
from gaancore.reproduce.plan import TableRun
from gaancore.reproduce.worker import OUT_OF_MEMORY, STOPPED, Work
from gaancore.system.disk import hold
from gaancore.system.threads import get_num_threads

WORKER = "from gaancore.reproduce.worker import main; main()"
POLL_SECONDS = 0.1
PATIENCE_SECONDS = 30.0  # with workers of a parent that was killed: they save after their step


class Display(Protocol):
    """What is told of the runs: those under way, again and again, and each that has ended, with
    "done", "stopped" or what went wrong."""

    def watch(self, runs: Sequence[TableRun]) -> None: ...

    def ended(self, run: TableRun, outcome: str) -> None: ...


@dataclass(frozen=True)
class Means:
    """How runs are done.

    jobs   : how many at the same time; they share the threads of this process.
    budget : seconds after which none begins and those under way are asked to stop; None: no limit.
    """

    jobs: int = 1
    budget: float | None = None
    device: str = "auto"
    prefetch: int | None = None

    def after(self, seconds: float) -> "Means":
        """The same with so much of the budget spent."""
        return self if self.budget is None else replace(self, budget=self.budget - seconds)


@dataclass
class Job:
    """One worker."""

    run: TableRun
    process: subprocess.Popen[bytes]
    errors: IO[bytes]

    def ask_to_stop(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    def outcome(self) -> str:
        """How it ended: "done", "stopped", or the last line that it wrote to standard error."""
        if self.run.finished:
            return "done"
        if self.process.returncode in (STOPPED, -signal.SIGTERM):
            return "stopped"
        self.errors.seek(0)
        lines = self.errors.read().decode(errors="replace").splitlines()
        return lines[-1] if lines else f"exit {self.process.returncode}"


@dataclass
class Jobs:
    """Does the runs that are not finished; one that fails does not stop the others.

    data : a path; None for those of the task.
    end  : "failed" if a run went wrong, "out of memory" if that was all that did.
    """

    data: str | None
    means: Means
    display: Display
    end: Literal["done", "failed", "out of memory"] = field(default="done", init=False)
    running: list[Job] = field(default_factory=list, init=False)
    lock: int | None = field(default=None, init=False)

    def work(self, runs: Sequence[TableRun], out: Path) -> None:
        """Until all are finished or the budget is spent, in the order of `runs`.

        Raises SettingsError if another process is at work in `out`; KeyboardInterrupt after all
        workers have saved their state.
        """
        waiting = [run for run in runs if not run.finished]
        budget = self.means.budget
        deadline = None if budget is None else time.monotonic() + budget
        if not waiting:
            return
        with _alone_in(out) as self.lock:
            try:
                while waiting or self.running:
                    if deadline is not None and time.monotonic() >= deadline:
                        waiting.clear()
                        self._stop()
                    while waiting and len(self.running) < self.means.jobs:
                        self.running.append(self._start(waiting.pop(0)))
                    self._collect()
            finally:
                self._stop()

    def _start(self, run: TableRun) -> Job:
        work: Work = {
            "task": run.task.name,
            "data": self.data,
            "folder": str(run.folder.path),
            "settings": None if run.begun else asdict(run.settings),
            "device": self.means.device,
            "prefetch": self.means.prefetch,
            "threads": max(1, get_num_threads() // self.means.jobs),
        }
        errors = tempfile.TemporaryFile()  # noqa: SIM115 (open as long as the worker lives)
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", WORKER, json.dumps(work)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            start_new_session=True,  # Ctrl-C reaches the parent alone, which asks once
            pass_fds=() if self.lock is None else (self.lock,),
        )
        return Job(run, process, errors)

    def _stop(self) -> None:
        for job in self.running:
            job.ask_to_stop()
        while self.running:
            self._collect()

    def _collect(self) -> None:
        """Wait a moment; report the runs under way and those that have ended."""
        time.sleep(POLL_SECONDS)
        self.display.watch([job.run for job in self.running])
        for job in [job for job in self.running if job.process.poll() is not None]:
            self.running.remove(job)
            outcome = job.outcome()
            if outcome not in ("done", "stopped"):
                short = job.process.returncode == OUT_OF_MEMORY and self.end != "failed"
                self.end = "out of memory" if short else "failed"
            self.display.ended(job.run, outcome)
            job.ask_to_stop()
            job.errors.close()


@contextmanager
def _alone_in(out: Path) -> Iterator[int | None]:
    """Hold a lock on `out`; workers inherit it, so it lasts until the last of them has saved."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        lock = _patiently(out)
    except OSError as error:
        raise DataError(f"{out}: cannot be written ({error.strerror})") from None
    try:
        yield lock
    finally:
        if lock is not None:
            os.close(lock)


def _patiently(out: Path) -> int | None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return hold(out / ".lock")
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise SettingsError(
                    f"{out}: another process is making a table here; wait for it, or choose "
                    "another folder (out)"
                ) from None
            time.sleep(POLL_SECONDS)
