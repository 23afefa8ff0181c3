"""Paths as people write them."""

import os
from pathlib import Path

from gaancore.errors import SettingsError


def user_path(text: str | os.PathLike[str]) -> Path:
    """The path with `~` or `~user` expanded. Raises SettingsError if there is no such user."""
    try:
        return Path(text).expanduser()
    except RuntimeError as error:
        raise SettingsError(f"{text}: {str(error).rstrip('.')}; write the path in full") from None
