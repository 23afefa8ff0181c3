"""Values as bytes, from one rank to another: what JSON can hold, and NumPy arrays in it."""

import json
import struct
from typing import Any

import numpy as np

ARRAY = "__array__"
LENGTH = struct.Struct("<q")
ALIGNED = 64  # bytes: arrays begin at multiples of it, and messages end there


def pack(value: Any) -> np.ndarray:
    """(n,) uint8. Floats and arrays come back exactly; tuples as lists.

    >>> unpack(pack({"rows": np.arange(3), "lr": 0.1}))
    {'rows': array([0, 1, 2]), 'lr': 0.1}
    """
    arrays: list[np.ndarray] = []
    header = json.dumps(_plain(value, arrays)).encode()
    head = np.frombuffer(LENGTH.pack(len(header)) + header, np.uint8)
    parts = [head, *(np.ascontiguousarray(x).reshape(-1).view(np.uint8) for x in arrays)]
    starts = np.cumsum([0, *(_aligned(part.size) for part in parts)]).tolist()
    content = np.empty(starts[-1], np.uint8)
    for part, start, end in zip(parts, starts, starts[1:], strict=False):
        content[start : start + part.size] = part
        content[start + part.size : end] = 0
    return content


def unpack(content: np.ndarray) -> Any:
    """What `pack` was given. Its arrays are views of `content`, which is aligned."""
    (length,) = LENGTH.unpack_from(content.data)
    stop = LENGTH.size + length
    plain = json.loads(content[LENGTH.size : stop].tobytes())
    return _whole(plain, content[_aligned(stop) :], [0])


# As functions inside, these two would be cycles that keep arrays until Python looks for such, which
# it hardly does while training (see prepare_process).


def _plain(x: Any, arrays: list[np.ndarray]) -> Any:
    """`x` as JSON has it; its arrays are added to `arrays`."""
    if isinstance(x, np.ndarray):
        arrays.append(x)
        return {ARRAY: [x.dtype.str, list(x.shape)]}
    if isinstance(x, dict):
        return {name: _plain(item, arrays) for name, item in x.items()}
    return [_plain(item, arrays) for item in x] if isinstance(x, list | tuple) else x


def _whole(x: Any, content: np.ndarray, at: list[int]) -> Any:
    """What was packed as `x`, with the arrays that begin in `content` at at[0], which moves on."""
    if isinstance(x, list):
        return [_whole(item, content, at) for item in x]
    if not isinstance(x, dict):
        return x
    if x.keys() != {ARRAY}:
        return {name: _whole(item, content, at) for name, item in x.items()}
    dtype, shape = np.dtype(x[ARRAY][0]), x[ARRAY][1]
    array = np.frombuffer(content, dtype, int(np.prod(shape)), at[0]).reshape(shape)
    at[0] += _aligned(array.nbytes)
    return array


def _aligned(size: int) -> int:
    return -(-size // ALIGNED) * ALIGNED
