"""A road graph as a list of edges in CSV, plain or with the lengths of the roads."""

import itertools
from pathlib import Path
from typing import NamedTuple

import numpy as np

from gaancore.choices import RoadChoices
from gaancore.data.files.arrays import read_csv_rows
from gaancore.data.files.decimal_commas import DecimalCommas
from gaancore.data.files.ids import plain_ids
from gaancore.data.files.named_table import (
    END_NAMES,
    NamedTable,
    has_columns,
    open_bare_table,
    open_named_table,
    starts_with_numbers,
)
from gaancore.data.files.number_table import shortened
from gaancore.data.files.separator import plain_separator
from gaancore.data.traffic.dataset import count_sensors
from gaancore.data.traffic.make import RoadGraph
from gaancore.data.traffic.roads import road_weights
from gaancore.errors import DataError
from gaancore.graph import CSRGraph

LENGTH_NAMES = ("cost", "distance", "length")
BARE = ("from", "to", "distance")  # the columns of a list of distances without a header
Road = tuple[str, str]  # from, to
LONGEST = 1e12  # no road is, in any unit; squares of far longer ones would overflow


def read_road_edges(
    path: Path,
    ids: tuple[str, ...] | None,
    among: tuple[str, ...] | None,
    choices: RoadChoices | None = None,
) -> RoadGraph:
    """Edges `from to`, `source target` or `src dst`, a line each, with commas, semicolons or tabs
    between; further columns are ignored, except lengths.

    With a column `cost`, `distance` or `length` (DCRNN's `distances_la_2012.csv`), only roads whose
    weight is not 0 are edges (see `road_weights`), and they have this weight and their length as
    features. Edges to other sensors are left out before.
    Without a header the columns are both ends and the length (`distances_bay_2017.csv`).
    ids   : all sensors, in order, those without an edge too.
    among : without `ids`: the sensors wanted; a sensor is in the graph if the file names it.
    Raises DataError naming the line: no number, a negative length, one road with two lengths.
    """
    choices = choices or RoadChoices()
    listed = _list_roads(path, ids or among)
    sensors = ids or listed.sensors
    row_of = {name: place for place, name in enumerate(sensors)}
    kept, attr, notes = list(listed.lengths), None, list(listed.notes)
    chosen = listed.has_lengths and choices.kernel != "none"
    if listed.has_lengths:
        lengths = np.array(list(listed.lengths.values()))
        weights = road_weights(lengths, choices)
        near = weights > 0
        attr = np.column_stack([lengths, weights])[near]
        if chosen:
            kept = [road for road, is_near in zip(kept, near, strict=True) if is_near]
            notes += _notes_of_near(path, list(listed.lengths), kept, choices)
    pairs = np.array([(row_of[a], row_of[b]) for a, b in kept], np.int64).reshape(-1, 2)
    graph = CSRGraph.from_edges(
        pairs[:, 0], pairs[:, 1], len(sensors), duplicates="merge", edge_attr=attr
    )
    return RoadGraph(
        str(path),
        graph,
        sensors,
        tuple(notes),
        in_order=ids is not None,
        max_pairs=choices.max_pairs if chosen else None,
        edge_names=() if attr is None else ("distance", "weight"),
    )


class _Roads(NamedTuple):
    """What a file lists: its roads with their lengths (0 where it has none) and its sensors."""

    lengths: dict[Road, float]
    sensors: tuple[str, ...]
    has_lengths: bool
    notes: tuple[str, ...]


def _list_roads(path: Path, wanted: tuple[str, ...] | None) -> _Roads:
    """The roads between sensors that are wanted; None: all. Raises DataError, see above."""
    table = _open(path)
    src_at, dst_at = table.keys
    length_at = table.place_of(LENGTH_NAMES)
    lines, cells = [], []
    commas = DecimalCommas(path)
    for line, row in commas.replaced(table.rows):
        lines.append(line)
        cells += [row[src_at], row[dst_at], "0" if length_at is None else row[length_at]]
    ends = plain_ids([name for place, name in enumerate(cells) if place % 3 < 2])
    known = None if wanted is None else set(wanted)
    named: dict[str, None] = {}
    roads: dict[Road, float] = {}
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
    notes = [f"graph: edges {path.name}", *table.notes, *commas.notes()]
    if left_out:
        notes.append(f"graph: {left_out:,} edges to other sensors left out")
    return _Roads(roads, tuple(named), length_at is not None, tuple(notes))


def _notes_of_near(
    path: Path, roads: list[Road], kept: list[Road], choices: RoadChoices
) -> list[str]:
    """What to say of roads of which only the near ones are kept."""
    none = "" if kept else "warning: "
    notes = [
        f"{none}graph: {len(kept):,} of {len(roads):,} roads are near "
        f"(weight >= {choices.least_weight:g})"
    ]
    alone = {end for road in roads for end in road} - {end for road in kept for end in road}
    if alone and kept:
        notes.append(
            f"warning: graph: {count_sensors(sorted(alone))} with roads in {path.name}, none of "
            "them near; to keep every road, choose none (kernel)"
        )
    return notes


def named_sensors(path: Path) -> tuple[str, ...]:
    """The sensors that a list of edges names, in the order of first mention."""
    table = _open(path)
    return tuple(dict.fromkeys(plain_ids([row[at] for _, row in table.rows for at in table.keys])))


def lists_roads(path: Path) -> bool:
    """Whether a table is a list of edges: by its header, or as distances without one by its name.

    Raises DataError if the file is missing, blank or not UTF-8.
    """
    if has_columns(path, END_NAMES):
        return True
    if not path.name.lower().startswith("distance"):
        return False
    lines = list(itertools.islice(read_csv_rows(path, plain_separator(path), strict=False), 4))
    return len(lines) != len(BARE) and starts_with_numbers(path, len(BARE))  # no 3 x 3 matrix


def _open(path: Path) -> NamedTable:
    if has_columns(path, END_NAMES):
        return open_named_table(path, END_NAMES)
    return open_bare_table(path, BARE, keys=BARE[:2])


def _length(path: Path, line: int, cell: str) -> float:
    try:
        length = float(cell)
    except ValueError:
        length = -1.0
    if not 0 <= length < LONGEST:
        raise DataError(
            f"{path}: line {line}: length {shortened(cell)!r} is not a number from 0 to {LONGEST:g}"
        )
    return length
