"""What each CUDA kernel takes of a GPU, as its compiler reports it. This needs no GPU."""

import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np

from gaancore.array import nvrtc
from gaancore.errors import DeviceError
from gaancore.kernels.cuda.launcher import OPTIONS, PIECE, source
from gaancore.system.threads import get_num_threads

OLDEST = 75  # the first architecture that CUDA 13 knows
# float type and numbers per load, as share_out of the launcher chooses them
WIDE = ((np.dtype(np.float32), 4), (np.dtype(np.float64), 2))
NARROW = ((np.dtype(np.float32), 1), (np.dtype(np.float64), 1))
FACTS = re.compile(
    r"Compiling entry function '(?P<kernel>\w+)' for 'sm_(?P<architecture>\d+)'.*?"
    r"(?P<stores>\d+) bytes spill stores, (?P<loads>\d+) bytes spill loads.*?"
    r"Used (?P<registers>\d+) registers(?P<rest>[^\n]*)",
    re.DOTALL,
)


class Resources(NamedTuple):
    """One kernel in one build: of a thread its registers and the bytes that did not fit into them,
    of a block its shared memory in bytes."""

    file: str
    kernel: str
    dtype: str
    numbers: int  # per load
    architecture: int  # 90 for sm_90
    registers: int
    shared: int
    spilled: int


def kernel_files() -> list[str]:
    """The names of cuda/*.cu."""
    names = (path.name for path in files("gaancore.cuda").iterdir())
    return sorted(name.removesuffix(".cu") for name in names if name.endswith(".cu"))


def architectures() -> list[int]:
    """Those that the compiler at hand knows, from sm_75 on. Raises DeviceError if there is none."""
    return sorted(arch for arch in nvrtc().getSupportedArchs() if arch >= OLDEST)


def resource_table(
    targets: Sequence[int],
    names: Sequence[str] | None = None,
    builds: Sequence[tuple[np.dtype, int]] = (*WIDE, *NARROW),
) -> Iterator[Resources]:
    """Compile cuda/*.cu, or only the files named, for each architecture of `targets`.

    A file takes a tenth to half of a second for each build and architecture; threads share these.
    Raises DeviceError if there is no compiler, or with the first complaint if it refuses a text.
    """
    chosen = kernel_files() if names is None else names
    jobs = [(file, *build, target) for file in chosen for build in builds for target in targets]
    compiler = nvrtc()  # it lets go of the interpreter's lock
    with ThreadPoolExecutor(get_num_threads()) as pool:
        logs = pool.map(lambda job: _log(compiler, *job), jobs)
        for (file, dtype, numbers, _), log in zip(jobs, logs, strict=True):
            yield from _facts(file, dtype, numbers, log)


def _facts(file: str, dtype: np.dtype, numbers: int, log: str) -> Iterator[Resources]:
    for found in FACTS.finditer(log):
        shared = re.search(r"(\d+) bytes smem", found["rest"])
        yield Resources(
            file=file,
            kernel=found["kernel"],
            dtype=dtype.name,
            numbers=numbers,
            architecture=int(found["architecture"]),
            registers=int(found["registers"]),
            shared=int(shared[1]) if shared else 0,
            spilled=int(found["stores"]) + int(found["loads"]),
        )


def _log(compiler: Any, file: str, dtype: np.dtype, numbers: int, target: int) -> str:
    text = source(file, dtype, numbers, PIECE)
    program = compiler.createProgram(text, f"{file}.cu", (), ())
    try:
        as_cupy = (*OPTIONS, "-ftz=true", f"--gpu-architecture=sm_{target}")
        compiler.compileProgram(program, (*as_cupy, "--ptxas-options=-v"))
        return compiler.getProgramLog(program)
    except compiler.NVRTCError:
        log = compiler.getProgramLog(program)
        complaint = next((line for line in log.splitlines() if "error" in line), log[:200])
        raise DeviceError(f"{file}.cu for sm_{target}: {complaint}") from None
    finally:
        compiler.destroyProgram(program)
