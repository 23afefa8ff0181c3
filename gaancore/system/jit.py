"""Numba's `njit` as this project uses it: releases the GIL, cached on disk where possible."""

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from threading import Lock
from typing import Any

import numba
from numba.core import event
from numba.core.runtime.nrt import MemInfo as CompiledMemory  # of arrays that compiled loops make

__all__ = ["COMPILED", "CompiledMemory", "config", "functions_made_ready", "jit"]

config: Any = numba.config
COMPILED = not config.DISABLE_JIT
_choosing_the_folder = Lock()  # Numba's setting is global, and threads make kernels at once


def jit(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Compile `function` on first call, without the GIL; keep the machine code on disk.

    A division by zero gives inf or NaN, as in NumPy: to look for one would keep loops scalar.

    An installation that is read-only, for a user without a home, has no place for a cache:
    Numba then refuses to cache, and the function is compiled anew in each process instead.
    """
    if function is None:
        return lambda f: jit(f, **options)
    options = {"nogil": True, "error_model": "numpy", **options}
    with _choosing_the_folder:
        before = config.CACHE_DIR
        config.CACHE_DIR = before or _cache_folder()
        try:
            return numba.njit(cache=True, **options)(function)
        except RuntimeError:
            return numba.njit(**options)(function)
        finally:
            config.CACHE_DIR = before


def _cache_folder() -> str:
    """In the user's cache, and not beside the sources as is Numba's way: pip, which did not put
    machine code there, would leave it behind, and with it a package without modules.

    Empty without a home: Numba then looks for a place itself.
    """
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(home, "gaancore", "numba") if os.path.isabs(home) else ""


class _Ready(event.Listener):
    """Counts what is made ready while it listens."""

    def __init__(self) -> None:
        self.count = 0

    def on_start(self, event: Any) -> None:
        self.count += 1

    def on_end(self, event: Any) -> None:
        pass


def functions_made_ready() -> AbstractContextManager[_Ready]:
    """Counts, in `count`, how often a function is compiled for new types or its machine code read
    from the disk, in any thread of this process: Numba takes its lock for both.
    """
    return event.install_listener("numba:compiler_lock", _Ready())
