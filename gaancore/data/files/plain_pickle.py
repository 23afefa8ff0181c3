"""Pickles that hold numbers, text, plain containers and NumPy arrays; anything else is refused.

A pickle is a program, and `pickle.load` runs it. Here it can name a handful of things only, and
each of them is a stand-in that keeps what it is given: the file makes no code of NumPy or of any
other package run. Arrays are made of the plain bytes afterwards.
"""

import io
import pickle
import re
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sparse_arrays

from gaancore.errors import DataError
from gaancore.system.disk import expect_file

PLAIN_DTYPE = re.compile(r"b1|[iu][1248]|f[248]|[SU]\d+")
MOST_GIVEN = 8  # what an array, a dtype or an encoded text is made from


def read_plain_pickle(path: Path, *, sparse: bool = False) -> Any:
    """The value in a pickle of Python 2 or 3: an array, or a plain value whose items may be arrays.

    sparse : whether it may also hold one of SciPy's CSR matrices, or a defaultdict, which becomes a
             dict.
    Python 2's strings become text. The memory taken is bounded by the size of the file: it holds
    every byte that it asks for. Raises DataError if the file is missing or damaged, or names any
    class or function other than those that make an array of numbers or text.
    """
    expect_file(path)
    try:
        reader = _Unpickler(io.BytesIO(_content(path)), encoding="latin1")
        reader.known = _NAMES | _SPARSE if sparse else _NAMES
        value = reader.load()
        if not isinstance(value, list | tuple):
            return _plain(value)
        made: dict[int, Any] = {}  # an item that is listed many times is made once
        for item in value:
            if id(item) not in made:
                made[id(item)] = _plain(item)
        return [made[id(item)] for item in value]
    except _RefusedError as refusal:
        raise DataError(
            f"{path}: refused: the pickle asks for {refusal}, but only plain containers and arrays "
            "of numbers or text are read; save the matrix as .csv"
        ) from None
    except Exception as error:  # a damaged pickle makes the reader raise nearly anything
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise DataError(f"{path}: not a readable pickle: {reason}; fetch it again") from error


class _RefusedError(Exception):
    pass


def _content(path: Path) -> bytes:
    """The file; if a text program ended the lines of a protocol 0 with CR LF, with LF again.

    Protocol 0 is lines of text in which ends of lines are escaped, so that nothing else changes.
    """
    content = path.read_bytes()
    lines = content.count(b"\n")
    if content[:1] != pickle.PROTO and lines and content.count(b"\r\n") == lines:
        return content.replace(b"\r\n", b"\n")
    return content


class _StandIn:
    """Keeps what the pickle calls it with, and the state that follows."""

    def __init__(self, *given: Any) -> None:
        if len(given) > MOST_GIVEN:  # a short file could have a long list copied many times
            raise ValueError(f"{len(given):,} arguments for an array")
        self.given = given
        self.state: Any = None

    def __setstate__(self, state: Any) -> None:
        self.state = state


class _DType(_StandIn):
    """dtype(code, ...) and the state (version, byte order, ...)."""


class _Array(_StandIn):
    """_reconstruct(...) and the state (version, shape, dtype, is_fortran, content)."""


class _BufferArray(_StandIn):
    """_frombuffer(content, dtype, shape, order): protocol 5's way."""


class _Encoded(_StandIn):
    """encode(text, "latin1"): how Python 3 writes bytes below protocol 3."""


class _CSR(_StandIn):
    """csr_matrix, made without arguments, and the state {data, indices, indptr, shape}."""


class _DefaultDict(dict[Any, Any]):
    """defaultdict(list): what makes a missing value is not kept."""

    def __init__(self, *given: Any) -> None:
        super().__init__()


_NAMES: dict[tuple[str, str], type[_StandIn] | type[_DefaultDict]] = {
    ("numpy", "ndarray"): _StandIn,
    ("numpy", "dtype"): _DType,
    ("_codecs", "encode"): _Encoded,
    ("numpy.core.multiarray", "_reconstruct"): _Array,
    ("numpy._core.multiarray", "_reconstruct"): _Array,
    ("numpy.core.numeric", "_frombuffer"): _BufferArray,
    ("numpy._core.numeric", "_frombuffer"): _BufferArray,
}


_SPARSE: dict[tuple[str, str], type[_StandIn] | type[_DefaultDict]] = {
    ("scipy.sparse.csr", "csr_matrix"): _CSR,
    ("scipy.sparse._csr", "csr_matrix"): _CSR,
    ("collections", "defaultdict"): _DefaultDict,
    ("__builtin__", "list"): _StandIn,
    ("builtins", "list"): _StandIn,
}


# The reader written in Python keeps its memo in a dict; the one in C takes memory for as many
# entries as the highest number that a damaged file happens to name.
class _Unpickler(pickle._Unpickler):
    read: Callable[[int], bytes]
    append: Callable[[Any], None]
    known: dict[tuple[str, str], type[_StandIn] | type[_DefaultDict]] = _NAMES

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in self.known:
            raise _RefusedError(f"{module}.{name}")
        return self.known[module, name]

    def load_bytearray8(self) -> None:
        """Reads the bytes before it takes memory; Python's own takes what the file names."""
        (length,) = struct.unpack("<Q", self.read(8))
        content = self.read(min(length, 1 << 62))
        if len(content) < length:
            raise EOFError("the file ends inside a bytearray")
        self.append(bytearray(content))

    dispatch: ClassVar[dict[int, Any]] = {
        **pickle._Unpickler.dispatch,
        pickle.BYTEARRAY8[0]: load_bytearray8,
    }


def _plain(value: Any) -> Any:
    """The array that a stand-in represents; anything else unchanged."""
    if isinstance(value, _Array):
        _, shape, dtype, is_fortran, content = value.state
        return _array(content, dtype, shape, "F" if is_fortran else "C")
    if isinstance(value, _BufferArray):
        return _array(*value.given)
    if isinstance(value, _CSR):
        return _csr(value.state)
    return value


def _csr(state: dict[str, Any]) -> sparse_arrays.csr_array:
    data, indices, indptr = (_plain(state[name]) for name in ("data", "indices", "indptr"))
    shape = state["_shape"] if "_shape" in state else state["shape"]
    matrix = sparse_arrays.csr_array((data, indices, indptr), shape=tuple(shape))
    matrix.check_format(full_check=True)
    return matrix


def _array(content: Any, dtype: _DType, shape: tuple[int, ...], order: Any) -> np.ndarray:
    if isinstance(content, list):
        raise _RefusedError("an array of Python objects")
    if isinstance(content, _Encoded):
        content = content.given[0]
    if isinstance(content, str):
        content = content.encode("latin1")
    if not isinstance(content, bytes | bytearray):
        raise _RefusedError(f"an array whose content is of type {type(content).__name__}")
    code, byte_order = dtype.given[0], dtype.state[1]
    if not PLAIN_DTYPE.fullmatch(code):
        raise _RefusedError(f"an array of dtype {code}")
    plain = np.dtype(code).newbyteorder(byte_order)
    return np.frombuffer(content, plain).reshape(shape, order=order)
