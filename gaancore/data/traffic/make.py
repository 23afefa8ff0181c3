"""Join speeds and roads by sensor, check them, and make a TrafficDataset of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from gaancore.choices import GraphKind, SelfLoops
from gaancore.data.files.ids import are_positions
from gaancore.data.traffic.beside import MOST, expect_none, others_of, places_of
from gaancore.data.traffic.dataset import TrafficDataset, Windows, count_sensors, part_of_day
from gaancore.data.traffic.steps import check_times
from gaancore.errors import DataError, expect_choice, one_line
from gaancore.graph import CSRGraph

OWN_DIRECTION = "own direction"  # 1 where a road is driven so, 0 where only the other way
DENSE = 0.25  # METR-LA's graph joins 6 % of all pairs


@dataclass(frozen=True)
class RoadGraph:
    """A road graph as its file gives it: directed, self-loops included.

    graph: row j lists the sensors i with an arc i -> j; the features of its arcs are `edge_names`.
    sensor_ids: None if the file names none.
    in_order: whether the ids are listed in an order that someone chose; roads only mention them.
    max_pairs: of a graph that was made of distances or places: the share of all pairs of sensors
    above which it is refused.
    """

    path: str
    graph: CSRGraph
    sensor_ids: tuple[str, ...] | None
    notes: tuple[str, ...] = ()
    in_order: bool = True
    max_pairs: float | None = None
    edge_names: tuple[str, ...] = ()


@dataclass(frozen=True)
class RawTraffic:
    """Speeds as their files give them, before any check of the values.

    speeds      : (T, N) numbers, NaN where the file has none.
    sensor_ids, times (T,) datetime64, time_of_day (T,): None where the files do not say.
    step        : seconds between rows, where there are no times to tell.
    stretches   : where there are no times to tell gaps; see TrafficDataset.
    """

    path: str
    speeds: np.ndarray
    sensor_ids: tuple[str, ...] | None = None
    times: np.ndarray | None = None
    time_of_day: np.ndarray | None = None
    step: float | None = None
    stretches: np.ndarray | None = None
    windows: Windows | None = None
    notes: tuple[str, ...] = ()


def make_traffic(
    raw: RawTraffic,
    road: RoadGraph,
    *,
    coordinates: dict[str, tuple[float, float]] | None = None,
    others: Mapping[str, np.ndarray] | None = None,
    graph_kind: GraphKind = "undirected",
    self_loops: SelfLoops = "drop",
    null_value: float | None = 0.0,
    kind: Literal["real", "synthetic"] = "real",
) -> TrafficDataset:
    """Check `raw`, join it with the graph by sensor id, and say in `notes` what was done.

    Where one of the two has no ids, they are joined by position, and a note has the first three
    pairs: ids that are 0 to N - 1 are the positions, others must be listed in an order.

    coordinates : (latitude, longitude) by sensor id.
    others      : (T, N) numbers by name, of which only NaN means "missing".
    graph_kind  : `undirected` takes both directions of every arc, `directed` the arcs as they are.
    self_loops  : `keep`, `drop`, or `add` one to every sensor.
    null_value  : the reading that means "missing", besides NaN; None if only NaN does.
    Raises DataError (one line: file, row, sensor, remedy) for values that cannot be trained on,
    SettingsError for an unknown option.
    """
    expect_choice("graph_kind", graph_kind, get_args(GraphKind))
    expect_choice("self_loops", self_loops, get_args(SelfLoops))
    sensor_ids, graph, join_notes = _join(raw, road)
    speeds, valid, speed_notes = _check_speeds(raw, sensor_ids, null_value)
    step, stretches, time_notes = check_times(
        raw.path, raw.times, len(raw.speeds), raw.step, raw.stretches
    )
    graph, graph_notes = prepare_graph(
        road.path, graph, graph_kind, self_loops, sensor_ids, road.max_pairs
    )
    edge_names = road.edge_names
    if graph.edge_dim:
        edge_names += (OWN_DIRECTION,) if graph_kind == "undirected" else ()
        graph_notes.append(f"graph: edge_features can read its {', '.join(edge_names)}")
        rows = graph.edge_attr
        graph_notes += [
            f"graph: {name} is the same on every arc, so of no use"
            for name, column in zip(edge_names, rows.T, strict=True)
            if column.size and (column == column[0]).all()
        ]
    places, place_notes = places_of(sensor_ids, coordinates)
    beside, beside_notes = others_of(raw.path, raw.speeds.shape, others or {}, sensor_ids)
    notes = (
        *(*raw.notes, *road.notes, *join_notes),
        *(*speed_notes, *beside_notes, *time_notes, *graph_notes, *place_notes),
    )
    time_of_day = raw.time_of_day if raw.times is None else part_of_day(raw.times)
    return TrafficDataset(
        kind=kind,
        path=raw.path,
        graph=graph,
        speeds=speeds,
        valid=valid,
        stretches=stretches,
        step=step,
        times=raw.times,
        time_of_day=time_of_day,
        sensor_ids=sensor_ids,
        coordinates=places,
        windows=raw.windows,
        others=beside,
        other_names=tuple(others or ()),
        edge_names=edge_names,
        notes=tuple(map(one_line, notes)),
    )


def _join(raw: RawTraffic, road: RoadGraph) -> tuple[tuple[str, ...], CSRGraph, list[str]]:
    """The sensors in the order of the speeds' columns, the graph among them, and notes."""
    num_sensors, num_nodes = raw.speeds.shape[1], road.graph.num_nodes
    for path, ids in ((raw.path, raw.sensor_ids), (road.path, road.sensor_ids)):
        if ids is not None and len(set(ids)) < len(ids):
            twice = next(name for place, name in enumerate(ids) if name in ids[:place])
            raise DataError(f"{path}: sensor {twice} appears twice; every sensor needs its own id")
    if raw.sensor_ids is None or road.sensor_ids is None:
        if num_sensors != num_nodes:
            turned = "; the table looks transposed" if len(raw.speeds) == num_nodes else ""
            raise DataError(
                f"{raw.path}: {num_sensors:,} columns, but {num_nodes:,} sensors in {road.path}, "
                f"and no sensor ids to match them by{turned}; give the ids of the columns"
            )
        return _join_by_place(raw, road)
    position = {name: place for place, name in enumerate(road.sensor_ids)}
    unknown = [name for name in raw.sensor_ids if name not in position]
    if unknown:
        remedy = "add them to the graph or remove their columns"
        if are_positions(raw.sensor_ids):
            remedy = "the columns are only numbered: give their ids, in order (sensor_ids)"
        raise DataError(
            f"{raw.path}: {count_sensors(unknown)} not in the graph {road.path}; {remedy}"
        )
    known = set(raw.sensor_ids)
    without = [name for name in road.sensor_ids if name not in known]
    notes = []
    if without:
        notes = [f"graph: {count_sensors(without)} without speeds left out"]
    elif raw.sensor_ids != road.sensor_ids:
        notes = ["graph: sensors put in the order of the speeds' columns"]
    graph = road.graph.induced_subgraph([position[name] for name in raw.sensor_ids])
    return raw.sensor_ids, graph, notes


def _join_by_place(raw: RawTraffic, road: RoadGraph) -> tuple[tuple[str, ...], CSRGraph, list[str]]:
    """As `_join`, for N columns and N rows of the graph, one of which have no ids."""
    ids = raw.sensor_ids or road.sensor_ids or tuple(map(str, range(road.graph.num_nodes)))
    rows = list(range(len(ids)))  # each column's row of the graph
    if are_positions(ids):
        numbers = [int(name) for name in ids]
        rows = numbers if raw.sensor_ids else np.argsort(numbers).tolist()
        ids = raw.sensor_ids or tuple(map(str, range(len(ids))))
    elif raw.sensor_ids is None and not road.in_order:
        raise DataError(
            f"{raw.path}: no sensor ids, and the sensors of {road.path} ({', '.join(ids[:3])}, "
            f"...) are not numbered 0 to {len(ids) - 1}; give the ids of the columns, in their "
            "order (sensor_ids)"
        )
    shown = list(zip(ids, rows, strict=True))[:3]
    if raw.sensor_ids:
        without, pairs = road.path, [f"sensor {name} is row {row}" for name, row in shown]
    else:
        without = raw.path
        pairs = [f"column {place} is sensor {name}" for place, (name, _) in enumerate(shown)]
    more = ", ..." if len(ids) > len(shown) else ""
    note = f"no sensor ids in {Path(without).name}: joined by position: {', '.join(pairs)}{more}"
    moved = rows != list(range(len(ids)))
    return ids, road.graph.induced_subgraph(rows) if moved else road.graph, [note]


def _check_speeds(
    raw: RawTraffic, sensor_ids: tuple[str, ...], null_value: float | None
) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """speeds as float32 with 0 for missing ones, valid, and notes."""
    # too large for float32 becomes inf, and is reported as such; some NaN are signals
    with np.errstate(over="ignore", invalid="ignore"):
        speeds = np.array(raw.speeds, np.float32, order="C")
        missing = np.isnan(speeds)
        if null_value is not None:  # in the precision that the file may have had
            missing |= speeds == np.float32(null_value)
    speeds[missing] = 0
    valid = ~missing
    infinite, beyond = ~np.isfinite(speeds), np.abs(speeds) > MOST
    expect_none(infinite, f"{raw.path}: speeds that are not finite", raw.speeds, sensor_ids)
    expect_none(beyond, f"{raw.path}: speeds beyond {MOST:g}", speeds, sensor_ids)
    notes = []
    if not valid.all():
        mark = "empty" if null_value is None else f"{null_value:g} or empty"
        notes.append(f"{(~valid).mean():.2%} of the readings are missing ({mark})")
    negative = speeds < 0
    if negative.any():
        row, column = np.argwhere(negative)[0]
        notes.append(
            f"warning: negative speeds: {negative.sum():,}, first {speeds[row, column]:g} at row "
            f"{row}, sensor {sensor_ids[column]}; they count as readings"
        )
    return speeds, valid, notes


def prepare_graph(
    where: str,
    graph: CSRGraph,
    graph_kind: GraphKind,
    self_loops: SelfLoops,
    sensor_ids: tuple[str, ...],
    max_pairs: float | None,
) -> tuple[CSRGraph, list[str]]:
    """The graph as it is trained on, and notes.

    max_pairs : see RoadGraph; None for weights from a file, of which many arcs are warned of.
    Raises DataError if more than `max_pairs` of all pairs of sensors, unless few, are neighbours.
    """
    loops = graph.num_self_loops
    arcs = f"graph: {graph.num_edges - loops:,} directed arcs"
    if graph_kind == "undirected":
        graph = graph.undirected(direction=graph.edge_dim > 0)
        arcs += f", {graph.num_edges - loops:,} after making it undirected"
    notes = [f"{arcs}; weights are ignored"]
    share = (graph.num_edges - loops) / max(1, graph.num_nodes * (graph.num_nodes - 1))
    many = graph.num_nodes >= 20
    if max_pairs is not None:
        if share > max_pairs and many:
            raise DataError(
                f"{where}: {share:.0%} of all pairs of sensors would be neighbours, which is "
                f"refused above {max_pairs:.0%}; choose fewer (neighbours, radius, sigma, "
                "threshold), or allow this share (max_pairs)"
            )
        notes.append(f"graph: {share:.1%} of all pairs of sensors are neighbours")
    elif share > DENSE and many:
        notes.append(
            f"warning: graph: {share:.0%} of all pairs of sensors are neighbours; weights near 0 "
            "are edges too: set those below a threshold (DCRNN's is 0.1) to 0"
        )
    prepared = graph.self_loops(self_loops)
    if prepared.num_self_loops != loops:
        change = "dropped" if self_loops == "drop" else "added"
        notes.append(f"graph: self-loops {change}: {abs(prepared.num_self_loops - loops):,}")
    lonely = [sensor_ids[n] for n in np.flatnonzero(prepared.degrees == 0)]
    if lonely:
        notes.append(f"graph: {count_sensors(lonely)} without a neighbour")
    elif max_pairs is not None:
        notes.append("graph: no sensor is without a neighbour")
    return prepared, notes
