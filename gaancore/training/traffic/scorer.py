"""Errors of forecasts, and of guesses beside them, on the windows of a dataset."""

from dataclasses import asdict
from typing import Any

import numpy as np

from gaancore.data.traffic.dataset import TrafficDataset
from gaancore.data.traffic.windows import split_windows
from gaancore.errors import DataError
from gaancore.training.traffic.baselines import historical_average, last_value
from gaancore.training.traffic.metrics import (
    Forecaster,
    ForecastErrors,
    mean_errors,
    reported_steps,
    score,
)
from gaancore.training.traffic.settings import ForecastSettings

PARTS = ("train", "validation", "test")


class ForecastScorer:
    """Scores forecasters on the windows of one dataset, split as the settings say.

    Raises DataError if a part has no windows.
    """

    def __init__(self, dataset: TrafficDataset, settings: ForecastSettings) -> None:
        s = settings
        self.dataset = dataset
        self.settings = settings
        self.windows = split_windows(
            dataset, history=s.history, horizon=s.horizon, split=s.split, fractions=s.fractions
        )
        for part in PARTS:
            if not self.starts(part).size:
                raise DataError(
                    f"{dataset.where}: no {part} windows; give that part a share of fractions"
                )

    def starts(self, part: str) -> np.ndarray:
        """The first rows of the windows of `train`, `validation` or `test`."""
        w = self.windows
        return {"train": w.train, "validation": w.val, "test": w.test}[part]

    def errors(self, predict: Forecaster, part: str) -> ForecastErrors:
        """The errors of any forecaster, step by step."""
        s = self.settings
        starts = self.starts(part)
        return score(predict, self.dataset, self.windows, starts, s.batch_size, s.mape_min)

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
        guesses = {"last value": last_value(self.dataset, self.windows)}
        if self.dataset.time_of_day is not None:
            guesses["historical average"] = historical_average(self.dataset, self.windows)
        return guesses

    def reported_steps(self) -> dict[float, int]:
        """Minutes ahead -> steps ahead, of those that the paper reports and the last."""
        return reported_steps(self.dataset.step, self.settings.horizon)
