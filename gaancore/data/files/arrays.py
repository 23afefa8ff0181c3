"""Read arrays and CSV from files that may be damaged; refuse in one line, never unpickle."""

import csv
import gzip
import math
import os
import shutil
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Literal

import numpy as np

from gaancore.errors import DataError, one_line
from gaancore.system.disk import expect_file
from gaancore.system.mapped import scratch_folder

NAME_SHOWN, REASON_SHOWN = 40, 200  # characters in a message
SHOWN = 8  # names in a note
MOST_UNPACKED = 1 << 26  # characters of a line of a `.gz`
UTF8, MANY = 0x800, 0xFFFF  # in a zip: a flag for names in UTF-8, and more members than it counts
MAPPED_FROM = 64_000_000  # bytes of an array above which it is not read into memory


def read_npy(path: Path) -> np.ndarray:
    """The array in a `.npy` file, memory-mapped read-only if it is large.

    Raises DataError if the file is missing, damaged, or holds objects.
    """
    with refusing_damage(path, ".npy array"), path.open("rb") as stream:
        size = path.stat().st_size
        if size < MAPPED_FROM:
            return _read_array(stream, size)
        _read_header(stream, size)
        return np.lib.format.open_memmap(path, mode="r")


def npz_names(path: Path) -> list[str]:
    """The names of the arrays in a `.npz` file; raises DataError as `read_npz` does."""
    with refusing_damage(path, ".npz archive"), zipfile.ZipFile(path) as archive:
        return list(_members(archive))


def listed_names(path: Path) -> str:
    """The names of the arrays in a `.npz` file for a message: one line, beginnings of names."""
    return ", ".join(map(shown_name, sorted(npz_names(path)))) or "no arrays"


def shown_name(name: str) -> str:
    """The beginning of a name, on one line."""
    return one_line(name)[:NAME_SHOWN]


def listed(names: Sequence[str]) -> str:
    """The first names on one line, and dots if there are more."""
    return ", ".join(map(shown_name, names[:SHOWN])) + (", ..." if len(names) > SHOWN else "")


def read_npz(
    path: Path, names: Collection[str] | None = None, *, skip_objects: bool = False
) -> dict[str, np.ndarray]:
    """The arrays of a `.npz` file by name: all, or those of `names` that it has.

    skip_objects : whether arrays of Python objects are left out, in place of refused.
    Others are not unpacked, so that they may be damaged. Large ones are unpacked to a nameless
    temporary file, which goes when the array does, and memory-mapped read-only.
    Raises DataError as `read_npy` does.
    """
    expect_file(path)
    member = "zip directory"
    try:
        with zipfile.ZipFile(path) as archive:
            arrays = {}
            for name, member in _members(archive).items():
                if names is None or name in names:
                    size = archive.getinfo(member).file_size
                    with archive.open(member) as stream:
                        large = size >= MAPPED_FROM
                        read = _map_array if large else _read_array
                        try:
                            arrays[name] = read(stream, size)
                        except _ObjectsError:
                            if not skip_objects:
                                raise
                            while stream.read(1 << 20):  # at its end its checksum is compared
                                pass
            return arrays
    except MemoryError:
        raise
    except Exception as error:
        raise DataError(_damage(path, ".npz archive", f"{member}: {error}")) from error


class _ObjectsError(ValueError):
    pass


def _members(archive: zipfile.ZipFile) -> dict[str, str]:
    """The members of an archive by the names of their arrays.

    The directory at the end lists them and says how many they are, and a name stands at the member
    too. If these differ, one is damaged: a member that need not be there would be left out without
    a word. Raises ValueError.
    """
    file, listed = archive.fp, archive.infolist()
    assert file is not None
    file.seek(-22 - len(archive.comment), os.SEEK_END)
    (count,) = struct.unpack("<10xH10x", file.read(22))
    if count not in (len(listed), MANY):
        raise ValueError(f"its directory lists {len(listed):,} of {count:,} members")
    members: dict[str, str] = {}
    for info in listed:
        file.seek(info.header_offset)
        (length,) = struct.unpack("<26xH2x", file.read(30))
        name = file.read(length).decode("utf-8" if info.flag_bits & UTF8 else "cp437")
        if name != info.orig_filename:
            raise ValueError(f"its directory calls {name[:NAME_SHOWN]!r} otherwise")
        if (array := info.filename.removesuffix(".npy")) in members:
            raise ValueError(f"two members are called {array[:NAME_SHOWN]!r}")
        members[array] = info.filename
    return members


@contextmanager
def refusing_damage(path: Path, what: str) -> Iterator[None]:
    """Anything that goes wrong inside while `path` is read is a DataError: it is no `what`."""
    expect_file(path)
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:  # a damaged file makes NumPy and SciPy raise nearly anything
        raise DataError(_damage(path, what, str(error))) from error


def _read_array(stream: IO[bytes], size: int) -> np.ndarray:
    """The array in a stream of `size` bytes, which it takes all of."""
    _read_header(stream, size)
    stream.seek(0)
    return np.lib.format.read_array(stream, allow_pickle=False)


def _read_header(stream: IO[bytes], size: int) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Shape, whether in Fortran's order, and type; they must fit the bytes that there are."""
    read_header = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }[np.lib.format.read_magic(stream)]
    shape, fortran_order, dtype = read_header(stream)
    if dtype.hasobject:
        raise _ObjectsError("Object arrays cannot be loaded")
    promised, there = math.prod(shape) * dtype.itemsize, size - stream.tell()
    if promised > there or math.prod(shape) > size:
        raise ValueError(f"its header promises {promised:,} bytes, more than there are")
    if promised < there:
        raise ValueError(f"{there - promised:,} bytes more than its header says")
    return shape, fortran_order, dtype


def _map_array(stream: IO[bytes], size: int) -> np.ndarray:
    with tempfile.TemporaryFile(dir=scratch_folder()) as file:
        shutil.copyfileobj(stream, file, 1 << 22)
        file.seek(0)
        shape, fortran_order, dtype = _read_header(file, size)
        order: Literal["F", "C"] = "F" if fortran_order else "C"
        return np.memmap(file, dtype, "r", offset=file.tell(), shape=shape, order=order)


def read_csv_rows(
    path: Path, separator: str = ",", *, strict: bool = True
) -> Iterator[tuple[int, list[str]]]:
    """(line number from 1, cells without the space around them) of each line that is not blank.

    strict : whether a quote that is not closed, or that text follows, is an error. If not, it may
             make one cell of many lines.
    Raises DataError if the file is missing, blank or not such text in UTF-8.
    """
    with open_text(path) as stream:
        rows = csv.reader(stream, delimiter=separator, strict=strict)
        line, blank = 0, True
        try:
            for cells in rows:
                line = rows.line_num
                if cells:
                    blank = False
                    yield line, [cell.strip() for cell in cells]
        except csv.Error as error:
            raise DataError(
                f"{path}: line {line + 1}: {error}; is a quote open, or text behind one? "
                "correct the line or export the file again"
            ) from error
    if blank:
        raise DataError(f"{path}: no table in it: only blank lines")


@contextmanager
def open_text(path: Path) -> Iterator[Iterator[str]]:
    """The lines of UTF-8 text, unpacked as they are read if the file is a `.gz`; their ends stay.

    Raises DataError if the file is missing, if it ends or is damaged inside a `.gz`, and naming the
    line that is not such text, has a NUL character, or unpacks to over 64 million characters.
    """
    expect_file(path)
    unpack = gzip.open if path.suffix.lower() == ".gz" else open
    try:
        with unpack(path, "rt", encoding="utf-8-sig", newline="") as text:
            try:
                yield _sound_lines(path, text)
            except UnicodeDecodeError:
                _expect_utf8(path)
                raise
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(_damage(path, ".gz file", str(error))) from error


def _sound_lines(path: Path, text: IO[str]) -> Iterator[str]:
    """The lines, until one holds what no text does, or takes far more memory than a line may."""
    if path.suffix.lower() == ".gz":
        lines = iter(lambda: text.readline(MOST_UNPACKED), "")
    else:
        lines = iter(text)
    for number, line in enumerate(lines, 1):
        if "\0" in line:
            raise DataError(
                f"{path}: line {number}: a NUL character, which no text has; save it as UTF-8"
            )
        if len(line) >= MOST_UNPACKED and path.suffix.lower() == ".gz":
            raise DataError(f"{path}: line {number} has over {MOST_UNPACKED:,} characters")
        yield line


def _expect_utf8(path: Path) -> None:
    """Raises DataError naming the first line that is not UTF-8."""
    with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as stream:
        for number, line in enumerate(stream, 1):
            try:
                line.decode()
            except UnicodeDecodeError:
                raise DataError(
                    f"{path}: line {number}: not UTF-8 text; save the file as UTF-8"
                ) from None


def _damage(path: Path, what: str, reason: str) -> str:
    with path.open("rb") as stream:
        looks_like_a_page = stream.read(64).lstrip().startswith(b"<")
    if looks_like_a_page:
        return f"{path}: a web page or XML, not a {what}; download the file itself"
    first_line = reason.partition("\n")[0][:REASON_SHOWN]
    return (
        f"{path}: not a readable {what}: {first_line} ({path.stat().st_size:,} bytes); "
        "truncated, damaged or holding Python objects: fetch it again, or save it as plain numbers"
    )
