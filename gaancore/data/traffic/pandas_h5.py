"""A pandas table in HDF5 (`metr-la.h5`), read without pandas.

DataFrame.to_hdf's default ("fixed") layout: a group, `df` in METR-LA's file, with the column names
in `axis0`, the index in `axis1`, and for each type of column a pair `block0_items`,
`block0_values` (rows, columns). Origin: pandas.io.pytables.
"""

from pathlib import Path
from typing import Any

import numpy as np

from gaancore.data.traffic.make import RawTraffic
from gaancore.data.traffic.speeds import id_texts, parse_times
from gaancore.errors import DataError
from gaancore.system.disk import expect_file


def read_pandas_h5(path: Path) -> RawTraffic:
    """The only table of the file, its columns in the file's order.

    Column names may be bytes, text or integers; the index is datetimes, or anything else, which
    then says nothing of times. Raises DataError for a damaged file and for other layouts.
    """
    import h5py  # takes a tenth of a second to load, and other layouts do without it

    expect_file(path)
    try:
        with h5py.File(path, "r") as file:
            return _read_table(path, _only_table(path, file))
    except DataError:
        raise
    except Exception as error:  # h5py raises nearly anything for a damaged file
        reason = str(error).partition("\n")[0]
        raise DataError(
            f"{path}: not a readable HDF5 table: {reason} ({path.stat().st_size:,} bytes); "
            "truncated or damaged: fetch it again"
        ) from error


def _only_table(path: Path, file: Any) -> Any:
    """The one group that holds a DataFrame in the fixed layout."""
    found: dict[str, list[Any]] = {"frame": [], "frame_table": []}

    def visit(_: str, item: Any) -> None:
        found.get(_text(item.attrs.get("pandas_type", "")), []).append(item)

    file.visititems(visit)
    if len(found["frame"]) != 1:
        problem = f"{len(found['frame'])} tables in pandas' fixed layout"
        if found["frame_table"]:
            problem = "pandas' `table` layout"
        raise DataError(
            f"{path}: {problem}; expected a single one: save it with "
            'df.to_hdf(path, key="df", format="fixed")'
        )
    return found["frame"][0]


def _read_table(path: Path, table: Any) -> RawTraffic:
    columns = id_texts(table["axis0"][()])
    speeds = np.full((len(table["axis1"]), len(columns)), np.nan)
    place = {name: number for number, name in enumerate(columns)}
    for number in range(int(table.attrs["nblocks"])):
        names = id_texts(table[f"block{number}_items"][()])
        speeds[:, [place[name] for name in names]] = table[f"block{number}_values"][()]
    index, notes = table["axis1"], [f"speeds: {path.name}"]
    if "tz" in index.attrs:
        notes.append(f"timestamps are in UTC (the table's time zone is {_text(index.attrs['tz'])})")
    return RawTraffic(
        path=str(path),
        speeds=speeds,
        sensor_ids=columns,
        times=_times(path, index),
        notes=tuple(notes),
    )


def _times(path: Path, index: Any) -> np.ndarray | None:
    """`datetime64` (nanoseconds) or `datetime64[us]`, ...: integers since 1970."""
    kind = _text(index.attrs.get("kind", ""))
    if not kind.startswith("datetime64"):
        return None
    unit = kind.removeprefix("datetime64").strip("[]") or "ns"
    return parse_times(str(path), index[()].astype(f"datetime64[{unit}]"))


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
