"""A run that forecasts traffic, opened."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from gaancore.data.traffic.dataset import TrafficDataset
from gaancore.errors import expect_choice
from gaancore.trained.opened import OpenedRun
from gaancore.training.traffic.forecaster import SpeedForecaster, load_forecaster
from gaancore.training.traffic.scorer import PARTS, ForecastScorer


@dataclass(frozen=True)
class Forecast:
    """Speeds of N sensors in the steps right after the last row of the data.

    speeds     : (horizon, N) float32, in the data's units.
    times      : (horizon,) datetime64[s]; None if the data have no times.
    sensor_ids : (N,) the data's own names.
    warnings   : what to doubt, such as readings that look like another unit.
    """

    speeds: np.ndarray
    times: np.ndarray | None
    sensor_ids: tuple[str, ...]
    warnings: tuple[str, ...]


class TrafficRun(OpenedRun):
    """A run that forecasts the speeds of sensors.

    `data` is a path in any layout or a dataset of the same sensors; by default it is the run's own.

    >>> import gaancore
    >>> from gaancore.data import synthetic_traffic
    >>> data = synthetic_traffic(num_days=2)
    >>> sizes = {"hidden_dim": 4, "num_layers": 1, "num_heads": 1, "history": 3, "horizon": 2}
    >>> run = gaancore.train(data, out="roads", epochs=1, verbose=False, **sizes)
    >>> run.forecast().speeds.shape == (2, data.num_sensors)
    True
    """

    @cached_property
    def forecaster(self) -> SpeedForecaster:
        """The best weights, on the run's own data."""
        return self._forecaster(self.dataset)

    def _forecaster(self, dataset: TrafficDataset) -> SpeedForecaster:
        return load_forecaster(self.folder, self.settings, self.facts, dataset, self.device)

    def forecast(self, data: str | Path | TrafficDataset | None = None) -> Forecast:
        """The steps after the last row, from the latest window; readings are scaled as in training.

        Raises DataError if the sensors are not the run's, or if too few rows follow each other at
        the end.
        """
        if data is None:
            forecaster = self.forecaster
        else:
            dataset = data if isinstance(data, TrafficDataset) else self._load(str(data))
            forecaster = self._forecaster(dataset)
        dataset = forecaster.dataset
        warning = forecaster.scaler.foreign_units(dataset)
        speeds = forecaster.latest()
        ahead = dataset.continued(len(speeds))
        times = None if ahead.times is None else ahead.times[dataset.num_steps :]
        return Forecast(speeds, times, dataset.sensor_ids, (warning,) if warning else ())

    def evaluate(
        self,
        splits: Sequence[str] = ("validation", "test"),
        *,
        data: str | Path | TrafficDataset | None = None,
    ) -> dict[str, Any]:
        """Errors of the best weights on all windows of some parts, in the data's units.

        data : the same data, if they have moved or came from memory.
        Returns {split: {minutes ahead: errors}}, and for each split the errors of guesses that
        learn nothing. Raises SettingsError for other splits or other data.
        """
        for split in splits:
            expect_choice("splits", split, PARTS)
        forecaster = self.forecaster if data is None else self._forecaster(self.own_data(data))
        scorer = ForecastScorer(forecaster.dataset, self.settings)
        found = {split: scorer.score(forecaster.predict, split) for split in splits}
        for split in splits:
            guesses = scorer.baselines(split).items()
            found |= {f"{guess} on {split}": errors for guess, errors in guesses}
        return found

    def plot(
        self,
        folder: str | Path | None = None,
        *,
        sensors: Sequence[str] = (),
        data: str | Path | TrafficDataset | None = None,
    ) -> list[Path]:
        """Draw learning curves, forecasts against truth and errors; returns the PNG and SVG files.

        folder  : by default `plots` in the run's folder. data: the run's data, if they have moved.
        sensors : by id; by default the first.
        """
        from gaancore.plots import curves, forecasts  # matplotlib takes a second to import

        target = Path(folder) if folder is not None else self.path / "plots"
        name = f"{self.settings.model}, seed {self.settings.seed}"
        files = curves.learning_curves({name: self.path}, target / "learning-curves.png")
        forecaster = self.forecaster if data is None else self._forecaster(self.own_data(data))
        scorer = ForecastScorer(forecaster.dataset, self.settings)
        shown = sensors or forecaster.dataset.sensor_ids[:1]
        return files + forecasts.draw_plots(forecaster, scorer, shown, target)
