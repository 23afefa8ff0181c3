"""The texts in cuda/: what they must say, and what a GPU's compiler says where there is one."""

import re
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gaancore.kernels import cuda_launch

FOLDER = Path(__file__).parents[2] / "cuda"
KERNEL_FILES = sorted(path.stem for path in FOLDER.glob("*.cu"))
VARIANTS = [(np.dtype(np.float32), 4), (np.dtype(np.float32), 1), (np.dtype(np.float64), 2)]


@pytest.mark.parametrize("path", sorted(FOLDER.iterdir()), ids=lambda path: path.name)
def test_a_file_is_a_short_text_without_headers_or_atomics(path):
    assert path.suffix in (".cu", ".cuh")
    text = path.read_text("utf-8")
    assert not re.search(r"#\s*include|atomic[A-Z]", text)
    assert text.count("\n") <= 120
    assert max(map(len, text.splitlines())) <= 100
    if path.suffix == ".cu":
        assert "// Owner: " in text
        assert "Bytes: " in text


def test_the_package_finds_its_texts():
    found = {path.name for path in files("gaancore.cuda").iterdir()}
    assert found >= {*cuda_launch.SHARED_TEXTS, *(f"{name}.cu" for name in KERNEL_FILES)}


def spilled(log: str) -> set[str]:
    """The numbers of bytes that a compiler's log says were spilled to memory."""
    return set(re.findall(r"(\d+) bytes spill", log))


def nvrtc() -> Any:
    """CuPy's NVRTC, which compiles without a driver."""
    module = pytest.importorskip("cupy.cuda", reason="no CuPy, so no NVRTC to compile with").nvrtc
    try:
        module.getVersion()
    except (ImportError, OSError, RuntimeError) as error:
        pytest.skip(f"CuPy finds no NVRTC: {error}")
    return module


def compile_with_nvrtc(compiler: Any, file: str, dtype: np.dtype, numbers: int, arch: int) -> str:
    """The compiler's log, with a line about spills for each kernel."""
    source = cuda_launch.source(file, dtype, numbers, cuda_launch.PIECE)
    program = compiler.createProgram(source, f"{file}.cu", (), ())
    options = ("--std=c++17", f"--gpu-architecture=sm_{arch}", "--ptxas-options=-v")
    try:
        compiler.compileProgram(program, options)
        return compiler.getProgramLog(program)
    except compiler.NVRTCError:
        pytest.fail(compiler.getProgramLog(program))
    finally:
        compiler.destroyProgram(program)


@pytest.mark.parametrize("file", KERNEL_FILES)
def test_nvrtc_compiles_it_for_the_oldest_architecture_without_spilling(file):
    compiler = nvrtc()
    oldest = min(arch for arch in compiler.getSupportedArchs() if arch >= 75)
    for dtype, numbers in VARIANTS:
        assert spilled(compile_with_nvrtc(compiler, file, dtype, numbers, oldest)) == {"0"}


@pytest.mark.slow
@pytest.mark.parametrize("file", KERNEL_FILES)
def test_nvrtc_compiles_it_for_every_architecture_without_spilling(file):
    compiler = nvrtc()
    for arch in compiler.getSupportedArchs():
        for dtype, numbers in VARIANTS if arch >= 75 else ():
            assert spilled(compile_with_nvrtc(compiler, file, dtype, numbers, arch)) == {"0"}, arch


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("nvcc"), reason="no nvcc")
@pytest.mark.parametrize("file", KERNEL_FILES)
def test_nvcc_compiles_it_without_a_warning_or_a_spill(tmp_path, file):
    text, command = tmp_path / f"{file}.cu", ["nvcc", "-cubin", "-arch=sm_75", "-std=c++17"]
    for dtype, numbers in VARIANTS:
        text.write_text(cuda_launch.source(file, dtype, numbers, cuda_launch.PIECE))
        flags = ["-Werror=all-warnings", "-Xptxas=-v", "-o", str(tmp_path / "cubin")]
        done = subprocess.run([*command, *flags, str(text)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert spilled(done.stderr) == {"0"}
