"""`--device`: the same commands on a CUDA device (the emulator plays it), and without one."""

import json
import sys

import numpy as np
import pytest
from emulator.device import EmulatedCupy
from numpy.testing import assert_allclose
from small_run import contents, small_options

from gaancore.system import driver

TINY = small_options(epochs=1, batch_size=40)


def test_a_run_trains_goes_on_and_is_scored_again_on_a_gpu(gaancore, data, tmp_path, emulated):
    with emulated["random"].installed():
        outcome = gaancore(
            "train", "--task", "ppi", "--data", data, *TINY, "--device", "cuda", "--out", "run"
        )
        assert outcome.code == 0, outcome.err
        assert any(line.endswith("on cuda:0") for line in outcome.lines)
        record = json.loads((tmp_path / "run" / "record.json").read_text("utf-8"))
        assert record["device"] == "cuda:0"
        before = contents(tmp_path / "run")
        assert gaancore("train", "--resume", "run").code == 0
        assert contents(tmp_path / "run") == before
        there = gaancore("evaluate", "run", "--json").out
    here = gaancore("evaluate", "run", "--json", "--device", "cpu").out
    for scores in map(json.loads, (there, here)):
        assert scores["test"]["micro_f1"] == pytest.approx(record["test"]["micro_f1"], abs=5e-3)


def test_weights_and_embeddings_from_a_gpu_are_those_from_the_cpu(gaancore, data, emulated):
    gaancore("train", "--task", "ppi", "--data", data, *TINY, "--device", "cpu", "--out", "run")
    commands = {
        "gates.npz": ("explain", "run", "--nodes", "7,100,0"),
        "weights.npz": ("explain", "run", "--what", "attention", "--nodes", "7,100,0"),
        "embeddings.npz": ("embed", "run", "--layer", "1"),
    }
    for name, command in commands.items():
        assert gaancore(*command, "--device", "cpu", "--out", name).code == 0
        with np.load(name) as archive:
            here = dict(archive)
        with emulated["random"].installed():
            assert gaancore(*command, "--device", "cuda", "--out", name).code == 0
        with np.load(name) as there:
            for array_name, expected in here.items():
                assert_allclose(there[array_name], expected, rtol=1e-4, atol=1e-6)


def test_a_gpu_that_does_not_work_is_told_once_and_the_cpu_trains(gaancore, data, monkeypatch):
    def too_old() -> int:
        raise RuntimeError("cudaErrorInsufficientDriver")

    cupy = EmulatedCupy()
    cupy.cuda.runtime.getDeviceCount = too_old
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setattr(driver, "driver_version", lambda: (12, 2))
    outcome = gaancore("train", "--task", "ppi", "--data", data, *TINY)
    assert outcome.code == 0
    (notice,) = outcome.err.splitlines()
    assert notice == (
        "note: no GPU is used: CuPy does not work here (RuntimeError: cudaErrorInsufficientDriver);"
        " uninstall every cupy package, then in the checkout of gaancore, pip install '.[cuda12]'"
    )
    assert any(line.endswith("on cpu") for line in outcome.lines)


def test_too_little_memory_on_a_gpu_is_one_line_and_leaves_the_last_state(
    gaancore, data, tmp_path, emulated
):
    with emulated["random"].installed():
        gaancore("train", "--task", "ppi", "--data", data, *TINY, "--out", "run")
    (tmp_path / "run" / "record.json").unlink()
    before = contents(tmp_path / "run")
    with EmulatedCupy(memory=300).installed():
        outcome = gaancore("train", "--resume", "run")
    (line,) = outcome.err.splitlines()
    assert outcome.code == 3
    assert line.startswith("error: out of memory (on the GPU: Out of memory allocating ")
    assert line.endswith("300 of 300 bytes are free); lower --batch-size or --fanouts")
    assert contents(tmp_path / "run") == before
