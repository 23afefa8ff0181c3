"""Forecasting runs on a few roads that take a moment."""

from pathlib import Path
from typing import Any

import pytest

from gaancore.data import TrafficDataset, synthetic_traffic
from gaancore.training.progress import RunInterrupt, Watcher
from gaancore.training.run_folder import RunFolder
from gaancore.training.traffic.run import ForecastRun
from gaancore.training.traffic.settings import ForecastSettings

SMALL = {
    "hidden_dim": 3,
    "num_heads": 1,
    "key_dim": 2,
    "value_dim": 2,
    "gate_dim": 2,
    "fnn_dim": 5,
    "history": 3,
    "horizon": 3,
    "batch_size": 100,
    "epochs": 2,
}


def small_roads(seed: int = 0) -> TrafficDataset:
    """6 sensors, 576 steps of five minutes."""
    return synthetic_traffic(seed, num_roads=2, sensors_per_road=3, num_days=2)


def forecast_run(
    folder: Path, dataset: TrafficDataset | None = None, device: str = "cpu", **changes: Any
) -> ForecastRun:
    """A run in `folder`, not begun."""
    settings = ForecastSettings(**(SMALL | changes))
    return ForecastRun(settings, dataset or small_roads(), RunFolder(folder), device)


def started(
    folder: Path, dataset: TrafficDataset | None = None, device: str = "cpu", **changes: Any
) -> ForecastRun:
    run = forecast_run(folder, dataset, device, **changes)
    run.start()
    return run


def run_until(run: ForecastRun, step: int) -> None:
    """Train to the end of `step`, save, and stop."""
    run.watcher = Watcher(stop_requested=lambda: run.progress.step >= step)
    with pytest.raises(RunInterrupt):
        run.train()


def small_traffic_options(**changes: Any) -> list[str]:
    """The same settings for the command line."""
    return [f"--set={name}={value}" for name, value in (SMALL | changes).items()]
