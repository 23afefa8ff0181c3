"""CUDA C on the CPU: cupy.RawModule's call convention on NumPy arrays, for tests only.

The text of a .cu file is compiled by g++ or clang++, together with the words of CUDA
(cuda_words.h) and a small runtime (runtime.cpp). `checked` builds report what a GPU would silently
get wrong (see checks.cpp); every launch checks its arguments the way the launch on a GPU should
have been made.

`contract` builds fuse multiplications and additions wherever a GPU's compiler may. What a launch
gives the compiler (-DGIVEN_K=8) are variables of the library here, so that one build serves all
shapes; `fixed` builds have them compiled in, as on a GPU.

Not modelled: the GPU's memory model, coalescing, bank conflicts, occupancy, register limits; races
are seen on executed paths only; and the compiler accepts host functions in device code. The
compile test beside it covers the last.
"""

import contextlib
import ctypes
import functools
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

HERE = Path(__file__).parent
FILLED = 2**26  # bytes
SCHEDULES = {"ascending": 0, "descending": 1, "random": 2}
MAX_BLOCK, MAX_GRID = (1024, 1024, 64), (2**31 - 1, 65535, 65535)
FLAGS = ["-std=c++17", "-fPIC", "-fno-exceptions", "-w"]
PLAIN = ["-O2"]
ROUNDED, CONTRACTED = ["-ffp-contract=off"], ["-ffp-contract=fast"]
if platform.machine() == "x86_64":  # else it is in every processor
    CONTRACTED.append("-mfma")
CHECKED = [
    "-O1",
    "-fsanitize=thread",
    "-fsanitize=signed-integer-overflow,integer-divide-by-zero,shift,bounds,alignment",
]
# What only one of the compilers knows. No loop may become a memset that the checks do not see.
OWN_FLAGS = {
    "g++": ["-fno-gnu-unique", "-fno-tree-loop-distribute-patterns"],
    "clang++": ["-fno-builtin"],
}
SIGNATURE = re.compile(
    r'extern\s+"C"\s+__global__\s+void\s+(?:__launch_bounds__\([^)]*\)\s*)?(\w+)\s*\(([^)]*)\)'
)
TYPES = {
    "float": np.float32,
    "double": np.float64,
    "int": np.int32,
    "unsigned": np.uint32,
    "long long": np.int64,
    "unsigned long long": np.uint64,
    "unsigned char": np.uint8,
}


class KernelFaultError(Exception):
    """A kernel, or its launch, did what a GPU would punish with wrong numbers or worse."""


class Parameter(NamedTuple):
    name: str
    dtype: np.dtype | None  # None: void
    pointer: bool
    writable: bool


class _Buffer(ctypes.Structure):
    """struct Buffer of runtime.h."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("start", ctypes.c_void_p),
        ("size", ctypes.c_size_t),
        ("item", ctypes.c_size_t),
        ("written", ctypes.c_void_p),
        ("writable", ctypes.c_int),
        ("cells", ctypes.c_void_p),
    )


NO_COMPILER = "no g++ or clang++ on Linux, and nothing else executes CUDA kernels on a CPU"


def has_compiler() -> bool:
    """Whether there is a compiler that the emulator knows: without one nothing works."""
    return bool(compilers())


@functools.cache
def compilers() -> tuple[str, ...]:
    """Which of g++ and clang++ are there; the first one is used.

    Only on Linux, for shared arrays are found by how ELF names sections; elsewhere `g++` may also
    be a name of clang.
    """
    if not sys.platform.startswith("linux"):
        return ()
    return tuple(name for name in OWN_FLAGS if shutil.which(name))


# ---- arrays whose elements nobody wrote yet -------------------------------------------------

_written: dict[int, np.ndarray] = {}  # address -> one flag per element


def empty(shape: Any, dtype: Any) -> np.ndarray:
    """numpy.empty, but a checked kernel that reads an element before one wrote it is reported.

    The bytes are 0xFF: NaN, or -1. Those of an array above FILLED are left as they come, so that
    it takes memory only where it is written.
    """
    array = np.empty(shape, dtype)
    if array.nbytes <= FILLED:
        array.reshape(-1).view(np.uint8)[...] = 0xFF
    address = array.ctypes.data
    _written[address] = np.zeros(array.size, np.uint8)
    weakref.finalize(array, _written.pop, address, None)
    return array


def mark_written(array: np.ndarray) -> None:
    """The host wrote all of `array`, C-contiguous and perhaps a part of one that `empty` made."""
    whole = array
    while isinstance(whole.base, np.ndarray):
        whole = whole.base
    flags = _written.get(whole.ctypes.data)
    if flags is not None:
        first = (array.ctypes.data - whole.ctypes.data) // array.itemsize
        flags[first : first + array.size] = 1


# ---- building -------------------------------------------------------------------------------


def cache_folder() -> Path:
    """Where built libraries are kept: the user's cache, or else the folder for temporary files."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    for folder in (Path(home), Path(tempfile.gettempdir())):
        kept = folder / "gaancore-emulator"
        with contextlib.suppress(OSError):
            kept.mkdir(parents=True, exist_ok=True)
            if os.access(kept, os.W_OK):
                return kept
    raise OSError("no folder for built kernels: neither the cache nor the temporary one")


@functools.cache
def _version(compiler: str) -> str:
    return subprocess.run([compiler, "--version"], capture_output=True, text=True).stdout


def _built(compiler: str, name: str, flags: Sequence[str], source: str, *objects: Path) -> Path:
    """What a compiler makes of `source` (or, without one, of `objects`), kept for the next time."""
    own = [*FLAGS, *OWN_FLAGS[compiler], *flags]
    headers = "".join((HERE / file).read_text() for file in ("cuda_words.h", "runtime.h"))
    parts = [source, headers, _version(compiler), *own, *(path.name for path in objects)]
    key = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    target = cache_folder() / f"{key[:32]}-{name}"
    if not target.exists():
        with tempfile.TemporaryDirectory(dir=target.parent) as folder:
            text, output = Path(folder, "source.cpp"), Path(folder, "output")
            text.write_text(source)
            inputs = map(str, objects or [text])
            command = [compiler, *own, f"-I{HERE}", *inputs, "-o", str(output)]
            result = subprocess.run(command, capture_output=True, text=True)
            if result.returncode:
                raise KernelFaultError(f"does not compile:\n{result.stderr[:2000]}")
            os.replace(output, target)
    return target


@functools.cache
def _library(
    compiler: str,
    code: str,
    given: tuple[str, ...],
    defined: tuple[str, ...],
    checked: bool,
    contract: bool,
    portable: bool,
) -> ctypes.CDLL:
    """given: names of variables that a launch sets; defined: options of the compiler."""
    if contract and not _fuses():
        raise KernelFaultError("this processor has no fused multiply-add")
    mode = ["-c", "-O2", *["-DCHECKED"] * checked, *["-DPORTABLE"] * portable]
    runtime = [
        _built(compiler, f"{part}.o", mode, (HERE / f"{part}.cpp").read_text())
        for part in ("runtime", "checks")
    ]
    entries = [
        f'extern "C" __attribute__((no_sanitize("thread"))) void gpu_run_{name}(void** a)'
        f" {{ gpu_call({name}, a); }}"
        for name in signatures(code)
    ]
    variables = [f'extern "C" {{ extern const int {name}; }}' for name in given]
    start = ['#include "cuda_words.h"', *variables, '#line 1 "kernel"']
    text = "\n".join([*start, code, *entries])
    flags = [*(CHECKED if checked else PLAIN), *(CONTRACTED if contract else ROUNDED), *defined]
    kernels = _built(compiler, "kernels.o", ["-c", *flags], text)
    # in a text of their own: where they are const, no access to them is checked
    values = "".join(f'extern "C" int {name}; int {name};\n' for name in given)
    runtime.append(_built(compiler, "given.o", mode, values))
    # Linked apart, without the sanitisers' flags: their runtimes must stay out.
    link = ["-shared", "-Wl,-Bsymbolic"]  # a kernel may be called like a function of libc
    return ctypes.CDLL(str(_built(compiler, "kernels.so", link, "", kernels, *runtime)))


@functools.cache
def signatures(code: str) -> dict[str, list[Parameter]]:
    """The kernels of a source text and their parameters."""
    code = re.sub(r"//[^\n]*|/\*.*?\*/", "", code, flags=re.S)
    types = dict(TYPES)
    for known, new in re.findall(r"typedef ([\w ]+) (\w+);", code):
        types[new] = types[known]
    return {
        name: [_parameter(text, types) for text in parameters.split(",") if text.strip()]
        for name, parameters in SIGNATURE.findall(code)
    }


def _parameter(text: str, types: dict[str, Any]) -> Parameter:
    left, pointer, right = text.replace("__restrict__", " ").partition("*")
    words = [*left.split(), *right.split()]
    kind = " ".join(word for word in words[:-1] if word != "const")
    dtype = None if kind == "void" else np.dtype(types[kind])
    return Parameter(words[-1], dtype, bool(pointer), "const" not in left.split())


def _fuses() -> bool:
    """Whether a processor has fused multiply-adds: all but old ones of Intel and AMD."""
    return platform.machine() != "x86_64" or "fma" in Path("/proc/cpuinfo").read_text().split()


# ---- launching ------------------------------------------------------------------------------


class EmulatedModule:
    """Like cupy.RawModule(code=..., options=...), compiled on first use."""

    def __init__(
        self,
        code: str,
        options: Sequence[str] = (),
        *,
        checked: bool = False,
        contract: bool = False,
        schedule: str = "ascending",
        portable: bool = False,
        fixed: bool = False,
        compiler: str | None = None,
        most_blocks: int = 2**31 - 1,
    ) -> None:
        """most_blocks: of a larger grid only so many first blocks are run, and as many last."""
        self.code, self.checked, self.portable = code, checked, portable
        self.contract = contract
        defined = [option for option in options if option.startswith("-DGIVEN_")]
        self.defined = tuple(defined) if fixed else ()
        pairs = [option.removeprefix("-D").split("=") for option in defined]
        self.given = {} if fixed else {name: int(value) for name, value in pairs}
        self.compiler, self.most_blocks = compiler, most_blocks
        self.schedule = SCHEDULES[schedule]

    def get_function(self, name: str) -> "EmulatedKernel":
        parameters = signatures(self.code)
        if name not in parameters:
            raise KernelFaultError(f"no kernel {name}; there are {', '.join(parameters)}")
        return EmulatedKernel(self, name, parameters[name])


class EmulatedKernel:
    """Called like the function of a RawModule: kernel(grid, block, args)."""

    def __init__(self, module: EmulatedModule, name: str, parameters: list[Parameter]) -> None:
        self.module, self.name, self.parameters = module, name, parameters

    def __call__(self, grid: tuple[int, ...], block: tuple[int, ...], args: Sequence[Any]) -> None:
        shapes = [self._shape("block", block, MAX_BLOCK), self._shape("grid", grid, MAX_GRID)]
        if np.prod(shapes[0]) > MAX_BLOCK[0]:
            self._fail(f"a block of {np.prod(shapes[0])} threads, at most {MAX_BLOCK[0]}")
        if len(args) != len(self.parameters):
            self._fail(f"{len(self.parameters)} parameters, got {len(args)} arguments")
        cells = [self._cell(p, arg) for p, arg in zip(self.parameters, args, strict=True)]
        addresses = (ctypes.c_void_p * len(cells))(*[cell.ctypes.data for cell in cells])
        buffers = self._buffers(args)
        message = ctypes.create_string_buffer(1000)
        module = self.module
        compiler = module.compiler or compilers()[0]
        builds = (module.checked, module.contract, module.portable)
        library = _library(compiler, module.code, tuple(module.given), module.defined, *builds)
        for given, value in module.given.items():
            ctypes.c_int.in_dll(library, given).value = value
        failed = library.gpu_launch(
            ctypes.cast(getattr(library, f"gpu_run_{self.name}"), ctypes.c_void_p),
            addresses,
            *((ctypes.c_uint * 3)(*shape) for shape in reversed(shapes)),
            module.schedule,
            ctypes.c_uint64(1),
            ctypes.c_uint(module.most_blocks),
            (_Buffer * len(buffers))(*buffers),
            len(buffers),
            message,
            len(message),
        )
        if failed:
            self._fail(message.value.decode())

    def _fail(self, reason: str) -> None:
        raise KernelFaultError(f"{self.name}: {reason}")

    def _shape(self, what: str, shape: tuple[int, ...], most: tuple[int, ...]) -> list[int]:
        sizes = [*map(int, shape), 1, 1, 1][:3]
        if not all(1 <= size <= limit for size, limit in zip(sizes, most, strict=True)):
            self._fail(f"{what} {tuple(shape)}, each at least 1 and at most {most}")
        return sizes

    def _cell(self, parameter: Parameter, arg: Any) -> np.ndarray:
        """The bytes that a launch would copy for `arg`, if they are what the kernel will read."""
        name, dtype = parameter.name, parameter.dtype
        if isinstance(arg, np.ndarray):
            if not parameter.pointer:
                self._fail(f"{name} is a {dtype}, got an array")
            if dtype not in (None, arg.dtype):
                self._fail(f"{name} points to {dtype}, got an array of {arg.dtype}")
            if not arg.flags.c_contiguous:
                self._fail(f"{name}: an array that is not C-contiguous")
            return np.array(arg.ctypes.data, np.uintp)
        # CuPy passes Python's numbers as 8 bytes, whatever the kernel expects.
        given = np.asarray(arg)
        if parameter.pointer or given.dtype != dtype or not isinstance(arg, np.generic):
            wanted = "an array" if parameter.pointer else f"numpy.{dtype}"
            self._fail(f"{name}: expected {wanted}, got {type(arg).__name__} {arg}")
        return given

    def _buffers(self, args: Sequence[Any]) -> list[_Buffer]:
        """One for each array; an array that is passed twice is writable if either pointer is."""
        found: dict[int, _Buffer] = {}
        for parameter, arg in zip(self.parameters, args, strict=True):
            if not parameter.pointer:
                continue
            address = arg.ctypes.data
            if not arg.size and address in found:
                continue  # an empty array may begin where another does
            flags = _written.get(address)
            if flags is not None and flags.size < arg.size:
                flags = None  # seen through a type of fewer bytes: then all counts as written
            written = None if flags is None else flags.ctypes.data
            writable = parameter.writable or (address in found and found[address].writable)
            if parameter.writable and not arg.flags.writeable:
                self._fail(f"{parameter.name} is written, got an array that is read-only")
            name = parameter.name.encode()
            found[address] = _Buffer(name, address, arg.nbytes, arg.itemsize, written, writable)
        return list(found.values())
