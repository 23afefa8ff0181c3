"""Read arrays and CSV from files that may be damaged; refuse in one line, never unpickle."""

import csv
import gzip
import math
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Literal

import numpy as np

from gaancore.errors import DataError
from gaancore.system.disk import expect_file

NAME_SHOWN, REASON_SHOWN = 40, 200  # characters in a message
MOST_UNPACKED = 1 << 26  # characters of a line of a `.gz`
MAPPED_FROM = 64_000_000  # bytes of an array above which it is not read into memory


def read_npy(path: Path) -> np.ndarray:
    """The array in a `.npy` file, memory-mapped read-only if it is large.

    Raises DataError if the file is missing, damaged, or holds objects.
    """
    with refusing_damage(path, ".npy array"), path.open("rb") as stream:
        if path.stat().st_size >= MAPPED_FROM:
            return np.lib.format.open_memmap(path, mode="r")
        return _read_array(stream, path.stat().st_size)


def npz_names(path: Path) -> list[str]:
    """The names of the arrays in a `.npz` file; raises DataError as `read_npz` does."""
    with refusing_damage(path, ".npz archive"), zipfile.ZipFile(path) as archive:
        return [name.removesuffix(".npy") for name in archive.namelist()]


def listed_names(path: Path) -> str:
    """The names of the arrays in a `.npz` file for a message: one line, beginnings of names."""
    names = sorted(npz_names(path))
    shown = [name if name.isprintable() else repr(name)[1:-1] for name in names]
    return ", ".join(name[:NAME_SHOWN] for name in shown) or "no arrays"


def read_npz(path: Path, names: Collection[str] | None = None) -> dict[str, np.ndarray]:
    """The arrays of a `.npz` file by name: all, or those of `names` that it has.

    Others are not unpacked, so that they may be damaged. Large ones are unpacked to a nameless
    temporary file, which goes when the array does, and memory-mapped read-only.
    Raises DataError as `read_npy` does.
    """
    expect_file(path)
    member = "zip directory"
    try:
        with zipfile.ZipFile(path) as archive:
            arrays = {}
            for name, member in {m.removesuffix(".npy"): m for m in archive.namelist()}.items():
                if names is None or name in names:
                    size = archive.getinfo(member).file_size
                    with archive.open(member) as stream:
                        large = size >= MAPPED_FROM
                        arrays[name] = _map_array(stream) if large else _read_array(stream, size)
            return arrays
    except Exception as error:
        raise DataError(_damage(path, ".npz archive", f"{member}: {error}")) from error


@contextmanager
def refusing_damage(path: Path, what: str) -> Iterator[None]:
    """Anything that goes wrong inside while `path` is read is a DataError: it is no `what`."""
    expect_file(path)
    try:
        yield
    except Exception as error:  # a damaged file makes NumPy and SciPy raise nearly anything
        raise DataError(_damage(path, what, str(error))) from error


def _read_array(stream: IO[bytes], size: int) -> np.ndarray:
    """The array in a stream of `size` bytes, no larger than they are."""
    shape, _, dtype = _read_header(stream)
    promised = math.prod(shape) * max(1, dtype.itemsize)
    if promised > size:
        raise ValueError(f"its header promises {promised:,} bytes, more than there are")
    stream.seek(0)
    return np.lib.format.read_array(stream, allow_pickle=False)


def _read_header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype]:
    read_header = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }[np.lib.format.read_magic(stream)]
    shape, fortran_order, dtype = read_header(stream)
    if dtype.hasobject:
        raise ValueError("Object arrays cannot be loaded")
    return shape, fortran_order, dtype


def _map_array(stream: IO[bytes]) -> np.ndarray:
    with tempfile.TemporaryFile() as file:
        shutil.copyfileobj(stream, file, 1 << 22)
        file.seek(0)
        shape, fortran_order, dtype = _read_header(file)
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
    line that is not such text, or that unpacks to over 64 million characters.
    """
    expect_file(path)
    packed = path.suffix.lower() == ".gz"
    try:
        with (gzip.open if packed else open)(path, "rt", encoding="utf-8-sig", newline="") as text:
            try:
                yield _short_lines(path, text) if packed else text
            except UnicodeDecodeError:
                _expect_utf8(path)
                raise
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(_damage(path, ".gz file", str(error))) from error


def _short_lines(path: Path, text: IO[str]) -> Iterator[str]:
    """The lines of a `.gz`, none of which takes far more memory than a line may."""
    for number, line in enumerate(iter(lambda: text.readline(MOST_UNPACKED), ""), 1):
        if len(line) == MOST_UNPACKED:
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
