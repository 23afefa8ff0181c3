"""The CUDA kernels as a backend: executed on the CPU in each mode, and on a GPU with -m gpu."""

from collections.abc import Iterator
from typing import Any

import pytest
from emulator.device import CONTRACTED, MODES
from on_device import OnDevice

from gaancore.array import cuda_problem

ROUNDED_AS_ON_A_GPU = [pytest.param(mode, marks=pytest.mark.slow) for mode in CONTRACTED]
ON_A_GPU = pytest.param("gpu", marks=pytest.mark.gpu)


@pytest.fixture(scope="module", params=[*MODES, *ROUNDED_AS_ON_A_GPU, ON_A_GPU])
def kernels(request: pytest.FixtureRequest) -> Iterator[Any]:
    """The CUDA backend, for NumPy arrays: in the place of the CPU's kernels in ../conftest.py."""
    if request.param == "gpu":
        cupy = pytest.importorskip("cupy", reason="no CuPy: nothing can run on a GPU")
        if problem := cuda_problem():
            pytest.skip(problem)
        yield OnDevice(cupy)
        return
    with request.getfixturevalue("emulated")[request.param].installed() as cupy:
        yield OnDevice(cupy)
