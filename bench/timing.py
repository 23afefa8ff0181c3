"""Shared by the benchmarks: medians, and what machine the numbers are from."""

import os
import platform
import sys
import time
from argparse import ArgumentTypeError
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

LEAST_REPEATS = 3


class Timing(NamedTuple):
    """Seconds of a call: the median, the distance between the quartiles, the least."""

    median: float
    spread: float
    minimum: float
    repeats: int


def summary(seconds: Sequence[float]) -> Timing:
    low, median, high = np.percentile(seconds, [25, 50, 75])
    return Timing(float(median), float(high - low), min(seconds), len(seconds))


def wall_seconds(function: Callable[[], Any]) -> float:
    clock = time.perf_counter()
    function()
    return time.perf_counter() - clock


def time_call(
    function: Callable[[], Any],
    repeats: int,
    budget: float,
    seconds_of: Callable[[Callable[[], Any]], float] = wall_seconds,
) -> Timing:
    """Time `repeats` calls of a function that has run before: at least 3, then in `budget` s."""
    seconds: list[float] = []
    while len(seconds) < LEAST_REPEATS or (len(seconds) < repeats and sum(seconds) < budget):
        seconds.append(seconds_of(function))
    return summary(seconds)


def new_file(text: str) -> Path:
    """Better to hear of a folder that is not there before the measurement than after it."""
    if not Path(text).absolute().parent.is_dir():
        raise ArgumentTypeError(f"no folder {Path(text).parent}")
    return Path(text)


def machine() -> dict[str, Any]:
    """Processor, cores, load, versions, and the BLAS kernel that NumPy picked."""
    from threadpoolctl import threadpool_info  # not every interpreter of another library has it

    name = platform.processor() or platform.machine()
    if sys.platform == "linux":
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            models = [line.partition(":")[2].strip() for line in file if "model name" in line]
        name = models[0] if models else name
    blas = [f"{i['internal_api']} {i.get('architecture', '')}".strip() for i in threadpool_info()]
    return {
        "processor": name,
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": version("numba"),
        "blas": ", ".join(blas),
        "openblas_coretype": os.environ.get("OPENBLAS_CORETYPE", "not set"),
    }
