"""Training a traffic forecaster (section 5.3): masked absolute error, scheduled sampling."""

import math
from typing import Any

from gaancore.array import resolve_device
from gaancore.data.traffic.batches import Scaler, readings_seen
from gaancore.data.traffic.dataset import TrafficDataset, Windows
from gaancore.optim import PlateauSchedule
from gaancore.parallel import ALONE, Shares, Team
from gaancore.tensor import Tensor
from gaancore.training.checkpoint import Groups
from gaancore.training.prefetch import Fetch
from gaancore.training.progress import Validation
from gaancore.training.run import Run
from gaancore.training.run_folder import RunFolder
from gaancore.training.step import Step
from gaancore.training.traffic import words
from gaancore.training.traffic.batches import Batch, Batches, teacher_probability
from gaancore.training.traffic.build import ForecastModel
from gaancore.training.traffic.forecaster import SpeedForecaster, with_known_features
from gaancore.training.traffic.scores.scorer import ForecastScorer
from gaancore.training.traffic.settings import ForecastSettings


class ForecastRun(Run):
    """One run of a traffic forecaster.

    Raises DataError if a part has no windows, or the data lack what a feature needs.
    """

    settings: ForecastSettings
    model: ForecastModel

    def __init__(
        self,
        settings: ForecastSettings,
        dataset: TrafficDataset,
        folder: RunFolder,
        device: str = "cpu",
        *,
        team: Team = ALONE,
    ) -> None:
        s = with_known_features(settings, dataset)
        device = resolve_device(device)
        self.dataset = dataset
        shares = Shares(s.shares, team)
        self.scorer = ForecastScorer(dataset, s, team=team)
        windows = self.scorer.windows
        self.scaler = Scaler.fit(dataset, windows, s.scaler, s.scaler_missing)
        self.forecaster = SpeedForecaster(s, dataset, self.scaler, device)
        self.batches = Batches(self.forecaster, windows.train, s, shares)
        rates = (s.lr, s.lr_floor, s.lr_factor, s.decay_patience, s.stop_patience)
        super().__init__(
            s,
            folder,
            device,
            model=self.forecaster.model,
            data_facts=dataset.facts(),
            steps_per_epoch=self.batches.steps_per_epoch,
            schedule=PlateauSchedule(*rates),
            shares=shares,
        )
        self.inputs_read = _inputs_read(dataset, windows)
        self.notes = tuple(words.inputs_read(self.inputs_read, s.missing))

    def fetch(self) -> Fetch[Step]:
        return Fetch(self.batches.step, self.progress.step, depth=0, device=self.device)

    def forward(self, model: ForecastModel, batch: Batch, part: slice) -> Tensor:
        return self.forecaster.speeds(model, batch.windows, part, batch.truth)

    def loss(self, outputs: Tensor, batch: Batch, part: slice, count: int) -> Tensor:
        return self.forecaster.loss(outputs, batch.windows, part, count)

    def validate(self) -> Validation:
        scores = self.scorer.score(self.forecaster.predict, "validation")
        mae = scores["all steps"]["mae"]
        logged = {
            "teacher_probability": self.teacher_probability(),
            "empty_steps": self.progress.empty_steps,
        }
        return Validation(-math.inf if mae is None else -mae, scores, logged)

    def teacher_probability(self) -> float:
        """How likely the decoder is given the truth in the next step."""
        return teacher_probability(self.settings.teacher_decay, self.progress.step)

    def kept_with_best(self) -> Groups:
        kept = {"mean": self.scaler.mean, "scale": self.scaler.scale}
        if self.scaler.other_mean.size:
            kept |= {"other_mean": self.scaler.other_mean, "other_scale": self.scaler.other_scale}
        return {"scaler": kept}

    def outcome(self) -> dict[str, Any]:
        test = self.scorer.score(self.forecaster.predict, "test")
        return {
            "test": test,
            "baselines": self.scorer.baselines("test"),
            "inputs_read": self.inputs_read,
        }


def _inputs_read(dataset: TrafficDataset, windows: Windows) -> dict[str, float]:
    """How much of what training windows see was really read: the share of readings that are there,
    and of windows of a sensor (`empty`) that hold none.
    """
    seen = readings_seen(dataset, windows.train, windows.history)
    share = float(seen.mean()) / windows.history
    return {"share": round(share, 6), "empty": round(float((seen == 0).mean()), 6)}
