"""Finds the texts of the CUDA kernels, compiles them on first use, and decides launch sizes.

A text is compiled for a float type, for the numbers of a load (16 bytes, where rows allow it) and
for the widths, heads and lanes that its top names; CuPy keeps what was compiled on disk. Grids have
one dimension and kernels step by the size of the grid, so any number of rows works.
"""

from collections.abc import Callable
from functools import cache, wraps
from importlib.resources import files
from typing import Any

import numpy as np

from gaancore.array import Array, array_module, longest_row, on_device_of

BLOCK = 256  # threads
MAX_BLOCKS = 1 << 20
PIECE = 256  # edges: a row of more is cut into pieces that run side by side
STRIPS = 4  # loads of an output row that one lane of attention keeps in registers
OPTIONS = ("--std=c++17",)
SHARED_TEXTS = ("segments.cuh", "walks.cuh", "batches.cuh", "blocks.cuh", "random.cuh")


def run_where_arrays_live(namespace: dict[str, Any], names: list[str]) -> None:
    """Let each kernel of `names` allocate and launch on the device of its first array."""
    namespace.update({name: _there(namespace[name]) for name in names})


def _there(kernel: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(kernel)
    def there(first: Any, *args: Any, **static: Any) -> Any:
        with on_device_of(first[0] if isinstance(first, tuple) else first):
            return kernel(first, *args, **static)

    return there


@cache
def source(file: str, dtype: np.dtype, numbers: int, piece: int) -> str:
    """The text of cuda/`file`.cu for one float type and `numbers` numbers per load.

    What it shares with others is put before it: NVRTC has no headers, and CuPy's cache of compiled
    kernels does not see when an included one changes.
    """
    real = {4: "float", 8: "double"}[dtype.itemsize]
    constants = {"PIECE": piece, "STRIPS": STRIPS, "BLOCK": BLOCK}
    given = f"typedef {real} real;\nconst int V = {numbers};\n"
    given += "".join(f"#define {name} {value}\n" for name, value in constants.items())
    folder = files("gaancore.cuda")
    names = (*SHARED_TEXTS, f"{file}.cu")
    texts = (f'#line 1 "{name}"\n{(folder / name).read_text("utf-8")}' for name in names)
    return given + "".join(texts)


@cache
def compiled_for(**given: int) -> tuple[str, ...]:
    """The compiler's options for a text whose top names numbers: K=8 where it says GIVEN_K."""
    return (*OPTIONS, *(f"-DGIVEN_{name}={value}" for name, value in given.items()))


@cache
def _module(xp: Any, text: str, options: tuple[str, ...]) -> Any:
    return xp.RawModule(code=text, options=options)


def launch(
    file: str,
    kernel: str,
    like: Array,
    threads: int,
    *args: Any,
    numbers: int = 1,
    most: int | None = None,
    **given: int,
) -> None:
    """Run `kernel` of cuda/`file`.cu, for the float type of `like`, on about `threads` threads.

    No thread, no launch. At most `most` blocks, if given. Numbers in `args` must be NumPy scalars
    of the kernel's own types: CuPy passes Python's as 8 bytes. `given`: see `compiled_for`.
    """
    if threads == 0:
        return
    text = source(file, like.dtype, numbers, PIECE)
    grid = (num_blocks(threads, most or MAX_BLOCKS),)
    module = _module(array_module(like), text, compiled_for(**given))
    module.get_function(kernel)(grid, (BLOCK,), args)


def launch_packs(
    kernel: str, size: int, rows: tuple[Array, ...], *args: Any, file: str = "elementwise"
) -> None:
    """Launch an elementwise kernel: a thread owns as many numbers as it loads of `rows`."""
    numbers, _, _ = share_out(*rows)
    launch(file, kernel, rows[0], size // numbers, *args, numbers=numbers)


def num_blocks(threads: int, most: int) -> int:
    return min(-(-threads // BLOCK), most)


def share_out(*rows: Array, packs: int = 1) -> tuple[int, int, int]:
    """How the rows of arrays are walked together: numbers per load, lanes per team, teams per row.

    A lane loads 16 bytes where every width (the last axis) and address allows it, else one number;
    it keeps up to `packs` loads of a row. A row of no numbers has a team all the same.
    """
    numbers = 16 // rows[0].itemsize
    if any(x.shape[-1] % numbers or _address(x) % 16 for x in rows):
        numbers = 1
    lanes = max(1, -(-max(x.shape[-1] for x in rows) // numbers))
    team = power_of_two(lanes)
    return numbers, team, -(-lanes // (team * packs))


def _address(x: Array) -> int:
    interface = getattr(x, "__cuda_array_interface__", None) or x.__array_interface__
    return interface["data"][0]


def power_of_two(n: int) -> int:
    """The smallest one that is at least n, but at most a warp's 32 lanes."""
    return min(32, 1 << max(0, n - 1).bit_length())


def joining_team(indptr: Array, slots: int) -> int:
    """Lanes that put the pieces of a row together: as many as the longest row may have pieces."""
    return power_of_two(int(min(slots, longest_row(indptr) // PIECE + 1)))


def num_slots(indptr: Array, num_edges: int) -> int:
    """Places for the pieces of rows that are cut (see segments.cuh): whatever the rows are, or none
    where it is known that no row is so long.
    """
    return 0 if longest_row(indptr) <= PIECE else num_edges // PIECE
