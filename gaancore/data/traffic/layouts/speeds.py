"""Speeds in a CSV table or in one `.npz`."""

from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from gaancore.data.files.arrays import listed_names, read_npz
from gaancore.data.files.ids import id_texts, plain_ids
from gaancore.data.files.number_table import read_number_table
from gaancore.data.files.times import (
    PLAIN,
    TIME_NAMES,
    counts_rows,
    looks_like_times,
    parse_times,
)
from gaancore.data.traffic.make import RawTraffic
from gaancore.data.traffic.steps import plain_step, times_from
from gaancore.errors import DataError

SPEED_NAMES = ("speed", "speeds", "data")
TIME_MEMBERS = ("times", "timestamps")
MEMBERS = (*SPEED_NAMES, *TIME_MEMBERS, "sensor_ids", "start", "step_minutes")


def read_speeds_csv(path: Path, known_ids: Callable[[], Collection[str]] = tuple) -> RawTraffic:
    """A row for each step, a column for each sensor; header and index or timestamps as they come.

    Times are what `parse_times` reads; a first column that counts the rows is left out.
    known_ids : the ids of the graph; asked for only where the first line is all numbers, to tell
                a header of ids from a row of readings.
    Raises DataError naming the line, also where the first column is neither readings nor times.
    """
    table = read_number_table(path, partial(_is_header, path, known_ids))
    values, columns, index, name = table.values, table.columns, table.index, table.index_name
    notes = [f"speeds: {path.name}", *table.notes]
    if index is None and _first_is_no_reading(values):
        index = tuple(f"{value:.0f}" for value in values[:, 0])
        name = columns[0] if columns else ""
        values, columns = values[:, 1:], columns and columns[1:]
    times: np.ndarray | None = None
    called = f"the first column ({name})" if name else "the first column"
    if index is not None and _counts(index, name):
        notes.append(f"{called} counts the rows: left out")
    elif index is not None:
        times, more = parse_times(f"{path}: {called}", index)
        notes += more
    return RawTraffic(
        path=str(path),
        speeds=values,
        sensor_ids=columns and plain_ids(columns),
        times=times,
        notes=tuple(notes),
    )


def _first_is_no_reading(values: np.ndarray) -> bool:
    """Whether column 0 counts the rows, or is too large for readings and ascends as times do."""
    num_rows, num_columns = values.shape
    if num_rows < 3 or num_columns < 2:
        return False
    return np.array_equal(values[:, 0], np.arange(num_rows)) or looks_like_times(values[:, 0])


def _counts(index: Sequence[str], name: str) -> bool:
    """Whether an index is row numbers; under the name of a time only from 0 or 1 on.

    The first may be empty: the corner of a header line that was a row.
    """
    index = index if index[0] else index[1:]
    if not all(map(PLAIN.fullmatch, index)):
        return False
    numbers = np.array(list(map(float, index)))
    return counts_rows(numbers) and (numbers[0] <= 1 or name.lower() not in TIME_NAMES)


def _is_header(
    path: Path, known_ids: Callable[[], Collection[str]], names: list[str], values: np.ndarray
) -> bool | None:
    """Whether a first line of numbers names sensors of the graph; None where that does not tell.

    Raises DataError where the numbers are sensors of the graph and could be readings too.
    """
    if not all(map(PLAIN.fullmatch, names)):
        return None
    known, ids = set(known_ids()), plain_ids(names)
    lowest = min(map(float, names))
    could_be_readings = bool((np.nan_to_num(values) >= lowest).any())
    if known.isdisjoint(ids):
        return False if known and could_be_readings else None
    if not known.issuperset(ids):
        return None
    if known == {*ids} or not could_be_readings:
        return True
    raise DataError(
        f"{path}: the first line could be a header of sensor ids, which the graph has too, or a "
        "row of readings; name the columns, or write the readings with a decimal point"
    )


def read_speeds_npz(path: Path) -> RawTraffic:
    """One archive: `speed`, `speeds` or `data` (T, N), or (T, N, F) with the speed first.

    Optional: `sensor_ids` (N,); `times` or `timestamps` (T,), datetime64 or what `parse_times`
    reads; or `start`, the time of the first row, and `step_minutes`. Other arrays are not
    unpacked. Raises DataError.
    """
    arrays = read_npz(path, MEMBERS)
    found = [name for name in SPEED_NAMES if name in arrays]
    if len(found) != 1:
        raise DataError(
            f"{path}: expected one array of speeds named {' or '.join(SPEED_NAMES)}; "
            f"the file has {listed_names(path)}"
        )
    speeds = arrays[found[0]]
    notes = [f"speeds: {path.name}"]
    if speeds.ndim == 3 and speeds.shape[2]:
        flow = " (the flow, in the public PEMS files)" if found[0] == "data" else ""
        notes.append(f"{found[0]}: channel 0 of {speeds.shape[2]} is taken as the speed{flow}")
        speeds = speeds[..., 0]
    if speeds.ndim != 2 or 0 in speeds.shape or speeds.dtype.kind not in "biuf":
        raise DataError(
            f"{path}: {found[0]}: expected numbers in shape (steps, sensors), got "
            f"{arrays[found[0]].dtype} {arrays[found[0]].shape}"
        )
    ids = arrays.get("sensor_ids")
    given = next((arrays[name] for name in TIME_MEMBERS if name in arrays), None)
    for name, values, count in (
        ("sensor_ids", ids, speeds.shape[1]),
        ("times", given, len(speeds)),
    ):
        if values is not None and values.shape != (count,):
            raise DataError(
                f"{path}: {name}: expected {count:,} of them for speeds {speeds.shape}, "
                f"got shape {values.shape}"
            )
    step = _seconds(path, arrays["step_minutes"]) if "step_minutes" in arrays else None
    times: np.ndarray | None = None
    more: tuple[str, ...] = ()
    if given is not None:
        times, more = parse_times(str(path), given)
    elif "start" in arrays:
        times, more = _from_start(path, arrays["start"], step, len(speeds))
    with np.errstate(invalid="ignore"):  # of a NaN that is a signal
        speeds = speeds.astype(np.float64)
    return RawTraffic(
        path=str(path),
        speeds=speeds,
        sensor_ids=None if ids is None else id_texts(str(path), ids),
        times=times,
        step=step,
        notes=(*notes, *more),
    )


def _from_start(
    path: Path, start: np.ndarray, step: float | None, num_steps: int
) -> tuple[np.ndarray, tuple[str, ...]]:
    if start.size != 1:
        raise DataError(
            f"{path}: start: expected one time, that of the first row, got {start.size:,}; "
            "write one, or all of them as times"
        )
    first, notes = parse_times(f"{path}: start", start.reshape(1))
    return times_from(first, step, num_steps), notes


def _seconds(path: Path, minutes: np.ndarray) -> float:
    """A step in seconds."""
    fits = minutes.size == 1 and minutes.dtype.kind in "iuf"
    if not fits or not 1e-6 < minutes.item() * 60 < 1e9:
        raise DataError(f"{path}: step_minutes: expected one number above 0, got {minutes}")
    return plain_step(minutes.item() * 60)
