"""The emulated device: as strict as CuPy's arrays, and nothing that CuPy does not have."""

import inspect
import operator
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from emulator.device import FUNCTIONS, EmulatedCupy, ndarray
from emulator.module import NO_COMPILER, KernelFaultError, has_compiler

HOST = np.ones(3, np.float32)
OPERATORS = ("add", "sub", "mul", "truediv", "pow", "gt", "iadd", "isub", "imul")


@pytest.fixture(scope="module")
def cupy() -> EmulatedCupy:
    return EmulatedCupy()


@pytest.mark.parametrize("name", OPERATORS)
def test_an_operator_takes_arrays_of_the_device_and_scalars_but_none_of_the_host(cupy, name):
    function = getattr(operator, name)
    for other in (cupy.asarray(2 * HOST), 2, 2.0, np.float32(2), cupy.asarray(np.float32(2))):
        result = function(cupy.asarray(HOST), other)
        assert isinstance(result, ndarray)
        assert result.dtype == (bool if name == "gt" else np.float32)
        assert result.get().tolist() == function(HOST.copy(), np.float32(2)).tolist()
    with pytest.raises(TypeError, match="Unsupported type"):
        function(cupy.asarray(HOST), HOST)
    with pytest.raises(TypeError):
        function(HOST.copy(), cupy.asarray(HOST))


def test_a_scalar_may_stand_on_the_left(cupy):
    assert (np.float32(1) / cupy.asarray(2 * HOST)).get().tolist() == [0.5] * 3
    assert (1 - cupy.asarray(HOST)).dtype == np.float32


@pytest.mark.parametrize(
    "call",
    [
        lambda cupy, x: cupy.concatenate([x, HOST]),
        lambda cupy, x: cupy.where(HOST > 0, x, x),
        lambda cupy, x: cupy.matmul(HOST, x),
        lambda cupy, x: cupy.exp(HOST),
        lambda cupy, x: x[np.arange(2)],
        lambda cupy, x: operator.setitem(x, slice(3), HOST),
        lambda cupy, x: np.asarray(x),
        lambda cupy, x: np.concatenate([x, x]),
        lambda cupy, x: np.add.reduce(x),
    ],
)
def test_no_other_way_mixes_the_device_with_the_host(cupy, call):
    with pytest.raises((TypeError, ValueError)):
        call(cupy, cupy.asarray(HOST))


def test_a_kernel_takes_no_array_of_the_host(cupy):
    code = 'extern "C" __global__ void k(float* x) { x[0] = 1; }'
    with pytest.raises(TypeError, match="Unsupported type"):
        cupy.RawModule(code=code).get_function("k")((1,), (1,), (HOST,))


@pytest.mark.skipif(not has_compiler(), reason=NO_COMPILER)
def test_a_kernel_may_read_what_a_product_wrote_into_a_part_but_not_the_rest():
    cupy = EmulatedCupy(checked=True)
    code = """extern "C" __global__ void add(const double* x, double* total, int n) {
        for (int i = 0; i < n; ++i) total[0] += x[i]; }"""
    add, total = cupy.RawModule(code=code).get_function("add"), cupy.zeros(1, float)
    ones, out = cupy.ones((2, 2), float), cupy.empty((4, 2), float)
    cupy.matmul(ones, ones, out=out[:2])
    add((1,), (1,), (out, total, np.int32(4)))
    assert float(total[0]) == 8
    with pytest.raises(KernelFaultError, match="reads byte 32 of x, which nobody wrote"):
        add((1,), (1,), (out, total, np.int32(5)))


def test_arguments_that_are_not_offered_are_refused(cupy):
    with pytest.raises(TypeError, match="only a are offered"):
        cupy.diff(cupy.asarray(HOST), axis=0)


# ---- beside the real one --------------------------------------------------------------------


@pytest.fixture(scope="module")
def real() -> Any:
    return pytest.importorskip("cupy", reason="no CuPy to compare the emulated device with")


def parameters(function: Any) -> set[str]:
    """Names of arguments, from the signature or from the first line of CuPy's documentation."""
    try:
        return set(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        found = re.search(r"\((.*?)\)( ->|$)", (function.__doc__ or "").partition("\n")[0])
        return set(re.findall(r"(\w+)\s*(?=[=,]|$)", found[1] if found else ""))


def public(x: Any) -> set[str]:
    return {name for name in vars(x) if not name.startswith("_")}


def test_all_that_an_array_offers_is_offered_by_cupys(real):
    python = {"__module__", "__dict__", "__weakref__", "__annotations__", "__slots__"}
    for name in {n for kind in ndarray.__mro__[:-1] for n in vars(kind)} - python:
        if getattr(ndarray, name) is not None and not re.fullmatch("_[a-z]+", name):
            assert hasattr(real.ndarray, name), name
    for name in public(ndarray) - {"T"}:
        mine, theirs = getattr(ndarray, name), getattr(real.ndarray, name)
        if callable(mine):
            assert parameters(mine) <= parameters(theirs) | {"self"}, name


def test_all_that_the_module_offers_is_offered_by_cupy(real):
    def compare(mine: Any, theirs: Any, where: str) -> None:
        for name in public(mine) - {"cublas"}:  # which cannot be imported without the library
            assert hasattr(theirs, name), f"{where}.{name}"
            if isinstance(getattr(mine, name), SimpleNamespace):
                compare(getattr(mine, name), getattr(theirs, name), f"{where}.{name}")

    cupy = EmulatedCupy()
    compare(cupy, real, "cupy")
    for name, names in FUNCTIONS.items():
        offered = parameters(getattr(real, name))
        assert set(names) <= offered or offered & {"args", "x1"}, f"{name}: {offered}"
    for name in ("empty", "asarray"):
        assert parameters(getattr(cupy, name)) <= parameters(getattr(real, name)), name
    text = Path(real.__file__).with_name("cublas.py").read_text("utf-8")
    assert "def gemm(transa, transb, a, b, out=None, alpha=1.0, beta=0.0):" in text
    assert parameters(cupy.RawModule) <= parameters(real.RawModule)
    for kind in ("Device", "Event", "Stream"):
        mine, theirs = (getattr(module.cuda, kind) for module in (cupy, real))
        for name in public(mine) - {"id", "current", "stream", "copies", "upload", "copy_later"}:
            assert hasattr(theirs, name), f"{kind}.{name}"
    assert issubclass(real.cuda.memory.OutOfMemoryError, MemoryError)
    assert real.cuda.memory.OutOfMemoryError.__module__ == "cupy.cuda.memory"
    assert real.ndarray.__module__ == "cupy"
