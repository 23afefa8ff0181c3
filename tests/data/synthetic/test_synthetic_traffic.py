"""The synthetic roads: reproducible, labelled, and with something in the graph to find."""

from dataclasses import astuple

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from gaancore.data import TrafficDataset, split_windows, synthetic_traffic
from gaancore.errors import SettingsError


@pytest.fixture(scope="module")
def data() -> TrafficDataset:
    return synthetic_traffic()


def test_the_same_arguments_give_the_same_bits(data):
    again, other = synthetic_traffic(), synthetic_traffic(seed=1)
    for name in ("speeds", "valid", "times", "coordinates"):
        assert_array_equal(getattr(again, name), getattr(data, name))
    assert_array_equal(again.graph.indices, data.graph.indices)
    assert (other.speeds != data.speeds).mean() > 0.9


def test_it_is_labelled_and_has_the_shape_asked_for():
    data = synthetic_traffic(num_roads=3, sensors_per_road=4, num_days=2)
    assert data.kind == "synthetic"
    assert data.path is None
    assert data.notes[0].startswith("synthetic data: ")
    assert data.speeds.shape == (576, 12)
    assert data.graph.is_symmetric()
    assert data.graph.degrees.min() > 0
    assert data.day_of_week[0] == 0


def test_readings_are_plausible_and_some_are_missing(data):
    assert 0.02 < (~data.valid).mean() < 0.1
    assert not data.speeds[~data.valid].any()
    readings = data.speeds[data.valid]
    assert readings.min() >= 3
    assert readings.max() < 80
    assert 50 < readings.mean() < 65


def test_rush_hours_come_back_every_working_day(data):
    by_day = np.where(data.valid, data.speeds, np.nan).reshape(14, 288, -1)
    rush = np.nanmin(np.nanmedian(by_day[[0, 1, 2, 3, 4, 7, 8, 9, 10, 11]], axis=0), axis=0)
    night = np.nanmedian(by_day[:, :36], axis=(0, 1))
    assert (rush < 0.95 * night).all()


def test_jams_travel_against_the_traffic(data):
    speeds = np.where(data.valid, data.speeds, data.speeds[data.valid].mean())
    upstream, downstream = speeds[:, 0:9], speeds[:, 1:10]  # road 0, pairs of neighbours

    def correlation(a: np.ndarray, b: np.ndarray) -> float:
        return float(np.mean([np.corrcoef(x, y)[0, 1] for x, y in zip(a.T, b.T, strict=True)]))

    backward = correlation(downstream[:-3], upstream[3:])
    forward = correlation(upstream[:-3], downstream[3:])
    assert backward > forward + 0.2


def linear_rmse(data: TrafficDataset, inputs: list[np.ndarray], steps: int) -> float:
    """Test RMSE of a linear regression on 12 steps of each input, one for all sensors."""
    windows = split_windows(data)

    def design(starts: np.ndarray) -> np.ndarray:
        rows = starts + np.arange(12)[:, None]
        columns = [x[rows].reshape(12, -1) for x in inputs]
        return np.concatenate([*columns, np.ones((1, columns[0].shape[1]))]).T

    def labels(starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return data.speeds[starts + 11 + steps].ravel(), data.valid[starts + 11 + steps].ravel()

    y, there = labels(windows.train)
    x = design(windows.train)[there]
    weights = np.linalg.solve(x.T @ x, x.T @ y[there])
    y, there = labels(windows.test)
    return float(np.sqrt(np.mean((design(windows.test) @ weights - y)[there] ** 2)))


@pytest.mark.parametrize(("steps", "share"), [(3, 0.9), (6, 0.95)])
def test_a_linear_model_that_sees_the_neighbours_forecasts_better(data, steps, share):
    own = np.where(data.valid, data.speeds, data.speeds[data.valid].mean()).astype(np.float64)
    src, dst = data.graph.edges()
    neighbours = np.zeros_like(own)
    np.add.at(neighbours.T, dst, own.T[src])
    neighbours /= data.graph.degrees
    with_graph = linear_rmse(data, [own, neighbours], steps)
    without = linear_rmse(data, [own], steps)
    assert with_graph < share * without
    # and it is the roads that help, not twice as many numbers
    strangers = np.random.default_rng(0).permutation(data.num_sensors)
    assert linear_rmse(data, [own, neighbours[:, strangers]], steps) > 0.99 * without


@pytest.mark.parametrize("few", [{"num_roads": 1}, {"sensors_per_road": 1}, {"num_days": 1}])
def test_too_small_a_network_is_refused(few):
    with pytest.raises(SettingsError, match="needs at least 2 roads of 2 sensors and 2 days"):
        synthetic_traffic(**few)


def test_the_notes_and_ids_are_plain_text(data):
    assert all(isinstance(note, str) and "\n" not in note for note in data.notes)
    assert len(set(data.sensor_ids)) == data.num_sensors == 40
    assert astuple(split_windows(data))[:2] == (12, 12)
