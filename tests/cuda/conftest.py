"""The CUDA kernels as a backend: executed on the CPU in four modes, and on a GPU with -m gpu."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from emulator.module import EmulatedDevice, has_compiler

from gaancore.array import to_numpy
from gaancore.kernels import cuda, cuda_launch

MODES = {  # what would crash a plain build is reported by the checked one before
    "checked": {"schedule": "random", "checked": True},
    "ascending": {"schedule": "ascending"},
    "descending": {"schedule": "descending"},
    "random": {"schedule": "random"},
}


class OnGpu:
    """The backend's functions for NumPy arrays, which are copied to the GPU and back."""

    def __init__(self, cupy: Any) -> None:
        self.cupy = cupy

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            there = self._move(args, np.ndarray, self.cupy.asarray)
            result = getattr(cuda, name)(*there)
            for here, moved in zip(args, there, strict=True):
                if isinstance(here, np.ndarray) and here.flags.writeable:
                    here[...] = to_numpy(moved)  # some work in place
            return self._move(result, self.cupy.ndarray, to_numpy)

        return call

    def _move(self, x: Any, kind: type, copy: Callable[[Any], Any]) -> Any:
        if isinstance(x, tuple):
            return tuple(self._move(item, kind, copy) for item in x)
        return copy(x) if isinstance(x, kind) else x


@pytest.fixture(scope="session")
def emulated() -> dict[str, EmulatedDevice]:
    if not has_compiler():
        pytest.skip("no g++: CUDA kernels cannot be executed on the CPU")
    return {name: EmulatedDevice(**mode) for name, mode in MODES.items()}


@pytest.fixture(scope="module", params=[*MODES, pytest.param("gpu", marks=pytest.mark.gpu)])
def kernels(request: pytest.FixtureRequest) -> Iterator[Any]:
    """The CUDA backend, on NumPy arrays (in the place of the CPU's kernels, see ../conftest.py)."""
    if request.param == "gpu":
        cupy = pytest.importorskip("cupy", reason="no CuPy: nothing can run on a GPU")
        if not cupy.cuda.is_available():
            pytest.skip("no GPU, or a driver that is too old")
        yield OnGpu(cupy)
        return
    device = request.getfixturevalue("emulated")[request.param]
    with pytest.MonkeyPatch.context() as patch:
        for module in (cuda, cuda_launch):
            patch.setattr(module, "array_module", lambda x: device)
        yield cuda
