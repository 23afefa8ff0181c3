"""DCRNN's windows: `train.npz val.npz test.npz`, each with `x` and `y` (W, steps, N, channels).

Channel 0 is the speed, channel 1, if present, the elapsed part of the day. Windows one step
apart repeat every row up to 24 times; the reader restores the series that they were cut from.
Origin: github.com/liyaguang/DCRNN, scripts/generate_training_data.py.
"""

from pathlib import Path

import numpy as np

from gaancore.data.files.arrays import listed_names, read_npz
from gaancore.data.traffic.dataset import Windows
from gaancore.data.traffic.layouts.speeds import one_channel
from gaancore.data.traffic.make import RawTraffic
from gaancore.errors import DataError

FILES = ("train.npz", "val.npz", "test.npz")
MEMBERS = ("x", "y", "x_offsets", "y_offsets")


def read_dcrnn_windows(folder: Path, channel: str | None = None) -> RawTraffic:
    """Read the three files into one series and the windows of it that are in each file.

    Windows that follow each other by one step share their rows; where one does not, a new stretch
    of rows begins. Shuffled windows come out as a stretch each, and a note says so.
    channel : the number of the one to read; 1 is the time of day.
    Raises DataError for a missing or damaged file and for arrays that do not fit each other.
    """
    rows: list[np.ndarray] = []
    follows: list[np.ndarray] = []
    shapes = set()
    last = None
    for name in FILES:  # one at a time: those of the whole METR-LA take 2 GB
        x, y = _read_part(folder / name)
        shapes.add((x.shape[1:], y.shape[1:]))
        if len(shapes) > 1:
            raise DataError(
                f"{folder / name}: windows of {x.shape[1:]} and {y.shape[1:]}, unlike those of the "
                "files before; steps, sensors and channels must agree"
            )
        new, part_follows, last = _unroll(x, y, last)
        rows += new
        follows.append(part_follows)
    series = np.concatenate(rows)
    history, horizon = x.shape[1], y.shape[1]
    ends = np.cumsum(np.where(np.concatenate(follows), 1, history + horizon))
    first_rows = ends - history - horizon
    stretches = np.append(first_rows[~np.concatenate(follows)], len(series))
    starts = np.split(first_rows, np.cumsum([part.size for part in follows])[:-1])
    counts = ", ".join(f"{part.size:,}" for part in follows)
    notes = [f"speeds: DCRNN windows ({counts}), split as the files are; {_found(stretches)}"]
    time_of_day = series[:, 0, 1] if series.shape[2] > 1 else None
    if time_of_day is not None and not ((time_of_day >= 0) & (time_of_day < 1)).all():
        notes.append("channel 1 is not in [0, 1), so not the time of day: left out")
        time_of_day = None
    speeds = series[..., 0]
    if channel is not None:
        speeds, chosen = one_channel(folder, "x", series, channel)
        notes += chosen
    return RawTraffic(
        path=str(folder),
        speeds=speeds,
        time_of_day=None if time_of_day is None else time_of_day.astype(np.float32),
        step=None if time_of_day is None else _step(time_of_day, stretches),
        stretches=stretches,
        windows=Windows(history, horizon, *starts),
        notes=tuple(notes),
    )


def _read_part(path: Path) -> tuple[np.ndarray, np.ndarray]:
    arrays = read_npz(path, MEMBERS)
    if not arrays.keys() >= {"x", "y"}:
        raise DataError(f"{path}: expected the arrays x and y; the file has {listed_names(path)}")
    x, y = arrays["x"], arrays["y"]
    fine = all(a.ndim == 4 and a.dtype.kind == "f" and 0 not in a.shape for a in (x, y))
    if not fine or len(x) != len(y) or x.shape[2:] != y.shape[2:]:
        raise DataError(
            f"{path}: expected x and y in shape (windows, steps, sensors, channels), the same "
            f"except for their steps; got {x.dtype} {x.shape} and {y.dtype} {y.shape}"
        )
    for name, expected in (
        ("x_offsets", np.arange(1 - x.shape[1], 1)),
        ("y_offsets", np.arange(1, y.shape[1] + 1)),
    ):
        if name in arrays and not np.array_equal(arrays[name].ravel(), expected):
            raise DataError(
                f"{path}: {name}: expected {expected[0]} to {expected[-1]}, so that y starts one "
                f"step after x; got {arrays[name].ravel().tolist()}"
            )
    return x, y


def _unroll(
    x: np.ndarray, y: np.ndarray, last: np.ndarray | None
) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """New rows of each window, whether it follows the one before it, and the last window."""
    rows, follows = [], np.zeros(len(x), bool)
    for number, window in enumerate(map(np.concatenate, zip(x, y, strict=True))):
        if last is not None:
            follows[number] = np.array_equal(last[1:], window[:-1], equal_nan=True)
        rows.append(window[-1:].copy() if follows[number] else window)
        last = window
    assert last is not None
    return rows, follows, last


def _step(time_of_day: np.ndarray, stretches: np.ndarray) -> float | None:
    """Seconds between rows, from times of day that may be float32; None where they stand still."""
    inside = np.ones(len(time_of_day) - 1, bool)
    inside[stretches[1:-1] - 1] = False
    ahead = np.diff(time_of_day.astype(np.float64))[inside] % 1 * 86400
    ahead = np.where(ahead > 86399.9, 0, ahead)  # less than nothing, by rounding
    seconds = float(np.median(ahead))
    if seconds < 1e-3:
        return None
    whole = round(seconds)
    return whole if whole and abs(seconds - whole) < 0.05 else round(seconds, 2)


def _found(stretches: np.ndarray) -> str:
    if len(stretches) == 2:
        return f"they are one series of {stretches[-1]:,} rows"
    return f"they are {len(stretches) - 1:,} stretches, {stretches[-1]:,} rows in all"
