"""Runs of the three tasks that are killed, at random and where it hurts, end with the same bits.

A run in a process of its own counts what it does to the disk and its steps; at a chosen count the
process kills itself, before it, in the middle of a write, or behind it. Then the run is resumed to
its end, and everything that it left is compared with a run that nobody killed.
"""

import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_run import WIDTHS, contents
from small_traffic_run import SMALL, small_roads

from gaancore.data import synthetic_ppi, synthetic_reddit
from gaancore.tasks.begin import begin, resume
from gaancore.training.progress import Watcher
from gaancore.training.run_folder import RunFolder

TASKS: dict[str, tuple[Callable[[], Any], dict[str, Any]]] = {
    "ppi": (
        partial(synthetic_ppi, num_graphs=4, nodes_per_graph=30),
        WIDTHS | {"epochs": 6, "validate_every": 3, "decay_patience": 1},
    ),
    "reddit": (
        partial(synthetic_reddit, scale=0.001),
        WIDTHS | {"epochs": 4, "validate_every": 4, "fanouts": (4, 3), "batch_size": 32},
    ),
    "metr-la": (small_roads, SMALL | {"epochs": 4}),
}
RANDOM_KILLS, POINTS = 10, 20  # of each task
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["gaancore.tasks.begin", "gaancore.data"])


def train(task: str, folder: Path, kill_at: int, sender: Connection) -> None:
    """Begin a run, or go on with the one that is there, to its end or to the point `kill_at`.

    Sends a word when it is about to train and, at the end, the number of points it came past.
    """
    make, settings = TASKS[task]
    data, points = make(), Points(kill_at)
    points.watch_the_disk()
    if RunFolder(folder).settings_file.exists():
        run = resume(folder, data, device="cpu").run
    else:
        run = begin(data, task=task, out=folder, device="cpu", layers=[("test", settings)]).run
    run.watcher = Watcher(on_step=lambda facts: points.passed())
    sender.send("trains")
    run.train()
    sender.send(points.count)


class Points:
    """Counts moments, and is the end of the process at one of them."""

    def __init__(self, kill_at: int) -> None:
        self.count, self.kill_at = 0, kill_at

    def passed(self) -> None:
        self.count += 1
        if self.count == self.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def around(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any, **kwargs: Any) -> Any:
            self.passed()
            result = function(*args, **kwargs)
            self.passed()
            return result

        return counted

    def watch_the_disk(self) -> None:
        """From here on, points lie before and behind all that changes a file or a folder."""
        os.fsync = self.around(os.fsync)
        for name in ("replace", "unlink", "mkdir"):
            setattr(Path, name, self.around(getattr(Path, name)))
        plain_open = Path.open

        def opened(path: Path, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
            if not {*mode} & {"w", "a"}:
                return plain_open(path, mode, *args, **kwargs)
            self.passed()
            return WatchedFile(plain_open(path, mode, *args, **kwargs), self)

        Path.open = opened  # type: ignore[method-assign]


class WatchedFile:
    """A file with points before, in the middle of and behind each write."""

    def __init__(self, file: Any, points: Points) -> None:
        self.file, self.points = file, points

    def write(self, content: Any) -> None:
        self.points.passed()
        middle = len(content) // 2
        self.file.write(content[:middle])
        self.file.flush()
        self.points.passed()
        self.file.write(content[middle:])
        self.points.passed()

    def __enter__(self) -> "WatchedFile":
        return self

    def __exit__(self, *error: Any) -> None:
        self.file.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)


def start(task: str, folder: Path, kill_at: int = 0) -> tuple[Any, Connection]:
    receiver, sender = PROCESSES.Pipe(duplex=False)
    process = PROCESSES.Process(target=train, args=(task, folder, kill_at, sender))
    process.start()
    sender.close()
    return process, receiver


def finish(task: str, folder: Path) -> int:
    """Train, or go on, to the end; returns the number of points on the way."""
    process, receiver = start(task, folder)
    assert receiver.recv() == "trains"
    count = receiver.recv()
    process.join()
    assert process.exitcode == 0
    return count


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
def test_a_run_killed_at_chosen_points_ends_with_the_same_bits(task, tmp_path):
    count = finish(task, tmp_path / "straight")
    expected = contents(tmp_path / "straight")
    chosen = np.random.default_rng(0).permutation(count)[:POINTS] + 1
    for point in chosen.tolist():
        folder = tmp_path / f"killed at {point} of {count}"
        process, _ = start(task, folder, kill_at=point)
        process.join()
        assert process.exitcode == -signal.SIGKILL
        finish(task, folder)
        assert contents(folder) == expected, f"{task}: killed at point {point} of {count}"


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
def test_a_run_killed_at_random_moments_ends_with_the_same_bits(task, tmp_path):
    finish(task, tmp_path / "warm")  # compiled kernels are in the cache from here on
    process, receiver = start(task, tmp_path / "straight")
    assert receiver.recv() == "trains"
    clock = time.monotonic()
    process.join()
    seconds, expected = time.monotonic() - clock, contents(tmp_path / "straight")
    rng, killed = np.random.default_rng(), 0
    while killed < RANDOM_KILLS:
        folder, moment = tmp_path / f"killed {killed}", rng.uniform(0, seconds)
        process, receiver = start(task, folder)
        assert receiver.recv() == "trains"
        time.sleep(moment)
        process.kill()
        process.join()
        killed += process.exitcode == -signal.SIGKILL  # or it had ended before
        finish(task, folder)
        assert contents(folder) == expected, f"{task}: killed after {moment} s of {seconds} s"
