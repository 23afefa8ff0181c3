"""The CUDA kernels as backends: executed on the CPU, in four modes."""

from collections.abc import Iterator
from types import ModuleType

import pytest
from emulator.module import EmulatedDevice, has_compiler

from gaancore.kernels import cuda, cuda_launch

MODES = {
    "ascending": {"schedule": "ascending"},
    "descending": {"schedule": "descending"},
    "random": {"schedule": "random"},
    "checked": {"schedule": "random", "checked": True},
}


@pytest.fixture(scope="session")
def emulated() -> dict[str, EmulatedDevice]:
    if not has_compiler():
        pytest.skip("no g++: CUDA kernels cannot be executed on the CPU")
    return {name: EmulatedDevice(**mode) for name, mode in MODES.items()}


@pytest.fixture(scope="module", params=MODES)
def kernels(
    request: pytest.FixtureRequest, emulated: dict[str, EmulatedDevice]
) -> Iterator[ModuleType]:
    """The CUDA backend, on NumPy arrays (in the place of the CPU's kernels, see ../conftest.py)."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (cuda, cuda_launch):
            patch.setattr(module, "array_module", lambda x: emulated[request.param])
        yield cuda
