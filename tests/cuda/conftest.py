"""The CUDA kernels as a backend: executed on the CPU in four modes, and on a GPU with -m gpu."""

from collections.abc import Iterator
from typing import Any

import pytest
from emulator.device import MODES
from on_device import OnDevice

from gaancore.array import cuda_problem


@pytest.fixture(scope="module", params=[*MODES, pytest.param("gpu", marks=pytest.mark.gpu)])
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
