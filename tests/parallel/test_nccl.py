"""Gradients from GPU to GPU: the device is emulated, NCCL is a double with CuPy's signatures."""

import inspect
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from nccl_double import NcclDouble
from numpy.testing import assert_array_equal
from ranks import Place, on_ranks, results

from gaancore.array import to_device, to_numpy
from gaancore.parallel import Shares

HOSTS = ("one", "two", "three")  # each with its own device 0


@pytest.fixture
def cupy(emulated, monkeypatch):
    with emulated["ascending"].installed() as module:
        yield module


@pytest.fixture
def nccl(cupy, monkeypatch):
    double = NcclDouble()
    monkeypatch.setattr(cupy.cuda, "nccl", double, raising=False)
    monkeypatch.setitem(sys.modules, "cupy.cuda", cupy.cuda)
    return double


def sums(ranks, rows, device, place=None, hosts=HOSTS):
    def added(team):
        shares = Shares(len(rows), team)
        own = to_device(rows[shares.own.start : shares.own.stop], device)
        return to_numpy(shares.add(own))

    return results(on_ranks(ranks, added, place, hosts))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("count", [2, 5])
def test_sums_on_devices_have_the_bits_of_sums_on_hosts(nccl, ranks, count, dtype):
    rows = np.random.default_rng(0).standard_normal((count, 7)).astype(dtype)
    (expected,) = sums(1, rows, "cpu")
    place = Place(ranks)
    for found in sums(ranks, rows, "cuda:0", place):
        assert found.dtype == dtype
        assert_array_equal(found, expected)
    assert nccl.calls.count("send") == nccl.calls.count("recv") > 0
    assert set(place.calls) == {"gather"}  # no number went by way of the hosts


@pytest.mark.parametrize("problem", ["no library", "one device for two ranks"])
def test_without_it_gradients_go_by_way_of_the_hosts(nccl, problem):
    hosts = HOSTS
    if problem == "no library":
        nccl.available = False
    else:
        hosts = ("one", "one")
    rows = np.random.default_rng(0).standard_normal((3, 5))
    (expected,) = sums(1, rows, "cpu")
    place = Place(2)
    for found in sums(2, rows, "cuda:0", place, hosts):
        assert_array_equal(found, expected)
    assert "exchange" in place.calls
    assert nccl.calls == []


def test_the_double_takes_the_arguments_that_cupy_takes():
    """CuPy's own cannot be imported without NCCL, but its compiled module says what it takes."""
    found = find_spec("cupy_backends")
    if found is None:
        pytest.skip("CuPy is not installed")
    folder = Path(found.submodule_search_locations[0]) / "cuda" / "libs"
    (compiled,) = folder.glob("nccl.*.so")
    text = compiled.read_bytes()
    kinds = {"sendbuf": "intptr_t", "recvbuf": "intptr_t", "stream": "intptr_t", "count": "size_t"}
    for name in ("send", "recv", "allGather"):
        arguments = list(inspect.signature(getattr(NcclDouble().NcclCommunicator, name)).parameters)
        typed = [f"{kinds.get(argument, 'int')} {argument}" for argument in arguments[1:]]
        assert f"NcclCommunicator.{name}(self, {', '.join(typed)})".encode() in text
    for name in ("get_unique_id", "groupStart", "groupEnd", "NCCL_FLOAT32", "NCCL_FLOAT64"):
        assert name.encode() in text
