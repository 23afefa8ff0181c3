"""Where arrays live: decided by their type, and refused in one line where there is no device."""

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from emulator.device import EmulatedCupy
from emulator.streams import Stream

from gaancore.array import (
    Uploads,
    array_module,
    cuda_problem,
    device_of,
    memory_shortage,
    resolve_device,
    to_device,
    to_numpy,
)
from gaancore.errors import DeviceError, UserError
from gaancore.system import driver

PIP = "in the checkout of gaancore, pip install '.[{}]'"


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A CuPy in which everything fails that a test does not allow."""
    found = SimpleNamespace(cuda=SimpleNamespace(runtime=SimpleNamespace()))
    monkeypatch.setitem(sys.modules, "cupy", found)
    return found


def failing(error: Exception):
    def fail(*args: object) -> None:
        raise error

    return fail


def runs_cuda(monkeypatch: pytest.MonkeyPatch, version: tuple[int, int] | None) -> None:
    monkeypatch.setattr(driver, "driver_version", lambda: version)


def test_an_array_goes_to_a_device_and_comes_back_the_same(device):
    x = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)
    there = to_device(x, device)
    assert device_of(there) == device
    assert to_device(there, device).flags.c_contiguous
    back = to_numpy(there)
    assert isinstance(back, np.ndarray)
    assert back.dtype == x.dtype
    assert np.array_equal(back, x)


def test_what_is_sent_to_a_device_may_change_at_once_and_arrives_in_c_order(emulated):
    x = np.arange(6.0).reshape(2, 3).T
    with emulated["random"].installed():
        there = to_device(x, "cuda:0")
        x[...] = 0
        assert there.flags.c_contiguous
        assert to_numpy(there).tolist() == [[0, 3], [1, 4], [2, 5]]


def test_the_module_follows_the_type_of_the_array(emulated):
    assert array_module(np.zeros(3)) is np
    assert array_module(np.float32(3)) is np
    with emulated["random"].installed() as cupy:
        assert array_module(cupy.zeros(3, float)) is cupy


def test_an_array_that_is_there_already_is_not_copied():
    x = np.zeros(3)
    assert to_device(x, "cpu") is x
    assert to_numpy(x) is x


def test_copies_run_beside_the_work_and_what_is_launched_later_waits_for_them(emulated):
    with emulated["random"].installed():
        uploads = Uploads("cuda:0")
        with uploads.beside():
            first = to_device(np.ones(3), "cuda:0")
            assert np.isnan(to_numpy(first)).all()  # still under way
        assert to_numpy(first).tolist() == [1, 1, 1]
        with uploads.beside():
            second = to_device(np.full(2, 2.0), "cuda:0")
        assert to_numpy(second).tolist() == [2, 2]
        assert to_numpy(first).tolist() == [1, 1, 1]


def test_copies_wait_for_earlier_work_that_may_still_read_where_they_go(emulated, monkeypatch):
    waits: list[tuple[Stream, Stream]] = []
    monkeypatch.setattr(Stream, "wait_event", lambda self, e: waits.append((self, e.stream)))
    with emulated["random"].installed():
        uploads = Uploads("cuda:0")
        for _ in range(2):
            with uploads.beside():
                own = Stream.current
    assert waits == [(Stream.current, own), (own, Stream.current), (Stream.current, own)]


def test_on_the_cpu_there_is_nothing_to_copy():
    x = np.ones(3)
    with Uploads("cpu").beside():
        assert to_device(x, "cpu") is x


# ---- which device ---------------------------------------------------------------------------


def test_auto_is_the_cpu_without_a_word_where_there_is_no_driver(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)  # `import cupy` now raises
    runs_cuda(monkeypatch, None)
    notices: list[str] = []
    assert resolve_device("auto", notices.append) == "cpu"
    assert resolve_device("cpu", notices.append) == "cpu"
    assert notices == []


def test_auto_is_the_first_cuda_device_where_that_works(emulated):
    with emulated["random"].installed():
        assert cuda_problem() is None
        assert [resolve_device(name) for name in ("auto", "cuda", "cuda:0")] == ["cuda:0"] * 3
        assert resolve_device("cpu") == "cpu"


def test_auto_says_why_where_a_driver_is_there_and_no_device_works(monkeypatch, cupy):
    cupy.cuda.runtime.getDeviceCount = failing(RuntimeError("cudaErrorInsufficientDriver: old"))
    runs_cuda(monkeypatch, (11, 8))
    notices: list[str] = []
    assert resolve_device("auto", notices.append) == "cpu"
    assert notices == [
        "no GPU is used: the driver is for CUDA 11.8; install one for CUDA 12 or later"
    ]


@pytest.mark.parametrize("name", ["gpu", "CPU", "cuda0", "", "tpu:0", "cuda:", "cuda:-1", "cuda:x"])
def test_an_unknown_device_is_refused_with_what_would_do(name):
    with pytest.raises(DeviceError, match="expected auto, cpu, cuda or cuda:N") as caught:
        resolve_device(name)
    assert repr(name) in str(caught.value)


def refusal(name: str) -> str:
    with pytest.raises(DeviceError) as caught:
        resolve_device(name)
    text = str(caught.value)
    assert isinstance(caught.value, UserError)
    assert "\n" not in text
    assert text.startswith(f"device {name}: ")
    assert text.endswith("; or use device cpu")
    return text


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        (None, "no NVIDIA driver"),
        ((11, 4), "the driver is for CUDA 11.4; install one for CUDA 12 or later"),
        ((12, 8), "CuPy is not installed; " + PIP.format("cuda12")),
        ((13, 0), "CuPy is not installed; " + PIP.format("cuda13")),
    ],
)
@pytest.mark.parametrize("name", ["cuda", "cuda:1"])
def test_without_cupy_the_refusal_names_the_extra_that_fits_the_driver(
    monkeypatch, name, version, expected
):
    runs_cuda(monkeypatch, version)
    monkeypatch.setitem(sys.modules, "cupy", None)
    assert expected in refusal(name)


def test_a_cupy_that_does_not_fit_the_driver_is_refused_with_the_one_that_does(monkeypatch, cupy):
    cupy.cuda.runtime.getDeviceCount = failing(RuntimeError("driver is too old\nand more"))
    runs_cuda(monkeypatch, (12, 4))
    text = refusal("cuda")
    assert "CuPy does not work here (RuntimeError: driver is too old); uninstall every cupy" in text
    assert PIP.format("cuda12") in text


def test_a_cupy_that_cannot_multiply_is_no_device(monkeypatch, emulated):
    runs_cuda(monkeypatch, (13, 0))
    with emulated["random"].installed() as cupy:
        monkeypatch.setattr(cupy, "matmul", failing(ImportError("libcublas.so.13: not found")))
        assert "libcublas.so.13: not found" in refusal("cuda")


def test_devices_that_are_hidden_and_numbers_too_high_are_told_apart(monkeypatch, emulated, cupy):
    runs_cuda(monkeypatch, (13, 0))
    cupy.cuda.runtime.getDeviceCount = failing(RuntimeError("cudaErrorNoDevice: none"))
    assert "CUDA_VISIBLE_DEVICES" in refusal("cuda")
    with emulated["random"].installed():
        assert "the last CUDA device is cuda:0" in refusal("cuda:1")


def test_a_shortage_of_memory_says_how_much_was_wanted_and_is_free():
    assert memory_shortage(MemoryError("cannot allocate 8 TiB")) == "cannot allocate 8 TiB"
    with EmulatedCupy(memory=1000).installed() as cupy:
        with pytest.raises(MemoryError) as caught:
            to_device(np.zeros(1000), "cuda:0")
        assert isinstance(caught.value, cupy.cuda.memory.OutOfMemoryError)
        assert memory_shortage(caught.value) == (
            "on the GPU: Out of memory allocating 8,000 bytes (allocated so far: 0 bytes). "
            "1,000 of 1,000 bytes are free"
        )


def test_importing_the_package_needs_no_cupy():
    script = (
        "import sys; sys.modules['cupy'] = None\n"  # any `import cupy` now raises
        "import gaancore.ops, gaancore.models.node_classifier\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def test_a_rank_takes_the_device_of_its_number(emulated, monkeypatch):
    with emulated["ascending"].installed() as cupy:
        assert resolve_device("auto", preferred=0) == "cuda:0"
        notices = []
        assert resolve_device("auto", notices.append, preferred=1) == "cpu"  # there is only one
        monkeypatch.setattr(cupy.cuda.runtime, "getDeviceCount", lambda: 2)
        monkeypatch.setattr("gaancore.array.cuda_problem", lambda number: None)
        monkeypatch.setattr(cupy.cuda.Device, "use", lambda device: None)
        assert resolve_device("auto", preferred=1) == "cuda:1"
        assert resolve_device("cuda", preferred=1) == "cuda:1"
        assert resolve_device("cuda:0", preferred=1) == "cuda:0"
