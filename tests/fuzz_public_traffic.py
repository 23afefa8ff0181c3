"""Speeds and roads as public projects give them out, and several quantities: see fuzzing.py."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from fuzz_traffic import ROWS, SPEEDS, TEXTS, long_touched, told
from fuzzing import Facts, Sample, UnclearError, by_facts, plain_npy
from plain_nodes import csv_rows
from scipy import sparse
from small_traffic import ARCS, IDS, matrix, speeds_of, write_csv, write_pickle

from gaancore.choices import RoadChoices
from gaancore.data.traffic.metr_la import load_metr_la

CHANNELS = np.stack([SPEEDS, SPEEDS * 2], axis=2)
AT = np.array([[0, 0], [2000, 0], [2000, 1500], [20000, 0]])  # metres
METRES = np.sqrt(((AT[:, None] - AT) ** 2).sum(axis=2)).round(1)


def _load(**choices: Any) -> Callable[[Path], Facts]:
    return lambda folder: told(load_metr_la(folder, **choices))


def channels_npy(content: bytes) -> Facts:
    """The first channel is the speed, the next another quantity."""
    kinds = [("speed",), ("other", "1")]
    cells = np.ndenumerate(plain_npy(content))
    return {(*kinds[c], r, IDS[s]): float(x) for (r, s, c), x in cells if c < 2}


def speeds_under(*ids: str) -> Callable[[bytes, bytes], set[Any]]:
    """Rows without times, under a header if `ids` are in it. Roads are joined with the header."""

    def read(content: bytes) -> Facts:
        rows = enumerate(csv_rows(content)[bool(ids) :])
        names = ids or tuple(map(str, range(len(AT))))
        return {("speed", r, s): x for r, row in rows for s, x in zip(names, row, strict=True)}

    def touched(whole: bytes, damaged: bytes) -> set[Any]:
        if ids and csv_rows(damaged)[0] != list(ids):
            raise UnclearError
        return by_facts(read)(whole, damaged)

    return touched


def bare_roads(content: bytes) -> Facts:
    return {("arc", *sorted((a, b))): True for a, b, _ in csv_rows(content)}


def bare_places(content: bytes) -> Facts:
    return {("place", sensor): place for sensor, *place in csv_rows(content)}


def near(content: bytes) -> Facts:
    """As STGCN's paper has it; its diagonal is 0."""
    metres = np.array(csv_rows(content), float)
    assert metres.shape == METRES.shape
    assert not np.diag(metres).any()
    assert (metres >= 0).all()
    found = np.argwhere((np.exp(-((metres / 10000) ** 2) / 0.1) >= 0.5) & (metres != 0))
    return {("arc", *sorted(map(str, pair))): True for pair in found.tolist()}


def write_channels(folder: Path) -> None:
    np.save(folder / "flow.npy", CHANNELS)
    write_pickle(folder, protocol=4)
    (folder / "graph_sensor_ids.txt").write_text("\n".join(IDS), encoding="utf-8")


def write_long_channels(folder: Path) -> None:
    lines = [
        f"{time},{name},{','.join(f'{x:.2f}' for x in CHANNELS[row, n])}"
        for row, time in enumerate(TEXTS)
        for n, name in enumerate(IDS)
    ]
    content = "\n".join(["time,sensor,speed,flow", *lines]) + "\n"
    (folder / "readings.csv").write_text(content, encoding="utf-8")
    write_pickle(folder, protocol=4)


def write_pems_bay(folder: Path) -> None:
    """Neither the distances nor the places have a header."""
    write_csv(folder / "speeds.csv", SPEEDS, list(IDS))
    roads = [f"{IDS[a]},{IDS[b]},{100 + a}.5" for a, b in sorted(ARCS)]
    content = "\n".join([f"{IDS[0]},{IDS[0]},0.0", *roads, f"{IDS[3]},{IDS[0]},90.0"]) + "\n"
    (folder / "distances_bay_2017.csv").write_text(content, encoding="utf-8")
    lines = [f"{name},37.{n}64085,-121.9011{n}" for n, name in enumerate(IDS)]
    content = "\n".join(lines) + "\n"
    (folder / "graph_sensor_locations_bay.csv").write_text(content, encoding="utf-8")


def write_stgcn(folder: Path) -> None:
    write_csv(folder / "vel.csv", SPEEDS, list("0123"))
    sparse.save_npz(folder / "adj.npz", sparse.csc_matrix(matrix()))


def write_pemsd7(folder: Path) -> None:
    write_csv(folder / "PeMSD7_V_4.csv", speeds_of(ROWS))
    write_csv(folder / "PeMSD7_W_4.csv", METRES)


SAMPLES = {
    "npy, several channels": Sample(
        write_channels,
        _load(inputs=("1",)),
        {"flow.npy": by_facts(channels_npy)},
        damaged=("flow.npy",),
    ),
    "long table, several channels": Sample(
        write_long_channels,
        _load(channel="speed", inputs=("flow",)),
        {"readings.csv": long_touched},
        damaged=("readings.csv",),
    ),
    "pems-bay": Sample(
        write_pems_bay,
        _load(roads=RoadChoices(kernel="none", max_pairs=1)),
        {
            "speeds.csv": speeds_under(*IDS),
            "distances_bay_2017.csv": by_facts(bare_roads),
            "graph_sensor_locations_bay.csv": by_facts(bare_places),
        },
        either=("place",),
    ),
    "stgcn": Sample(write_stgcn, _load(), {"vel.csv": speeds_under(*"0123")}),
    "pemsd7": Sample(
        write_pemsd7,
        _load(roads=RoadChoices(kernel="stgcn", max_pairs=1)),
        {"PeMSD7_V_4.csv": speeds_under(), "PeMSD7_W_4.csv": by_facts(near)},
    ),
}
