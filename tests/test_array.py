"""Where arrays live: decided by their type, and refused in one line where there is no device."""

import subprocess
import sys

import numpy as np
import pytest

from gaancore.array import array_module, resolve_device, to_device, to_numpy
from gaancore.errors import DeviceError, UserError


def test_an_array_goes_to_a_device_and_comes_back_the_same(device):
    x = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)
    back = to_numpy(to_device(x, device))
    assert isinstance(back, np.ndarray)
    assert back.dtype == x.dtype
    assert np.array_equal(back, x)


def test_the_module_follows_the_type_of_the_array():
    assert array_module(np.zeros(3)) is np
    assert array_module(np.float32(3)) is np


def test_an_array_that_is_there_already_is_not_copied():
    x = np.zeros(3)
    assert to_device(x, "cpu") is x
    assert to_numpy(x) is x


@pytest.mark.parametrize("name", ["auto", "cpu"])
def test_auto_and_cpu_are_the_cpu(name):
    assert resolve_device(name) == "cpu"


@pytest.mark.parametrize("name", ["gpu", "CPU", "cuda0", "", "tpu:0"])
def test_an_unknown_device_is_refused_with_what_would_do(name):
    with pytest.raises(DeviceError, match="expected auto, cpu, cuda or cuda:N") as caught:
        resolve_device(name)
    assert repr(name) in str(caught.value)


@pytest.mark.parametrize("name", ["cuda", "cuda:0", "cuda:7"])
def test_a_cuda_device_that_is_not_there_is_refused_in_one_line(name):
    with pytest.raises(DeviceError) as caught:
        to_device(np.zeros(3), name)
    assert isinstance(caught.value, UserError)
    assert str(caught.value).startswith(f"device {name}: ")
    assert "\n" not in str(caught.value)


def test_importing_the_package_needs_no_cupy():
    script = (
        "import sys; sys.modules['cupy'] = None\n"  # any `import cupy` now raises
        "import gaancore.ops, gaancore.models.node_classifier\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
