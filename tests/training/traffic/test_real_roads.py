"""PEMS08's real roads with made-up jams that travel along them: the graph has to tell."""

from pathlib import Path

import numpy as np
import pytest

import gaancore

SENSORS, STEPS, HORIZON = 170, 400, 2
SMALL = {"hidden_dim": 16, "num_heads": 1, "key_dim": 4, "value_dim": 16, "gate_dim": 4}
SMALL |= {"fnn_dim": 32, "history": 4, "horizon": HORIZON, "epochs": 5, "batch_size": 8}
SMALL |= {"lr": 0.01, "features": "none", "teacher_decay": 0, "kernel": "none", "verbose": False}


def jams(roads: np.ndarray, seed: int) -> np.ndarray:
    """How jammed each sensor is, 0 to 1: (STEPS, SENSORS). A jam begins anywhere, lasts 4 to 8 steps
    and is 3 % weaker one sensor upstream, a step later; where roads part it is their mean.
    """
    rng = np.random.default_rng(seed)
    up, down = roads.T
    leaving = np.maximum(np.bincount(up, minlength=SENSORS), 1)
    found, left = np.zeros((STEPS, SENSORS)), np.zeros(SENSORS, np.int64)
    for step in range(1, STEPS):
        begins = (left == 0) & (rng.random(SENSORS) < 0.004)
        left = np.where(begins, rng.integers(4, 9, SENSORS), np.maximum(left - 1, 0))
        arrived = np.bincount(up, found[step - 1][down], SENSORS) / leaving
        found[step] = np.maximum(0.97 * arrived, left > 0)
    return found


def write_folder(folder: Path, text: str) -> Path:
    """The roads as people download them, and speeds from 65 down to 20 with noise of deviation 1."""
    roads = np.array([line.split(",")[:2] for line in text.split()[1:]], np.int64)
    noise = np.random.default_rng(1).standard_normal((STEPS, SENSORS))
    speeds = 65 - 45 * jams(roads, seed=0) + noise
    np.savez(folder / "PEMS08.npz", data=speeds[..., None])
    (folder / "distance.csv").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.slow
def test_jams_that_travel_along_real_roads_are_foreseen_by_a_network_that_sees_the_roads(
    shared_data, tmp_path
):
    text = (shared_data / "cases" / "pems08_roads" / "distance.csv").read_text(encoding="utf-8")
    folder, errors = write_folder(tmp_path, text), {}
    for model in ("avg-pool", "fnn"):
        run = gaancore.train(folder, out=tmp_path / model, model=model, **SMALL)
        errors[model] = run.record["test"]["all steps"]["mae"]
    errors |= {name: guess["all steps"]["mae"] for name, guess in run.record["baselines"].items()}
    assert set(errors) == {"avg-pool", "fnn", "last value"}  # less than two weeks have no average
    assert errors["avg-pool"] < 0.8 * min(errors["fnn"], errors["last value"]), errors
