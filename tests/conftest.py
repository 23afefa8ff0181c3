"""What all tests share: hypothesis profiles, devices, the number of threads, public data files."""

import os
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import settings

from gaancore import threads
from gaancore.array import to_device
from gaancore.kernels import kernels_for

DEVICES = ["cpu"]

settings.register_profile("ci", max_examples=15, deadline=None, derandomize=True, database=None)
settings.register_profile("thorough", max_examples=400, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.fixture(scope="session", params=DEVICES)
def device(request: pytest.FixtureRequest) -> str:
    """Each device that the kernels run on."""
    return request.param


@pytest.fixture(scope="session")
def kernels(device: str) -> ModuleType:
    """The kernels of that device: the functions of the contract in gaancore/kernels."""
    return kernels_for(to_device(np.zeros(1), device))


@pytest.fixture
def any_threads() -> Iterator[None]:
    """Lets a test change how many threads kernels use, and puts the number back."""
    before = threads.get_num_threads()
    yield
    threads.set_num_threads(before)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of public data files; tests that need it are skipped where it is missing."""
    beside_the_checkout = Path(__file__).parents[2] / "shared" / "data"
    folder = Path(os.environ.get("GAANCORE_SHARED_DATA", beside_the_checkout))
    if not (folder / "ppi6.npz").is_file():
        pytest.skip(f"no public data files in {folder}; set GAANCORE_SHARED_DATA to their folder")
    return folder
