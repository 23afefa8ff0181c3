"""A look-alike of METR-LA that needs no download: small, with structure that a graph helps to find.

Incidents slow a place down and then travel against the traffic, from sensor to sensor. A model
that sees the road ahead can foresee them; one that sees a single sensor cannot. Scores on it say
nothing about scores on METR-LA.
"""

from dataclasses import replace

import numpy as np
import scipy  # whose modules are imported at their first use

from gaancore.data.traffic.dataset import TrafficDataset
from gaancore.data.traffic.make import RawTraffic, RoadGraph, make_traffic
from gaancore.errors import SettingsError
from gaancore.graph import CSRGraph
from gaancore.seeding import generator

STEPS_PER_DAY = 288
FIRST_DAY = np.datetime64("2001-01-01T00:00:00", "s")  # a Monday
INCIDENTS_PER_SENSOR_AND_DAY = 0.5
STEPS_PER_HOP = 3
MOST_HOPS = 6
FADING = 0.9  # per hop


def synthetic_traffic(
    seed: int = 0, *, num_roads: int = 4, sensors_per_road: int = 10, num_days: int = 14
) -> TrafficDataset:
    r"""Speeds every five minutes at sensors along one-way roads that run into each other.

    Roads : sensor r * sensors_per_road + k is the k-th of road r; arcs lead to the next one, and
            from the end of each road into the first half of another.
    Truth : v_nt = f_n (1 - c_nt) (1 - j_nt), with free speeds f of 58 to 68 (miles per hour), the
            daily cycle c (rush hours of each road in the morning or evening, weaker on weekends),
            and jams j. An incident at (n, t) takes 40 to 80 % of the speed there for 20 to 60
            minutes; h <= 6 sensors back along the roads it arrives 15 h minutes later, 0.9^h as
            strong.
    Noise : slow, with standard deviation 1.5, and per reading, 1. No speed is below 3.
    Missing (0, as in METR-LA): 1 % of the readings, and outages of 1 to 6 hours, one for a sensor
            in four days on average.

    The same arguments give the same bits. Raises SettingsError below 2 roads of 2 sensors, 2 days.

    >>> from gaancore.data import synthetic_traffic
    >>> synthetic_traffic(num_days=2).speeds.shape
    (576, 40)
    """
    if num_roads < 2 or sensors_per_road < 2 or num_days < 2:
        raise SettingsError(
            f"synthetic_traffic: needs at least 2 roads of 2 sensors and 2 days, got {num_roads} "
            f"of {sensors_per_road} and {num_days}"
        )
    rng = generator(seed, "synthetic_traffic")
    graph = _draw_roads(rng, num_roads, sensors_per_road)
    num_steps, num_sensors = num_days * STEPS_PER_DAY, graph.num_nodes
    road = np.repeat(np.arange(num_roads), sensors_per_road)
    free = rng.uniform(58, 68, num_sensors)
    flowing = free * (1 - _daily_cycle(rng, num_steps, road)) * (1 - _jams(rng, num_steps, graph))
    noise = _slow_noise(rng, num_steps, num_sensors) + rng.standard_normal(flowing.shape)
    speeds = np.maximum(flowing + noise, 3.0)
    speeds[_outages(rng, num_steps, num_sensors)] = 0
    ids = tuple(f"road{r}-{k}" for r in range(num_roads) for k in range(sensors_per_road))
    places = [
        (34 + 0.05 * r, -118 + 0.01 * k) for r in range(num_roads) for k in range(sensors_per_road)
    ]
    raw = RawTraffic(
        path="synthetic_traffic",
        speeds=speeds,
        sensor_ids=ids,
        times=FIRST_DAY + 300 * np.arange(num_steps),
        notes=("synthetic data: its scores say nothing about METR-LA",),
    )
    dataset = make_traffic(
        raw,
        RoadGraph("synthetic_traffic", graph, ids),
        coordinates=dict(zip(ids, places, strict=True)),
        kind="synthetic",
    )
    return replace(dataset, path=None)


def _draw_roads(rng: np.random.Generator, num_roads: int, length: int) -> CSRGraph:
    """Chains, and a ramp from the end of each into another."""
    sensors = np.arange(num_roads * length).reshape(num_roads, length)
    others = (np.arange(num_roads) + rng.integers(1, num_roads, num_roads)) % num_roads
    entries = sensors[others, rng.integers(0, max(1, length // 2), num_roads)]
    src = np.concatenate([sensors[:, :-1].ravel(), sensors[:, -1]])
    dst = np.concatenate([sensors[:, 1:].ravel(), entries])
    return CSRGraph.from_edges(src, dst, sensors.size, duplicates="merge")


def _daily_cycle(rng: np.random.Generator, num_steps: int, road: np.ndarray) -> np.ndarray:
    """The share of the speed that the rush hour takes: (T, N)."""
    steps = np.arange(num_steps)
    hour = (steps % STEPS_PER_DAY) / (STEPS_PER_DAY / 24)
    weekend = steps // STEPS_PER_DAY % 7 >= 5
    peak = np.where(rng.random(road.max() + 1) < 0.5, 8.0, 17.5)[road]
    depth = rng.uniform(0.1, 0.4, road.size)
    shape = np.exp(-(((hour[:, None] - peak) / 1.5) ** 2))
    return depth * shape * np.where(weekend, 0.3, 1.0)[:, None]


def _jams(rng: np.random.Generator, num_steps: int, graph: CSRGraph) -> np.ndarray:
    """The share of the speed that incidents take: (T, N), the worst where several meet."""
    num_nodes = graph.num_nodes
    arcs = (np.ones(graph.num_edges), graph.indices, graph.indptr)  # each row leads back
    hops = scipy.sparse.csgraph.shortest_path(
        scipy.sparse.csr_array(arcs, shape=(num_nodes, num_nodes))
    )
    mean_count = INCIDENTS_PER_SENSOR_AND_DAY * num_nodes * num_steps / STEPS_PER_DAY
    jams = np.zeros((num_steps + MOST_HOPS * STEPS_PER_HOP + 20, num_nodes))
    for _ in range(rng.poisson(mean_count)):
        start, place = rng.integers(num_steps), rng.integers(num_nodes)
        strength, length = rng.uniform(0.4, 0.8), rng.integers(4, 13)
        pulse = strength * np.concatenate([[0.5], np.ones(length), [0.75, 0.5, 0.25]])
        for sensor in np.flatnonzero(hops[place] <= MOST_HOPS):
            away = int(hops[place, sensor])
            rows = start + away * STEPS_PER_HOP + np.arange(pulse.size)
            jams[rows, sensor] = np.maximum(jams[rows, sensor], pulse * FADING**away)
    return jams[:num_steps]


def _slow_noise(rng: np.random.Generator, num_steps: int, num_sensors: int) -> np.ndarray:
    """x_t = 0.95 x_{t-1} + e_t with a standard deviation of 1.5: (T, N)."""
    noise = rng.standard_normal((num_steps, num_sensors)) * 1.5 * np.sqrt(1 - 0.95**2)
    for step in range(1, num_steps):
        noise[step] += 0.95 * noise[step - 1]
    return noise


def _outages(rng: np.random.Generator, num_steps: int, num_sensors: int) -> np.ndarray:
    """(T, N) bool: which readings are missing."""
    missing = rng.random((num_steps, num_sensors)) < 0.01
    for sensor in range(num_sensors):
        for start in rng.integers(num_steps, size=rng.poisson(num_steps / STEPS_PER_DAY / 4)):
            missing[start : start + rng.integers(12, 73), sensor] = True
    return missing
