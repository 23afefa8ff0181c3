"""Which files of a folder hold the speeds and the graph of the roads."""

from fnmatch import fnmatch
from pathlib import Path
from typing import Literal, overload

from gaancore.data.files.arrays import npz_names
from gaancore.data.files.folder import listing
from gaancore.data.files.named_table import END_NAMES, has_columns
from gaancore.data.traffic.layouts import dcrnn_windows
from gaancore.data.traffic.layouts.speeds import SPEED_NAMES
from gaancore.errors import DataError

SUFFIXES = (
    ".h5",
    ".hdf5",
    ".npz",
    ".csv",
    ".npy",
)  # of files of speeds; in a folder, the first there is
GRAPH_PATTERNS = (
    "adj*.pkl",
    "distance*.csv",
    "*adj*.csv",
    "*edges*.csv",
    "adj*.npz",
    "adj*.npy",
    "w_[0-9]*.csv",
    "pemsd7_w_[0-9]*.csv",
)
PLACES_PATTERN = "*locations*.csv"
IDS_PATTERNS = ("graph_sensor_ids*.txt", "pems0?.txt")
LOOKED_FOR = f"speeds in .h5, {' '.join(dcrnn_windows.FILES)}, .npz, .csv or .npy"


def find_speeds(folder: Path) -> Path:
    """The one file of speeds: the first of h5, npz, csv and npy that is there.

    Raises DataError if there is none, or more than one of a kind.
    """
    found = _speeds_in(folder)
    if not found:
        raise DataError(
            f"{folder}: no speeds found: looked for {LOOKED_FOR}; the folder holds "
            f"{listing(folder)}"
        )
    return only(folder, "files of speeds", found)


@overload
def find_graph(folder: Path, *, required: Literal[True] = True) -> Path: ...
@overload
def find_graph(folder: Path, *, required: bool) -> Path | None: ...
def find_graph(folder: Path, *, required: bool = True) -> Path | None:
    """The file of the graph, in the folder or in `sensor_graph/`.

    Raises DataError if there is more than one of a kind; if `required`, also if there is none.
    """
    for place in (folder, folder / "sensor_graph"):
        for pattern in GRAPH_PATTERNS:
            if found := matching(place, pattern):
                return only(folder, "files of a graph", found)
        if found := _tables_of_roads(place):
            return only(folder, "files of a graph", found)
    if not required:
        return None
    ways = "or make arcs of the readings: correlation (graph_from)"
    if find_places(folder, required=False) is not None:
        ways = "or make arcs of the places of the sensors: knn (graph_from)"
    raise DataError(
        f"{folder}: no graph of the roads found: looked for {', '.join(GRAPH_PATTERNS)}; "
        f"graph: the file that holds it; {ways}"
    )


@overload
def find_places(folder: Path, *, required: Literal[True]) -> Path: ...
@overload
def find_places(folder: Path, *, required: bool) -> Path | None: ...
def find_places(folder: Path, *, required: bool) -> Path | None:
    """The table of the places of sensors, in the folder or in `sensor_graph/`.

    Raises DataError if there are several; if `required`, also if there is none.
    """
    for place in (folder, folder / "sensor_graph"):
        if found := matching(place, PLACES_PATTERN):
            return only(folder, "files of sensor locations", found)
    if not required:
        return None
    raise DataError(
        f"{folder}: no places of the sensors found: looked for {PLACES_PATTERN}; write "
        "sensor_id,latitude,longitude into one, or name it (graph)"
    )


def roads_near(path: Path, graph_from: str) -> bool:
    """Whether what `graph_from` makes arcs from lies beside the speeds at `path`.

    Raises DataError if there is more than one of a kind.
    """
    folder = path if path.is_dir() else path.parent
    find = {"file": find_graph, "knn": find_places, "radius": find_places}.get(graph_from)
    return find is not None and find(folder, required=False) is not None


def find_ids(folder: Path) -> Path | None:
    """The list of sensor ids, if there is one. Raises DataError if there are several."""
    found = [path for pattern in IDS_PATTERNS for path in matching(folder, pattern)]
    return only(folder, "lists of sensor ids", found) if found else None


def matching(folder: Path, pattern: str) -> list[Path]:
    """The files of the folder whose names fit, in capitals or not."""
    if not folder.is_dir():
        return []
    return [path for path in sorted(folder.iterdir()) if fnmatch(path.name.lower(), pattern)]


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
    suffix = path.suffix.lower()
    if path.is_file():
        if suffix == ".npz":
            names = npz_names(path)
            # a sparse matrix of SciPy's has an array `data` too, and one `format`
            return not {*SPEED_NAMES}.isdisjoint(names) and "format" not in names
        return suffix in SUFFIXES
    if not path.is_dir():
        return False
    if (path / dcrnn_windows.FILES[0]).is_file():
        return True
    if found := _speeds_in(path):
        return holds_speeds(found[0])
    return bool(matching(path, GRAPH_PATTERNS[0]))


def _speeds_in(folder: Path) -> list[Path]:
    patterns = (*GRAPH_PATTERNS, PLACES_PATTERN)
    others = {path for pattern in patterns for path in matching(folder, pattern)}
    files = [path for path in sorted(folder.iterdir()) if path not in others]
    kinds = ([path for path in files if path.suffix.lower() == suffix] for suffix in SUFFIXES)
    found = next(filter(None, kinds), [])
    roads = set(_tables_of_roads(folder)) if found and found[0].suffix.lower() == ".csv" else set()
    return [path for path in found if path not in roads]


def _tables_of_roads(folder: Path) -> list[Path]:
    """Tables whose header names the ends of roads, such as `PEMS08.csv` beside `PEMS08.npz`."""
    return [path for path in matching(folder, "*.csv") if _names_ends(path)]


def _names_ends(path: Path) -> bool:
    try:
        return has_columns(path, END_NAMES)
    except DataError:  # blank or damaged: whoever reads it will say so
        return False
