"""Where a user keeps data sets, one folder for each task."""

import os
from pathlib import Path


def find_data(name: str) -> Path | None:
    """The folder `name` in the user's data folder, or None if there is none.

    The data folder is $GAANCORE_DATA, else gaancore/ in $XDG_DATA_HOME (~/.local/share) or, on
    Windows, in %LOCALAPPDATA%.
    """
    folder = _data_folder() / name
    return folder if folder.is_dir() else None


def _data_folder() -> Path:
    if given := os.environ.get("GAANCORE_DATA"):
        return Path(given).expanduser()
    if os.name == "nt":
        local = os.environ.get("LOCALAPPDATA")
        return (Path(local) if local else Path.home() / "AppData" / "Local") / "gaancore"
    shared = os.environ.get("XDG_DATA_HOME")
    return (Path(shared) if shared else Path.home() / ".local" / "share") / "gaancore"
