"""Numba's `njit` as this project uses it: releases the GIL, cached on disk where possible."""

from collections.abc import Callable
from typing import Any

import numba

COMPILED = not numba.config.DISABLE_JIT  # type: ignore[attr-defined]


def jit(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Compile `function` on first call, without the GIL; keep the machine code on disk.

    A division by zero gives inf or NaN, as in NumPy: to look for one would keep loops scalar.

    An installation that is read-only, for a user without a home, has no place for a cache:
    Numba then refuses to cache, and the function is compiled anew in each process instead.
    """
    if function is None:
        return lambda f: jit(f, **options)
    options = {"nogil": True, "error_model": "numpy", **options}
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError:
        return numba.njit(**options)(function)
