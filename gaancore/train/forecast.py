"""Training a traffic forecaster (section 5.3): masked absolute error, scheduled sampling."""

import math
from dataclasses import dataclass, field
from typing import Any

from gaancore.array import resolve_device
from gaancore.data.traffic import TrafficDataset
from gaancore.data.traffic_batches import Scaler
from gaancore.data.windows import split_windows
from gaancore.ops import masked_absolute_error
from gaancore.optim import Adam, PlateauSchedule
from gaancore.seeding import generator
from gaancore.tensor import Tensor
from gaancore.train.build import ForecastModel
from gaancore.train.forecast_settings import ForecastSettings
from gaancore.train.forecaster import Forecaster, with_known_features
from gaancore.train.pieces import PiecewiseGradient
from gaancore.train.record import describe_traffic
from gaancore.train.run import Run

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
        self.data_facts = describe_traffic(self.dataset)
        cut = {"history": s.history, "horizon": s.horizon, "split": s.split}
        self.windows = split_windows(self.dataset, fractions=s.fractions, **cut)
        self.scaler = Scaler.fit(self.dataset, self.windows, per_sensor=s.scaler == "per-sensor")
        self.forecaster = Forecaster(s, self.dataset, self.scaler)
        self.model = self.forecaster.model
        self.gradient = PiecewiseGradient(self.model)
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
            columns = self.forecaster.columns(part)
            speeds = self.forecaster.speeds(model, batch, part, truth)
            targets, mask = batch.targets[:, columns].T, batch.mask[:, columns].T
            return masked_absolute_error(speeds, targets, mask, count=count)

        return self.gradient.learn(loss_of, len(starts))

    def teacher_probability(self) -> float:
        """How likely the decoder is given the truth in the next step.

        tau / (tau + exp(step / tau)), the inverse sigmoid decay of Bengio et al. (2015).
        """
        tau = self.settings.teacher_decay
        exponent = self.progress.step / tau if tau else math.inf
        return tau / (tau + math.exp(exponent)) if exponent < 700 else 0.0

    def _score_validation(self) -> tuple[float, dict[str, Any]]:
        scores = self.score("validation")
        return -scores["mae"], scores

    def _logged(self) -> dict[str, Any]:
        return {
            "teacher_probability": self.teacher_probability(),
            "empty_steps": self.progress.empty_steps,
        }
