"""CuPy without a GPU: a module that takes CuPy's place, so that all of the GPU path runs on a CPU.

It offers the part of CuPy's API that gaancore uses, under CuPy's names and argument names (a test
compares them with the real ones), and kernels run in the emulator. Its arrays are NumPy's inside
but, like CuPy's, never mix with NumPy's: every operand is an array of the device or a scalar.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from operator import attrgetter
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from emulator.calls import count
from emulator.module import EmulatedModule, mark_written
from emulator.module import empty as unwritten
from emulator.streams import Device, Event, OutOfMemoryError, Stream, copied, current
from numpy.lib.mixins import NDArrayOperatorsMixin


class ndarray(NDArrayOperatorsMixin):  # noqa: N801 (CuPy's name)
    """An array of the device; only `get` brings it to the host."""

    def __init__(self, array: np.ndarray, number: int | None = None) -> None:
        self._array = array
        self._number = current.number if number is None else number  # of its device

    dtype = property(attrgetter("_array.dtype"))
    shape = property(attrgetter("_array.shape"))
    ndim = property(attrgetter("_array.ndim"))
    size = property(attrgetter("_array.size"))
    itemsize = property(attrgetter("_array.itemsize"))
    nbytes = property(attrgetter("_array.nbytes"))
    flags = property(attrgetter("_array.flags"))

    __imatmul__ = None  # which CuPy's arrays have not either

    @property
    def T(self) -> "ndarray":  # noqa: N802 (NumPy's name)
        return self._view(self._array.T)

    @property
    def device(self) -> "Device":
        return Device(self._number)

    def _view(self, array: np.ndarray) -> "ndarray":
        return ndarray(array, self._number)

    def _moved(self, name: str, array: np.ndarray) -> "ndarray":
        """A view, or a copy if the numbers did not lie in the order that was asked for."""
        if array.size and not np.may_share_memory(array, self._array):
            count(name)
        return self._view(array)

    @property
    def data(self) -> SimpleNamespace:
        return SimpleNamespace(ptr=self._array.ctypes.data)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        address = (self._array.ctypes.data, False)
        return {"shape": self.shape, "typestr": self.dtype.str, "data": address, "version": 3}

    def get(self, out: np.ndarray | None = None, blocking: bool = True) -> np.ndarray:
        count("download")
        if blocking:
            return copied(self._array)
        assert isinstance(out, np.ndarray)
        Stream.current.copy_later(out, self._array)
        return out

    def astype(self, dtype: Any, copy: bool = True) -> "ndarray":
        if copy or self.dtype != dtype:
            count("astype")
        return ndarray(_inside(self).astype(dtype, copy=copy))

    def reshape(self, *shape: Any) -> "ndarray":
        return self._moved("reshape", self._array.reshape(*shape))

    def transpose(self, *axes: int) -> "ndarray":
        return self._view(self._array.transpose(*axes))

    def view(self, dtype: Any) -> "ndarray":
        return self._view(self._array.view(dtype))

    def ravel(self) -> "ndarray":
        return self._moved("ravel", self._array.ravel())

    def copy(self) -> "ndarray":
        count("copy")
        return ndarray(self._array.copy())

    def sum(self, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> "ndarray":
        count("sum")
        return _outside(_inside(self).sum(axis=axis, dtype=dtype, keepdims=keepdims))

    def max(self, axis: Any = None, keepdims: bool = False) -> "ndarray":
        count("max")
        return _outside(_inside(self).max(axis=axis, keepdims=keepdims))

    def min(self, axis: Any = None, keepdims: bool = False) -> "ndarray":
        count("min")
        return _outside(_inside(self).min(axis=axis, keepdims=keepdims))

    def clip(self, min: Any) -> "ndarray":
        count("clip")
        return _outside(_inside(self).clip(min))

    def __len__(self) -> int:
        return len(self._array)

    def __int__(self) -> int:
        return int(self.get())

    def __float__(self) -> float:
        return float(self.get())

    def __bool__(self) -> bool:
        return bool(self.get())

    def __getitem__(self, slices: Any) -> "ndarray":
        return self._moved("take", np.asarray(self._array[_inside(slices)]))

    def __setitem__(self, slices: Any, value: Any) -> None:
        if self._array[_inside(slices)].size:
            count("set")
        _inside(self)[_inside(slices)] = _inside(value)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        raise TypeError("Implicit conversion to a NumPy array is not allowed; use .get()")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method != "__call__":
            return NotImplemented
        with np.errstate(all="ignore"):  # a GPU warns of nothing
            result = ufunc(*map(_inside, inputs), **{k: _inside(v) for k, v in kwargs.items()})
        if result.size:
            count(ufunc.__name__)
        return _outside(result)


ndarray.__module__ = "cupy"


def _inside(x: Any) -> Any:
    """What NumPy computes with. An array that is NumPy's already was never uploaded.

    CuPy may reach for an array of another device, slowly, or crash: here that is refused.
    """
    if isinstance(x, np.ndarray):
        raise TypeError(f"Unsupported type {type(x)}: a NumPy array among those of the device")
    if isinstance(x, (list, tuple)):
        return type(x)(map(_inside, x))
    if isinstance(x, ndarray) and x._number != current.number:
        raise RuntimeError(
            f"an array on cuda:{x._number} while the current device is cuda:{current.number}"
        )
    return x._array if isinstance(x, ndarray) else x


def _outside(x: Any) -> ndarray:
    return ndarray(np.asarray(x))


# ---- the module -----------------------------------------------------------------------------

MODES = {  # what would crash a plain build is reported by the checked one before
    "checked": {"schedule": "random", "checked": True},
    "ascending": {"schedule": "ascending"},
    "descending": {"schedule": "descending"},
    "random": {"schedule": "random"},
}
# As a GPU rounds: bits are those of no other mode.
CONTRACTED = {"contracted": {"schedule": "ascending", "contract": True}}
# what is offered under NumPy's name, with the arguments that may be given
FUNCTIONS = {
    "zeros": ("shape", "dtype"),
    "ones": ("shape", "dtype"),
    "zeros_like": ("a",),
    "ones_like": ("a",),
    "arange": ("start",),
    "ascontiguousarray": ("a",),
    "broadcast_to": ("array", "shape"),
    "concatenate": ("tup", "axis"),
    "stack": ("tup",),
    "diff": ("a",),
    "where": ("condition", "x", "y"),
    "matmul": ("x1", "x2", "out"),
    "abs": ("x",),
    "sign": ("x",),
    "exp": ("x",),
    "log1p": ("x",),
    "maximum": ("x1", "x2"),
    "log": ("x",),
    "tanh": ("x",),
    "divide": ("x1", "x2", "out", "casting"),
}


class EmulatedCupy(ModuleType):
    """In CuPy's place: `with EmulatedCupy(schedule=..., checked=...).installed():`.

    devices : how many there are.
    memory  : bytes of each; an array that has more does not fit.
    idle    : kernels are counted and not executed; what they would write is 0.
    texts   : how many texts were compiled, if each is for what it was given.
    """

    ndarray = ndarray
    texts = 0

    def __init__(
        self, memory: int = 2**40, devices: int = 1, idle: bool = False, **mode: Any
    ) -> None:
        super().__init__("cupy")
        self._memory, self._idle, self._mode = memory, idle, mode
        for name, parameters in FUNCTIONS.items():
            setattr(self, name, _function(name, parameters))
        self.cublas = SimpleNamespace(gemm=_gemm)
        self.cuda = SimpleNamespace(
            Device=Device,
            Event=Event,
            Stream=Stream,
            alloc_pinned_memory=lambda mem_size: bytearray(b"\xff" * mem_size),
            get_current_stream=lambda: Stream.current,
            memory=SimpleNamespace(OutOfMemoryError=OutOfMemoryError),
            runtime=SimpleNamespace(
                getDeviceCount=lambda: devices, memGetInfo=lambda: (self._memory, self._memory)
            ),
        )

    @contextmanager
    def installed(self) -> Iterator["EmulatedCupy"]:
        """Inside, `import cupy` gives this module; device 0 is the current one."""
        with pytest.MonkeyPatch.context() as patch, Device(0):
            patch.setitem(sys.modules, "cupy", self)
            yield self

    def empty(self, shape: Any, dtype: Any) -> ndarray:
        return ndarray(np.zeros(shape, dtype) if self._idle else unwritten(shape, dtype))

    def asarray(self, a: Any, dtype: Any = None, order: str | None = None) -> ndarray:
        if isinstance(a, ndarray):
            array = np.asarray(a._array, dtype, order=order)
            if a._number == current.number:
                return a._moved("astype", array)
            count("from another device")
            return ndarray(array.copy())
        array = np.asarray(a, dtype, order=order)
        if array.nbytes > self._memory:
            raise OutOfMemoryError(
                f"Out of memory allocating {array.nbytes:,} bytes (allocated so far: 0 bytes)."
            )
        count("upload")
        return ndarray(Stream.current.upload(array))

    def RawModule(self, code: str, options: tuple[str, ...] = ()) -> Any:  # noqa: N802
        self.texts += 1
        module = EmulatedModule(code, options, **self._mode)

        def get_function(name: str) -> Callable[..., None]:
            kernel = module.get_function(name)

            def launch(grid: Any, block: Any, args: Any) -> None:
                count(name)
                if not self._idle:
                    kernel(grid, block, _inside(args))

            return launch

        return SimpleNamespace(get_function=get_function)


def _gemm(
    transa: str, transb: str, a: ndarray, b: ndarray, out: ndarray, beta: float = 0.0
) -> ndarray:
    """out = a @ b + beta * out. Each is contiguous, or the transposed view of one that is."""
    count("gemm")
    flags = [x.flags for x in (a, b)]
    assert (transa, transb) == ("N", "N")
    assert all(f.c_contiguous or f.f_contiguous for f in flags), "cuBLAS would be given a copy"
    assert out.flags.c_contiguous
    target = _inside(out)
    with np.errstate(all="ignore"):
        target[...] = _inside(a) @ _inside(b) + target.dtype.type(beta) * target
    mark_written(target)
    return out


def _launches(name: str, first: Any = None, *rest: Any) -> int:
    """How many a call of CuPy's function makes: views none, joining one for each array. Of more
    than 8, one for all and 3 copies of tables that say where they are."""
    if name == "broadcast_to" or (name == "ascontiguousarray" and first.flags.c_contiguous):
        return 0
    if name in ("concatenate", "stack"):
        return sum(x.size > 0 for x in first) if len(first) <= 8 else 4
    return 1


def _function(name: str, parameters: tuple[str, ...]) -> Callable[..., ndarray]:
    function = getattr(np, name)

    def call(*args: Any, **kwargs: Any) -> ndarray:
        if len(args) + len(kwargs) > len(parameters) or not kwargs.keys() <= set(parameters):
            raise TypeError(f"cupy.{name}: only {', '.join(parameters)} are offered")
        count(name, _launches(name, *args))
        with np.errstate(all="ignore"):
            result = function(*_inside(args), **{key: _inside(x) for key, x in kwargs.items()})
        if "out" in kwargs:
            mark_written(result)
        return _outside(result)

    return call
