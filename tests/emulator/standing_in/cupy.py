"""The emulator in CuPy's place: with this folder on PYTHONPATH every process finds a CUDA device.

For bench/gpu_check.sh, which starts processes of its own. SPOILED="these words => those" makes the
kernels wrong that have these words; CUPY_WARNS=1 warns where devices are counted, as CuPy does when
its packages do not fit each other.
"""

import os
import sys
import time
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[2]))

from emulator.device import EmulatedCupy, ndarray
from emulator.streams import Device


class Event:
    """A moment: nothing that was launched before it is still under way."""

    def record(self) -> None:
        self.seconds = time.perf_counter()

    def synchronize(self) -> None: ...


class StandIn(EmulatedCupy):
    def __init__(self) -> None:
        super().__init__(schedule="ascending")
        Device.compute_capability = "00"  # type: ignore[attr-defined]
        self.cuda.Event = Event
        self.cuda.get_elapsed_time = lambda begun, ended: 1e3 * (ended.seconds - begun.seconds)
        properties = {"name": b"the CPU, as the emulator"}
        runtime = vars(self.cuda.runtime) | {"getDeviceProperties": lambda number: properties}
        self.cuda.runtime = SimpleNamespace(**runtime)
        if os.environ.get("CUPY_WARNS") == "1":
            self.cuda.runtime.getDeviceCount = _warned

    def empty_like(self, a: ndarray) -> ndarray:
        return self.empty(a.shape, a.dtype)

    def copyto(self, dst: ndarray, src: ndarray) -> None:
        np.copyto(dst._array, src._array)

    def RawModule(self, code: str, options: tuple[str, ...] = ()) -> Any:  # noqa: N802
        before, _, after = os.environ.get("SPOILED", "=>").partition("=>")
        return super().RawModule(code.replace(before, after) if before else code, options)


def _warned() -> int:
    warnings.warn("CuPy may not function correctly", UserWarning, stacklevel=2)
    return 1


sys.modules["cupy"] = StandIn()
