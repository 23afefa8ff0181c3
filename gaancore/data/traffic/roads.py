"""Arcs between sensors from what there is: lengths of roads, places, or readings that go together.

Whichever it is, the weights only choose the arcs: the network learns its own.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from gaancore.choices import GraphKind, RoadChoices, SelfLoops
from gaancore.data.files.ids import are_positions
from gaancore.data.traffic.dataset import TrafficDataset, count_sensors
from gaancore.data.traffic.make import RoadGraph, prepare_graph
from gaancore.errors import DataError
from gaancore.graph import CSRGraph

EARTH_KM = 6371.0088  # mean radius
ROWS_AT_A_TIME = 256
EXACT = 2**53  # whole numbers up to it are exact in float64
PARTS = 1000  # of a standard deviation, to which a correlation rounds its readings


def road_weights(lengths: np.ndarray, choices: RoadChoices | None = None) -> np.ndarray:
    """Weights of roads of the given lengths (E,): exp(-(d / s)^2), 0 below the least weight.

    dcrnn : s is the population standard deviation of `lengths`, the least weight 0.1. If all are
            equal, every weight is 1. Origin: github.com/liyaguang/DCRNN, scripts/gen_adj_mx.py.
    stgcn : lengths in metres: s = 10,000 sqrt(0.1) and the least weight 0.5. Origin:
            github.com/VeritasYin/STGCN_IJCAI-18, utils/math_graph.py.
    none  : every weight is 1.

    >>> road_weights(np.array([0.0, 1000.0, 5000.0]), RoadChoices(kernel="stgcn")).round(3).tolist()
    [1.0, 0.905, 0.0]
    """
    choices = choices or RoadChoices()
    width = choices.width(lengths)
    if width == 0:
        return np.ones(lengths.size)
    weights = np.exp(-((lengths / width) ** 2))
    return np.where(weights < choices.least_weight, 0.0, weights)


def haversine(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Kilometres on the sphere between places (..., 2) in degrees of latitude and longitude.

    2 R arcsin sqrt(sin^2((y2 - y1) / 2) + cos y1 cos y2 sin^2((x2 - x1) / 2))

    >>> paris, london = np.array([48.8567, 2.3508]), np.array([51.5072, -0.1275])
    >>> round(float(haversine(paris, london)))
    344
    """
    (y1, x1), (y2, x2) = (np.moveaxis(np.radians(place), -1, 0) for place in (a, b))
    half = np.sin((y2 - y1) / 2) ** 2 + np.cos(y1) * np.cos(y2) * np.sin((x2 - x1) / 2) ** 2
    return 2 * EARTH_KM * np.arcsin(np.sqrt(np.minimum(half, 1)))


def no_arcs(path: str, num_sensors: int, sensor_ids: tuple[str, ...] | None) -> RoadGraph:
    """Sensors of which each knows itself alone."""
    graph = _graph(np.empty((2, 0), np.int64), num_sensors)
    return RoadGraph(path, graph, sensor_ids, ("graph: none; each sensor sees itself alone",))


def roads_of_places(
    path: str,
    places: Mapping[str, tuple[float, float]],
    sensor_ids: tuple[str, ...] | None,
    choices: RoadChoices,
) -> RoadGraph:
    """Arcs between near ones of the sensors `sensor_ids`, by default of all in `places`.

    path : the file of the places. Raises DataError for a sensor without a place on the globe.
    """
    names = tuple(places) if sensor_ids is None else sensor_ids
    if unknown := [name for name in names if name not in places]:
        remedy = "add them, or remove their columns"
        if are_positions(names):
            remedy = "the columns are only numbered: give their ids, in order (sensor_ids)"
        raise DataError(f"{path}: {count_sensors(unknown)} without a place in it; {remedy}")
    at = np.array([places[name] for name in names])
    beyond = np.flatnonzero((np.abs(at) > (90, 360)).any(axis=1))
    if beyond.size:
        name, (latitude, longitude) = names[beyond[0]], at[beyond[0]]
        raise DataError(
            f"{path}: sensor {name} is at {latitude:g}, {longitude:g}, which are no degrees of "
            "latitude and longitude; convert them from metres, perhaps, or exchange the columns"
        )
    if choices.graph_from == "knn":
        graph = nearest_places(at, choices.neighbours)
        how = f"each sensor and the {choices.neighbours} nearest"
    else:
        graph = places_within(at, choices.radius)
        how = f"sensors at most {choices.radius:g} km apart"
    notes = (f"graph: {how}, by the places in {Path(path).name}",)
    return RoadGraph(path, graph, names, notes, max_pairs=choices.max_pairs)


def nearest_places(places: np.ndarray, neighbours: int) -> CSRGraph:
    """Each sensor gathers from its `neighbours` nearest others, of equally near ones the first.

    places : (N, 2) latitude and longitude in degrees. Fewer sensors give fewer neighbours.
    """
    rows = [np.empty((2, 0), np.int64)]
    for first, apart in _distances(places):
        nearest = np.argsort(apart, axis=1, kind="stable")[:, : min(neighbours, len(places) - 1)]
        dst = np.repeat(np.arange(first, first + len(apart)), nearest.shape[1])
        rows.append(np.array([nearest.ravel(), dst]))
    return _graph(np.concatenate(rows, axis=1), len(places))


def places_within(places: np.ndarray, radius: float) -> CSRGraph:
    """Arcs both ways between sensors at most `radius` kilometres apart, see `haversine`."""
    rows = [np.empty((2, 0), np.int64)]
    for first, apart in _distances(places):
        dst, src = np.nonzero(apart <= radius)
        rows.append(np.array([src, dst + first]))
    return _graph(np.concatenate(rows, axis=1), len(places))


def most_correlated(speeds: np.ndarray, valid: np.ndarray, neighbours: int) -> CSRGraph:
    """Each sensor gathers from the `neighbours` others whose readings go with its own the most.

    Pearson's correlation over the rows that both have, if it is above 0; of equal ones the first.
    Readings are rounded to a thousandth of a sensor's standard deviation: sums of their products
    are whole numbers, and the same bits for any order of summation.

    speeds, valid : (T, N), what the correlation may see. A sensor that stands still has none.
    """
    count = np.maximum(valid.sum(axis=0), 1)
    mean = np.where(valid, speeds, 0).sum(axis=0, dtype=np.float64) / count
    apart = np.where(valid, speeds - mean, 0.0)
    spread = np.sqrt((apart**2).sum(axis=0) / count)
    spread[spread < 1e-6 * np.maximum(1, np.abs(mean))] = np.inf  # stands still
    most = np.floor(np.sqrt(EXACT / max(1, len(speeds))))
    x = np.clip(np.rint(apart / spread * PARTS), -most, most)
    both = valid.astype(np.float64)
    n = np.maximum(both.T @ both, 1)
    sums, squares = x.T @ both, (x**2).T @ both  # of the row's sensor, over rows that both have
    shared = x.T @ x - sums * sums.T / n
    own = squares - sums**2 / n
    scale = np.sqrt(np.maximum(own * own.T, 0))
    found = np.divide(shared, scale, out=np.zeros_like(shared), where=scale > 0)
    np.fill_diagonal(found, -np.inf)
    best = np.argsort(-found, axis=1, kind="stable")[:, : min(neighbours, len(found) - 1)]
    dst = np.repeat(np.arange(len(found)), best.shape[1])
    together = found[dst, best.ravel()] > 0
    return _graph(np.array([best.ravel()[together], dst[together]]), len(found))


def with_correlated(
    dataset: TrafficDataset,
    rows: np.ndarray,
    choices: RoadChoices,
    graph_kind: GraphKind = "undirected",
    self_loops: SelfLoops = "drop",
) -> TrafficDataset:
    """The dataset with arcs between sensors whose readings in `rows` (T,) bool go together.

    Raises DataError above the share of pairs that `choices` allow.
    """
    graph = most_correlated(dataset.speeds[rows], dataset.valid[rows], choices.neighbours)
    how = (
        f"graph: each sensor and the {choices.neighbours} whose readings correlate most with its "
        f"own, over the {np.count_nonzero(rows):,} rows that are trained on"
    )
    prepared, notes = prepare_graph(
        dataset.where, graph, graph_kind, self_loops, dataset.sensor_ids, choices.max_pairs
    )
    kept = (line for line in dataset.notes if not line.startswith("graph: "))
    return replace(dataset, graph=prepared, notes=(*kept, how, *notes))


def _distances(places: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """(first row, (rows, N) kilometres) of a few sensors at a time, to themselves infinite."""
    for first in range(0, len(places), ROWS_AT_A_TIME):
        some = places[first : first + ROWS_AT_A_TIME]
        apart = haversine(some[:, None], places)
        apart[np.arange(len(some)), first + np.arange(len(some))] = np.inf
        yield first, apart


def _graph(arcs: np.ndarray, num_nodes: int) -> CSRGraph:
    return CSRGraph.from_edges(arcs[0], arcs[1], num_nodes, duplicates="merge")
