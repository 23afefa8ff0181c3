"""Is there anything at a path, and which files does a folder hold?"""

from pathlib import Path

from gaancore.errors import DataError

SHOWN = 8  # names in a message


def expect_path(path: Path) -> None:
    """Raises DataError unless there is something at `path`."""
    if not path.exists():
        raise DataError(f"{path}: no such file or folder; give the folder that holds the dataset")


def listing(folder: Path) -> str:
    """The first names in a folder, and how many more there are."""
    names = sorted(entry.name for entry in folder.iterdir())
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more or "nothing"
