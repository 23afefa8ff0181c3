"""METR-LA: speeds at 207 loop detectors on the highways of Los Angeles, every five minutes."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np

from gaancore.data.files.arrays import read_csv_rows
from gaancore.data.files.named_table import END_NAMES, has_columns, open_named_table
from gaancore.data.files.separator import plain_separator
from gaancore.data.traffic import dcrnn_windows
from gaancore.data.traffic.dataset import TrafficDataset, part_of_day
from gaancore.data.traffic.dcrnn_windows import read_dcrnn_windows
from gaancore.data.traffic.find import PLACES_PATTERN, find_graph, find_speeds, only
from gaancore.data.traffic.make import (
    USUAL_STEP,
    GraphKind,
    RawTraffic,
    RoadGraph,
    make_traffic,
)
from gaancore.data.traffic.pandas_h5 import read_pandas_h5
from gaancore.data.traffic.road_edges import read_road_edges
from gaancore.data.traffic.road_matrix import read_adjacency_csv, read_adjacency_pickle
from gaancore.data.traffic.speeds import parse_times, read_speeds_csv, read_speeds_npz, times_from
from gaancore.errors import DataError
from gaancore.graph import SelfLoops
from gaancore.system.disk import expect_file
from gaancore.system.paths import user_path

NUM_SENSORS, NUM_ARCS = 207, 1515  # the paper's table of data sets; self-loops not counted
IDS_PATTERN = "graph_sensor_ids*.txt"


def load_metr_la(
    path: str | os.PathLike[str],
    *,
    graph: str | os.PathLike[str] | None = None,
    sensor_ids: str | os.PathLike[str] | None = None,
    start: str | None = None,
    graph_kind: GraphKind = "undirected",
    self_loops: SelfLoops = "drop",
    null_value: float | None = 0.0,
) -> TrafficDataset:
    """Load METR-LA, or your own speeds and graph, from any of the public layouts.

    path       : a folder, or the file of the speeds: pandas' `.h5`, `.csv` or `.npz`; or the
                 folder of DCRNN's windows. `~` is expanded.
    graph      : the file of the graph: `adj_mx.pkl`, `.csv` of a matrix, distances or edges. By
                 default it is looked for next to the speeds, and in `sensor_graph/`.
    sensor_ids : a text file with the ids of the speeds' columns, if their own file has none.
    start      : the time of the first row (2012-03-01 00:00), if the file has no timestamps.
    graph_kind, self_loops, null_value : see `make_traffic`.

    Columns and graph are joined by sensor id. `notes` say what was aligned, dropped or
    assumed. Raises DataError (one line: file, row or sensor, remedy), SettingsError.

    >>> import numpy as np
    >>> from gaancore.data import load_metr_la
    >>> np.savez("speeds.npz", speed=[[55.0, 61.5], [54.0, 0.0]], sensor_ids=["a", "b"])
    >>> np.savetxt("adj.csv", [[0, 1], [0, 0]], delimiter=",")
    >>> data = load_metr_la("speeds.npz", start="2012-03-01")
    >>> data.valid.tolist(), data.graph.num_edges
    ([[True, True], [True, False]], 2)
    """
    given = user_path(path)
    raw = _read_speeds(given)
    folder = given if given.is_dir() else given.parent
    if sensor_ids is not None:
        raw = _with_ids(raw, user_path(sensor_ids))
    if start is not None:
        raw = _with_start(raw, start)
    graph_path = user_path(graph) if graph is not None else find_graph(folder)
    return make_traffic(
        raw,
        _read_graph(graph_path, raw.sensor_ids),
        coordinates=_read_places(graph_path.parent),
        graph_kind=graph_kind,
        self_loops=self_loops,
        null_value=null_value,
    )


def _read_speeds(path: Path) -> RawTraffic:
    if path.is_dir():
        if (path / dcrnn_windows.FILES[0]).is_file():
            return read_dcrnn_windows(path)
        return _read_speeds(find_speeds(path))
    readers = {
        ".h5": read_pandas_h5,
        ".hdf5": read_pandas_h5,
        ".npz": read_speeds_npz,
        ".csv": read_speeds_csv,
    }
    suffix = path.suffix.lower()
    if suffix not in readers:
        expect_file(path)
        raise DataError(f"{path}: speeds are read from {', '.join(readers)}, or a folder of them")
    return readers[suffix](path)


def _read_graph(path: Path, among: tuple[str, ...] | None) -> RoadGraph:
    """Sensor ids in a file next to the graph are those of its rows."""
    lists = sorted(path.parent.glob(IDS_PATTERN))
    ids = _read_ids(only(path.parent, "lists of sensor ids", lists)) if lists else None
    if path.suffix.lower() in (".pkl", ".pickle"):
        road = read_adjacency_pickle(path, ids)
    elif has_columns(path, END_NAMES):
        road = read_road_edges(path, ids, among)
    else:
        road = read_adjacency_csv(path, ids)
    arcs = road.graph.num_edges - road.graph.num_self_loops
    if road.graph.num_nodes == NUM_SENSORS and arcs != NUM_ARCS:
        note = f"graph: METR-LA's official one has {NUM_ARCS:,} directed arcs, this one {arcs:,}"
        return replace(road, notes=(*road.notes, note))
    return road


def _read_ids(path: Path) -> tuple[str, ...]:
    """The ids in a text file, with commas, semicolons, tabs or line ends between them."""
    rows = read_csv_rows(path, plain_separator(path))
    ids = tuple(cell for _, cells in rows for cell in cells if cell)
    if not ids:
        raise DataError(f"{path}: no sensor ids in it; write them there, or remove the file")
    return ids


def _read_places(folder: Path) -> dict[str, tuple[float, float]] | None:
    """Latitude and longitude by sensor id, from DCRNN's `graph_sensor_locations.csv`."""
    found = sorted(folder.glob(PLACES_PATTERN))
    if not found:
        return None
    path = only(folder, "files of sensor locations", found)
    table = open_named_table(path, [("sensor_id", "latitude", "longitude")])
    places = {}
    for line, cells in table.rows:
        sensor, *degrees = (cells[key] for key in table.keys)
        try:
            latitude, longitude = map(float, degrees)
        except ValueError:
            raise DataError(f"{path}: line {line}: no sensor_id, latitude and longitude") from None
        places[sensor] = latitude, longitude
    return places


def _with_ids(raw: RawTraffic, path: Path) -> RawTraffic:
    ids = _read_ids(path)
    if raw.sensor_ids not in (None, ids):
        raise DataError(
            f"{path}: these are not the sensor ids of {raw.path}; sensor_ids: leave it out"
        )
    if len(ids) != raw.speeds.shape[1]:
        raise DataError(
            f"{path}: {len(ids):,} sensor ids for {raw.speeds.shape[1]:,} columns of {raw.path}"
        )
    return replace(raw, sensor_ids=ids)


def _with_start(raw: RawTraffic, start: str) -> RawTraffic:
    if raw.times is not None:
        raise DataError(
            f"{raw.path}: has its own timestamps, from {raw.times[0]}; start: leave it out"
        )
    if raw.stretches is not None and len(raw.stretches) > 2:
        raise DataError(f"{raw.path}: its windows are not a single series; start: leave it out")
    times = times_from(parse_times("start", [start]), raw.step, len(raw.speeds))
    if raw.time_of_day is not None:
        apart = np.abs(part_of_day(times) - raw.time_of_day)
        if (np.minimum(apart, 1 - apart) > 1 / 86400).any():
            raise DataError(
                f"{raw.path}: its first row is {raw.time_of_day[0] * 24:.2f} hours into the day, "
                f"which does not fit a start at {start}; start: correct it"
            )
    step = f"steps of {(raw.step or USUAL_STEP) / 60:g} minutes"
    return replace(raw, times=times, notes=(*raw.notes, f"times: {step} from {start} on"))
