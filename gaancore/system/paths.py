"""Paths as people write them, and names of files that are made from ids."""

import os
import re
from collections import Counter
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

from gaancore.errors import SettingsError

LONGEST = 80  # characters of an id that a name keeps; file systems take 255 bytes a name


def user_path(text: str | os.PathLike[str]) -> Path:
    """The path with `~` or `~user` expanded. Raises SettingsError if there is no such user."""
    try:
        return Path(text).expanduser()
    except RuntimeError as error:
        raise SettingsError(f"{text}: {str(error).rstrip('.')}; write the path in full") from None


def file_names(ids: Iterable[str]) -> dict[str, str]:
    """A part of a file's name for each of some ids: distinct, and of one folder.

    An id of ASCII letters, digits, `_`, `-` and inner dots stays as it is. Any other gets `_` for
    every other character and ten digits of its SHA-256 behind it. So does one that is too long,
    that ends as if it had such digits, or that differs from another only in capitals, which some
    file systems do not tell apart. No name leads out of a folder, whatever the id says.

    >>> file_names(["717.5", "../x"])
    {'717.5': '717.5', '../x': '_x-d6b96a97d1'}
    """
    distinct = list(dict.fromkeys(ids))
    count = Counter(name.casefold() for name in distinct)
    names = {}
    for name in distinct:
        plain = re.sub(r"[^A-Za-z0-9_.-]", "_", name).strip(".")[:LONGEST]
        ends_alike = re.search(r"-[0-9a-f]{10}$", plain)
        if plain != name or not name or ends_alike or count[name.casefold()] > 1:
            digits = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:10]
            plain = f"{plain}-{digits}"
        names[name] = plain
    return names
