"""How far off forecasts may be: the errors of validation, by step ahead and sensor."""

from dataclasses import dataclass

import numpy as np

from gaancore.errors import DataError, SettingsError
from gaancore.training.traffic.scores.metrics import Forecaster
from gaancore.training.traffic.scores.scorer import ForecastScorer


@dataclass(frozen=True)
class Intervals:
    """low and high (horizon, N) float32: what to add to a forecast for the ends of its interval.

    level  : the share of errors of validation that the intervals hold, such as 0.9.
    shared : sensors with too few readings there, whose ends are those of all sensors together.
    """

    level: float
    low: np.ndarray
    high: np.ndarray
    shared: int

    def around(self, speeds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The ends of the intervals of forecasts (horizon, N), or (horizon, W, N)."""
        low, high = self.low, self.high
        if speeds.ndim == 3:
            low, high = low[:, None], high[:, None]
        return speeds + low, speeds + high


def validation_intervals(scorer: ForecastScorer, predict: Forecaster, level: float) -> Intervals:
    """Empirical quantiles of truth - forecast over the windows of validation.

    Of n errors h steps ahead of one sensor, put in order, the ends are number
    floor((n + h) a - (h - 1) / 2) from below and from above, a = (1 - level) / 2. One step ahead
    this is (n + 1) a: an error to come, drawn alike, lies between them with probability `level` or
    more (Papadopoulos et al., 2002: split conformal prediction). Further ahead, errors of windows
    that overlap go together: n of them count as n / h, which moves the ends outwards. A sensor with
    too few errors takes the ends of all sensors at this step. Errors of later periods may be
    larger: nothing is promised for them.

    level : above 0 and below 1. Raises SettingsError for another one, DataError where all of
    validation has too few readings for it.
    """
    if not 0 < level < 1:
        raise SettingsError(f"interval: expected a level above 0 and below 1, got {level}")
    data, rows = scorer.dataset, scorer.rows_ahead("validation")
    errors = data.speeds[rows] - scorer.predictions(predict, "validation")
    errors[~data.valid[rows]] = np.nan  # (horizon, W, N)
    low, high, few = _ends(errors, level)
    together = errors.reshape(len(errors), -1, 1)
    all_low, all_high, none = _ends(together, level)
    if none.any():
        raise DataError(
            f"{data.where}: validation has too few readings {int(np.argmax(none)) + 1} steps ahead "
            f"for intervals of {level:.0%}; ask for a lower level (interval)"
        )
    return Intervals(
        level,
        low=np.where(few, all_low, low),
        high=np.where(few, all_high, high),
        shared=int(few.any(axis=0).sum()),
    )


def coverage(low: np.ndarray, high: np.ndarray, truth: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """(horizon,): of the readings that are there, the share within their interval; NaN of none.

    low, high, truth, mask : (horizon, W, N).
    """
    inside = (truth >= low) & (truth <= high) & mask
    steps = (1, 2)
    count = mask.sum(axis=steps)
    return np.divide(
        inside.sum(axis=steps), count, out=np.full(len(count), np.nan), where=count > 0
    )


def _ends(errors: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The ends (horizon, N) of errors (horizon, W, N), NaN of none, and where they are too few."""
    count = np.count_nonzero(~np.isnan(errors), axis=1)
    ordered = np.sort(errors, axis=1)  # NaN last
    ahead = np.arange(1, len(errors) + 1)[:, None]
    rank = (count + ahead) * (1 - level) / 2 - (ahead - 1) / 2
    tail = np.floor(rank + 1e-9).astype(np.int64)
    few = tail < 1
    first = np.where(few, 0, tail - 1)
    last = np.where(few, 0, count - tail)
    low, high = (np.take_along_axis(ordered, at[:, None], axis=1)[:, 0] for at in (first, last))
    return low, high, few
