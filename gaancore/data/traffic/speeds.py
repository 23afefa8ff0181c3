"""Speeds in a CSV table or in one `.npz`."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import numpy as np

from gaancore.data.files.arrays import read_npz
from gaancore.data.files.number_table import DATE, read_number_table
from gaancore.data.traffic.make import USUAL_STEP, RawTraffic
from gaancore.errors import DataError

SPEED_NAMES = ("speed", "speeds", "data")


def read_speeds_csv(path: Path) -> RawTraffic:
    """A row for each step, a column for each sensor; header and index or timestamps as they come.

    Timestamps are ISO 8601 without a time zone. Raises DataError naming the line.
    """
    table = read_number_table(path)
    values, columns, index = table.values, table.columns, table.index
    notes = [f"speeds: {path.name}", *table.notes]
    if index is None and _counts_rows(values):
        values, columns = values[:, 1:], columns and columns[1:]
        notes.append("the first column counts the rows: left out")
    return RawTraffic(
        path=str(path),
        speeds=values,
        sensor_ids=columns,
        times=parse_times(str(path), index) if index and any(map(DATE.fullmatch, index)) else None,
        notes=tuple(notes),
    )


def read_speeds_npz(path: Path) -> RawTraffic:
    """One archive: `speed`, `speeds` or `data` (T, N), or (T, N, F) with the speed first.

    Optional: `sensor_ids` (N,); `times` or `timestamps` (T,), datetime64 or ISO 8601 text; or
    `start`, the time of the first row, and `step_minutes`. Raises DataError.
    """
    arrays = read_npz(path)
    found = [name for name in SPEED_NAMES if name in arrays]
    if len(found) != 1:
        raise DataError(
            f"{path}: expected one array of speeds named {' or '.join(SPEED_NAMES)}; "
            f"the file has {', '.join(sorted(arrays)) or 'no arrays'}"
        )
    speeds = arrays[found[0]]
    notes = [f"speeds: {path.name}"]
    if speeds.ndim == 3 and speeds.shape[2]:
        notes.append(f"{found[0]}: channel 0 of {speeds.shape[2]} is taken as the speed")
        speeds = speeds[..., 0]
    if speeds.ndim != 2 or 0 in speeds.shape or speeds.dtype.kind not in "biuf":
        raise DataError(
            f"{path}: {found[0]}: expected numbers in shape (steps, sensors), got "
            f"{arrays[found[0]].dtype} {arrays[found[0]].shape}"
        )
    times = next((arrays[name] for name in ("times", "timestamps") if name in arrays), None)
    step = _seconds(path, arrays["step_minutes"]) if "step_minutes" in arrays else None
    if times is None and "start" in arrays:
        times = times_from(parse_times(str(path), arrays["start"].reshape(1)), step, len(speeds))
    elif times is not None:
        times = parse_times(str(path), times)
    ids = arrays.get("sensor_ids")
    for name, values, count in (
        ("sensor_ids", ids, speeds.shape[1]),
        ("times", times, len(speeds)),
    ):
        if values is not None and values.shape != (count,):
            raise DataError(
                f"{path}: {name}: expected {count:,} of them for speeds {speeds.shape}, "
                f"got shape {values.shape}"
            )
    return RawTraffic(
        path=str(path),
        speeds=speeds.astype(np.float64),
        sensor_ids=None if ids is None else id_texts(ids),
        times=times,
        step=step,
        notes=tuple(notes),
    )


def parse_times(where: str, times: Sequence[str] | np.ndarray) -> np.ndarray:
    """datetime64[s] of times as datetime64 or text. Raises DataError naming the first bad row."""
    if isinstance(times, np.ndarray) and times.dtype.kind == "M":
        parsed = times.astype("datetime64[s]")
        if np.isnat(parsed).any():
            raise DataError(f"{where}: row {int(np.argmax(np.isnat(parsed)))} has no timestamp")
        return parsed
    parsed_times = []
    for row, text in enumerate(times):
        try:
            time = datetime.fromisoformat(str(text))
        except ValueError:
            raise DataError(
                f"{where}: row {row}: timestamp {str(text)!r} is not like 2012-03-01 00:05"
            ) from None
        if time.tzinfo is not None:
            raise DataError(
                f"{where}: row {row}: timestamp {text} has a time zone; write local time without it"
            )
        parsed_times.append(time)
    return np.array(parsed_times, dtype="datetime64[s]")


def times_from(start: np.ndarray, step: int | None, num_steps: int) -> np.ndarray:
    """The times of `num_steps` rows, `step` seconds apart, from `start` (1,) datetime64 on."""
    return start + np.arange(num_steps) * np.timedelta64(step or USUAL_STEP, "s")


def id_texts(ids: np.ndarray) -> tuple[str, ...]:
    """Sensor ids as text, from bytes, str or integers."""
    if ids.dtype.kind == "S":
        ids = np.char.decode(ids, "utf-8", "replace")
    return tuple(str(name) for name in ids.tolist())


def _seconds(path: Path, minutes: np.ndarray) -> int:
    """A step in whole seconds."""
    if minutes.size != 1 or minutes.dtype.kind not in "iuf" or not 1 <= minutes.item() * 60 < 1e9:
        raise DataError(f"{path}: step_minutes: expected one number above 0, got {minutes}")
    return round(minutes.item() * 60)


def _counts_rows(values: np.ndarray) -> bool:
    """Whether column 0 is 0, 1, 2, ..."""
    num_rows, num_columns = values.shape
    return num_rows > 2 and num_columns > 1 and np.array_equal(values[:, 0], np.arange(num_rows))
