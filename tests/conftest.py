"""What all tests share: hypothesis profiles, devices, the number of threads, public data files."""

import os
from collections.abc import Generator, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from emulator.device import CONTRACTED, MODES, EmulatedCupy
from emulator.module import NO_COMPILER, has_compiler
from hypothesis import HealthCheck, settings

from gaancore.array import cuda_problem, resolve_device
from gaancore.kernels import cpu
from gaancore.system import threads

NO_ROOM = "too little memory on the device"

# fixtures choose a device or a number of threads, and hold nothing that an example could change
LASTING = {"suppress_health_check": [HealthCheck.function_scoped_fixture], "deadline": None}
settings.register_profile("ci", max_examples=15, derandomize=True, database=None, **LASTING)
settings.register_profile("thorough", max_examples=400, **LASTING)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_xdist_auto_num_workers() -> int:
    """Processes of `-n auto`: four at most, as each compiles and holds kernels of its own."""
    return min(4, threads.get_num_threads())


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Generator[None, Any, Any]:
    """The last line of all, so that no green run hides that the CUDA kernels took no part in it.

    With GAANCORE_EXECUTE_KERNELS=1 such a run fails; with GAANCORE_NEED_GPU=1 one fails in which
    any test was skipped, but for those that the device has too little memory for.
    """
    result = yield
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped = reporter.stats.get("skipped", []) if reporter else []
    if count := sum(NO_COMPILER in str(report.longrepr) for report in skipped):
        reporter.write_line(
            f"{count} TESTS WERE SKIPPED AND THE CUDA KERNELS NOT EXECUTED: {NO_COMPILER}. "
            "GET A COMPILER: apt install g++ (OR clang)"
        )
        if os.environ.get("GAANCORE_EXECUTE_KERNELS") == "1":
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
    if os.environ.get("GAANCORE_NEED_GPU") == "1":  # a day with a GPU: nothing may be skipped
        reasons = [
            str(report.longrepr) for report in skipped if NO_ROOM not in str(report.longrepr)
        ]
        if reasons:
            reporter.write_line(f"{len(reasons)} TESTS WERE SKIPPED ON A GPU: {reasons[0]}")
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
    return result


@pytest.fixture(scope="session")
def emulated() -> dict[str, EmulatedCupy]:
    """A CUDA device that the CPU plays, in each mode of the emulator."""
    if not has_compiler():
        pytest.skip(NO_COMPILER)
    return {name: EmulatedCupy(**mode) for name, mode in (MODES | CONTRACTED).items()}


@pytest.fixture(params=["cpu", "emulated", pytest.param("gpu", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest) -> Iterator[str]:
    """Where arrays live: on the CPU, on the emulated CUDA device, and with -m gpu on a real one."""
    if request.param == "emulated":
        with request.getfixturevalue("emulated")["checked"].installed():
            yield resolve_device("cuda")
        return
    if request.param == "gpu" and (problem := cuda_problem()):
        pytest.skip(problem)
    yield resolve_device("cuda" if request.param == "gpu" else "cpu")


@pytest.fixture(scope="session")
def kernels() -> ModuleType:
    """The functions of the contract in gaancore/kernels; tests/cuda has them on CUDA devices."""
    return cpu


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
