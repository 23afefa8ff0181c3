"""What an op may be given: one line that names op, argument, what was expected and what came."""

from typing import TYPE_CHECKING, Any

import numpy as np

from gaancore.array import Array, device_of
from gaancore.errors import DeviceError, SettingsError, ShapeError

if TYPE_CHECKING:
    from gaancore.graph.block import Block

FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


def expect_floats(op: str, **arguments: Array) -> None:
    """All float32 or all float64: half precision would be summed in half, integers truncated."""
    first = None
    for name, x in arguments.items():
        if x.dtype not in FLOATS:
            raise ShapeError(f"{op}: {name}: expected float32 or float64, got {x.dtype}")
        first = first or x.dtype
        if x.dtype != first:
            raise ShapeError(f"{op}: {name}: expected {first} as the first argument, got {x.dtype}")


def expect_one_device(op: str, arrays: list[Array], block: "Block | None") -> Array:
    """All on one device, except NumPy's scalars, which live nowhere; returns one that is there.

    Raises DeviceError naming the argument that is elsewhere.
    """
    given = arrays if block is None else [*arrays, block.indptr]
    for x in given:  # nearly always the answer, and the cheapest question
        if type(x) is not np.ndarray:
            break
    else:
        return given[0]
    first = next((x for x in given if not isinstance(x, np.generic)), given[0])
    here = device_of(first)
    for number, x in enumerate(given, 1):
        if not isinstance(x, np.generic) and (there := device_of(x)) != here:
            name = f"argument {number}" if number <= len(arrays) else "block"
            raise DeviceError(
                f"{op}: {name}: expected on {here} as the first argument, got on {there}; "
                f"move it with to({here!r})"
            )
    return first


def expect_rate(op: str, name: str, rate: float) -> None:
    """A share that may be dropped: all of it would leave nothing to scale up."""
    if not 0 <= rate < 1:
        raise SettingsError(f"{op}: {name}: expected 0 <= {name} < 1, got {rate}")


def expect_shape(op: str, name: str, x: Array, shape: tuple[Any, ...], meaning: str = "") -> None:
    """`shape` has numbers where the size is fixed and letters where any size will do."""
    if not _fits(x.shape, shape):
        wanted = "(" + ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "") + ")"
        note = f" ({meaning})" if meaning else ""
        raise ShapeError(f"{op}: {name}: expected {wanted}{note}, got {x.shape}")


def _fits(found: tuple[int, ...], wanted: tuple[Any, ...]) -> bool:
    """A plain loop: a step asks a hundred thousand times."""
    if len(found) != len(wanted):
        return False
    for size, want in zip(found, wanted, strict=True):
        if size != want and not isinstance(want, str):
            return False
    return True


def expect_sources(op: str, name: str, x: Array, block: "Block", axes: tuple[Any, ...]) -> None:
    expect_shape(op, name, x, (block.num_src, *axes), "one row per source")


def expect_destinations(
    op: str, name: str, x: Array, block: "Block", axes: tuple[Any, ...]
) -> None:
    expect_shape(op, name, x, (block.num_dst, *axes), "one row per destination")


def expect_edges(op: str, name: str, x: Array, block: "Block") -> None:
    expect_shape(op, name, x, (block.num_edges, "K"), "one row per edge")
