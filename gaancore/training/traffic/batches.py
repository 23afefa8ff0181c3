"""Which windows a training step is about, and where the decoder is given the truth."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gaancore.data.traffic.batches import TrafficBatch
from gaancore.parallel import Shares
from gaancore.seeding import generator
from gaancore.training.pieces import pieces
from gaancore.training.step import Step
from gaancore.training.traffic.forecaster import SpeedForecaster
from gaancore.training.traffic.settings import ForecastSettings


@dataclass(frozen=True)
class Batch:
    """All that a share of a step needs.

    windows : of B sequences, those of the whole step, on the host. parts: the sequences of each
              piece of this share.
    truth   : for each step that is forecast but the last, whether the decoder is then given the
              true speed.
    """

    windows: TrafficBatch
    parts: list[slice]
    truth: Sequence[bool]
    edges: int

    def to(self, device: str) -> "Batch":
        """The same: its pieces are sent one by one, when their turn comes."""
        return self


class Batches:
    """The steps of every epoch over the training windows, each a function of (run seed, step). A
    step is cut into `shares`, runs of its sequences.
    """

    def __init__(
        self,
        forecaster: SpeedForecaster,
        starts: np.ndarray,
        settings: ForecastSettings,
        shares: Shares,
    ) -> None:
        self.forecaster = forecaster
        self.starts = starts
        self.settings = settings
        self.shares = shares

    @property
    def steps_per_epoch(self) -> int:
        return -(-self.starts.size // self.settings.batch_size)

    def step(self, number: int) -> Step:
        """This rank's shares of step `number` of the run, counted from 0. Its targets are the
        readings to learn from.
        """
        s, forecaster = self.settings, self.forecaster
        epoch, step = divmod(number, self.steps_per_epoch)
        order = generator(s.seed, "order", epoch).permutation(self.starts)
        starts = order[step * s.batch_size : (step + 1) * s.batch_size]
        windows = forecaster.windows.cut(starts)
        draws = generator(s.seed, "teacher", epoch, step).random(s.horizon - 1)
        truth = (draws < teacher_probability(s.teacher_decay, number)).tolist()
        edges = forecaster.dataset.graph.num_edges * (s.history + s.horizon) * s.num_layers
        batches = []
        for share in self.shares.cut(len(starts)):
            size = share.stop - share.start
            parts = pieces(size, forecaster.num_sensors, forecaster.device, share.start)
            batches.append(Batch(windows, parts, truth, size * edges))
        return Step(batches, int(windows.mask.sum()))


def teacher_probability(decay: float, step: int) -> float:
    """How likely the decoder is given the truth in training step `step`, from 0.

    tau / (tau + exp(step / tau)), the inverse sigmoid decay of Bengio et al. (2015), where tau is
    `decay`; 0 if that is 0.
    """
    exponent = step / decay if decay else math.inf
    return decay / (decay + math.exp(exponent)) if exponent < 700 else 0.0
