"""Where sensors are: a table of their latitudes and longitudes in degrees."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from gaancore.data.files.decimal_commas import DecimalCommas
from gaancore.data.files.ids import plain_ids
from gaancore.data.files.named_table import (
    NamedTable,
    has_columns,
    open_bare_table,
    open_named_table,
    starts_with_numbers,
)
from gaancore.data.files.number_table import shortened
from gaancore.errors import DataError

IDS = ("sensor_id", "sensor", "station_id", "station", "id")
DEGREES = (("latitude", "longitude"), ("lat", "lon"), ("lat", "lng"), ("lat", "long"))
COLUMNS = [(sensor, *place) for sensor in IDS for place in DEGREES]
FARTHEST = 1e9  # degrees, or metres on a map: beyond it is no place on the ground

Places = dict[str, tuple[float, float]]


def read_places(path: Path) -> Places:
    """Latitude and longitude by sensor id, from DCRNN's `graph_sensor_locations.csv`.

    Without a header the columns are the id, the latitude and the longitude, as PEMS-BAY's are.
    Raises DataError naming the line of what is no place, or of a sensor that is in two.
    """
    table = _open(path)
    lines, names, degrees = [], [], []
    for line, cells in DecimalCommas(path).replaced(table.rows):
        sensor, *place = (cells[key] for key in table.keys)
        degrees.append(_place(path, line, sensor, place))
        lines.append(line)
        names.append(sensor)
    places: Places = {}
    for line, sensor, at in zip(lines, plain_ids(names), degrees, strict=True):
        if places.setdefault(sensor, at) != at:
            raise DataError(f"{path}: line {line}: sensor {sensor} is elsewhere above; keep one")
    return places


def _open(path: Path) -> NamedTable:
    named: Iterator[tuple[str, ...]] = (names for names in COLUMNS if has_columns(path, [names]))
    if (names := next(named, None)) is not None:
        return open_named_table(path, [names])
    if starts_with_numbers(path, len(COLUMNS[0])):
        return open_bare_table(path, COLUMNS[0], COLUMNS[0])
    return open_named_table(path, COLUMNS[:1])  # which says what is missing


def _place(path: Path, line: int, sensor: str, cells: list[str]) -> tuple[float, float]:
    try:
        latitude, longitude = map(float, cells)
    except ValueError:
        raise DataError(
            f"{path}: line {line}: no sensor_id, latitude and longitude: "
            f"{shortened(','.join([sensor, *cells]))!r}"
        ) from None
    if not (np.abs([latitude, longitude]) <= FARTHEST).all():
        raise DataError(
            f"{path}: line {line}: sensor {sensor} is at {latitude}, {longitude}, which is no "
            "place; correct it, or remove the line"
        )
    return latitude, longitude
