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
            there = [self.cupy.asarray(x) if isinstance(x, np.ndarray) else x for x in args]
            result = getattr(cuda, name)(*there)
            for here, moved in zip(args, there, strict=True):
                if isinstance(here, np.ndarray) and here.flags.writeable:
                    here[...] = moved.get()  # some work in place
            if isinstance(result, tuple):
                return tuple(map(self._back, result))
            return self._back(result)

        return call

    def _back(self, x: Any) -> Any:
        """What a forward pass saves for the backward one is a tuple, and stays on the device."""
        return x.get() if isinstance(x, self.cupy.ndarray) else x
