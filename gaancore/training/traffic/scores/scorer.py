"""Errors of forecasts, and of guesses beside them, on the windows of a dataset."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from gaancore.data.traffic.dataset import TrafficDataset, Windows
from gaancore.data.traffic.windows import split_windows, window_starts
from gaancore.errors import DataError
from gaancore.parallel import ALONE, Team, dealt
from gaancore.training.traffic.scores.baselines import Learned, historical_average, last_value
from gaancore.training.traffic.scores.metrics import (
    Forecaster,
    ForecastErrors,
    mean_errors,
    reported_steps,
    score,
)
from gaancore.training.traffic.settings import ForecastSettings

PARTS = ("train", "validation", "test")
ALL = "all"  # the name of the windows of data that are not the run's own


class ForecastScorer:
    """Scores forecasters on windows of one dataset.

    windows : by default the dataset's, split as the settings say.
    at      : what is reported beside the last step, see `reported_steps`.
    mape_min: by default as in the settings.
    learned : what guesses learn from, see baselines; None for the training part of the dataset.
    team    : the ranks that share out the windows; each gets the errors of all.
    Raises DataError if a part has no windows, SettingsError for `at`.
    """

    def __init__(
        self,
        dataset: TrafficDataset,
        settings: ForecastSettings,
        *,
        windows: Windows | None = None,
        at: Sequence[str] = (),
        mape_min: float | None = None,
        learned: Learned | None = None,
        team: Team = ALONE,
    ) -> None:
        s = settings
        self.dataset = dataset
        self.settings = settings
        self.mape_min = s.mape_min if mape_min is None else mape_min
        self.at = tuple(at)
        self.learned = learned
        self.team = team
        self.windows = windows or split_windows(
            dataset, history=s.history, horizon=s.horizon, split=s.split, fractions=s.fractions
        )
        w = self.windows
        self.parts = dict(zip(PARTS, (w.train, w.val, w.test), strict=True))
        if windows is not None:
            self.parts = {ALL: w.test}
        for part, starts in self.parts.items():
            if not starts.size:
                raise DataError(
                    f"{dataset.where}: no {part} windows; give that part a share of fractions"
                )
        self.reported_steps()

    def starts(self, part: str) -> np.ndarray:
        """The first rows of the windows of a part."""
        return self.parts[part]

    def errors(self, predict: Forecaster, part: str) -> ForecastErrors:
        """The errors of any forecaster, step by step."""
        starts, size = self.starts(part), self.settings.batch_size
        return score(predict, self.dataset, self.windows, starts, size, self.mape_min, self.team)

    def score(self, predict: Forecaster, part: str) -> dict[str, Any]:
        """Errors of each number of minutes ahead that is reported, their mean, and of all steps
        together.
        """
        errors = self.errors(predict, part)
        steps = self.reported_steps().items()
        each = {f"{minutes} min": errors.at(step) for minutes, step in steps}
        rows = {**each, "mean": mean_errors(list(each.values())), "all steps": errors.pooled()}
        return {name: asdict(row) for name, row in rows.items()}

    def baselines(self, part: str) -> dict[str, Any]:
        """The same of the guesses, by name."""
        return {name: self.score(guess, part) for name, guess in self.guesses().items()}

    def guesses(self) -> dict[str, Forecaster]:
        """Forecasters that see no roads and learn nothing, by name."""
        data, windows, learned = self.dataset, self.windows, self.learned
        guesses = {"last value": last_value(data, windows, learned)}
        source = data if learned is None else learned[0]
        if data.time_of_day is not None and source.time_of_day is not None:
            guesses["historical average"] = historical_average(data, windows, learned)
        return guesses

    def reported_steps(self) -> dict[float, int]:
        """Minutes ahead -> steps ahead, of those that are asked for, else those that the paper
        reports, and the last.
        """
        return reported_steps(self.dataset.step, self.settings.horizon, self.at)

    def predictions(self, predict: Forecaster, part: str) -> np.ndarray:
        """(horizon, W, N) float32: what is forecast from every window of a part, a run of the
        batches by each rank.
        """
        starts, size = self.starts(part), self.settings.batch_size
        own = dealt(range(0, len(starts), size), self.team)
        shape = (self.windows.horizon, -1, self.dataset.num_sensors)
        none = np.empty((shape[0], 0, shape[2]), np.float32)
        batches = [predict(starts[a : a + size]).reshape(shape) for a in own]
        found = self.team.all(np.concatenate([none, *batches], axis=1))
        return np.concatenate(found, axis=1)

    def rows_ahead(self, part: str) -> np.ndarray:
        """(horizon, W): the rows that the windows of a part forecast."""
        ahead = np.arange(self.windows.history, self.windows.span)
        return ahead[:, None] + self.starts(part)


def all_windows(dataset: TrafficDataset, settings: ForecastSettings) -> Windows:
    """Every window of data that are not the run's own, as its test windows.

    Raises DataError if there is none.
    """
    if dataset.windows is not None:
        w = dataset.windows
        starts = np.concatenate([w.train, w.val, w.test])
        lengths = (w.history, w.horizon)
        if lengths != (settings.history, settings.horizon):
            raise DataError(
                f"{dataset.where}: its windows are cut already, {w.history} steps in and "
                f"{w.horizon} out, unlike those of the run; give a series"
            )
    else:
        starts = window_starts(dataset, settings.history + settings.horizon)
    none = np.empty(0, np.int64)
    return Windows(settings.history, settings.horizon, none, none, starts)
