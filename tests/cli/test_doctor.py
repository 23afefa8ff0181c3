"""`gaancore doctor`: what it prints, and what it says of a kernel that is wrong."""

import json

import pytest

from gaancore import array
from gaancore.doctor import kernel_resources as cuda_resources
from gaancore.doctor import machine
from gaancore.doctor.checks import CHECKS
from gaancore.doctor.kernel_resources import Resources
from gaancore.kernels import cpu


@pytest.fixture(autouse=True)
def _no_gpu(monkeypatch):
    for module in (array, machine):
        monkeypatch.setattr(module, "cuda_problem", lambda number=0: "no GPU here")


def test_the_doctor_describes_the_machine_and_tests_the_kernels(gaancore):
    outcome = gaancore("doctor")
    assert outcome.code == 0
    starts = [line.partition(" ")[0] for line in outcome.lines]
    assert starts[0] == "gaancore"
    assert {"processor:", "threads:", "blas:", "gpu:", "driver:", "folder:"} <= set(starts)
    assert "gpu: none: no GPU here" in outcome.lines
    every = f"self-test: cpu: {len(CHECKS)} of {len(CHECKS)} kernels agree with plain loops"
    assert outcome.lines[-1].startswith(every)


def test_json_holds_the_same_and_nothing_else_is_printed(gaancore):
    outcome = gaancore("doctor", "--json")
    found = json.loads(outcome.out)
    assert {"versions", "blas", "gpu", "folders"} <= set(found)
    assert [test["kernel"] for test in found["self_test"] if test["passed"]] == list(CHECKS)
    assert outcome.err == ""


def test_a_wrong_kernel_ends_in_one_line_and_exit_code_2(gaancore, refused, monkeypatch):
    right = cpu.edge_dot
    monkeypatch.setattr(cpu, "edge_dot", lambda *args: right(*args) * 2)
    outcome = gaancore("doctor")
    assert "self-test: edge_dot on cpu: off by 1.0e+00 of the largest element" in outcome.lines
    assert refused("doctor").startswith("self-test: wrong: edge_dot on cpu; ")


def test_a_device_that_is_not_there_is_refused(refused):
    assert refused("doctor", "--device", "cuda").startswith("device cuda: no GPU here")


@pytest.mark.parametrize("with_disassembler", [True, False])
def test_kernels_are_listed_with_what_they_take_of_each_architecture(
    gaancore, monkeypatch, with_disassembler
):
    def table(targets, names):
        for target in targets:
            kernel = f"sum_{names[0]}"
            facts = (target - 35, target - 20, 128, 0, target + 100)
            yield Resources(names[0], kernel, "float32", 4, target, *facts)

    # more columns than 80 characters hold: no figure may be left out for that
    targets = list(range(75, 95))
    monkeypatch.setattr("gaancore.cli.doctor.architectures", lambda: targets)
    monkeypatch.setattr("gaancore.cli.doctor.resource_table", table)
    monkeypatch.setattr("gaancore.cli.doctor.disassembler", lambda: with_disassembler or None)
    files = cuda_resources.kernel_files()
    outcome = gaancore("doctor", "--kernels")
    rows = [line.split() for line in outcome.lines if line.strip().startswith("sum_")]
    registers, occupancy, instructions = (
        [str(target + more) for target in targets] for more in (-35, -20, 100)
    )
    tables = [(*registers, "128", "0"), tuple(occupancy), tuple(instructions)]
    if with_disassembler:
        assert not any("not counted" in line for line in outcome.lines)
    else:
        tables.pop()
        assert any("pip install nvidia-cuda-nvdisasm" in line for line in outcome.lines)
    assert rows == [[f"sum_{file}", "4", "float32", *table] for table in tables for file in files]
    assert f"{len(files) * len(targets)} texts compiled in" in outcome.out
    found = json.loads(gaancore("doctor", "--kernels", "--json").out)
    assert len(found) == len(targets) * len(files)
    assert found[0]["registers"] == 40


def test_without_a_compiler_the_list_is_refused(refused, monkeypatch):
    def nothing():
        raise array.DeviceError("no compiler for CUDA kernels")

    monkeypatch.setattr(cuda_resources, "nvrtc", nothing)
    assert refused("doctor", "--kernels") == "no compiler for CUDA kernels"
