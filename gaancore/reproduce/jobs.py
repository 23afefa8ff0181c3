"""Runs as child processes of `gaancore train`, several at once, within a budget of time.

A child holds the other end of a pipe. When the pipe closes, because the parent asks it to stop or
because the parent is gone, the child saves its state after the step at hand and ends.
"""

import fcntl
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from gaancore.errors import DataError, SettingsError
from gaancore.reproduce.runs import TableRun

CHILD = (
    "from gaancore.reproduce.jobs import stop_with_parent; stop_with_parent(); "
    "from gaancore.cli.main import main; main()"
)
POLL_SECONDS = 0.1
PATIENCE_SECONDS = 30.0  # with children of a parent that was killed: they save after their step


def stop_with_parent() -> None:
    """Send this process SIGTERM when its standard input closes."""

    def wait() -> None:
        os.read(0, 1)  # not sys.stdin, whose lock a thread must not hold at the end
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, daemon=True).start()


@dataclass
class Job:
    """One child process."""

    run: TableRun
    process: subprocess.Popen[bytes]
    errors: IO[bytes]

    def ask_to_stop(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    def last_error(self) -> str:
        """The last line that the child wrote to standard error."""
        self.errors.seek(0)
        lines = self.errors.read().decode(errors="replace").splitlines()
        return lines[-1].removeprefix("error: ") if lines else f"exit {self.process.returncode}"


@dataclass
class Jobs:
    """Does the runs that are not finished.

    arguments : of `gaancore train`, for a run that begins; resume for one that goes on.
    count     : how many at once. budget : seconds after which none begins and those under way are
                asked to stop; None for no limit.
    watch     : called again and again with the runs under way; ended : once for each, with "done",
                "stopped" or what went wrong.
    """

    arguments: Callable[[TableRun], list[str]]
    resume: Callable[[TableRun], list[str]]
    count: int = 1
    budget: float | None = None
    watch: Callable[[Sequence[TableRun]], None] = lambda runs: None
    ended: Callable[[TableRun, str], None] = lambda run, outcome: None
    running: list[Job] = field(default_factory=list, init=False)
    lock: int = field(default=-1, init=False)

    def work(self, runs: Sequence[TableRun], out: Path) -> None:
        """Until all are finished or the budget is spent, in the order of `runs`.

        Raises SettingsError if another process is at work in `out`; KeyboardInterrupt after all
        children have saved their state.
        """
        waiting = [run for run in runs if not run.finished]
        deadline = None if self.budget is None else time.monotonic() + self.budget
        if not waiting:
            return
        with _alone_in(out) as self.lock:
            try:
                while waiting or self.running:
                    if deadline is not None and time.monotonic() >= deadline:
                        waiting.clear()
                        self._stop()
                    while waiting and len(self.running) < self.count:
                        self.running.append(self._start(waiting.pop(0)))
                    self._collect()
            finally:
                self._stop()

    def _start(self, run: TableRun) -> Job:
        arguments = self.resume(run) if run.begun else self.arguments(run)
        errors = tempfile.TemporaryFile()  # noqa: SIM115 (open as long as the child lives)
        process = subprocess.Popen(
            [sys.executable, "-c", CHILD, "train", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            start_new_session=True,  # Ctrl-C reaches the parent alone, which asks once
            pass_fds=(self.lock,),
        )
        return Job(run, process, errors)

    def _stop(self) -> None:
        for job in self.running:
            job.ask_to_stop()
        while self.running:
            self._collect()

    def _collect(self) -> None:
        """Wait a moment; tell of the runs under way and of those that have ended."""
        time.sleep(POLL_SECONDS)
        self.watch([job.run for job in self.running])
        for job in [job for job in self.running if job.process.poll() is not None]:
            self.running.remove(job)
            self.ended(job.run, _outcome(job))
            job.ask_to_stop()
            job.errors.close()


def _outcome(job: Job) -> str:
    if job.run.finished:
        return "done"
    if job.process.returncode in (130, -signal.SIGTERM):
        return "stopped"
    return job.last_error()


@contextmanager
def _alone_in(out: Path) -> Iterator[int]:
    """Hold a lock on `out`; children inherit it, so it lasts until the last of them has saved."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        lock = os.open(out / ".lock", os.O_RDWR | os.O_CREAT)
    except OSError as error:
        raise DataError(f"{out}: cannot be written ({error.strerror})") from None
    try:
        _wait_for(lock, out)
        yield lock
    finally:
        os.close(lock)


def _wait_for(lock: int, out: Path) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise SettingsError(
                    f"{out}: another gaancore reproduce is at work here; wait for it, or choose "
                    "another --out"
                ) from None
            time.sleep(POLL_SECONDS)


def last_validation(run: TableRun) -> dict[str, Any] | None:
    """The last line of a run's log."""
    try:
        log = run.folder.read_log()
    except DataError:  # the child is just writing it
        return None
    return log[-1] if log else None
