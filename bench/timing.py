"""Shared by the benchmarks: medians, and what machine the numbers are from."""

import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np
from threadpoolctl import threadpool_info


def median_time(function: Callable[[], Any], warmup: int = 1, repeat: int = 7) -> float:
    """Median seconds of a call after `warmup` calls that are not counted."""
    for _ in range(warmup):
        function()
    times = []
    for _ in range(repeat):
        clock = time.perf_counter()
        function()
        times.append(time.perf_counter() - clock)
    return statistics.median(times)


def machine() -> dict[str, Any]:
    """Processor, cores, load, versions, and the BLAS kernel that NumPy picked."""
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
