"""Where arrays live. The only file that knows of cupy, and it imports it only when asked to."""

from types import ModuleType
from typing import Any

import numpy as np

from gaancore.errors import DeviceError

Array = Any  # numpy.ndarray or cupy.ndarray: the two have no common static type


def array_module(x: Array) -> ModuleType:
    """numpy or cupy, decided by the type of `x` alone, never by a global setting."""
    if type(x).__module__.partition(".")[0] == "cupy":
        import cupy

        return cupy
    return np


def to_numpy(x: Array) -> np.ndarray:
    """`x` as a NumPy array (copied from the device if it lives there)."""
    if array_module(x) is np:
        return np.asarray(x)
    return x.get()


def to_device(x: Array, device: str) -> Array:
    """`x` as an array on `device`. Raises DeviceError as resolve_device does."""
    resolve_device(device)  # the only one there is so far
    return to_numpy(x)


def resolve_device(name: str) -> str:
    """Turn `auto`, `cpu`, `cuda` or `cuda:N` into the device that will be used.

    Raises DeviceError for a CUDA device: this version computes on the CPU only.
    """
    if name in ("auto", "cpu"):
        return "cpu"
    if name == "cuda" or name.startswith("cuda:"):
        raise DeviceError(
            f"device {name}: this version trains on the CPU only; use --device cpu (or auto)"
        )
    raise DeviceError(f"device {name!r}: expected auto, cpu, cuda or cuda:N")
