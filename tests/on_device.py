"""The CUDA backend called with NumPy arrays, as the tests of the contract call every backend."""

from collections.abc import Callable
from typing import Any

import numpy as np

from gaancore.kernels import cuda


class OnDevice:
    """The backend's functions for NumPy arrays, which are copied to the device and back."""

    def __init__(self, cupy: Any) -> None:
        self.cupy = cupy

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            there = self._move(args, np.ndarray, self.cupy.asarray)
            result = getattr(cuda, name)(*there)
            for here, moved in zip(args, there, strict=True):
                if isinstance(here, np.ndarray) and here.flags.writeable:
                    here[...] = moved.get()  # some work in place
            return self._move(result, self.cupy.ndarray, self.cupy.ndarray.get)

        return call

    def _move(self, x: Any, kind: type, copy: Callable[[Any], Any]) -> Any:
        if isinstance(x, tuple):
            moved = [self._move(item, kind, copy) for item in x]
            return type(x)(*moved) if hasattr(x, "_fields") else tuple(moved)
        return copy(x) if isinstance(x, kind) else x
