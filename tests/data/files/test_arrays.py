"""Arrays in files: no more memory than the file holds, and nothing read that nobody asked for."""

import io
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from gaancore.data.files.arrays import listed_names, read_npy, read_npz
from gaancore.errors import DataError


def promising(shape: str, dtype: str = "<f8") -> bytes:
    """A `.npy` file whose header has the shape, with three bytes behind it."""
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (117 - len(header)) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + b"abc"


@pytest.mark.parametrize(
    ("shape", "dtype"),
    [("(1000000000,)", "<f8"), ("(2000, 3000, 4000)", "|u1"), ("(1000000000,)", "<U0")],
)
def test_an_array_that_promises_more_than_is_there_is_refused_before_memory_is_taken(
    tmp_path, shape, dtype
):
    (tmp_path / "a.npy").write_bytes(promising(shape, dtype))
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("x.npy", promising(shape, dtype))
    tracemalloc.start()
    for read, name in ((read_npy, "a.npy"), (read_npz, "a.npz")):
        with pytest.raises(DataError, match=r"promises .* bytes, more than there are"):
            read(tmp_path / name)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5_000_000


def write_archive(path: Path, other: bytes) -> Path:
    array = io.BytesIO()
    np.save(array, np.arange(3))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("wanted.npy", array.getvalue())
        archive.writestr("other.npy", other)
    return path


@pytest.mark.parametrize("other", [b"", b"no array", promising("(1000000000,)")])
def test_a_member_that_nobody_needs_cannot_spoil_an_archive(tmp_path, other):
    path = write_archive(tmp_path / "a.npz", other)
    assert_array_equal(read_npz(path, ["wanted"])["wanted"], np.arange(3))
    with pytest.raises(DataError, match=r"a\.npz: .*other\.npy"):
        read_npz(path)


def test_names_of_arrays_take_one_line_whatever_they_are(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        for name in ("two\nlines.npy", "größe.npy", "x" * 500 + ".npy"):
            archive.writestr(name, b"")
    assert listed_names(tmp_path / "a.npz") == f"größe, two\\nlines, {'x' * 40}"
