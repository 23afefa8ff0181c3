"""A road graph as a list of edges in CSV, plain or with the lengths of the roads."""

from pathlib import Path

import numpy as np

from gaancore.data.files.ids import plain_ids
from gaancore.data.files.named_table import END_NAMES, open_named_table
from gaancore.data.files.number_table import shortened
from gaancore.data.traffic.make import RoadGraph
from gaancore.errors import DataError
from gaancore.graph import CSRGraph

LENGTH_NAMES = ("cost", "distance", "length")
THRESHOLD = 0.1
LONGEST = 1e12  # no road is, in any unit; squares of far longer ones would overflow


def read_road_edges(
    path: Path, ids: tuple[str, ...] | None, among: tuple[str, ...] | None
) -> RoadGraph:
    """Edges `from to`, `source target` or `src dst`, a line each, with commas, semicolons or tabs
    between; further columns are ignored, except lengths.

    With a column `cost`, `distance` or `length` (DCRNN's `distances_la_2012.csv`), only roads whose
    `gaussian_kernel` is not 0 are edges, and they have this weight and their length as features.
    Edges to other sensors are left out before.
    ids   : all sensors, in order, those without an edge too.
    among : without `ids`: the sensors wanted; a sensor is in the graph if the file names it.
    Raises DataError naming the line: no number, a negative length, one road with two lengths.
    """
    table = open_named_table(path, END_NAMES)
    src_at, dst_at = table.keys
    length_at = table.place_of(LENGTH_NAMES)
    lines, cells = [], []
    for line, row in table.rows:
        lines.append(line)
        cells += [row[src_at], row[dst_at], "0" if length_at is None else row[length_at]]
    ends = plain_ids([name for place, name in enumerate(cells) if place % 3 < 2])
    wanted = ids or among
    known = None if wanted is None else set(wanted)
    named: dict[str, None] = {}
    roads: dict[tuple[str, str], float] = {}
    left_out = 0
    for place, line in enumerate(lines):
        road = ends[2 * place], ends[2 * place + 1]
        if "" in road:
            raise DataError(f"{path}: line {line}: a road without a sensor at one end")
        named.update((end, None) for end in road if known is None or end in known)
        if known is not None and not known.issuperset(road):
            left_out += 1
            continue
        length = _length(path, line, cells[3 * place + 2])
        if roads.setdefault(road, length) != length:
            raise DataError(
                f"{path}: line {line}: the road {road[0]} -> {road[1]} has another length above; "
                "keep one of them"
            )
    if wanted and not named:
        raise DataError(
            f"{path}: none of its roads names a sensor of those wanted ({', '.join(wanted[:3])}, "
            f"...); the first is {ends[0]} -> {ends[1]}; write the roads with the sensors' ids"
        )
    sensors = ids or tuple(named)
    row_of = {name: place for place, name in enumerate(sensors)}
    kept, attr = list(roads), None
    notes = [f"graph: edges {path.name}", *table.notes]
    if left_out:
        notes.append(f"graph: {left_out:,} edges to other sensors left out")
    if length_at is not None:
        lengths = np.array(list(roads.values()))
        weights = gaussian_kernel(lengths)
        near, attr = weights > 0, np.column_stack([lengths, weights])[weights > 0]
        kept = [road for road, is_near in zip(roads, near, strict=True) if is_near]
        none = "" if kept else "warning: "
        notes.append(
            f"{none}graph: {len(kept):,} of {len(roads):,} roads are near (weight >= {THRESHOLD})"
        )
    pairs = np.array([(row_of[a], row_of[b]) for a, b in kept], np.int64).reshape(-1, 2)
    arcs = (pairs[:, 0], pairs[:, 1], len(sensors))
    graph = CSRGraph.from_edges(*arcs, duplicates="merge", edge_attr=attr)
    names = () if attr is None else ("distance", "weight")
    in_order = ids is not None
    return RoadGraph(str(path), graph, sensors, tuple(notes), in_order, edge_names=names)


def named_sensors(path: Path) -> tuple[str, ...]:
    """The sensors that a list of edges names, in the order of first mention."""
    table = open_named_table(path, END_NAMES)
    return tuple(dict.fromkeys(plain_ids([row[at] for _, row in table.rows for at in table.keys])))


def gaussian_kernel(lengths: np.ndarray) -> np.ndarray:
    """DCRNN's weights of roads of the given lengths (E,): exp(-(d / s)^2), 0 below 0.1.

    s is the population standard deviation of `lengths`; if all are equal, every weight is 1.
    Origin: github.com/liyaguang/DCRNN, scripts/gen_adj_mx.py.
    """
    spread = lengths.std() if lengths.size else 0.0
    if spread == 0:
        return np.ones(lengths.size)
    weights = np.exp(-((lengths / spread) ** 2))
    return np.where(weights < THRESHOLD, 0.0, weights)


def _length(path: Path, line: int, cell: str) -> float:
    try:
        length = float(cell)
    except ValueError:
        length = -1.0
    if not 0 <= length < LONGEST:
        remedy = "; write decimals with a point" if "," in cell else ""
        raise DataError(
            f"{path}: line {line}: length {shortened(cell)!r} is not a number from 0 to "
            f"{LONGEST:g}{remedy}"
        )
    return length
