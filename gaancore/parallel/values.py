"""Values as bytes, from one rank to another: what JSON can hold, and NumPy arrays in it."""

import json
import struct
from typing import Any

import numpy as np

ARRAY = "__array__"
LENGTH = struct.Struct("<q")


def pack(value: Any) -> bytes:
    """Floats and arrays come back exactly; tuples as lists.

    >>> unpack(pack({"rows": np.arange(3), "lr": 0.1}))
    {'rows': array([0, 1, 2]), 'lr': 0.1}
    """
    arrays: list[np.ndarray] = []

    def plain(x: Any) -> Any:
        if isinstance(x, np.ndarray):
            arrays.append(x)
            return {ARRAY: [x.dtype.str, list(x.shape)]}
        if isinstance(x, dict):
            return {name: plain(item) for name, item in x.items()}
        return [plain(item) for item in x] if isinstance(x, list | tuple) else x

    header = json.dumps(plain(value)).encode()
    return b"".join([LENGTH.pack(len(header)), header, *(x.tobytes() for x in arrays)])


def unpack(content: bytes) -> Any:
    """What `pack` was given."""
    (length,) = LENGTH.unpack_from(content)
    at = LENGTH.size + length

    def whole(x: Any) -> Any:
        nonlocal at
        if isinstance(x, list):
            return [whole(item) for item in x]
        if not isinstance(x, dict):
            return x
        if x.keys() != {ARRAY}:
            return {name: whole(item) for name, item in x.items()}
        dtype, shape = np.dtype(x[ARRAY][0]), x[ARRAY][1]
        array = np.frombuffer(content, dtype, int(np.prod(shape)), at).reshape(shape).copy()
        at += array.nbytes
        return array

    return whole(json.loads(content[LENGTH.size : at]))
