"""What this machine and installation are: versions, processor, BLAS, GPU, folders for caches."""

import os
import platform
import sys
import tempfile
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_info

from gaancore.array import cuda_devices, cuda_problem
from gaancore.kernels.cpu import pools as cpu_pools
from gaancore.system import driver, threads
from gaancore.system.versions import CUPY, LIBRARIES, versions


def describe_machine() -> dict[str, Any]:
    """All of the facts below, as JSON."""
    return {
        "versions": _versions(),
        "system": platform.platform(terse=True),
        "processor": processor(),
        "cores": os.cpu_count(),
        "threads": threads.get_num_threads(),
        "blas": blas(),
        "gpu": gpu(),
        "folders": folders(),
    }


def _versions() -> dict[str, str]:
    """gaancore, Python and the libraries; of CuPy whichever of its packages are installed."""
    missing = dict.fromkeys(LIBRARIES, "not installed")
    return missing | versions((*LIBRARIES, *CUPY))


def processor() -> str:
    """The processor's name as its maker gives it, where the system reports it."""
    if sys.platform == "linux":
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def blas() -> list[dict[str, Any]]:
    """The BLAS libraries that are loaded, the kernel each chose, and its threads."""
    return [
        {
            "library": library["internal_api"],
            "version": library["version"],
            "kernel": library.get("architecture"),
            "threads": library["num_threads"],
        }
        for library in threadpool_info()
        if library["user_api"] == "blas"
    ]


def gpu() -> dict[str, Any]:
    """The GPUs that can be used, or why none; the driver's CUDA version and the extra that fits."""
    newest, problem = driver.driver_version(), cuda_problem()
    return {
        "driver": newest and f"{newest[0]}.{newest[1]}",
        "extra": driver.cuda_extra(),
        "devices": [] if problem else cuda_devices(),
        "reason": problem or "",
    }


def folders() -> list[dict[str, Any]]:
    """Where compiled kernels are kept: purpose, path, and whether a file can be written there."""
    compiled = getattr(cpu_pools._max_backward, "stats", None)  # None with the JIT disabled
    cache = compiled and compiled.cache_path
    kept = {"compiled CPU kernels (NUMBA_CACHE_DIR)": Path(cache) if cache else None}
    if any(name in versions() for name in CUPY):
        given = os.environ.get("CUPY_CACHE_DIR")
        path = Path(given) if given else Path.home() / ".cupy" / "kernel_cache"
        kept["compiled CUDA kernels (CUPY_CACHE_DIR)"] = path
    return [
        {"purpose": purpose, "path": path and str(path), "writable": bool(path and writable(path))}
        for purpose, path in kept.items()
    ]


def writable(folder: Path) -> bool:
    """Whether a file can be made in `folder`, or in the nearest folder above it that exists."""
    existing = next(path for path in (folder, *folder.absolute().parents) if path.is_dir())
    try:
        tempfile.TemporaryFile(dir=existing).close()
    except OSError:
        return False
    return True
