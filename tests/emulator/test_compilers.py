"""Which compiler the emulator takes, and what a run says that has none."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from emulator import module

TESTS = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("there", "taken"),
    [
        (("g++", "clang++"), ("g++", "clang++")),
        (("clang++",), ("clang++",)),
        (("g++",), ("g++",)),
        ((), ()),
    ],
    ids=str,
)
def test_clang_takes_the_place_of_a_missing_gcc(monkeypatch, there, taken):
    monkeypatch.setattr(module.shutil, "which", lambda name: name if name in there else None)
    monkeypatch.setattr(module.sys, "platform", "linux")
    assert module.compilers.__wrapped__() == taken
    monkeypatch.setattr(module.sys, "platform", "darwin")
    assert module.compilers.__wrapped__() == ()


@pytest.mark.parametrize(("execute", "code"), [("0", 0), ("1", 1)])
def test_a_run_without_a_compiler_ends_by_saying_so_in_capitals(tmp_path, execute, code):
    environment = {**os.environ, "PATH": str(tmp_path), "GAANCORE_EXECUTE_KERNELS": execute}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "tests/emulator", "-k"]
    done = subprocess.run(
        [*command, "a_product_wrote or host"],
        cwd=TESTS.parent, env=environment, capture_output=True, text=True,
    )  # fmt: skip
    last = done.stdout.splitlines()[-1]
    assert last.startswith("1 TESTS WERE SKIPPED AND THE CUDA KERNELS NOT EXECUTED: no g++")
    assert "GET A COMPILER: apt install g++" in last
    assert done.returncode == code
