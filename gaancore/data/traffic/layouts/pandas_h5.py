"""A pandas table in HDF5 (`metr-la.h5`), read without pandas.

DataFrame.to_hdf's default ("fixed") layout: a group, `df` in METR-LA's file, with the column names
in `axis0`, the index in `axis1`, and for each type of column a pair `block0_items`,
`block0_values` (rows, columns). Origin: pandas.io.pytables.
"""

from pathlib import Path
from typing import Any

import numpy as np

from gaancore.data.files.ids import id_texts
from gaancore.data.files.times import counts_rows, parse_times
from gaancore.data.traffic.make import RawTraffic
from gaancore.errors import DataError
from gaancore.system.disk import expect_file

SAVE = 'save the table again with df.astype(float).to_hdf(path, key="df")'
PACKED = 1100  # bytes that a byte of the best compression of HDF5's own filters can stand for
FILTERS = {305: "lzo", 307: "bzip2", 32001: "blosc", 32026: "blosc2", 32015: "zstd"}


def read_pandas_h5(path: Path) -> RawTraffic:
    """The only table of the file, its columns in the file's order.

    Column names may be bytes, text or integers; the index is datetimes, text, numbers that are
    times, or counts the rows. No array is read that is larger than what the file holds for it.
    Raises DataError for a damaged file, other layouts, and compression that HDF5 does not bring.
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
    for axis in ("axis0", "axis1"):
        if _text(table.attrs.get(f"{axis}_variety", "regular")) != "regular":
            raise DataError(f"{path}: {axis} has several levels (a MultiIndex); give it one level")
    columns = id_texts(str(path), _array(path, table, "axis0"))
    index = _array(path, table, "axis1")
    place = {name: number for number, name in enumerate(columns)}
    blocks: list[tuple[list[int], np.ndarray]] = []
    missing = set(columns)
    for number in range(int(table.attrs["nblocks"])):
        names = id_texts(str(path), _array(path, table, f"block{number}_items"))
        if not missing.issuperset(names):
            raise DataError(
                f"{path}: block{number}_items names columns of another block, or none; {SAVE}"
            )
        missing -= set(names)
        values = _array(path, table, f"block{number}_values")
        if values.shape != (len(index), len(names)) or values.dtype.kind not in "biuf":
            raise DataError(
                f"{path}: block{number}_values: expected numbers in shape "
                f"{(len(index), len(names))}, got {values.dtype} {values.shape}; {SAVE}"
            )
        blocks.append(([place[name] for name in names], values))
    if missing:
        without = [name for name in columns if name in missing]
        raise DataError(
            f"{path}: {len(without):,} of {len(columns):,} columns have no values in it "
            f"({', '.join(without[:5])}); {SAVE}"
        )
    speeds = np.full((len(index), len(columns)), np.nan)
    with np.errstate(invalid="ignore"):  # of a NaN that is a signal
        for places, values in blocks:
            speeds[:, places] = values
    times, notes = _times(path, table["axis1"], index)
    return RawTraffic(
        path=str(path),
        speeds=speeds,
        sensor_ids=columns,
        times=times,
        notes=(f"speeds: {path.name}", *notes),
    )


def _array(path: Path, table: Any, name: str) -> np.ndarray:
    """One array of the table, if the file holds what it names.

    Raises DataError for Python objects, foreign compression, and numbers that nobody wrote.
    """
    import h5py

    data = table[name]
    if data.dtype.kind not in "biufS":
        raise DataError(f"{path}: {name} holds Python objects (text, perhaps), not numbers; {SAVE}")
    made = data.id.get_create_plist()
    filters = [made.get_filter(number)[0] for number in range(made.get_nfilters())]
    for code in filters:
        if not h5py.h5z.filter_avail(code):
            raise DataError(
                f"{path}: {name} is compressed by {FILTERS.get(code, f'filter {code}')}, which is "
                'not read here; save the table again with df.to_hdf(path, key="df", complevel=0)'
            )
    held = min(data.id.get_storage_size(), path.stat().st_size)
    chunk = np.prod(data.chunks, dtype=float) * data.dtype.itemsize if data.chunks else 0.0
    whole = np.prod(data.shape, dtype=float) * data.dtype.itemsize
    if whole > held * (PACKED if filters else 1) or (filters and chunk > held * PACKED):
        raise DataError(
            f"{path}: {name} is {whole:,.0f} bytes by its shape {data.shape}, but the file holds "
            f"{held:,} for it; it was not written whole: export it again"
        )
    return data[()]


def _times(path: Path, index: Any, values: np.ndarray) -> tuple[np.ndarray | None, list[str]]:
    """The index as times, and notes. pandas keeps datetimes as integers of a unit since 1970."""
    kind, notes = _text(index.attrs.get("kind", "")), []
    if _text(index.attrs.get("index_class", "")) == "period":
        raise DataError(
            f"{path}: its rows are periods of pandas, which say no unit here; save it again with "
            "df.index = df.index.to_timestamp()"
        )
    if "tz" in index.attrs:
        notes.append(f"timestamps are in UTC (the table's time zone is {_text(index.attrs['tz'])})")
    if kind.startswith("datetime64"):
        unit = kind.removeprefix("datetime64").strip("[]") or "ns"
        values = values.astype(f"datetime64[{unit}]")
    elif counts_rows(values):
        return None, ["the index counts the rows: no times in it"]
    elif kind.startswith("timedelta") or kind in ("date", "datetime", "bool", "complex"):
        raise DataError(
            f"{path}: its rows are named by {kind}, which is not read as times; save it again with "
            "df.index = pandas.to_datetime(df.index)"
        )
    times, more = parse_times(str(path), values)
    return times, [*notes, *more]


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
