"""METR-LA: speeds at 207 loop detectors on the highways of Los Angeles, every five minutes."""

import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from gaancore.choices import GraphKind, RoadChoices, SelfLoops
from gaancore.data.files.arrays import read_csv_rows
from gaancore.data.files.ids import are_positions, plain_ids
from gaancore.data.files.separator import plain_separator
from gaancore.data.files.times import parse_times
from gaancore.data.traffic.dataset import TrafficDataset, part_of_day
from gaancore.data.traffic.find import find_graph, find_ids, find_places, find_speeds
from gaancore.data.traffic.layouts import dcrnn_windows
from gaancore.data.traffic.layouts.dcrnn_windows import read_dcrnn_windows
from gaancore.data.traffic.layouts.pandas_h5 import read_pandas_h5
from gaancore.data.traffic.layouts.places import Places, read_places
from gaancore.data.traffic.layouts.road_edges import lists_roads, named_sensors, read_road_edges
from gaancore.data.traffic.layouts.road_matrix import (
    read_adjacency_csv,
    read_adjacency_npz,
    read_adjacency_pickle,
)
from gaancore.data.traffic.layouts.speeds import read_speeds_csv, read_speeds_npy, read_speeds_npz
from gaancore.data.traffic.make import RawTraffic, RoadGraph, make_traffic
from gaancore.data.traffic.roads import no_arcs, roads_of_places
from gaancore.data.traffic.steps import USUAL_STEP, times_from
from gaancore.errors import DataError
from gaancore.system.disk import expect_file
from gaancore.system.paths import user_path

NUM_SENSORS, NUM_ARCS = 207, 1515  # the paper's table of data sets; self-loops not counted


def load_metr_la(
    path: str | os.PathLike[str],
    *,
    graph: str | os.PathLike[str] | None = None,
    sensor_ids: str | os.PathLike[str] | None = None,
    start: str | None = None,
    channel: str | None = None,
    inputs: Sequence[str] = (),
    roads: RoadChoices | None = None,
    graph_kind: GraphKind = "undirected",
    self_loops: SelfLoops = "drop",
    null_value: float | None = 0.0,
) -> TrafficDataset:
    """Load METR-LA, or your own speeds and graph, from any of the public layouts.

    path       : a folder, or the file of the speeds: pandas' `.h5`, `.csv` (a column for each
                 sensor, or a row for each reading), `.npz` or `.npy`; or the folder of DCRNN's
                 windows. `~` is expanded.
    graph      : the file of the graph: `adj_mx.pkl`, `.csv` of a matrix, distances or edges, or a
                 matrix in `.npz` or `.npy`, dense or SciPy's sparse. By default it is looked for
                 next to the speeds, and in `sensor_graph/`. Where `roads` make the graph of the
                 places of sensors, their file.
    sensor_ids : a text file with the ids of the speeds' columns, if their own file has none.
    start      : the time of the first row (2012-03-01 00:00), if the file has no timestamps.
    channel    : which quantity, by name or by number from 0, of a file that has several.
    inputs     : other quantities of such a file, which a forecast reads too.
    roads      : what the arcs are made from (`correlation`: none, see `with_correlated`). Without
                 a file of the graph, a single sensor has no arcs.
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
    choices = roads or RoadChoices()
    given = user_path(path)
    folder = given if given.is_dir() else given.parent
    of_places = choices.graph_from in ("knn", "radius")

    def graph_path() -> Path:
        found = user_path(graph) if graph is not None else None
        if of_places:
            return found or find_places(folder, required=True)
        return found or find_graph(folder)

    def known_ids() -> tuple[str, ...]:
        if of_places:
            return tuple(read_places(graph_path()))
        if choices.graph_from != "file":
            return ()
        found = graph_path() if graph is not None else find_graph(folder, required=False)
        return () if found is None else _ids_in_graph(found)

    raw = _read_speeds(given, known_ids, channel)
    others = {name: _read_speeds(given, known_ids, name).speeds for name in inputs}
    if sensor_ids is not None:
        raw = _with_ids(raw, user_path(sensor_ids))
    if start is not None:
        raw = _with_start(raw, start)
    num_sensors = raw.speeds.shape[1]
    places: Places | None = None
    if of_places:
        places = read_places(graph_path())
        road = roads_of_places(str(graph_path()), places, raw.sensor_ids, choices)
    elif choices.graph_from != "file":
        road = no_arcs(raw.path, num_sensors, raw.sensor_ids)
        places = _places_near(folder)
    elif num_sensors == 1 and graph is None and find_graph(folder, required=False) is None:
        road = no_arcs(raw.path, num_sensors, raw.sensor_ids)
    else:
        road = _read_graph(graph_path(), raw.sensor_ids, choices)
        places = _places_near(graph_path().parent)
    return make_traffic(
        raw,
        road,
        coordinates=places,
        others=others,
        graph_kind=graph_kind,
        self_loops=self_loops,
        null_value=null_value,
    )


def _read_speeds(
    path: Path, ids_in_graph: Callable[[], Collection[str]], channel: str | None
) -> RawTraffic:
    """ids_in_graph: asked for where they tell a header of ids from a row of readings."""
    if path.is_dir():
        if (path / dcrnn_windows.FILES[0]).is_file():
            return read_dcrnn_windows(path, channel)
        return _read_speeds(find_speeds(path), ids_in_graph, channel)
    readers: dict[str, Callable[[Path], RawTraffic]] = {
        ".h5": partial(read_pandas_h5, channel=channel),
        ".hdf5": partial(read_pandas_h5, channel=channel),
        ".npz": partial(read_speeds_npz, channel=channel),
        ".csv": partial(read_speeds_csv, known_ids=ids_in_graph, channel=channel),
        ".npy": partial(read_speeds_npy, channel=channel),
    }
    suffix = path.suffix.lower()
    if suffix not in readers:
        expect_file(path)
        raise DataError(f"{path}: speeds are read from {', '.join(readers)}, or a folder of them")
    return readers[suffix](path)


def _ids_in_graph(path: Path) -> tuple[str, ...]:
    if path.suffix.lower() == ".csv" and lists_roads(path):
        return named_sensors(path)
    return _read_graph(path, None, RoadChoices(kernel="none")).sensor_ids or ()


def _places_near(folder: Path) -> Places | None:
    found = find_places(folder, required=False)
    return None if found is None else read_places(found)


def _read_graph(path: Path, among: tuple[str, ...] | None, choices: RoadChoices) -> RoadGraph:
    """Sensor ids in a file next to the graph are those of its rows."""
    listed = find_ids(path.parent)
    ids = None if listed is None else _read_ids(listed)
    suffix = path.suffix.lower()
    if suffix in (".pkl", ".pickle"):
        road = read_adjacency_pickle(path, ids, choices)
    elif suffix in (".npz", ".npy"):
        road = read_adjacency_npz(path, ids, choices)
    elif lists_roads(path):
        road = read_road_edges(path, ids, among, choices)
    else:
        road = read_adjacency_csv(path, ids, choices)
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
