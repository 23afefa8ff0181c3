"""Which windows a training step is about, and where the decoder is given the truth."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gaancore.data.traffic.batches import TrafficBatch
from gaancore.seeding import generator
from gaancore.training.pieces import pieces
from gaancore.training.traffic.forecaster import SpeedForecaster
from gaancore.training.traffic.settings import ForecastSettings


@dataclass(frozen=True)
class Batch:
    """All that a step needs.

    windows : of B sequences, on the host. parts: the sequences of each piece.
    truth   : for each step that is forecast but the last, whether the decoder is then given the
              true speed. count: readings to learn from.
    """

    windows: TrafficBatch
    parts: list[slice]
    truth: Sequence[bool]
    count: int
    edges: int

    def to(self, device: str) -> "Batch":
        """The same: its pieces are sent one by one, when their turn comes."""
        return self


class Batches:
    """The steps of every epoch over the training windows, each a function of (run seed, step)."""

    def __init__(
        self, forecaster: SpeedForecaster, starts: np.ndarray, settings: ForecastSettings
    ) -> None:
        self.forecaster = forecaster
        self.starts = starts
        self.settings = settings

    @property
    def steps_per_epoch(self) -> int:
        return -(-self.starts.size // self.settings.batch_size)

    def batch(self, number: int) -> Batch:
        """Step `number` of the run, counted from 0."""
        s, forecaster = self.settings, self.forecaster
        epoch, step = divmod(number, self.steps_per_epoch)
        order = generator(s.seed, "order", epoch).permutation(self.starts)
        starts = order[step * s.batch_size : (step + 1) * s.batch_size]
        windows = forecaster.windows.cut(starts)
        draws = generator(s.seed, "teacher", epoch, step).random(s.horizon - 1)
        edges = len(starts) * forecaster.dataset.graph.num_edges
        return Batch(
            windows,
            parts=pieces(len(starts), forecaster.num_sensors, forecaster.device),
            truth=(draws < teacher_probability(s.teacher_decay, number)).tolist(),
            count=int(windows.mask.sum()),
            edges=edges * (s.history + s.horizon) * s.num_layers,
        )


def teacher_probability(decay: float, step: int) -> float:
    """How likely the decoder is given the truth in training step `step`, from 0.

    tau / (tau + exp(step / tau)), the inverse sigmoid decay of Bengio et al. (2015), where tau is
    `decay`; 0 if that is 0.
    """
    exponent = step / decay if decay else math.inf
    return decay / (decay + math.exp(exponent)) if exponent < 700 else 0.0
