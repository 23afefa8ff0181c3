"""Two CUDA devices, played by the CPU: work is done where the arrays are, and none is mixed."""

from collections.abc import Iterator

import numpy as np
import pytest
from emulator.device import EmulatedCupy
from emulator.module import NO_COMPILER, has_compiler
from small_run import small_dataset, small_run

from gaancore.array import device_of, resolve_device, to_device, to_numpy
from gaancore.doctor.checks import CHECKS
from gaancore.doctor.self_test import self_test
from gaancore.errors import DeviceError
from gaancore.graph import Block
from gaancore.kernels.arguments import checking
from gaancore.kernels.cuda import segments
from gaancore.ops import bce_with_logits, dropout, leaky_relu, linear, segment_mean, total
from gaancore.tensor import Tensor
from gaancore.training.nodes.inference import infer

BLOCK = Block([0, 1, 3], [1, 0, 1], num_src=2)


@pytest.fixture(scope="module")
def machine() -> EmulatedCupy:
    if not has_compiler():
        pytest.skip(NO_COMPILER)
    return EmulatedCupy(devices=2, checked=True, schedule="random")


@pytest.fixture
def cupy(machine: EmulatedCupy) -> Iterator[EmulatedCupy]:
    """Its current device is number 0, and the arrays of these tests are on number 1."""
    with machine.installed():
        yield machine


def there(*shape: int) -> Tensor:
    return Tensor(to_device(np.ones(shape, np.float32), "cuda:1"), requires_grad=True)


def test_an_array_goes_from_one_device_to_the_other(cupy):
    x = to_device(to_device(np.arange(3), "cuda:0"), "cuda:1")
    assert device_of(x) == "cuda:1"
    assert to_numpy(x).tolist() == [0, 1, 2]


def test_ops_and_gradients_stay_on_the_device_of_their_arrays(cupy):
    x, w, b = there(2, 4), there(4, 3), there(3)
    block = BLOCK.to("cuda:1")
    h = dropout(leaky_relu(linear(x, w, b, slope=0.1)), rate=0.5, seed=1)
    y = segment_mean(h, block=block) * 2.0 - there(2, 3)
    loss = bce_with_logits(y, to_device(np.ones((2, 3), np.uint8), "cuda:1")) + total(y)
    loss.backward()
    assert {device_of(z) for z in (y.data, x.grad, w.grad, b.grad)} == {"cuda:1"}


@pytest.mark.parametrize("elsewhere", ["cuda:0", "cpu"])
def test_an_op_refuses_what_is_on_another_device_in_one_line(cupy, elsewhere):
    x, other = there(2, 4), to_device(np.ones((2, 4), np.float32), elsewhere)
    with pytest.raises(
        DeviceError,
        match=f"^add: argument 2: expected on cuda:1 as the first argument, got on {elsewhere}; ",
    ):
        x + other
    with pytest.raises(DeviceError, match=r"^segment_mean: block: expected on cuda:1"):
        segment_mean(x, block=BLOCK.to(elsewhere))
    with pytest.raises(DeviceError, match=rf"^segment_mean: block: expected on {elsewhere}"):
        segment_mean(other, block=BLOCK.to("cuda:1"))


def test_a_checked_kernel_refuses_what_is_on_another_device(cupy):
    values, block = there(2, 4).data, BLOCK.to("cuda:0")
    with pytest.raises(ValueError, match="indptr: expected an array on cuda:1, got one on cuda:0"):
        checking(segments.segment_weighted_sum)(
            there(3, 1).data, values.reshape(2, 1, 4), block.indptr, block.indices
        )


def test_the_doctor_tests_the_device_that_is_asked_for(cupy):
    outcomes = list(self_test("cuda:1"))
    assert [outcome.kernel for outcome in outcomes if outcome.passed] == list(CHECKS)


def test_a_run_trains_on_the_second_device(cupy, tmp_path):
    run = small_run(tmp_path, device="cuda:1", label_smoothing=0.1, input_dropout=0.2)
    cupy.cuda.Device(0).use()
    assert run.train()["device"] == "cuda:1"


def test_a_model_on_a_device_that_is_not_current_gives_the_same_outputs(cupy, tmp_path):
    dataset = small_dataset()
    run = small_run(tmp_path, dataset, device="cuda:1")
    cupy.cuda.Device(0).use()
    nodes = np.arange(5)
    outputs = infer(run.model, dataset.graph, dataset.features, nodes)
    expected = infer(run.model.to("cpu"), dataset.graph, dataset.features, nodes)
    np.testing.assert_allclose(outputs, expected, atol=1e-5)


def test_the_number_behind_the_last_device_is_refused(cupy):
    assert resolve_device("cuda:1") == "cuda:1"
    with pytest.raises(DeviceError, match="the last CUDA device is cuda:1"):
        resolve_device("cuda:2")
