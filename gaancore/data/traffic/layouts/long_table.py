"""Readings in a table that has a row for each: `timestamp, sensor, value`."""

from array import array
from pathlib import Path

import numpy as np

from gaancore.data.files.decimal_commas import DecimalCommas
from gaancore.data.files.ids import plain_ids
from gaancore.data.files.named_table import NamedTable, has_columns, open_named_table
from gaancore.data.files.number_table import parse_numbers, shortened
from gaancore.data.files.times import TIME_NAMES, parse_times
from gaancore.data.traffic.make import RawTraffic
from gaancore.errors import DataError

SENSOR_NAMES = (
    *("sensor", "sensor_id", "sensorid", "station", "station_id", "detector", "detector_id"),
    *("node", "node_id", "segment", "segment_id", "id"),
)
CHOICES = [(time, sensor) for time in sorted(TIME_NAMES) for sensor in SENSOR_NAMES]


def is_long_table(path: Path) -> bool:
    """Whether the header names a time, a sensor and something else.

    Raises DataError if the file is missing, blank or not UTF-8.
    """
    return has_columns(path, CHOICES)


def read_long_table(path: Path, channel: str | None = None) -> RawTraffic:
    """A row for each reading, in any order; sensors in the order of first mention.

    channel : the column of the readings, by name or by number from 0 among those beside the time
              and the sensor; where there is one alone, None will do.
    A reading that has no row is missing. Raises DataError naming the line of a reading that is
    there twice, or is no number, and of a row without a time or a sensor.
    """
    table = open_named_table(path, CHOICES)
    time_at, sensor_at = table.keys
    value_at = _column(path, table, channel)
    commas = DecimalCommas(path)
    times: dict[str, int] = {}
    sensors: dict[str, int] = {}
    lines, rows, columns, values = array("q"), array("q"), array("q"), array("d")
    for line, cells in commas.replaced(table.rows):
        time, sensor = cells[time_at], cells[sensor_at]
        if not (time and sensor):
            raise DataError(f"{path}: line {line}: a reading without a time or a sensor")
        lines.append(line)
        rows.append(times.setdefault(time, len(times)))
        columns.append(sensors.setdefault(sensor, len(sensors)))
        values.extend(parse_numbers(path, line, [cells[value_at]], [value_at + 1]))
    at, more = parse_times(f"{path}: the column {table.columns[time_at]}", list(times))
    steps, step_of = np.unique(at, return_inverse=True)
    place = step_of.reshape(-1)[np.array(rows)] * len(sensors) + np.array(columns)
    _expect_once(path, place, np.array(lines), list(sensors))
    speeds = np.full(len(steps) * len(sensors), np.nan)
    speeds[place] = values
    name = table.columns[value_at]
    notes = [
        f"speeds: {path.name}: {name} of {len(sensors):,} sensors at {len(steps):,} times, a row "
        "for each reading",
        *(*table.notes, *commas.notes(), *more),
    ]
    if without := speeds.size - place.size:
        notes.append(f"{path.name}: {without:,} readings have no row: they are missing")
    return RawTraffic(
        path=str(path),
        speeds=speeds.reshape(len(steps), len(sensors)),
        sensor_ids=plain_ids(list(sensors)),
        times=steps,
        notes=tuple(notes),
    )


def _column(path: Path, table: NamedTable, channel: str | None) -> int:
    """The place of the column of readings."""
    others = [place for place in range(len(table.columns)) if place not in table.keys]
    names = [table.columns[place] for place in others]
    if not others:
        raise DataError(f"{path}: no column of readings beside the time and the sensor")
    if channel is None and len(others) == 1:
        return others[0]
    lowered = [name.lower() for name in names]
    if channel is not None and channel.lower() in lowered:
        return others[lowered.index(channel.lower())]
    if channel is not None and channel.isdecimal() and int(channel) < len(others):
        return others[int(channel)]
    asked = "" if channel is None else f", and no {shortened(channel)!r}"
    raise DataError(
        f"{path}: its columns of readings are {', '.join(map(shortened, names))}{asked}; choose "
        "one by name or number (channel)"
    )


def _expect_once(path: Path, place: np.ndarray, lines: np.ndarray, sensors: list[str]) -> None:
    """Raises DataError if two rows are about one sensor at one time."""
    order = np.argsort(place, kind="stable")
    again = np.flatnonzero(np.diff(place[order]) == 0)
    if again.size:
        second = again[np.argmin(lines[order[again + 1]])] + 1
        first, later = lines[order[second - 1]], lines[order[second]]
        raise DataError(
            f"{path}: lines {first} and {later} are both of sensor "
            f"{shortened(sensors[int(place[order[second]]) % len(sensors)])} at one time; keep one"
        )
