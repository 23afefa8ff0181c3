"""What each CUDA kernel takes of a GPU, as its compiler reports it. This needs no GPU."""

import re
import shutil
import site
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.resources import files
from itertools import repeat
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gaancore.array import nvrtc
from gaancore.errors import DeviceError
from gaancore.kernels.cuda.launcher import BLOCK, PIECE, compiled_for, power_of_two, source
from gaancore.system.threads import get_num_threads

OLDEST = 75  # the first architecture that CUDA 13 knows
REGISTERS = 65536  # of a multiprocessor
# float type and numbers per load, as share_out of the launcher chooses them
WIDE = ((np.dtype(np.float32), 4), (np.dtype(np.float64), 2))
NARROW = ((np.dtype(np.float32), 1), (np.dtype(np.float64), 1))
# what texts are compiled for: the heads and widths of a PPI run, and four features of an edge
SHAPE = {"K": 8, "A": 24, "D": 32, "B": 4, "F": 64, "HEADS": 8, "ID_BYTES": 4}
DISASSEMBLERS = {"nvdisasm": ("-c",), "cuobjdump": ("-sass",)}
FACTS = re.compile(
    r"Compiling entry function '(?P<kernel>\w+)' for 'sm_(?P<architecture>\d+)'.*?"
    r"(?P<stores>\d+) bytes spill stores, (?P<loads>\d+) bytes spill loads.*?"
    r"Used (?P<registers>\d+) registers(?P<rest>[^\n]*)",
    re.DOTALL,
)
# of either disassembler: where a kernel starts, or an instruction that does something
CODE = re.compile(r"(?:\.text\.|Function : )(\w+)|^\s+/\*[0-9a-f]{4,}\*/\s+(?!NOP)\S", re.MULTILINE)


class Resources(NamedTuple):
    """One kernel in one build: of a thread its registers and the bytes that did not fit into them,
    of a block its shared memory in bytes; instructions as written, loops counted once."""

    file: str
    kernel: str
    dtype: str
    numbers: int  # per load
    architecture: int  # 90 for sm_90
    registers: int
    occupancy: int  # % of the warps of a multiprocessor that the registers leave room for
    shared: int
    spilled: int
    instructions: int | None  # None: without a disassembler


def kernel_files() -> list[str]:
    """The names of cuda/*.cu."""
    names = (path.name for path in files("gaancore.cuda").iterdir())
    return sorted(name.removesuffix(".cu") for name in names if name.endswith(".cu"))


def architectures() -> list[int]:
    """Those that the compiler at hand knows, from sm_75 on. Raises DeviceError if there is none."""
    return sorted(arch for arch in nvrtc().getSupportedArchs() if arch >= OLDEST)


@cache
def disassembler() -> str | None:
    """The path of nvdisasm or cuobjdump, of the toolkit or as a package of Python's; None: neither
    is there."""
    folders = [Path(folder) for folder in site.getsitepackages()]
    for name in DISASSEMBLERS:
        packaged = (path for folder in folders for path in folder.glob(f"nvidia/*/bin/{name}"))
        if found := shutil.which(name) or next(map(str, packaged), None):
            return found
    return None


def occupancy(registers: int, architecture: int) -> int:
    """Per cent of a multiprocessor's warps, if a thread has so many registers."""
    most = 32 if architecture == OLDEST else 64 if architecture in (80, *range(90, 110)) else 48
    of_a_warp = -(-registers // 8) * 8 * 32
    warps = BLOCK // 32
    blocks = min(most // warps, REGISTERS // (of_a_warp * warps))
    return 100 * blocks * warps // most


def resource_table(
    targets: Sequence[int],
    names: Sequence[str] | None = None,
    builds: Sequence[tuple[np.dtype, int]] = (*WIDE, *NARROW),
    shape: Mapping[str, int] = SHAPE,
) -> Iterator[Resources]:
    """Compile cuda/*.cu, or only the files named, for each architecture of `targets`.

    A file takes a tenth to half of a second for each build and architecture; threads share these.
    Raises DeviceError if there is no compiler, or with the first complaint if it refuses a text.
    """
    chosen = kernel_files() if names is None else names
    jobs = [(f, dtype, n, target) for f in chosen for dtype, n in builds for target in targets]
    compiler = nvrtc()  # it lets go of the interpreter's lock
    with ThreadPoolExecutor(get_num_threads()) as pool:
        made = pool.map(_compiled, repeat(compiler), *zip(*jobs, strict=True), repeat(shape))
        for (file, dtype, numbers, _), (log, counts) in zip(jobs, made, strict=True):
            yield from _facts(file, dtype, numbers, log, counts)


def _facts(
    file: str, dtype: np.dtype, numbers: int, log: str, counts: Mapping[str, int]
) -> Iterator[Resources]:
    for found in FACTS.finditer(log):
        shared = re.search(r"(\d+) bytes smem", found["rest"])
        registers, architecture = int(found["registers"]), int(found["architecture"])
        yield Resources(
            file=file,
            kernel=found["kernel"],
            dtype=dtype.name,
            numbers=numbers,
            architecture=architecture,
            registers=registers,
            occupancy=occupancy(registers, architecture),
            shared=int(shared[1]) if shared else 0,
            spilled=int(found["stores"]) + int(found["loads"]),
            instructions=counts.get(found["kernel"]),
        )


def _compiled(
    compiler: Any, file: str, dtype: np.dtype, numbers: int, target: int, shape: Mapping[str, int]
) -> tuple[str, Mapping[str, int]]:
    """What the compiler says of a text, and the instructions of each of its kernels."""
    text = source(file, dtype, numbers, PIECE)
    team = power_of_two(-(-shape["D"] // numbers))
    program = compiler.createProgram(text, f"{file}.cu", (), ())
    try:
        as_cupy = (*compiled_for(**shape, TEAM=team), "-ftz=true")
        options = (*as_cupy, f"--gpu-architecture=sm_{target}", "--ptxas-options=-v")
        compiler.compileProgram(program, options)
        return compiler.getProgramLog(program), _instructions(compiler.getCUBIN(program))
    except compiler.NVRTCError:
        log = compiler.getProgramLog(program)
        complaint = next((line for line in log.splitlines() if "error" in line), log[:200])
        raise DeviceError(f"{file}.cu for sm_{target}: {complaint}") from None
    finally:
        compiler.destroyProgram(program)


def _instructions(code: bytes) -> Mapping[str, int]:
    """How many instructions each kernel has; none without a disassembler."""
    counts: Counter[str] = Counter()
    if tool := disassembler():
        with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
            file.write(code + b"\0")  # CuPy takes the last byte for the end of a text
            file.flush()
            command = [tool, *DISASSEMBLERS[Path(tool).name], file.name]
            listing = subprocess.run(command, capture_output=True, text=True).stdout
        kernel = ""
        for found in CODE.finditer(listing):
            if found[1]:
                kernel = found[1]
            else:
                counts[kernel] += 1
    return counts
