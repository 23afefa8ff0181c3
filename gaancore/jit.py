"""Numba's `njit` as this project uses it: releases the GIL, cached on disk where possible."""

from collections.abc import Callable
from typing import Any

import numba


def jit(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Compile `function` on first call, without the GIL; keep the machine code on disk.

    An installation that is read-only, for a user without a home, has no place for a cache:
    Numba then refuses to cache, and the function is compiled anew in each process instead.
    """
    if function is None:
        return lambda f: jit(f, **options)
    try:
        return numba.njit(nogil=True, cache=True, **options)(function)
    except RuntimeError:
        return numba.njit(nogil=True, **options)(function)
