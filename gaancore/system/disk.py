"""Files on disk: written whole or not at all, JSON, checksums, and the one lock."""

import fcntl
import json
import os
import re
import time
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from gaancore.errors import DataError
from gaancore.progress import told

LEFT_FOR = 60.0  # seconds after which a half-written file that nobody holds is left over
BYTES_AT_A_TIME = 1 << 26  # of a checksum
FETCH = "fetch or export the file again"


def write_whole(path: Path, content: bytes) -> None:
    """Replace the file at `path` by one that holds `content`, see `writing_whole`."""
    with writing_whole(path) as file:
        file.write(content)


@contextmanager
def writing_whole(path: Path) -> Iterator[BinaryIO]:
    """A file beside `path` to write to; at the end it is flushed to the disk and renamed to it.

    Whatever happens, `path` is the old file or the new one. What somebody who was killed has left
    beside it is removed. Raises DataError if it cannot be written (the disk is full, say); the old
    file is then untouched and nothing is left beside it.
    """
    temporary = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        _remove_leftovers(path)
        with temporary.open("wb") as file:
            with suppress(OSError):  # a file system without locks
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield file
            file.flush()
            os.fsync(file.fileno())
            temporary.replace(path)
    except OSError as error:
        raise DataError(
            f"{path}: cannot be written ({error.strerror}); what was there before is untouched"
        ) from None
    finally:
        with suppress(OSError):  # gone after the rename; never there if it could not be opened
            temporary.unlink()


def _remove_leftovers(path: Path) -> None:
    """Remove the files beside `path` that nobody writes to any longer: whoever did was killed.

    Files of the last minute stay, because between opening and locking one it looks left over.
    """
    name = re.compile(re.escape(path.name) + r"\.\d+\.part")
    with suppress(OSError):  # a folder that cannot be listed
        for part in [part for part in path.parent.iterdir() if name.fullmatch(part.name)]:
            with suppress(OSError), part.open("rb") as file:  # somebody writes, or without locks
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if time.time() - part.stat().st_mtime > LEFT_FOR:
                    part.unlink()


def write_json(path: Path, content: Any) -> None:
    """`content` as JSON for people and machines, written whole."""
    write_whole(path, (json.dumps(content, indent=2, allow_nan=False) + "\n").encode())


def read_json(path: Path, remedy: str = FETCH) -> Any:
    """The value in a JSON file.

    Raises DataError, which ends with `remedy`, if it is missing, invalid, or repeats a key.
    """
    expect_file(path, remedy)
    try:
        return json.loads(path.read_bytes(), object_pairs_hook=_unique_keys)
    except json.JSONDecodeError as error:
        problem = f"line {error.lineno}, column {error.colno}: {error.msg}"
    except UnicodeDecodeError as error:
        problem = f"byte {error.start}: not UTF-8 text"
    except (RecursionError, ValueError) as error:  # nested too deeply, or a number of many digits
        problem = str(error)
    except _RepeatedKeyError as error:
        raise DataError(f"{path}: the key {error} appears twice; keep one") from error
    raise DataError(f"{path}: not valid JSON: {problem}; {remedy}")


def read_json_lines(path: Path, remedy: str = FETCH) -> list[dict[str, Any]]:
    """The objects in a file of one a line; a last line that was cut off is left out.

    Raises DataError naming the line if one is no object.
    """
    expect_file(path, remedy, may_be_empty=True)
    found = []
    for number, line in enumerate(path.read_bytes().split(b"\n")[:-1], start=1):
        try:
            found.append(dict(json.loads(line)))
        except (RecursionError, TypeError, ValueError) as error:
            problem = f"line {number}: damaged, not a JSON object ({error})"
            raise DataError(f"{path}: {problem}; {remedy}") from None
    return found


def expect_file(path: Path, remedy: str = FETCH, *, may_be_empty: bool = False) -> None:
    """Raises DataError, which ends with `remedy`, unless `path` is a file that can be read, and is
    not empty.
    """
    try:
        with path.open("rb") as stream:
            empty = not stream.read(1)
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}; check the path, or {remedy}") from error
    if empty and not may_be_empty:
        raise DataError(f"{path}: empty file (0 bytes); {remedy}")


def checksum(arrays: Iterable[np.ndarray], start: int = 0) -> int:
    """CRC-32 of the bytes of C-contiguous arrays, one after the other."""
    crc = start
    for array in arrays:
        numbers = array.reshape(-1).view(np.uint8)
        for part in told("checksum of the data", range(0, numbers.size, BYTES_AT_A_TIME)):
            crc = zlib.crc32(numbers[part : part + BYTES_AT_A_TIME].data, crc)
    return crc


def hold(path: Path) -> int | None:
    """Lock the folder, or the file (made if it is missing), at `path`.

    Returns a descriptor: the lock lasts until it is closed, or until this process and all children
    that inherited it have ended, however they end. None on a file system without locks.
    Raises BlockingIOError if another process holds it, OSError if it cannot be opened.
    """
    # Network file systems lock only what may be written, and a folder may not be opened for that.
    flags = os.O_RDONLY if path.is_dir() else os.O_RDWR | os.O_CREAT
    lock = os.open(path, flags)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise
    except OSError:
        os.close(lock)
        return None
    return lock


class _RepeatedKeyError(Exception):
    pass


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _RepeatedKeyError(repr(key))
            seen.add(key)
    return table
