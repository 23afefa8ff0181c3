"""GAANCORE_CHECK=1: a call with arrays that do not fit raises before anything runs."""

import doctest
import inspect
import os
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import on_device
import pytest
from kernels.test_kernel_examples import EXAMPLES
from on_device import OnDevice

from gaancore import kernels as contract
from gaancore.errors import ShapeError
from gaancore.kernels import cpu, cuda
from gaancore.kernels.arguments import AXES, INTEGERS, checking


def checked(backend: Any) -> SimpleNamespace:
    return SimpleNamespace(**{name: checking(getattr(backend, name)) for name in backend.__all__})


@pytest.fixture(params=["cpu", "cuda"])
def kernels(request, monkeypatch):
    """Both backends, each kernel with its checks before it."""
    if request.param == "cpu":
        yield checked(cpu)
        return
    with request.getfixturevalue("emulated")["checked"].installed() as cupy:
        monkeypatch.setattr(on_device, "cuda", checked(cuda))
        yield OnDevice(cupy)


def run_examples(kernels: Any) -> int:
    here = {**vars(contract), "kernels_for": lambda array: kernels}
    examples = doctest.DocTest(EXAMPLES.examples, here, "the contract", None, None, None)
    return doctest.DocTestRunner(verbose=False).run(examples, out=lambda text: None).failed


class Recorder:
    """The CPU's kernels; what each was called with first is remembered."""

    def __init__(self) -> None:
        self.calls: dict[str, tuple[Any, ...]] = {}

    def __getattr__(self, name: str) -> Any:
        def call(*args: Any) -> Any:
            kept = tuple(x.copy() if isinstance(x, np.ndarray) else x for x in args)
            self.calls.setdefault(name, kept)
            return getattr(cpu, name)(*args)

        return call


def sound_calls() -> dict[str, dict[str, Any]]:
    """Arguments, by kernel and name, that the examples of the contract call it with."""
    recorder = Recorder()
    run_examples(recorder)
    return {
        name: inspect.signature(getattr(cpu, name)).bind(*args).arguments
        for name, args in recorder.calls.items()
    }


CALLS = sound_calls()
ARRAYS = [
    (kernel, name)
    for kernel, arguments in CALLS.items()
    for name, value in arguments.items()
    if isinstance(value, np.ndarray)
]
EACH_ARRAY = pytest.mark.parametrize(("kernel", "name"), ARRAYS)


def refused(kernels: Any, kernel: str, **changed: Any) -> str:
    """What the kernel says to its sound arguments, some of them changed."""
    arguments = {**CALLS[kernel], **changed}
    with pytest.raises(ShapeError) as error:
        getattr(kernels, kernel)(*arguments.values())
    assert "\n" not in str(error.value)
    return str(error.value)


def test_the_table_has_every_kernel_and_every_array_of_it():
    assert set(AXES) == set(cpu.__all__) == set(CALLS)
    for kernel, name in ARRAYS:
        assert name in AXES[kernel]
    for kernel, axes in AXES.items():
        assert set(axes) <= set(inspect.signature(getattr(cpu, kernel)).parameters)


def test_what_fits_gives_what_it_gave(kernels):
    assert run_examples(kernels) == 0


@EACH_ARRAY
def test_an_array_of_another_dtype_is_refused(kernels, kernel, name):
    array = CALLS[kernel][name]
    other = array.astype(np.float16 if array.dtype.kind == "f" else np.int16)
    assert refused(kernels, kernel, **{name: other}).startswith(f"{kernel}: ")


@EACH_ARRAY
def test_an_array_with_one_axis_more_is_refused(kernels, kernel, name):
    if kernel in ("dropout", "sigmoid_forward"):
        pytest.skip("takes any shape")
    changed = CALLS[kernel][name][None]
    assert refused(kernels, kernel, **{name: changed}).startswith(f"{kernel}: ")


@pytest.mark.parametrize(
    ("kernel", "name"), [pair for pair in ARRAYS if pair[1] in INTEGERS and "bce" not in pair[0]]
)
@pytest.mark.parametrize("number", [-2, 2**31 - 1])
def test_an_index_out_of_its_range_is_refused(kernels, kernel, name, number):
    changed = CALLS[kernel][name].copy()
    changed.reshape(-1)[-1] = number
    assert refused(kernels, kernel, **{name: changed}).startswith(f"{kernel}: {name}: expected ")


def test_offsets_that_decrease_are_refused(kernels):
    said = refused(kernels, "segment_mean_forward", indptr=np.array([0, 3, 2, 3]))
    assert said == (
        "segment_mean_forward: indptr: expected offsets that do not decrease, got some that do"
    )


@pytest.mark.parametrize(("kernel", "name"), [pair for pair in ARRAYS if pair[0] != "matmul"])
def test_an_array_in_another_order_is_refused_by_the_cpu(kernel, name):
    array = CALLS[kernel][name]
    if array.size < 2:
        pytest.skip("one number has one order")
    changed = np.repeat(array, 2, axis=-1)[..., ::2]
    said = refused(checked(cpu), kernel, **{name: changed})
    assert said == f"{kernel}: {name}: expected an array in C order, got one that is not"


@pytest.mark.parametrize(
    ("kernel", "changed", "said"),
    [
        (
            "segment_weighted_sum",
            {"weights": np.ones((2, 1))},
            "segment_weighted_sum: indices: expected (2,), got (3,)",
        ),
        (
            "attention_forward",
            {"keys": np.ones((3, 1, 5))},
            "attention_forward: keys: expected (3, 1, 2), got (3, 1, 5)",
        ),
        (
            "linear_forward",
            {"parts": (np.ones((3, 2)), np.ones((3, 2)))},
            "linear_forward: parts.0: expected parts of 3 columns, got 4 columns",
        ),
        (
            "linear_forward",
            {"parts": (np.ones((3, 2)), np.ones((2, 1)))},
            "linear_forward: parts.1: expected (3, 1), got (2, 1)",
        ),
        (
            "adam_step",
            {"moment1": np.ones(2)},
            "adam_step: moment1: expected (1,), got (2,)",
        ),
        (
            "segment_max_backward",
            {"winners": np.full((3, 2), 3, np.int32)},
            "segment_max_backward: winners: expected numbers from -1 to 2, got 3 to 3",
        ),
    ],
)
def test_the_first_argument_that_does_not_fit_is_named(kernels, kernel, changed, said):
    assert refused(kernels, kernel, **changed) == said


def test_what_attention_kept_is_checked_on_the_way_back(kernels):
    saved = CALLS["attention_backward"]["saved"]
    damaged = saved._replace(values=np.ones((7, 1, 2)))
    said = refused(checked(cpu), "attention_backward", saved=damaged)
    assert said.startswith("attention_backward: ")


def test_what_is_no_array_is_refused(kernels):
    said = refused(kernels, "matmul", b=[[1.0], [2.0]])
    assert said == "matmul: b: expected an array, got list"


@pytest.mark.parametrize(("value", "checks"), [("1", True), ("0", False), (None, False)])
def test_the_environment_decides_once(value, checks):
    environment = {name: text for name, text in os.environ.items() if name != "GAANCORE_CHECK"}
    if value is not None:
        environment["GAANCORE_CHECK"] = value
    script = (
        "from gaancore.kernels import cpu, cuda\n"
        "print([hasattr(k, '__wrapped__') for k in (cpu.edge_dot, cuda.edge_dot.__wrapped__)])"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == f"[{checks}, {checks}]\n"
