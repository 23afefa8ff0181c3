"""Arrays in files: no more memory than the file holds, and nothing read that nobody asked for."""

import io
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from gaancore.data import load_metr_la, load_nodes, look
from gaancore.data.files.arrays import listed_names, npz_names, read_npy, read_npz
from gaancore.data.files.named_table import open_named_table
from gaancore.data.files.number_table import read_number_table
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


def saved(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


@pytest.mark.parametrize("mapped_from", [0, 1 << 30])
@pytest.mark.parametrize("shape", ["(3, 1)", "(2, 2)", "(0, 2)"])
def test_bytes_that_a_header_leaves_over_are_refused_and_not_dropped(
    tmp_path, monkeypatch, mapped_from, shape
):
    """A digit of the shape has changed: NumPy would read a part of the table as if it were all."""
    monkeypatch.setattr("gaancore.data.files.arrays.MAPPED_FROM", mapped_from)
    content = saved(np.ones((3, 2))).replace(b"(3, 2)", shape.encode())
    (tmp_path / "a.npy").write_bytes(content)
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("x.npy", content)
    for read, name in ((read_npy, "a.npy"), (read_npz, "a.npz")):
        with pytest.raises(DataError, match=r"\d+ bytes more than its header says"):
            read(tmp_path / name)


def test_a_member_whose_name_was_damaged_is_not_left_out_without_a_word(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, x=np.ones(3), val_mask=np.ones(3, bool))
    content = path.read_bytes()
    directory = content.rindex(b"val_mask")
    path.write_bytes(content[:directory] + b"val_mqsk" + content[directory + 8 :])
    for read in (npz_names, listed_names, lambda path: read_npz(path, ["x"])):
        with pytest.raises(DataError, match=r"its directory calls 'val_mask\.npy' otherwise"):
            read(path)


def test_a_member_that_the_directory_no_longer_lists_is_missed(tmp_path):
    """The one before it says that its comment is so long that it covers the next one."""
    path = tmp_path / "a.npz"
    np.savez(path, x=np.ones(3), val_mask=np.ones(3, bool))
    content = bytearray(path.read_bytes())
    first = content.index(b"PK\x01\x02")
    content[first + 32] = len(content) - 22 - (first + 46 + len("x.npy"))
    path.write_bytes(content)
    with pytest.raises(DataError, match="its directory lists 1 of 2 members"):
        read_npz(path, ["x"])


def test_two_members_of_one_name_are_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("x.npy", saved(np.ones(3)))
        archive.writestr("x", saved(np.zeros(3)))
    with pytest.raises(DataError, match="two members are called 'x'"):
        read_npz(tmp_path / "a.npz")


def write_archive(path: Path, other: bytes) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("wanted.npy", saved(np.arange(3)))
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


READERS = {
    "a graph": lambda path: load_nodes(path, name="mine"),
    "speeds": lambda path: load_metr_la(path),
    "either": look,
}


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_a_message_that_lists_arrays_is_one_line_in_every_layout(tmp_path, read):
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("two\nlines.npy", saved(np.ones(3)))
    with pytest.raises(DataError, match=r"two\\nlines") as refusal:
        read(tmp_path / "a.npz")
    assert "\n" not in str(refusal.value)


TABLES = {
    "names": lambda path: list(open_named_table(path, [("id",)]).rows),
    "numbers": read_number_table,
}


@pytest.mark.parametrize("read", TABLES.values(), ids=TABLES)
def test_a_nul_character_is_refused_in_every_table(tmp_path, read):
    path = tmp_path / "nodes.csv"
    path.write_bytes(b"id,dst\n1,2\n3,\x004\n")
    with pytest.raises(DataError, match=r"nodes\.csv: line 3: a NUL character, which no text has"):
        read(path)
