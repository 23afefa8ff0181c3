"""What a training process does to itself once, before the first step."""

import ctypes
import gc
import resource
import sys
import warnings
from pathlib import Path

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # parameters of glibc's mallopt
LARGEST = 1 << 30  # bytes of an array whose memory is kept
ALL, DEFAULT = -1, 128 << 10  # free bytes at the end of the heap that are kept


def prepare_process(num_threads: int) -> None:
    """Set the thread counts, let the allocator keep what is freed, and hush NumPy's overflows:
    training looks for what is not finite itself, and says where it is.

    A training step asks for the same arrays again and again. By default glibc gives every large
    one back to the system, and each new one costs a page fault per 4 KB; kept, it costs nothing.
    All is kept: a step that frees more than a limit would pay for its memory each time (attention
    whose step takes 2 GB needed twice as long with a limit of 1 GB).
    """
    from gaancore.system import threads  # with Numba, which takes half a second to import

    if num_threads:
        threads.set_num_threads(num_threads)
    threads.limit_blas()
    gc.set_threshold(100_000)  # a tape has no cycles, and to look for them costs 4 % of a step
    warnings.filterwarnings("ignore", "(overflow|invalid value) encountered", RuntimeWarning)
    _of_glibc("mallopt", M_MMAP_THRESHOLD, LARGEST)
    _of_glibc("mallopt", M_TRIM_THRESHOLD, ALL)


def give_memory_back() -> None:
    """Give the system what is free, and from now on what becomes free, as before training."""
    _of_glibc("mallopt", M_TRIM_THRESHOLD, DEFAULT)
    _of_glibc("malloc_trim", 0)


def _of_glibc(name: str, *args: int) -> None:
    """Call one of its functions; nothing is done where the C library is another."""
    if sys.platform == "linux" and (function := getattr(ctypes.CDLL(None), name, None)):
        function(*args)


def peak_rss_mb() -> float:
    """The most memory this process has ever held, in MB (10^6 bytes)."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak * (1 if sys.platform == "darwin" else 1024) / 1e6, 1)


def rss_mb() -> float:
    """The memory this process holds now, in MB; its peak where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return peak_rss_mb()
    return round(pages * resource.getpagesize() / 1e6, 1)
