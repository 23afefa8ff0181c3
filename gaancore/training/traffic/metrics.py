"""Masked errors of a forecast, summed over all that is scored, never averaged over batches."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from gaancore.data.traffic.dataset import TrafficDataset, Windows
from gaancore.errors import ShapeError, TrainingError

DEFINITION = (
    "masked errors, over all readings that are there, in the data's units: MAE = mean |p - y|, "
    "RMSE = sqrt(mean (p - y)^2), MAPE = 100 mean |p - y| / |y| where |y| is above 0 and not below "
    "mape_min"
)

Forecaster = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Errors:
    """mae and rmse in the data's units, mape in percent; None where nothing could be scored.

    count, mape_count: how many readings they are means over. target: the mean of these readings.
    """

    mae: float | None
    rmse: float | None
    mape: float | None
    count: int
    mape_count: int
    target: float | None


class ForecastErrors:
    """Sums of errors for each of `horizon` steps ahead, in float64.

    MAE_t  = 1/n_t sum |p - y|;  RMSE_t = sqrt(1/n_t sum (p - y)^2)
    MAPE_t = 100/m_t sum |p - y| / |y|
    over the n_t labels of step t that are there, and the m_t of them that are neither 0 nor, in
    absolute value, below `mape_min`: a share of a small number says little. With 0 this is
    DCRNN's masked_mae, masked_rmse and masked_mape over a whole test set, with the mask of the raw
    readings; how windows are batched does not matter.
    """

    def __init__(self, horizon: int, mape_min: float = 0.0) -> None:
        self.mape_min = mape_min
        self.count = np.zeros(horizon, np.int64)
        self.mape_count = np.zeros(horizon, np.int64)
        self.absolute, self.squared, self.relative, self.targets = np.zeros((4, horizon))

    def add(self, predictions: np.ndarray, targets: np.ndarray, mask: np.ndarray) -> None:
        """Count in one batch: (horizon, M) each, in the data's units; mask says which targets are.

        Raises ShapeError if shapes differ, TrainingError if a prediction is not finite, masked or
        not: a model that gives NaN must not score as one that gives nothing.
        """
        shape = (self.count.size, *predictions.shape[1:])
        if not predictions.shape == targets.shape == mask.shape == shape:
            raise ShapeError(
                f"ForecastErrors: expected predictions, targets and mask of {self.count.size} "
                f"steps and one shape; got {predictions.shape}, {targets.shape} and {mask.shape}"
            )
        finite = np.isfinite(predictions)
        if not finite.all():
            step, place = np.argwhere(~finite)[0]
            raise TrainingError(
                f"prediction {place} of step {step + 1} ahead is {predictions[step, place]}: the "
                "model has diverged; lower the learning rate or clip gradients"
            )
        errors = np.where(mask, np.abs(predictions.astype(np.float64) - targets), 0.0)
        labels = np.where(mask, np.abs(targets.astype(np.float64)), 0.0)
        self.count += np.count_nonzero(mask, axis=1)
        self.targets += np.where(mask, targets.astype(np.float64), 0.0).sum(axis=1)
        labels = np.where(labels >= self.mape_min, labels, 0.0)
        self.mape_count += np.count_nonzero(labels, axis=1)
        self.absolute += errors.sum(axis=1)
        self.squared += (errors**2).sum(axis=1)
        self.relative += np.divide(errors, labels, out=np.zeros_like(errors), where=labels > 0).sum(
            axis=1
        )

    def at(self, step: int) -> Errors:
        """The errors of one step ahead, counted from 1."""
        return self._over(slice(step - 1, step))

    def pooled(self) -> Errors:
        """The errors of all steps together, every reading with the same weight."""
        return self._over(slice(None))

    def _over(self, steps: slice) -> Errors:
        count, mape_count = int(self.count[steps].sum()), int(self.mape_count[steps].sum())
        return Errors(
            mae=_ratio(self.absolute[steps].sum(), count),
            rmse=None if not count else float(np.sqrt(self.squared[steps].sum() / count)),
            mape=_ratio(100 * self.relative[steps].sum(), mape_count),
            count=count,
            mape_count=mape_count,
            target=_ratio(self.targets[steps].sum(), count),
        )


def mean_errors(errors: Sequence[Errors]) -> Errors:
    """The paper's "average": the plain mean of the given steps' errors, those that have any.

    A step without a label is left out, not counted as 0.
    """

    def mean(values: Sequence[float | None]) -> float | None:
        there = [value for value in values if value is not None]
        return float(np.mean(there)) if there else None

    return Errors(
        mae=mean([e.mae for e in errors]),
        rmse=mean([e.rmse for e in errors]),
        mape=mean([e.mape for e in errors]),
        count=sum(e.count for e in errors),
        mape_count=sum(e.mape_count for e in errors),
        target=mean([e.target for e in errors]),
    )


def score(
    predict: Forecaster,
    dataset: TrafficDataset,
    windows: Windows,
    starts: np.ndarray,
    batch_size: int = 64,
    mape_min: float = 0.0,
) -> ForecastErrors:
    """Score every one of the `windows` that starts at `starts`, the last partial batch included.

    predict : first rows (B,) -> predictions (horizon, B * N) in the data's units.
    """
    errors = ForecastErrors(windows.horizon, mape_min)
    ahead = np.arange(windows.history, windows.span)[:, None]
    for first in range(0, len(starts), batch_size):
        batch = starts[first : first + batch_size]
        speeds, valid = dataset.speeds[ahead + batch], dataset.valid[ahead + batch]
        shape = (windows.horizon, -1)
        errors.add(predict(batch), speeds.reshape(shape), valid.reshape(shape))
    return errors


def reported_steps(step: float, horizon: int) -> dict[float, int]:
    """Minutes ahead -> steps ahead, of the paper's 15, 30 and 60 minutes those that there are, and
    the last step.

    step: seconds between two rows.
    """
    minutes = [m for m in (15, 30, 60) if m * 60 % step == 0 and m * 60 <= horizon * step]
    found: dict[float, int] = {m: round(m * 60 / step) for m in minutes}
    if horizon not in found.values():
        last = float(horizon * step / 60)
        found[int(last) if last.is_integer() else round(last, 3)] = horizon
    return found


def _ratio(total: float, count: int) -> float | None:
    return float(total / count) if count else None
