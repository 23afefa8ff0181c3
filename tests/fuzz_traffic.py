"""Speeds and roads in every layout, and plain readings of their files: see fuzzing.py."""

from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from fuzzing import Facts, Sample, UnclearError, by_bytes, by_facts, plain_npy
from plain_nodes import csv_rows
from scipy import sparse
from small_traffic import ARCS, IDS, matrix, speeds_of, times_of, write_csv, write_pickle

from gaancore.data.traffic.dataset import TrafficDataset
from gaancore.data.traffic.metr_la import load_metr_la

ROWS = 12
SPEEDS = speeds_of(ROWS)
TIMES = times_of(ROWS)
TEXTS = [str(time) for time in TIMES.tolist()]  # 2012-03-01 00:05:00


def told(d: TrafficDataset) -> Facts:
    assert all(note.isprintable() for note in d.notes), d.notes
    rows = range(d.num_steps) if d.times is None else [str(t) for t in d.times.tolist()]
    facts: Facts = {
        ("speed", time, sensor): float(d.speeds[r, s]) if d.valid[r, s] else None
        for r, time in enumerate(rows)
        for s, sensor in enumerate(d.sensor_ids)
    }
    src, dst = d.graph.edges()
    for a, b in zip(src.tolist(), dst.tolist(), strict=True):
        facts["arc", *sorted((d.sensor_ids[a], d.sensor_ids[b]))] = True
    if d.coordinates is not None:
        places = zip(d.sensor_ids, d.coordinates.tolist(), strict=True)
        facts |= {("place", sensor): tuple(place) for sensor, place in places}
    if d.others is not None:
        cells = np.ndenumerate(d.others)
        rows = list(rows)
        facts |= {
            ("other", d.other_names[c], rows[r], d.sensor_ids[s]): None if np.isnan(x) else float(x)
            for (r, s, c), x in cells
        }
    if d.windows is not None:
        facts |= {("window", name): getattr(d.windows, name).tolist() for name in ("train", "val")}
        facts |= {("time of day", r): float(t) for r, t in enumerate(d.time_of_day)}
    return facts


def load(folder: Path) -> Facts:
    return told(load_metr_la(folder))


def _plain_time(text: str) -> str:
    with suppress(ValueError):
        return str(datetime.fromisoformat(text))
    return text


def speeds_with_times(content: bytes) -> Facts:
    header, *rows = csv_rows(content)
    return {
        ("speed", _plain_time(row[0]), sensor): cell
        for row in rows
        for sensor, cell in zip(header[1:], row[1:], strict=True)
    }


def _speeds_touched(whole: bytes, damaged: bytes) -> set[Any]:
    """A sensor that is no longer there takes its arcs along; without times rows have numbers."""
    names, found = csv_rows(whole)[0][1:], csv_rows(damaged)[0]
    if names == found:  # no times left
        raise UnclearError
    touched = by_facts(speeds_with_times)(whole, damaged)
    lost = {name for name in names if name not in found[1:]}
    return touched | {("arc", *sorted((a, b))) for a in lost for b in names}


def long_speeds(content: bytes) -> Facts:
    """The first quantity is the speed."""
    header, *rows = csv_rows(content)
    kinds = [("speed",), *(("other", name) for name in header[3:])]
    return {
        (*kind, _plain_time(time), sensor): cell
        for time, sensor, *cells in rows
        for kind, cell in zip(kinds, cells, strict=True)
    }


def long_touched(whole: bytes, damaged: bytes) -> set[Any]:
    """A time that is new has no reading of the other sensors, and a sensor none of other times."""
    if csv_rows(whole)[0] != csv_rows(damaged)[0]:
        raise UnclearError
    touched = by_facts(long_speeds)(whole, damaged)
    times, sensors = {key[-2] for key in touched}, {key[-1] for key in touched}
    for kind in {key[:-2] for key in long_speeds(whole)}:
        touched |= {(*kind, time, sensor) for time in times for sensor in (*IDS, *sensors)}
        touched |= {(*kind, time, sensor) for time in TEXTS for sensor in sensors - {*IDS}}
    left = {key[-1] for key in long_speeds(damaged)}
    return touched | {("arc", *sorted((a, b))) for a in {*IDS} - left for b in IDS}


def bare_speeds(content: bytes) -> Facts:
    rows = enumerate(csv_rows(content))
    return {("speed", r, s): x for r, row in rows for s, x in zip(IDS, row, strict=True)}


def roads(content: bytes) -> Facts:
    header, *rows = csv_rows(content)
    lowered = [name.lower() for name in header]
    pairs = [("source", "target"), ("src", "dst"), ("from", "to")]
    a, b = next(pair for pair in pairs if {*pair} <= {*lowered})
    a, b = lowered.index(a), lowered.index(b)
    return {("arc", *sorted((row[a], row[b]))): True for row in rows}


def roads_with_lengths(content: bytes) -> Facts:
    return {("lengths",): sorted(csv_rows(content))}


def _lengths_touched(whole: bytes, damaged: bytes) -> set[Any]:
    """The spread of all lengths decides which roads are short: one may change any."""
    if roads_with_lengths(whole) != roads_with_lengths(damaged):
        raise UnclearError
    return set()


def _matrix_touched(whole: bytes, damaged: bytes) -> set[Any]:
    """Columns without ids are joined by position: the header says whose speeds they are."""
    if csv_rows(whole)[0] != csv_rows(damaged)[0]:
        raise UnclearError
    return by_facts(matrix_csv)(whole, damaged)


def matrix_csv(content: bytes) -> Facts:
    header, *rows = csv_rows(content)
    facts: Facts = {}
    for name, row in zip(header, rows, strict=True):
        for other, cell in zip(header, row, strict=True):
            if name != other and float(cell):
                facts["arc", *sorted((name, other))] = True
    return facts


def matrix_npy(content: bytes) -> Facts:
    found = np.argwhere(plain_npy(content)).tolist()
    return {("arc", *sorted((IDS[a], IDS[b]))): True for a, b in found if a != b}


def places(content: bytes) -> Facts:
    header, *rows = csv_rows(content)
    at = [
        [name.lower() for name in header].index(n) for n in ("sensor_id", "latitude", "longitude")
    ]
    return {("place", row[at[0]]): (row[at[1]], row[at[2]]) for row in rows}


def order_touched(whole: bytes, damaged: bytes) -> set[Any]:
    """Rows of a bare matrix are joined with the list by position."""
    if damaged.decode("utf-8-sig").split() != whole.decode().split():
        raise UnclearError
    return set()


PAIRS = [("arc", *sorted((a, b))) for a in IDS for b in IDS]
SPEED_KEYS = [("speed", time, sensor) for time in TEXTS for sensor in IDS]


def _pickle_touched(whole: bytes, damaged: bytes) -> set[Any]:
    """Outside of the numbers of the matrix nothing may change, in an undirected graph."""
    try:
        return by_bytes((matrix(), PAIRS))(whole, damaged)
    except UnclearError:
        return set()


def _h5_touched(whole: bytes, damaged: bytes) -> set[Any]:
    """A row's time is part of every fact about the row."""
    nanoseconds = TIMES.astype("M8[ns]").astype(np.int64)
    touched = by_bytes((SPEEDS, SPEED_KEYS), (nanoseconds, [("row", t) for t in TEXTS]))
    if any(key[0] == "row" for key in touched(whole, damaged)):
        raise UnclearError
    return touched(whole, damaged)


def write_csv_and_pickle(folder: Path) -> None:
    write_csv(folder / "speeds.csv", SPEEDS, ["", *IDS], TEXTS)
    write_pickle(folder, protocol=4)


def write_bare_csv_and_matrix(folder: Path) -> None:
    write_csv(folder / "speeds.csv", SPEEDS)
    rows = [",".join(map(str, row)) for row in matrix().tolist()]
    (folder / "adj.csv").write_text("\n".join([",".join(IDS), *rows]) + "\n", encoding="utf-8")


def write_h5_and_distances(folder: Path) -> None:
    names = np.array(IDS, "S3")
    with h5py.File(folder / "metr-la.h5", "w") as file:
        group = file.create_group("df")
        group.attrs.update(pandas_type=np.bytes_(b"frame"), nblocks=1)
        group["axis0"], group["block0_items"], group["block0_values"] = names, names, SPEEDS
        group["axis1"] = TIMES.astype("M8[ns]").astype(np.int64)
        group["axis1"].attrs["kind"] = np.bytes_(b"datetime64")
    lines = [f"{IDS[a]},{IDS[b]},{100.0 + a}" for a, b in sorted(ARCS)]
    content = "\n".join(["from,to,cost", *lines, "101,104,9000.0"]) + "\n"
    (folder / "distances_la.csv").write_text(content, encoding="utf-8")
    (folder / "graph_sensor_ids.txt").write_text(",".join(IDS), encoding="utf-8")


def write_npz_and_edges(folder: Path) -> None:
    """The speed is the first of two channels."""
    data = np.stack([SPEEDS, SPEEDS + 1], axis=-1)
    np.savez(folder / "speeds.npz", data=data, sensor_ids=np.array(IDS), times=TIMES)
    lines = [f"{IDS[a]};{IDS[b]}" for a, b in sorted(ARCS)]
    (folder / "edges.csv").write_text("\n".join(["Source;Target", *lines]) + "\n", encoding="utf-8")
    lines = [f"{n},{name},{34 + n / 8},{-118 - n / 8}" for n, name in enumerate(IDS)]
    content = "\n".join(["index,sensor_id,latitude,longitude", *lines]) + "\n"
    (folder / "graph_sensor_locations.csv").write_text(content, encoding="utf-8")


def write_pems(folder: Path) -> None:
    """As the public PEMS: no ids of columns; roads name sensors by number."""
    np.savez_compressed(folder / "PEMS08.npz", data=np.stack([SPEEDS] * 3, axis=-1))
    lines = [f"{a},{b},{90.5 + a}" for a, b in sorted(ARCS)]
    (folder / "PEMS08.csv").write_text("\n".join(["from,to,cost", *lines]) + "\n", encoding="utf-8")


def write_windows_and_sparse(folder: Path) -> None:
    day = np.broadcast_to((np.arange(ROWS) * 300 / 86400)[:, None], SPEEDS.shape)
    rows = np.stack([SPEEDS, day], axis=-1)
    for name, starts in (("train", range(4)), ("val", range(4, 6)), ("test", range(6, 9))):
        x = np.stack([rows[s : s + 2] for s in starts])
        y = np.stack([rows[s + 2 : s + 4] for s in starts])
        offsets = {"x_offsets": np.array([[-1], [0]]), "y_offsets": np.array([[1], [2]])}
        np.savez(folder / f"{name}.npz", x=x, y=y, **offsets)
    sparse.save_npz(folder / "adj.npz", sparse.csr_array(matrix()))


def write_long_table(folder: Path) -> None:
    lines = [
        f"{time},{name},{SPEEDS[row, n]:.2f}"
        for row, time in enumerate(TEXTS)
        for n, name in enumerate(IDS)
    ]
    content = "\n".join(["time,sensor,value", *lines]) + "\n"
    (folder / "readings.csv").write_text(content, encoding="utf-8")
    write_pickle(folder, protocol=4)


def write_npz_and_npy(folder: Path) -> None:
    np.savez(folder / "speeds.npz", speed=SPEEDS, sensor_ids=np.array(IDS), start="2012-03-01")
    np.save(folder / "adj.npy", matrix())
    (folder / "graph_sensor_ids.txt").write_text("\n".join(IDS), encoding="utf-8")


SAMPLES = {
    "csv and pickle": Sample(
        write_csv_and_pickle,
        load,
        {"speeds.csv": _speeds_touched, "adj_mx.pkl": _pickle_touched},
    ),
    "bare csv and matrix": Sample(
        write_bare_csv_and_matrix,
        load,
        {"speeds.csv": by_facts(bare_speeds), "adj.csv": _matrix_touched},
    ),
    "h5 and distances": Sample(
        write_h5_and_distances,
        load,
        {"metr-la.h5": _h5_touched, "distances_la.csv": _lengths_touched},
    ),
    "npz and edges": Sample(
        write_npz_and_edges,
        load,
        {"edges.csv": by_facts(roads), "graph_sensor_locations.csv": by_facts(places)},
        either=("place",),
    ),
    "pems": Sample(write_pems, load, {"PEMS08.csv": _lengths_touched}),
    "long table": Sample(
        write_long_table, load, {"readings.csv": long_touched}, damaged=("readings.csv",)
    ),
    "windows and sparse": Sample(write_windows_and_sparse, load),
    "npz and npy": Sample(
        write_npz_and_npy,
        load,
        {"adj.npy": by_facts(matrix_npy), "graph_sensor_ids.txt": order_touched},
    ),
}
