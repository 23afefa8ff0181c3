"""A traffic dataset in memory: speeds of sensors along roads, and the graph of the roads."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from gaancore.data.files.number_table import shortened
from gaancore.data.traffic.steps import later
from gaancore.display import Shown
from gaancore.graph import CSRGraph
from gaancore.system.disk import checksum

DAY = np.timedelta64(86400, "s")


@dataclass(frozen=True)
class Windows:
    """Which windows are trained on, validated on and tested on: each named by its first row.

    A window that starts at row s sees rows s .. s + history - 1 and predicts the next `horizon`
    rows. train, val, test: (W,) int64 first rows, in order of time.

    >>> import numpy as np
    >>> from gaancore.data import Windows
    >>> windows = Windows(3, 2, train=np.array([0, 1]), val=np.array([4]), test=np.array([9]))
    >>> windows.training_rows(8).tolist()
    [True, True, True, True, True, True, False, False]
    """

    history: int
    horizon: int
    train: np.ndarray
    val: np.ndarray
    test: np.ndarray

    @property
    def span(self) -> int:
        """Rows of one window, what it sees and what it predicts."""
        return self.history + self.horizon

    def training_rows(self, num_steps: int) -> np.ndarray:
        """(num_steps,) bool: the rows in any training window, seen or predicted."""
        changes = np.zeros(num_steps + 1, np.int64)
        np.add.at(changes, self.train, 1)
        np.add.at(changes, self.train + self.span, -1)
        return np.cumsum(changes[:-1]) > 0


@dataclass(frozen=True, repr=False)
class TrafficDataset(Shown):
    """Speeds at N sensors over T steps, and the graph of the sensors.

    graph        : N nodes; row i lists the sensors that i gathers from; no edge twice.
    speeds       : (T, N) float32, C-contiguous, in the files' units; 0 where a reading is missing.
    valid        : (T, N) bool, False where a reading is missing; from the files' unscaled numbers.
    stretches    : (S + 1,) int64; rows stretches[s] .. stretches[s + 1] - 1 follow each other one
                   step apart. Between two stretches is a gap, which no window may cross.
    step         : the time from one row to the next, in seconds; an integer where they are whole.
    times        : (T,) datetime64[s], or [us] if one has a fraction of a second; ascending; None if
                   the files do not say.
    time_of_day  : (T,) float32 in [0, 1), the elapsed part of the day; None if not known.
    sensor_ids   : the files' own names of the N sensors, as text.
    coordinates  : (N, 2) float64 latitude and longitude, or None.
    edge_names   : what the features of the graph's arcs are; none if its file has just arcs.
    windows      : the files' own split, if they come as windows that are split already.
    others       : (T, N, C) float32, other quantities that a forecast reads too, such as the flow
                   beside the speed; NaN where one is missing; None without any.
    other_names  : what the C of them are called.
    notes        : one line each, for the user: what was aligned, dropped or assumed.

    >>> from gaancore.data import synthetic_traffic
    >>> data = synthetic_traffic(num_days=2)
    >>> data.num_steps, data.num_sensors, data.step, data.sensor_ids[0]
    (576, 40, 300, 'road0-0')
    """

    family: ClassVar[str] = "traffic"

    kind: Literal["real", "synthetic"]
    path: str | None
    graph: CSRGraph
    speeds: np.ndarray
    valid: np.ndarray
    stretches: np.ndarray
    step: float
    times: np.ndarray | None
    time_of_day: np.ndarray | None
    sensor_ids: tuple[str, ...]
    coordinates: np.ndarray | None = None
    windows: Windows | None = None
    others: np.ndarray | None = None
    other_names: tuple[str, ...] = ()
    edge_names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def where(self) -> str:
        """What an error message starts with."""
        return self.path or "synthetic data"

    @property
    def num_steps(self) -> int:
        return self.speeds.shape[0]

    @property
    def num_sensors(self) -> int:
        return self.speeds.shape[1]

    @cached_property
    def day_of_week(self) -> np.ndarray | None:
        """(T,) int64, 0 for Monday to 6 for Sunday; None without dates."""
        if self.times is None:
            return None
        days = self.times.astype("datetime64[D]").astype(np.int64)
        return (days + 3) % 7  # day 0, 1970-01-01, was a Thursday

    def counts(self) -> dict[str, Any]:
        """How many of everything, as JSON can hold it."""
        return {
            "num_sensors": self.num_sensors,
            "num_edges": self.graph.num_edges,
            "num_steps": self.num_steps,
        }

    def _shown(self) -> dict[str, Any]:
        times = self.times
        return {
            "kind": self.kind,
            "path": self.path,
            **self.counts(),
            "step": self.step,
            "first": None if times is None else str(times[0]),
            "last": None if times is None else str(times[-1]),
            "speeds": self.speeds,
            "missing": f"{100 * (1 - float(self.valid.mean())):.3g} %",
            "others": self.others,
            "edge_attr": self.graph.edge_attr,
            "coordinates": self.coordinates,
            "notes": len(self.notes) or None,
        }

    def facts(self) -> dict[str, Any]:
        """What a run writes down about its data, as JSON can hold it: counts, sensors, the step in
        seconds, notes, a checksum of the graph, readings and times of day, and `checksums` of each
        part (see `part_checksums`).
        """
        graph = self.graph
        arrays = [graph.indptr, graph.indices, self.speeds, self.valid, self.stretches]
        if self.time_of_day is not None:
            arrays.append(self.time_of_day)
        return {
            "kind": self.kind,
            "path": self.path,
            "sensor_ids": list(self.sensor_ids),
            **self.counts(),
            "missing_share": round(1 - float(self.valid.mean()), 6),
            "step": self.step,
            "checksum": f"{checksum(arrays):08x}",
            "checksums": self.part_checksums(),
            "notes": list(self.notes),
        }

    def part_checksums(self) -> dict[str, str | None]:
        """A checksum of the graph, the features of its arcs, readings, times, coordinates, windows
        and other quantities each; None of what is not known.
        """
        times, w, roads = self.times, self.windows, self.graph.edge_attr
        parts: dict[str, list[np.ndarray] | None] = {
            "graph": [self.graph.indptr, self.graph.indices],
            "roads": None if roads is None else [roads],
            "readings": [self.speeds, self.valid, self.stretches],
            "times": None if times is None else [times.astype("datetime64[us]")],
            "coordinates": None if self.coordinates is None else [self.coordinates],
            "windows": None
            if w is None
            else [np.array([w.history, w.horizon]), w.train, w.val, w.test],
            "others": None if self.others is None else [self.others],
        }
        return {
            name: None if arrays is None else f"{checksum(arrays):08x}"
            for name, arrays in parts.items()
        }

    def in_order(self, sensor_ids: Sequence[str]) -> "TrafficDataset":
        """The same sensors in the order of `sensor_ids`, which are theirs."""
        place = {name: n for n, name in enumerate(self.sensor_ids)}
        order = np.array([place[name] for name in sensor_ids])
        return replace(
            self,
            graph=self.graph.induced_subgraph(order),
            speeds=np.ascontiguousarray(self.speeds[:, order]),
            valid=np.ascontiguousarray(self.valid[:, order]),
            sensor_ids=tuple(sensor_ids),
            coordinates=None if self.coordinates is None else self.coordinates[order],
            others=None if self.others is None else np.ascontiguousarray(self.others[:, order]),
        )

    def continued(self, steps: int) -> "TrafficDataset":
        """The same with `steps` more rows at the end, whose readings are all missing.

        What a forecast needs: a window of the last `history` rows has its future in them.
        """
        ahead = np.arange(1, steps + 1)
        times, time_of_day = self.times, self.time_of_day
        if times is not None:
            times = np.concatenate([times, later(times[-1], ahead, self.step)])
        if time_of_day is not None:
            days = time_of_day[-1] + ahead * (self.step / 86400)
            time_of_day = np.concatenate([time_of_day, (days % 1).astype(np.float32)])
        missing = np.zeros((steps, self.num_sensors))
        stretches = self.stretches.copy()
        stretches[-1] += steps
        others = self.others
        if others is not None:
            unknown = np.full((steps, *others.shape[1:]), np.nan, np.float32)
            others = np.concatenate([others, unknown])
        return replace(
            self,
            speeds=np.concatenate([self.speeds, missing.astype(np.float32)]),
            valid=np.concatenate([self.valid, missing.astype(bool)]),
            stretches=stretches,
            times=times,
            time_of_day=time_of_day,
            others=others,
        )


def part_of_day(times: np.ndarray) -> np.ndarray:
    """The elapsed part of the day at each of `times` (T,) datetime64: (T,) float32 in [0, 1)."""
    return ((times - times.astype("datetime64[D]")) / DAY).astype(np.float32)


def count_sensors(names: Sequence[str], most: int = 5) -> str:
    """`2 sensors (101, 104)`: how many, and the first of them."""
    shown = ", ".join(map(shortened, names[:most])) + (", ..." if len(names) > most else "")
    return f"{len(names):,} sensor{'s' if len(names) > 1 else ''} ({shown})"
