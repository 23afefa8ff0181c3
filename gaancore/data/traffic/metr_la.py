"""METR-LA: speeds at 207 loop detectors on the highways of Los Angeles, every five minutes."""

import os
from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from gaancore.data.files.arrays import read_csv_rows
from gaancore.data.files.ids import are_positions, plain_ids
from gaancore.data.files.named_table import END_NAMES, has_columns, open_named_table
from gaancore.data.files.separator import plain_separator
from gaancore.data.files.times import parse_times
from gaancore.data.traffic.dataset import TrafficDataset, part_of_day
from gaancore.data.traffic.find import (
    PLACES_PATTERN,
    find_graph,
    find_ids,
    find_speeds,
    matching,
    only,
)
from gaancore.data.traffic.layouts import dcrnn_windows
from gaancore.data.traffic.layouts.dcrnn_windows import read_dcrnn_windows
from gaancore.data.traffic.layouts.pandas_h5 import read_pandas_h5
from gaancore.data.traffic.layouts.road_edges import named_sensors, read_road_edges
from gaancore.data.traffic.layouts.road_matrix import (
    read_adjacency_csv,
    read_adjacency_npz,
    read_adjacency_pickle,
)
from gaancore.data.traffic.layouts.speeds import read_speeds_csv, read_speeds_npz
from gaancore.data.traffic.make import GraphKind, RawTraffic, RoadGraph, make_traffic
from gaancore.data.traffic.steps import USUAL_STEP, times_from
from gaancore.errors import DataError
from gaancore.graph import SelfLoops
from gaancore.system.disk import expect_file
from gaancore.system.paths import user_path

NUM_SENSORS, NUM_ARCS = 207, 1515  # the paper's table of data sets; self-loops not counted
FARTHEST = 1e9  # degrees, or metres on a map: beyond it is no place on the ground


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
    graph      : the file of the graph: `adj_mx.pkl`, `.csv` of a matrix, distances or edges, or a
                 matrix in `.npz` or `.npy`, dense or SciPy's sparse. By default it is looked for
                 next to the speeds, and in `sensor_graph/`.
    sensor_ids : a text file with the ids of the speeds' columns, if their own file has none.
    start      : the time of the first row (2012-03-01 00:00), if the file has no timestamps.
    graph_kind, self_loops, null_value : see `make_traffic`.

    Columns and graph are joined by sensor id, or by position as `make_traffic` says. `notes` say
    what was aligned, dropped or assumed. Raises DataError (one line: file, row or sensor, remedy),
    SettingsError.

    >>> import numpy as np
    >>> from gaancore.data import load_metr_la
    >>> np.savez("speeds.npz", speed=[[55.0, 61.5], [54.0, 0.0]], sensor_ids=["a", "b"])
    >>> np.savetxt("adj.csv", [[0, 1], [0, 0]], delimiter=",")
    >>> data = load_metr_la("speeds.npz", start="2012-03-01")
    >>> data.valid.tolist(), data.graph.num_edges
    ([[True, True], [True, False]], 2)
    """
    given = user_path(path)
    folder = given if given.is_dir() else given.parent

    def graph_path() -> Path:
        return user_path(graph) if graph is not None else find_graph(folder)

    raw = _read_speeds(given, lambda: _ids_in_graph(graph_path()))
    if sensor_ids is not None:
        raw = _with_ids(raw, user_path(sensor_ids))
    if start is not None:
        raw = _with_start(raw, start)
    return make_traffic(
        raw,
        _read_graph(graph_path(), raw.sensor_ids),
        coordinates=_read_places(graph_path().parent),
        graph_kind=graph_kind,
        self_loops=self_loops,
        null_value=null_value,
    )


def _read_speeds(path: Path, ids_in_graph: Callable[[], Collection[str]]) -> RawTraffic:
    """ids_in_graph: asked for where they tell a header of ids from a row of readings."""
    if path.is_dir():
        if (path / dcrnn_windows.FILES[0]).is_file():
            return read_dcrnn_windows(path)
        return _read_speeds(find_speeds(path), ids_in_graph)
    readers: dict[str, Callable[[Path], RawTraffic]] = {
        ".h5": read_pandas_h5,
        ".hdf5": read_pandas_h5,
        ".npz": read_speeds_npz,
        ".csv": partial(read_speeds_csv, known_ids=ids_in_graph),
    }
    suffix = path.suffix.lower()
    if suffix not in readers:
        expect_file(path)
        raise DataError(f"{path}: speeds are read from {', '.join(readers)}, or a folder of them")
    return readers[suffix](path)


def _ids_in_graph(path: Path) -> tuple[str, ...]:
    if path.suffix.lower() == ".csv" and has_columns(path, END_NAMES):
        return named_sensors(path)
    return _read_graph(path, None).sensor_ids or ()


def _read_graph(path: Path, among: tuple[str, ...] | None) -> RoadGraph:
    """Sensor ids in a file next to the graph are those of its rows."""
    listed = find_ids(path.parent)
    ids = None if listed is None else _read_ids(listed)
    suffix = path.suffix.lower()
    if suffix in (".pkl", ".pickle"):
        road = read_adjacency_pickle(path, ids)
    elif suffix in (".npz", ".npy"):
        road = read_adjacency_npz(path, ids)
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
    ids = plain_ids([cell for _, cells in rows for cell in cells if cell])
    if not ids:
        raise DataError(f"{path}: no sensor ids in it; write them there, or remove the file")
    return ids


def _read_places(folder: Path) -> dict[str, tuple[float, float]] | None:
    """Latitude and longitude by sensor id, from DCRNN's `graph_sensor_locations.csv`."""
    found = matching(folder, PLACES_PATTERN)
    if not found:
        return None
    path = only(folder, "files of sensor locations", found)
    table = open_named_table(path, [("sensor_id", "latitude", "longitude")])
    lines, names, degrees = [], [], []
    for line, cells in table.rows:
        sensor, *place = (cells[key] for key in table.keys)
        try:
            latitude, longitude = map(float, place)
        except ValueError:
            raise DataError(f"{path}: line {line}: no sensor_id, latitude and longitude") from None
        if not (np.abs([latitude, longitude]) <= FARTHEST).all():
            raise DataError(
                f"{path}: line {line}: sensor {sensor} is at {latitude}, {longitude}, which is no "
                "place; correct it, or remove the line"
            )
        lines.append(line)
        names.append(sensor)
        degrees.append((latitude, longitude))
    places: dict[str, tuple[float, float]] = {}
    for line, sensor, at in zip(lines, plain_ids(names), degrees, strict=True):
        if places.setdefault(sensor, at) != at:
            raise DataError(f"{path}: line {line}: sensor {sensor} is elsewhere above; keep one")
    return places


def _with_ids(raw: RawTraffic, path: Path) -> RawTraffic:
    """The speeds with the ids of a list, which stand for columns numbered 0 to N - 1 too."""
    ids, own = _read_ids(path), raw.sensor_ids
    numbered = own is not None and are_positions(own)
    if own not in (None, ids) and not numbered:
        raise DataError(
            f"{path}: these are not the sensor ids of {raw.path}; sensor_ids: leave it out"
        )
    if len(ids) != raw.speeds.shape[1]:
        raise DataError(
            f"{path}: {len(ids):,} sensor ids for {raw.speeds.shape[1]:,} columns of {raw.path}"
        )
    if own is None or numbered:
        named = ids if own is None else tuple(ids[int(name)] for name in own)
        pairs = [f"column {place} is sensor {name}" for place, name in enumerate(named[:3])]
        note = f"{path.name}: joined by position: {', '.join(pairs)}, ..."
        return replace(raw, sensor_ids=named, notes=(*raw.notes, note))
    return raw


def _with_start(raw: RawTraffic, start: str) -> RawTraffic:
    if raw.times is not None:
        raise DataError(
            f"{raw.path}: has its own timestamps, from {raw.times[0]}; start: leave it out"
        )
    if raw.stretches is not None and len(raw.stretches) > 2:
        raise DataError(f"{raw.path}: its windows are not a single series; start: leave it out")
    first, _ = parse_times("start", [start])
    times = times_from(first, raw.step, len(raw.speeds))
    if raw.time_of_day is not None:
        apart = np.abs(part_of_day(times) - raw.time_of_day)
        if (np.minimum(apart, 1 - apart) > 1 / 86400).any():
            raise DataError(
                f"{raw.path}: its first row is {raw.time_of_day[0] * 24:.2f} hours into the day, "
                f"which does not fit a start at {start}; start: correct it"
            )
    step = f"steps of {(raw.step or USUAL_STEP) / 60:g} minutes"
    return replace(raw, times=times, notes=(*raw.notes, f"times: {step} from {start} on"))
