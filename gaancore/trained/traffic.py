"""A run that forecasts traffic, opened."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import get_args

import numpy as np

from gaancore.data.traffic.dataset import TrafficDataset
from gaancore.errors import SettingsError, expect_choice
from gaancore.trained.opened import DEFAULT_SPLITS, OpenedRun, Scored
from gaancore.training.traffic.forecaster import SpeedForecaster, load_forecaster
from gaancore.training.traffic.latest import (
    STANDS_IN,
    LatestMissing,
    expect_read,
    joined,
    share_read,
)
from gaancore.training.traffic.scorer import PARTS, ForecastScorer

WARNING = "warning: "


@dataclass(frozen=True)
class Forecast:
    """Speeds of N sensors in the steps right after the last row of the data.

    speeds     : (horizon, N) float32, in the data's units.
    times      : (horizon,) datetime64[s]; None if the data have no times.
    sensor_ids : (N,) the data's own names, in the order of the run's.
    read       : (N,) of each sensor, the share of the last `history` readings, which the forecast
                 rests on, that are really there.
    warnings   : what to doubt, such as readings that look like another unit.
    notes      : what was assumed or joined when other data were read.
    """

    speeds: np.ndarray
    times: np.ndarray | None
    sensor_ids: tuple[str, ...]
    read: np.ndarray
    warnings: tuple[str, ...]
    notes: tuple[str, ...]


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

    kind_of_data = TrafficDataset

    @cached_property
    def forecaster(self) -> SpeedForecaster:
        """The best weights, on the run's own data."""
        return self._forecaster(self.dataset)

    def _forecaster(self, dataset: TrafficDataset) -> SpeedForecaster:
        return load_forecaster(self.folder, self.settings, dataset, self.device)

    def forecast(
        self,
        data: str | Path | TrafficDataset | None = None,
        *,
        start: str | None = None,
        missing: LatestMissing = "refuse",
    ) -> Forecast:
        """The steps after the last row, from the latest window; readings are scaled as in training.

        data    : readings of the run's sensors at its step, joined by sensor id; by default the
                  run's own.
        start   : the time of the first row at a path without times.
        missing : a forecast should rest on readings. `refuse` raises if a sensor has less than half
                  of its last `history` readings. The others forecast all the same: from the run's
                  `mean`, from a line between the readings of the window (`interpolate`), or from
                  what stood in for missing readings in training (`keep`).
        Raises DataError for other sensors or another step, if too few rows follow each other at
        the end, or if too few readings are there; SettingsError for another `missing`.
        """
        expect_choice("missing", missing, get_args(LatestMissing))
        own = data is None
        if own and start is not None:
            raise SettingsError("start: the run's own data are read as in training; leave it out")
        asked = self.dataset if data is None else self._asked(data, start)
        dataset, lines = joined(self.facts, asked)
        forecaster = self.forecaster if own else self._forecaster(dataset)
        history = self.settings.history
        read = share_read(dataset, history)
        lines += expect_read(dataset, read, history, missing)
        if doubt := forecaster.scaler.foreign_units(dataset):
            lines.append(f"warning: {doubt}")
        speeds = forecaster.latest(STANDS_IN[missing])
        ahead = dataset.continued(len(speeds))
        times = None if ahead.times is None else ahead.times[dataset.num_steps :]
        doubts = [line.removeprefix(WARNING) for line in lines if line.startswith(WARNING)]
        notes = [line for line in lines if not line.startswith(WARNING)]
        return Forecast(
            speeds,
            times,
            dataset.sensor_ids,
            read,
            warnings=tuple(doubts),
            notes=(*(() if own else dataset.notes), *notes),
        )

    def _asked(self, data: str | Path | TrafficDataset, start: str | None) -> TrafficDataset:
        """The readings to go on from; the run's own `start` is not that of other files."""
        if not isinstance(data, str | Path):
            if start is not None:
                raise SettingsError("start: these data are read already; leave it out")
            return self._given(data)
        dataset = self._load(str(data), start=start or "")
        if start is None and self.settings.start and dataset.path == self.facts["path"]:
            return self._load(str(data))
        return dataset

    def evaluate(
        self,
        splits: Sequence[str] | None = None,
        *,
        data: str | Path | TrafficDataset | None = None,
    ) -> Scored:
        """Errors of the best weights on all windows of some parts, in the data's units.

        splits : `train`, `validation` or `test`; by default the last two.
        data   : the same data, if they have moved or came from memory.
        Returns {split: {minutes ahead: errors}}, and for each split the errors of guesses that
        learn nothing. Raises SettingsError for other splits or other data.
        """
        splits = DEFAULT_SPLITS if splits is None else splits
        for split in splits:
            expect_choice("splits", split, PARTS)
        forecaster = self.forecaster if data is None else self._forecaster(self.own_data(data))
        scorer = ForecastScorer(forecaster.dataset, self.settings)
        found = Scored((split, scorer.score(forecaster.predict, split)) for split in splits)
        found.notes = (self.not_compared,) if self.not_compared else ()
        for split in splits:
            guesses = scorer.baselines(split).items()
            found.update({f"{guess} on {split}": errors for guess, errors in guesses})
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
