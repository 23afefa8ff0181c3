"""Training a traffic forecaster (section 5.3): masked absolute error, scheduled sampling."""

import math
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from gaancore.array import resolve_device
from gaancore.data.traffic.batches import Scaler
from gaancore.data.traffic.dataset import TrafficDataset
from gaancore.data.traffic.windows import split_windows
from gaancore.errors import DataError
from gaancore.optim import Adam, PlateauSchedule
from gaancore.seeding import generator
from gaancore.tensor import Tensor
from gaancore.train.checkpoint import Groups
from gaancore.train.run import Run
from gaancore.train.run_folder import describe_data
from gaancore.train.traffic.baselines import historical_average, last_value
from gaancore.train.traffic.build import ForecastModel
from gaancore.train.traffic.forecaster import SpeedForecaster, with_known_features
from gaancore.train.traffic.metrics import (
    Forecaster,
    ForecastErrors,
    mean_errors,
    reported_steps,
    score,
)
from gaancore.train.traffic.pieces import PiecewiseGradient, pieces
from gaancore.train.traffic.settings import ForecastSettings

PARTS = ("train", "validation", "test")


@dataclass
class ForecastRun(Run):
    """One run of a traffic forecaster."""

    settings: ForecastSettings
    dataset: TrafficDataset
    model: ForecastModel = field(init=False)

    def __post_init__(self) -> None:
        self.settings = s = with_known_features(self.settings, self.dataset)
        self.device = resolve_device(self.device)
        self.data_facts = describe_data(self.dataset)
        self.windows = split_windows(
            self.dataset,
            history=s.history,
            horizon=s.horizon,
            split=s.split,
            fractions=s.fractions,
        )
        for part in PARTS:
            if not self.starts(part).size:
                raise DataError(
                    f"{self.dataset.where}: no {part} windows; give that part a share of fractions"
                )
        self.scaler = Scaler.fit(self.dataset, self.windows, per_sensor=s.scaler == "per-sensor")
        self.forecaster = SpeedForecaster(s, self.dataset, self.scaler, self.device)
        self.model = self.forecaster.model
        self.gradient = PiecewiseGradient(self.model, self.device)
        self.steps_per_epoch = -(-self.windows.train.size // s.batch_size)
        self.optimizer = Adam(self.model.named_parameters(), s.lr)
        rates = (s.lr, s.lr_floor, s.lr_factor, s.decay_patience, s.stop_patience)
        self.schedule = PlateauSchedule(*rates, best=-math.inf)

    def _learn(self, epoch: int, step: int) -> float | None:
        s = self.settings
        order = generator(s.seed, "order", epoch).permutation(self.windows.train)
        starts = order[step * s.batch_size : (step + 1) * s.batch_size]
        batch = self.forecaster.windows.cut(starts)
        count = int(batch.mask.sum())
        if not count:
            return None
        draws = generator(s.seed, "teacher", epoch, step).random(s.horizon - 1)
        truth = (draws < self.teacher_probability()).tolist()

        def loss_of(model: ForecastModel, part: slice) -> Tensor:
            return self.forecaster.loss(model, batch, part, truth, count)

        edges = len(starts) * self.dataset.graph.num_edges
        self.progress.edges += edges * (s.history + s.horizon) * s.num_layers
        parts = pieces(len(starts), self.dataset.num_sensors, self.device)
        return self.gradient.learn(loss_of, parts)

    def teacher_probability(self) -> float:
        """How likely the decoder is given the truth in the next step.

        tau / (tau + exp(step / tau)), the inverse sigmoid decay of Bengio et al. (2015).
        """
        tau = self.settings.teacher_decay
        exponent = self.progress.step / tau if tau else math.inf
        return tau / (tau + math.exp(exponent)) if exponent < 700 else 0.0

    def _score_validation(self) -> tuple[float, dict[str, Any]]:
        scores = self.score("validation")
        mae = scores["all steps"]["mae"]
        return -math.inf if mae is None else -mae, scores

    def score(self, part: str) -> dict[str, Any]:
        """Errors of forecasts for every window of `train`, `validation` or `test`: of each number
        of minutes ahead that the paper reports, their mean, and of all steps together.
        """
        return self._summary(self.errors(self.forecaster.predict, part))

    def baselines(self, part: str) -> dict[str, Any]:
        """The same of the guesses."""
        guesses = self.guesses().items()
        return {name: self._summary(self.errors(guess, part)) for name, guess in guesses}

    def guesses(self) -> dict[str, Forecaster]:
        """Forecasters that see no roads and learn nothing, by name."""
        guesses = {"last value": last_value(self.dataset, self.windows)}
        if self.dataset.time_of_day is not None:
            guesses["historical average"] = historical_average(self.dataset, self.windows)
        return guesses

    def errors(self, predict: Forecaster, part: str) -> ForecastErrors:
        """The errors of any forecaster, step by step."""
        size = self.settings.batch_size
        return score(predict, self.dataset, self.windows, self.starts(part), size)

    def starts(self, part: str) -> np.ndarray:
        """The first rows of the windows of a part."""
        w = self.windows
        return {"train": w.train, "validation": w.val, "test": w.test}[part]

    def reported_steps(self) -> dict[int, int]:
        """Minutes ahead -> steps ahead, of those that the paper reports."""
        return reported_steps(self.dataset.step, self.settings.horizon)

    def _summary(self, errors: ForecastErrors) -> dict[str, Any]:
        steps = self.reported_steps().items()
        each = {f"{minutes} min": errors.at(step) for minutes, step in steps}
        rows = {**each, "mean": mean_errors(list(each.values())), "all steps": errors.pooled()}
        return {name: asdict(row) for name, row in rows.items()}

    def _kept_with_best(self) -> Groups:
        return {"scaler": {"mean": self.scaler.mean, "scale": self.scaler.scale}}

    def _outcome(self) -> dict[str, Any]:
        return {"test": self.score("test"), "baselines": self.baselines("test")}

    def _logged(self) -> dict[str, Any]:
        return {
            "teacher_probability": self.teacher_probability(),
            "empty_steps": self.progress.empty_steps,
        }
