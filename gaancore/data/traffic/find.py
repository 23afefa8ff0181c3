"""Which files of a folder hold the speeds and the graph of the roads."""

from pathlib import Path

from gaancore.data.files.arrays import npz_names
from gaancore.data.files.folder import listing
from gaancore.data.traffic import dcrnn_windows
from gaancore.data.traffic.speeds import SPEED_NAMES
from gaancore.errors import DataError

SUFFIXES = (".h5", ".hdf5", ".npz", ".csv")  # of files of speeds; in a folder, the first there is
GRAPH_PATTERNS = ("adj*.pkl", "distances*.csv", "*adj*.csv", "*edges*.csv")
PLACES_PATTERN = "graph_sensor_locations*.csv"
LOOKED_FOR = f"speeds in .h5, {' '.join(dcrnn_windows.FILES)}, .npz or .csv"


def find_speeds(folder: Path) -> Path:
    """The one file of speeds: the first of h5, npz and csv that is there.

    Raises DataError if there is none, or more than one of a kind.
    """
    found = _speeds_in(folder)
    if not found:
        raise DataError(
            f"{folder}: no speeds found: looked for {LOOKED_FOR}; the folder holds "
            f"{listing(folder)}"
        )
    return only(folder, "files of speeds", found)


def find_graph(folder: Path) -> Path:
    """The file of the graph, in the folder or in `sensor_graph/`.

    Raises DataError if there is none, or more than one of a kind.
    """
    for place in (folder, folder / "sensor_graph"):
        for pattern in GRAPH_PATTERNS:
            if found := sorted(place.glob(pattern)):
                return only(folder, "files of a graph", found)
    raise DataError(
        f"{folder}: no graph of the roads found: looked for {', '.join(GRAPH_PATTERNS)}; "
        "graph: the file that holds it"
    )


def only(folder: Path, what: str, found: list[Path]) -> Path:
    """The only path of `found`. Raises DataError if there are several."""
    if len(found) > 1:
        names = ", ".join(path.name for path in found)
        raise DataError(f"{folder}: several {what} ({names}); give the one to use")
    return found[0]


def holds_speeds(path: Path) -> bool:
    """Whether `path` looks like speeds of sensors, by names of files and arrays.

    Raises DataError for a damaged `.npz`.
    """
    if path.is_file():
        if path.suffix.lower() == ".npz":
            names = npz_names(path)
            # a sparse matrix of SciPy's has an array `data` too, and one `format`
            return not {*SPEED_NAMES}.isdisjoint(names) and "format" not in names
        return path.suffix.lower() in SUFFIXES
    if not path.is_dir():
        return False
    if (path / dcrnn_windows.FILES[0]).is_file():
        return True
    if found := _speeds_in(path):
        return holds_speeds(found[0])
    return any(path.glob(GRAPH_PATTERNS[0]))


def _speeds_in(folder: Path) -> list[Path]:
    patterns = (*GRAPH_PATTERNS, PLACES_PATTERN)
    others = {path for pattern in patterns for path in folder.glob(pattern)}
    files = [path for path in sorted(folder.iterdir()) if path not in others]
    kinds = ([path for path in files if path.suffix.lower() == suffix] for suffix in SUFFIXES)
    return next(filter(None, kinds), [])
