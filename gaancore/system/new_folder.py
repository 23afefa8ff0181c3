"""A new folder, which appears when it is whole."""

import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gaancore.errors import DataError
from gaancore.system.disk import hold


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """A folder to fill, which takes the name `target` when the block ends well, and never in part.

    It lies beside `target` meanwhile. What somebody who was killed has left there is removed first.
    Raises DataError if something is at `target` already, or if the disk is full or not writeable.
    """
    expect_free(target)
    folder = target.with_name(f"{target.name}.{secrets.token_hex(4)}.part")
    lock = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _remove_leftovers(target)
        lock = _make_and_lock(folder)
        yield folder
        expect_free(target)  # another may have been quicker
        folder.rename(target)
    except OSError as error:
        raise DataError(f"{target}: cannot be written ({error.strerror or error})") from error
    finally:
        with suppress(OSError):  # gone after the rename
            shutil.rmtree(folder)
        if lock is not None:
            os.close(lock)


def _make_and_lock(folder: Path) -> int | None:
    """A new folder that is held, None where the file system has no locks.

    Between making and holding it another may take it for left over: then it is made again.
    """
    while True:
        folder.mkdir(exist_ok=True)
        try:
            lock = hold(folder)
        except (BlockingIOError, FileNotFoundError):
            time.sleep(0.001)
            continue
        if lock is None:
            return None
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(lock), folder.stat()):
                return lock
        os.close(lock)


def _remove_leftovers(target: Path) -> None:
    """Remove the folders that nobody fills any longer: whoever did was killed."""
    name = re.compile(re.escape(target.name) + r"\.[0-9a-f]{8}\.part")
    for folder in target.parent.iterdir():
        if name.fullmatch(folder.name):
            with suppress(OSError):  # somebody fills it, or it is not ours
                lock = hold(folder)
                if lock is not None:
                    shutil.rmtree(folder)
                    os.close(lock)


def expect_free(target: Path) -> None:
    """Raises DataError if something is at `target`: nothing is ever written over."""
    if target.exists():
        raise DataError(f"{target}: already exists; remove it or choose another name")
