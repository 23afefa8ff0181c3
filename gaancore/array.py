"""Where arrays live: NumPy's in the memory of the host, CuPy's on a CUDA device.

This is the only file that imports cupy, and it does so only when a CUDA device is asked for. A
device is `cpu` or `cuda:N`. The type of an array alone says where it lives, never a global setting.
"""

import math
import re
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import accumulate
from types import ModuleType
from typing import Any

import numpy as np

from gaancore.errors import DeviceError
from gaancore.system import driver

Array = Any  # numpy.ndarray or cupy.ndarray: the two have no common static type


def array_module(x: Array) -> ModuleType:
    """numpy or cupy, by the type of `x`."""
    if type(x) is not np.ndarray and type(x).__module__.partition(".")[0] == "cupy":
        import cupy

        return cupy
    return np


def device_of(x: Array) -> str:
    """`cpu` or `cuda:N`: where `x` lives."""
    return "cpu" if array_module(x) is np else f"cuda:{x.device.id}"


def on_device_of(x: Array) -> AbstractContextManager[Any]:
    """Inside, CuPy allocates and launches where `x` lives, and not on the thread's own device."""
    return nullcontext() if array_module(x) is np else x.device


def add_product(a: Array, b: Array, total: Array) -> None:
    """total += a @ b on a CUDA device, by cuBLAS itself. Either may be a transposed view."""
    from cupy import cublas

    cublas.gemm("N", "N", a, b, out=total, beta=1.0)


def to_numpy(x: Array) -> np.ndarray:
    """`x` as a NumPy array (copied from the device if it lives there)."""
    if array_module(x) is np:
        return np.asarray(x)
    return x.get()


def to_device(x: Array, device: str) -> Array:
    """`x` on `device`, a name that resolve_device gave; itself if it lives there.

    From the host to a CUDA device the call returns before the copy is made, out of a page-locked
    buffer: `x` may change again at once, and whatever is launched later finds the copy.
    """
    if device == "cpu":
        return to_numpy(x)
    import cupy

    with cupy.cuda.Device(_number(device)):
        return cupy.asarray(x, order="C")


def to_host_later(x: Array) -> Callable[[], np.ndarray]:
    """Copy `x` behind what was launched so far; what is returned gives the copy.

    It waits for the copy, but not for anything that was launched after this call.
    """
    if array_module(x) is np:
        return lambda: x
    import cupy

    with x.device:
        there = np.frombuffer(cupy.cuda.alloc_pinned_memory(x.nbytes), x.dtype, x.size)
        copy = there.reshape(x.shape)
        x.get(out=copy, blocking=False)
        made = cupy.cuda.get_current_stream().record()

    def read() -> np.ndarray:
        made.synchronize()
        return copy

    return read


def to_device_together(arrays: Sequence[np.ndarray], device: str) -> list[Array]:
    """Small arrays on `device` as views of one, in one copy, each from a 16-byte address on."""
    if device == "cpu":
        return list(arrays)
    starts = list(accumulate((-(-x.nbytes // 16) * 16 for x in arrays), initial=0))
    packed = np.zeros(starts[-1], np.uint8)
    for x, start in zip(arrays, starts, strict=False):
        packed[start : start + x.nbytes] = np.ascontiguousarray(x).reshape(-1).view(np.uint8)
    there = to_device(packed, device)
    return [
        there[start : start + x.nbytes].view(x.dtype).reshape(x.shape)
        for x, start in zip(arrays, starts, strict=False)
    ]


_longest: dict[int, int] = {}  # by the id of offsets on a device


def note_longest_row(indptr: Array, longest: int) -> None:
    """Remember of offsets on a device what is known on the host: the most edges of a row."""
    if array_module(indptr) is not np:
        _longest[id(indptr)] = longest
        weakref.finalize(indptr, _longest.pop, id(indptr), None)


def longest_row(indptr: Array) -> float:
    """The most edges of a row, infinity where nobody has noted it."""
    return _longest.get(id(indptr), math.inf)


class Uploads:
    """`with uploads.beside():` lets to_device copy while the device goes on with what it has.

    The copies run on a stream of their own; work launched after the block waits for them. For
    steps that take turns: the arrays of one block are kept until the next block is over, because
    the block after that may write where they were. On the CPU there is nothing to copy.
    """

    def __init__(self, device: str) -> None:
        self._stream = self._launched = None
        self._device: Any = None
        if device != "cpu":
            import cupy

            self._device = cupy.cuda.Device(_number(device))
            with self._device:
                self._stream = cupy.cuda.Stream(non_blocking=True)

    @contextmanager
    def beside(self) -> Iterator[None]:
        if self._stream is None:
            yield
            return
        import cupy

        with self._device:
            computing = cupy.cuda.get_current_stream()
            if self._launched is not None:
                self._stream.wait_event(self._launched)
            self._launched = computing.record()
            with self._stream:
                yield
            computing.wait_event(self._stream.record())


# ---- which device -------------------------------------------------------------------------------


def resolve_device(
    name: str, notify: Callable[[str], None] = lambda notice: None, *, preferred: int = 0
) -> str:
    """The device that `auto`, `cpu`, `cuda` or `cuda:N` stands for: `cpu` or `cuda:N`.

    A CUDA device has then proved that it computes, and is the current one of this thread. `auto`
    is cuda:`preferred`, as `cuda` is, if that works, else the CPU; `notify` gets the reason if
    there is an NVIDIA driver.
    Raises DeviceError, with the remedy, for any other name and for a device that does not work.
    """
    if not (match := re.fullmatch(r"auto|cpu|cuda(?::(\d+))?", name)):
        raise DeviceError(f"device {name!r}: expected auto, cpu, cuda or cuda:N")
    if name == "cpu":
        return "cpu"
    number = int(match[1] or preferred)
    if (problem := cuda_problem(number)) is None:
        import cupy

        cupy.cuda.Device(number).use()
        return f"cuda:{number}"
    if name != "auto":
        raise DeviceError(f"device {name}: {problem}; or use device cpu")
    if driver.driver_version():
        notify(f"no GPU is used: {problem}")
    return "cpu"


def cuda_problem(number: int = 0) -> str | None:
    """What keeps cuda:`number` from computing, and the remedy; None if a trial product works."""
    try:
        import cupy

        count = cupy.cuda.runtime.getDeviceCount()
        if number >= count:
            return f"the last CUDA device is cuda:{count - 1}"
        with cupy.cuda.Device(number):  # needs memory, NVRTC and cuBLAS, as training does
            one = cupy.ones((1, 1), np.float32)
            float(cupy.matmul(one, one).sum())
    except Exception as error:  # libraries that are missing or do not fit raise of every kind
        return driver.remedy(error)
    return None


def nvrtc() -> Any:
    """The compiler of CUDA C, as CuPy calls it: it needs no device. Raises DeviceError."""
    try:
        from cupy.cuda import nvrtc

        nvrtc.getVersion()
    except Exception as error:  # of every kind, as above
        reason = f"{type(error).__name__}: {error}".partition("\n")[0]
        raise DeviceError(
            f"no compiler for CUDA kernels ({reason}); pip install cupy-cuda13x nvidia-cuda-nvrtc"
        ) from None
    return nvrtc


# ---- for libraries that CuPy calls by addresses --------------------------------------------------


def nccl() -> Any:
    """NCCL as CuPy calls it; None where its library is missing."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # CuPy says how to install it
            from cupy.cuda import nccl
    except ImportError:
        return None
    return nccl if nccl.available else None


def address(x: Array) -> int:
    """Where the numbers of an array on a CUDA device begin."""
    return int(x.data.ptr)


def current_stream() -> int:
    """The stream of the current CUDA device that work is launched on, as CUDA names it."""
    import cupy

    return int(cupy.cuda.get_current_stream().ptr)


def empty(shape: tuple[int, ...], *, like: Array) -> Array:
    """An array of the type and on the device of `like`, with nothing written yet."""
    return array_module(like).empty(shape, dtype=like.dtype)


def _number(device: str) -> int:
    return int(device.removeprefix("cuda:"))


def memory_shortage(error: MemoryError) -> str:
    """How many bytes were wanted, as the error says, and on a CUDA device how many are free."""
    if type(error).__module__.partition(".")[0] != "cupy":
        return str(error)
    import cupy

    free, total = cupy.cuda.runtime.memGetInfo()
    return f"on the GPU: {error} {free:,} of {total:,} bytes are free"


def memory_of(device: str) -> tuple[int, int]:
    """Bytes of memory that a CUDA device has: those that are free, and all."""
    import cupy

    with cupy.cuda.Device(_number(device)):
        return cupy.cuda.runtime.memGetInfo()


def cuda_devices() -> list[dict[str, Any]]:
    """Name, compute capability and memory in bytes of each GPU, where cuda_problem finds none."""
    from cupy import cuda

    found = []
    for number in range(cuda.runtime.getDeviceCount()):
        with cuda.Device(number) as device:
            free, total = cuda.runtime.memGetInfo()
            facts = {
                "device": f"cuda:{number}",
                "name": cuda.runtime.getDeviceProperties(number)["name"].decode(),
                "compute_capability": ".".join(str(device.compute_capability)),
                "free_bytes": free,
                "total_bytes": total,
            }
        found.append(facts)
    return found
