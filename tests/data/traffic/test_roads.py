"""Arcs from lengths, places and readings, each compared with loops over the pairs of sensors."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from small_traffic import IDS, arcs_of, small_traffic, speeds_of, times_of

from gaancore.choices import RoadChoices
from gaancore.data import load_metr_la
from gaancore.data.traffic.roads import (
    haversine,
    most_correlated,
    nearest_places,
    places_within,
    road_weights,
    with_correlated,
)
from gaancore.errors import DataError, SettingsError
from gaancore.tasks import TASKS

RNG = np.random.default_rng(3)
PLACES = np.stack([RNG.uniform(34.0, 34.4, 30), RNG.uniform(-118.6, -118.1, 30)], axis=1)


def kilometres(a: np.ndarray, b: np.ndarray) -> float:
    """The angle between two points of the unit sphere, by their dot product."""
    (y1, x1), (y2, x2) = np.radians(a), np.radians(b)
    points = [
        (math.cos(y) * math.cos(x), math.cos(y) * math.sin(x), math.sin(y))
        for y, x in ((y1, x1), (y2, x2))
    ]
    return 6371.0088 * math.acos(min(1.0, sum(p * q for p, q in zip(*points, strict=True))))


def test_the_distance_on_the_sphere_is_that_of_the_angle_between_the_points():
    for a, b in zip(PLACES[:15], PLACES[15:], strict=True):
        assert_allclose(haversine(a, b), kilometres(a, b), rtol=1e-6)
    assert_allclose(haversine(np.array([90.0, 0]), np.array([-90.0, 7])), 6371.0088 * math.pi)
    assert haversine(PLACES[0], PLACES[0]) == 0


@pytest.mark.parametrize("neighbours", [1, 4, 40])
def test_each_sensor_gathers_from_its_nearest(neighbours):
    expected = set()
    for n in range(30):
        others = sorted((kilometres(PLACES[n], PLACES[m]), m) for m in range(30) if m != n)
        expected |= {(m, n) for _, m in others[:neighbours]}
    assert arcs_of(nearest_places(PLACES, neighbours)) == expected


def test_of_equally_near_places_the_first_is_taken():
    places = np.array([[0.0, 0], [0, 1], [0, -1], [0, 1]])
    assert arcs_of(nearest_places(places, 1)) == {(1, 0), (3, 1), (0, 2), (1, 3)}


def test_sensors_within_a_radius_are_neighbours_both_ways():
    pairs = {
        (a, b) for a in range(30) for b in range(30)
        if a != b and kilometres(PLACES[a], PLACES[b]) <= 9
    }  # fmt: skip
    assert 0 < len(pairs) < 400
    assert arcs_of(places_within(PLACES, 9)) == pairs


def test_each_sensor_gathers_from_those_whose_readings_go_with_its_own():
    rng = np.random.default_rng(0)
    hidden = rng.standard_normal((300, 4))
    speeds = hidden @ rng.standard_normal((4, 9)) + 0.3 * rng.standard_normal((300, 9)) + 60
    valid = rng.random(speeds.shape) > 0.2
    speeds = np.where(valid, speeds, 0)
    expected = set()
    for n in range(9):
        found = []
        for m in range(9):
            both = valid[:, n] & valid[:, m]
            r = np.corrcoef(speeds[both, n], speeds[both, m])[0, 1]
            found += [(-r, m)] if m != n and r > 0 else []
        expected |= {(m, n) for _, m in sorted(found)[:3]}
    assert arcs_of(most_correlated(speeds, valid, 3)) == expected


def test_sensors_that_stand_still_or_go_against_each_other_are_no_neighbours():
    rising = np.arange(50.0)
    speeds = np.stack([rising, 100 - rising, np.full(50, 60.0), rising * 2], axis=1)
    assert arcs_of(most_correlated(speeds, np.ones(speeds.shape, bool), 3)) == {(0, 3), (3, 0)}


def test_a_correlation_does_not_depend_on_the_order_of_rows():
    speeds = speeds_of(500, 4, seed=1)
    valid = np.random.default_rng(2).random(speeds.shape) > 0.1
    order = np.random.default_rng(3).permutation(500)
    expected = most_correlated(speeds, valid, 2)
    assert arcs_of(most_correlated(speeds[order], valid[order], 2)) == arcs_of(expected)


def test_a_graph_of_readings_sees_the_training_part_alone(tmp_path):
    rising = np.arange(100.0)
    speeds = np.stack([rising, -rising, rising, rising], axis=1) + 200
    speeds[80:] = speeds[80:, ::-1]  # the test part says otherwise
    write_table(tmp_path / "speeds.csv", speeds)
    task = TASKS["forecast"]
    changes = {"graph_from": "correlation", "neighbours": 1, "history": 2, "horizon": 2}
    data = task.load(str(tmp_path), task.settings(("", changes)))
    seen = np.arange(100) < 71  # 68 windows of four rows
    alone = with_correlated(small_traffic(speeds), seen, RoadChoices(neighbours=1))
    assert arcs_of(data.graph) == arcs_of(alone.graph)
    assert (0, 2) in arcs_of(data.graph)
    assert any("over the 71 rows that are trained on" in note for note in data.notes), data.notes
    assert "graph: 1 sensor (102) without a neighbour" in data.notes


def write_table(path, speeds, ids=IDS) -> None:
    lines = [",".join(["time", *ids])]
    for time, row in zip(times_of(len(speeds)), speeds, strict=True):
        lines.append(",".join([str(time), *(f"{x:.2f}" for x in row)]))
    path.write_text("\n".join(lines))


def write_places(path, header="sensor_id,latitude,longitude", ids=IDS) -> None:
    rows = (f"{name},{y},{x}" for name, (y, x) in zip(ids, PLACES, strict=False))
    path.write_text("\n".join([header] * bool(header) + list(rows)))


HEADERS = ["sensor_id,latitude,longitude", "id,lat,lon", "Station,Lat,Lng", ""]


@pytest.mark.parametrize("header", HEADERS)
def test_places_beside_the_speeds_become_arcs(tmp_path, header):
    write_table(tmp_path / "speeds.csv", speeds_of(), IDS[::-1])
    write_places(tmp_path / "graph_sensor_locations_bay.csv", header)
    data = load_metr_la(tmp_path, roads=RoadChoices("knn", neighbours=1), graph_kind="directed")
    assert arcs_of(data.graph) == arcs_of(nearest_places(PLACES[:4][::-1], 1))
    assert_allclose(data.coordinates, PLACES[:4][::-1])
    assert "graph: no sensor is without a neighbour" in data.notes
    assert any(note.startswith("graph: each sensor and the 1 nearest") for note in data.notes)
    assert any(note.endswith("of all pairs of sensors are neighbours") for note in data.notes)


def test_places_that_cannot_be_used_are_refused(tmp_path):
    write_table(tmp_path / "speeds.csv", speeds_of())
    path = tmp_path / "graph_sensor_locations.csv"
    roads = RoadChoices("radius")
    with pytest.raises(DataError, match=r"no places of the sensors found: looked for \*locations"):
        load_metr_la(tmp_path, roads=roads)
    write_places(path, ids=IDS[:3])
    with pytest.raises(DataError, match=r"1 sensor \(104\) without a place in it; add them"):
        load_metr_la(tmp_path, roads=roads)
    path.write_text("sensor_id,latitude,longitude\n" + "".join(f"{n},380000,9\n" for n in IDS))
    with pytest.raises(DataError, match="sensor 101 is at 380000, 9, which are no degrees"):
        load_metr_la(tmp_path, roads=roads)
    with pytest.raises(DataError, match=r"or make arcs of the places of .*: knn \(graph_from"):
        load_metr_la(tmp_path)


def test_a_graph_of_too_many_pairs_is_refused_unless_asked_for(tmp_path):
    ids = tuple(str(n) for n in range(500, 530))
    write_table(tmp_path / "speeds.csv", speeds_of(30, 30), ids)
    write_places(tmp_path / "locations.csv", ids=ids)
    with pytest.raises(DataError, match=r"% of all pairs .* refused above 25%; .* \(max_pairs\)"):
        load_metr_la(tmp_path, roads=RoadChoices("radius", radius=100))
    data = load_metr_la(tmp_path, roads=RoadChoices("radius", radius=100, max_pairs=1))
    assert data.graph.num_edges == 30 * 29


def test_the_kernels_by_hand():
    lengths = np.array([0.0, 2000, 2600, 2700, 9000])
    stgcn = [math.exp(-((d / 10000) ** 2) / 0.1) for d in lengths]  # as its paper writes it
    expected = [w if w >= 0.5 else 0 for w in stgcn]
    assert_allclose(road_weights(lengths, RoadChoices(kernel="stgcn")), expected, rtol=1e-12)
    assert expected[2] > 0 == expected[3]
    own = road_weights(lengths, RoadChoices(sigma=1000, threshold=0.001))
    assert_allclose(own, [1, math.exp(-4), math.exp(-6.76), 0, 0])
    assert_allclose(road_weights(lengths, RoadChoices(kernel="none")), np.ones(5))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"graph_from": "all"}, "graph_from: expected one of file, knn"),
        ({"kernel": "box"}, "kernel: expected one of dcrnn, stgcn, none"),
        ({"neighbours": 0}, "neighbours: expected 1 or more"),
        ({"radius": 0.0}, "radius: expected kilometres above 0"),
        ({"sigma": -1.0}, "sigma: expected a length above 0"),
        ({"threshold": 2.0}, "threshold: expected 0 to 1"),
        ({"max_pairs": 1.5}, "max_pairs: expected 0 to 1"),
    ],
)
def test_choices_that_cannot_be_are_refused(changes, message):
    with pytest.raises(SettingsError, match=message):
        RoadChoices(**changes)
    with pytest.raises(SettingsError, match=message):
        TASKS["forecast"].settings(("", changes))


def test_a_single_sensor_needs_no_roads(tmp_path):
    write_table(tmp_path / "speeds.csv", speeds_of(30, 1), IDS[:1])
    data = load_metr_la(tmp_path)
    assert (data.num_sensors, data.graph.num_edges) == (1, 0)
    assert "graph: none; each sensor sees itself alone" in data.notes


# ------------------------------------------------------------------ the public files


def test_the_nearest_of_metr_la_are_mostly_its_real_neighbours(shared_data):
    folder = shared_data / "metr-la"
    real = load_metr_la(folder, start="2012-03-01").graph
    made = load_metr_la(folder, start="2012-03-01", roads=RoadChoices("knn", neighbours=8)).graph
    shared = arcs_of(made) & arcs_of(real)
    assert made.num_edges == 2024
    assert len(shared) / made.num_edges > 0.7
    assert len(shared) / real.num_edges > 0.5


def test_the_real_roads_of_pems08_with_made_up_speeds(shared_data, tmp_path):
    text = (shared_data / "cases" / "pems08_roads" / "distance.csv").read_text()
    (tmp_path / "distance.csv").write_text(text)
    speeds = np.random.default_rng(0).uniform(20, 70, (60, 170, 3))
    np.savez(tmp_path / "PEMS08.npz", data=speeds)
    listed = {tuple(map(int, line.split(",")[:2])) for line in text.split()[1:]}
    choices = RoadChoices(kernel="none")
    data = load_metr_la(tmp_path, channel="2", roads=choices, graph_kind="directed")
    assert data.num_sensors == 170
    assert arcs_of(data.graph) == listed
    assert_allclose(data.speeds, speeds[..., 2], rtol=1e-6)
    near = load_metr_la(tmp_path, graph_kind="directed")
    assert arcs_of(near.graph) < listed
    assert any("to keep every road, choose none (kernel)" in note for note in near.notes)
