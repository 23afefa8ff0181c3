"""The texts in cuda/: what they must say, and what a GPU's compiler says where there is one."""

import itertools
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from gaancore.doctor import kernel_resources as cuda_resources
from gaancore.doctor.kernel_resources import (
    NARROW,
    SHAPE,
    WIDE,
    architectures,
    disassembler,
    kernel_files,
    resource_table,
)
from gaancore.errors import DeviceError
from gaancore.kernels.cuda import launcher as cuda_launch

FOLDER = Path(__file__).parents[2] / "cuda"
KERNEL_FILES = kernel_files()
BROAD = {**SHAPE, "K": 3, "A": 600, "D": 600, "B": 40, "F": 600}  # rows of several strips


@pytest.mark.parametrize("path", sorted(FOLDER.iterdir()), ids=lambda path: path.name)
def test_a_file_is_a_short_text_without_headers_or_atomics(path):
    assert path.suffix in (".cu", ".cuh")
    text = path.read_text("utf-8")
    assert not re.search(r"#\s*include|atomic[A-Z]", text)
    assert text.count("\n") <= 150
    assert max(map(len, text.splitlines())) <= 100
    if path.suffix == ".cu":
        assert "// Owner" in text
        assert "Bytes: " in text
        for name, given in re.findall(r"#define (\w+) +GIVEN_(\w+)", text):
            assert name == given
            assert given in {*SHAPE, "TEAM"}


def test_all_lanes_of_a_warp_meet_at_every_shuffle():
    # a compiler looks up at run time who takes part in any other one
    masks = [
        mask
        for path in FOLDER.iterdir()
        for mask in re.findall(r"_sync\(([^,]*),", path.read_text("utf-8"))
    ]
    assert len(masks) > 8
    assert set(masks) == {"~0u"}


def test_instructions_are_counted_where_there_is_a_disassembler(targets):
    table = list(resource_table([targets[-1]], ["edge_dot"], WIDE[:1]))
    if disassembler():
        assert all(100 < row.instructions < 1000 for row in table)
    else:
        assert all(row.instructions is None for row in table)


@pytest.mark.parametrize("name", cuda_resources.DISASSEMBLERS)
def test_instructions_are_those_of_either_disassembler(monkeypatch, tmp_path, name):
    listings = {
        "nvdisasm": """.section .text.sum,"ax",@progbits
.text.sum:
        /*0000*/                   S2R R0, SR_TID.X ;
.L_x_0:
        /*0010*/              @!P0 BRA `(.L_x_0) ;
        /*0020*/                   NOP;
.text.other:
        /*0000*/                   EXIT ;
""",
        "cuobjdump": """        Function : sum
        /*0000*/                   S2R R0, SR_TID.X ;             /* 0x0000000000007919 */
                                                                  /* 0x000e240000002100 */
        /*0010*/              @!P0 BRA 0x10 ;                     /* 0x0000000000007919 */
        /*0020*/                   NOP;                           /* 0x0000000000007918 */
        Function : other
        /*0000*/                   EXIT ;                         /* 0x000000000000794d */
""",
    }
    (tmp_path / "listing").write_text(listings[name])
    tool = tmp_path / name
    tool.write_text(f"#!/bin/sh\ncat {tmp_path}/listing\n")
    tool.chmod(0o755)
    monkeypatch.setattr(cuda_resources, "disassembler", lambda: str(tool))
    assert cuda_resources._instructions(b"") == {"sum": 2, "other": 1}


@pytest.mark.parametrize(
    ("registers", "architecture", "expected"),
    [
        (32, 90, 100),
        (40, 90, 75),
        (56, 90, 50),
        (86, 90, 25),
        (64, 75, 100),
        (40, 89, 100),
        (255, 120, 16),
    ],
)
def test_occupancy_is_that_of_blocks_of_256_threads(registers, architecture, expected):
    assert cuda_resources.occupancy(registers, architecture) == expected


def test_the_package_finds_its_texts():
    found = {path.name for path in files("gaancore.cuda").iterdir()}
    assert found >= {*cuda_launch.SHARED_TEXTS, *(path.name for path in FOLDER.glob("*.cu"))}


@pytest.fixture(scope="module")
def targets() -> list[int]:
    """Every architecture that the compiler at hand knows."""
    try:
        return architectures()
    except DeviceError as error:
        pytest.skip(str(error))


def assert_nothing_spills(
    file: str, targets: list[int], builds: Sequence[Any], shape: Mapping[str, int] = SHAPE
) -> None:
    text = (FOLDER / f"{file}.cu").read_text("utf-8")
    kernels = re.findall(r"__global__ void (\w+)\(", text)
    table = list(resource_table(targets, [file], builds, shape))
    expected = itertools.product(targets, [(dtype.name, numbers) for dtype, numbers in builds])
    assert sorted((r.architecture, (r.dtype, r.numbers), r.kernel) for r in table) == sorted(
        (arch, build, kernel) for (arch, build) in expected for kernel in kernels
    )
    for row in table:
        assert row.spilled == 0, row
        assert 0 < row.registers * cuda_launch.BLOCK <= 65536, row  # else it cannot be launched
        assert row.shared <= 49152, row


@pytest.mark.parametrize("file", KERNEL_FILES)
def test_a_compiler_of_gpus_takes_it_for_the_oldest_and_the_newest_and_spills_nothing(
    file, targets
):
    assert targets[0] == 75
    assert_nothing_spills(file, [targets[0], targets[-1]], WIDE)


@pytest.mark.slow
@pytest.mark.parametrize("file", KERNEL_FILES)
def test_nor_does_it_spill_for_any_architecture_between(file, targets):
    assert_nothing_spills(file, targets[1:-1], WIDE)


@pytest.mark.parametrize("file", KERNEL_FILES)
def test_nor_does_it_spill_where_rows_have_several_strips(file, targets):
    assert_nothing_spills(file, [targets[0], targets[-1]], WIDE, BROAD)


@pytest.mark.slow
@pytest.mark.parametrize("file", KERNEL_FILES)
def test_nor_does_it_spill_where_numbers_are_read_one_by_one(file, targets):
    assert_nothing_spills(file, targets, NARROW)


def test_a_text_that_does_not_compile_is_shown_by_the_compilers_first_complaint(
    monkeypatch, targets
):
    monkeypatch.setattr(cuda_resources, "source", lambda *args: "__global__ void k() { m; }")
    with pytest.raises(DeviceError, match=r'edge_dot.cu for sm_75: .*error: .*"m" is undefined'):
        list(resource_table([75], ["edge_dot"]))


def test_without_a_compiler_there_is_no_table_but_a_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    monkeypatch.setitem(sys.modules, "cupy.cuda", None)
    with pytest.raises(DeviceError, match=r"no compiler for CUDA .*; pip install cupy-cud"):
        architectures()


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("nvcc"), reason="no nvcc")
@pytest.mark.parametrize("file", KERNEL_FILES)
def test_nvcc_compiles_it_without_a_warning_or_a_spill(tmp_path, file):
    options = cuda_launch.compiled_for(**SHAPE, TEAM=8)
    text, command = tmp_path / f"{file}.cu", ["nvcc", "-cubin", "-arch=sm_75", *options]
    for dtype, numbers in (*WIDE, *NARROW):
        text.write_text(cuda_launch.source(file, dtype, numbers, cuda_launch.PIECE))
        flags = ["-Werror=all-warnings", "-Xptxas=-v", "-o", str(tmp_path / "cubin")]
        done = subprocess.run([*command, *flags, str(text)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert set(re.findall(r"(\d+) bytes spill", done.stderr)) == {"0"}
