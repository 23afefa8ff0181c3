"""What the doctor says about a machine, also about machines that are not at hand."""

import json
import sys
from types import SimpleNamespace

import pytest

from gaancore.array import cuda_devices
from gaancore.doctor import machine


def test_a_description_is_json_and_names_what_can_change_a_number():
    found = json.loads(json.dumps(machine.describe_machine()))
    assert {"gaancore", "python", "numpy", "scipy", "numba", "llvmlite"} <= set(found["versions"])
    assert found["blas"][0]["threads"] >= 1
    assert found["processor"]


@pytest.mark.parametrize(
    ("driver", "version", "extra"),
    [((13, 1), "13.1", "cuda13"), ((12, 4), "12.4", "cuda12"), ((11, 8), "11.8", None)],
)
def test_the_extra_is_the_newest_that_the_driver_runs(monkeypatch, driver, version, extra):
    monkeypatch.setattr(machine.driver, "driver_version", lambda: driver)
    monkeypatch.setattr(machine, "cuda_problem", lambda: "it is switched off")
    expected = {"driver": version, "extra": extra, "devices": [], "reason": "it is switched off"}
    assert machine.gpu() == expected


def test_without_a_driver_no_extra_fits(monkeypatch):
    monkeypatch.setattr(machine.driver, "driver_version", lambda: None)
    found = machine.gpu()
    assert (found["driver"], found["extra"], found["devices"]) == (None, None, [])
    assert found["reason"]


class FakeDevice:
    compute_capability = "90"

    def __init__(self, number: int) -> None:
        self.number = number

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None


def test_each_gpu_is_described(monkeypatch):
    runtime = SimpleNamespace(
        getDeviceCount=lambda: 2,
        memGetInfo=lambda: (3, 4),
        getDeviceProperties=lambda number: {"name": b"Card %d" % number},
    )
    cuda = SimpleNamespace(runtime=runtime, Device=FakeDevice)
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=cuda))
    first, second = cuda_devices()
    assert second == {**first, "device": "cuda:1", "name": "Card 1"}
    assert first["compute_capability"] == "9.0"
    assert (first["free_bytes"], first["total_bytes"]) == (3, 4)


def test_a_folder_is_writable_if_a_file_can_be_made_where_it_would_be(tmp_path):
    assert machine.writable(tmp_path)
    assert machine.writable(tmp_path / "not" / "there yet")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_where_the_system_refuses_a_file_is_not_writable(monkeypatch, tmp_path):
    def refuse(dir):
        raise PermissionError(dir)

    monkeypatch.setattr(machine.tempfile, "TemporaryFile", refuse)
    assert not machine.writable(tmp_path)
    assert not machine.writable(tmp_path / "below")
