"""Four sensors on a road, written by hand in every layout.

Roads 101 -> 102 -> 103 and 104 -> 102; each sensor also has the distance 0 to itself.
"""

import pickle
from pathlib import Path
from typing import Any

import numpy as np

from gaancore.data.traffic.dataset import TrafficDataset
from gaancore.data.traffic.make import RawTraffic, RoadGraph, make_traffic
from gaancore.graph import CSRGraph

IDS = ("101", "102", "103", "104")
ARCS = {(0, 1), (1, 2), (3, 1)}
UNDIRECTED = ARCS | {(b, a) for a, b in ARCS}
START = np.datetime64("2012-03-01T00:00:00", "s")  # a Thursday


def matrix() -> np.ndarray:
    weights = np.eye(4, dtype=np.float32)
    for number, (a, b) in enumerate(sorted(ARCS)):
        weights[a, b] = 0.3 + 0.1 * number
    return weights


def arcs_of(graph: CSRGraph) -> set[tuple[int, int]]:
    src, dst = graph.edges()
    return set(zip(src.tolist(), dst.tolist(), strict=True))


def speeds_of(num_steps: int = 30, num_sensors: int = 4, seed: int = 0) -> np.ndarray:
    """Readings with one decimal, all of them there."""
    return np.random.default_rng(seed).uniform(20, 70, (num_steps, num_sensors)).round(1) + 0.03


def times_of(num_steps: int) -> np.ndarray:
    return START + np.arange(num_steps) * np.timedelta64(300, "s")


def write_pickle(folder: Path, ids: tuple[str, ...] = IDS, protocol: int = 2) -> Path:
    path = folder / "adj_mx.pkl"
    rows = {name: row for row, name in enumerate(ids)}
    path.write_bytes(pickle.dumps([list(ids), rows, matrix()], protocol))
    return path


def write_csv(
    path: Path,
    speeds: np.ndarray,
    header: list[str] | None = None,
    index: list[Any] | None = None,
) -> Path:
    """index: the first column of each line, the header's not included."""
    lines = [] if header is None else [",".join(header)]
    for number, row in enumerate(speeds):
        cells = ["" if np.isnan(x) else f"{x:.2f}" for x in row]
        lines.append(",".join(cells if index is None else [str(index[number]), *cells]))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def small_traffic(speeds: np.ndarray, **changes: Any) -> TrafficDataset:
    """The dataset of the given speeds, five minutes apart; changes go to RawTraffic."""
    num_sensors = speeds.shape[1]
    ids = IDS[:num_sensors]
    kept = [(a, b) for a, b in sorted(ARCS) if max(a, b) < num_sensors]
    graph = CSRGraph.from_edges(
        [a for a, _ in kept], [b for _, b in kept], num_sensors, duplicates="merge"
    )
    given = {"sensor_ids": ids, "times": times_of(len(speeds))} | changes
    raw = RawTraffic(path="speeds.csv", speeds=speeds, **given)
    return make_traffic(raw, RoadGraph("roads.csv", graph, ids))
