"""Masked errors of a forecast, summed over all that is scored, never averaged over batches."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gaancore.data.traffic.dataset import TrafficDataset, Windows
from gaancore.errors import SettingsError, ShapeError, TrainingError
from gaancore.parallel import ALONE, Team, dealt

DEFINITION = (
    "masked errors, over all readings that are there, in the data's units: MAE = mean |p - y|, "
    "RMSE = sqrt(mean (p - y)^2), MAPE = 100 mean |p - y| / |y| where |y| is above 0 and not below "
    "mape_min"
)
WAPE = "WAPE = 100 sum |p - y| / sum |y|"

AT = re.compile(r"(step)?\s*(\d+(?:\.\d+)?)\s*(?:min|minutes)?")

Forecaster = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Errors:
    """mae and rmse in the data's units, mape and wape in percent; None where nothing could be
    scored.

    count, mape_count: how many readings they are means over. target: the mean of these readings.
    zeros: how many of them are 0.
    """

    mae: float | None
    rmse: float | None
    mape: float | None
    count: int
    mape_count: int
    target: float | None
    wape: float | None = None
    zeros: int = 0


class ForecastErrors:
    """Sums of errors for each of `horizon` steps ahead, in float64.

    MAE_t  = 1/n_t sum |p - y|;  RMSE_t = sqrt(1/n_t sum (p - y)^2)
    MAPE_t = 100/m_t sum |p - y| / |y|;  WAPE_t = 100 sum |p - y| / sum |y|
    over the n_t labels of step t that are there, and the m_t of them that are neither 0 nor, in
    absolute value, below `mape_min`: a share of a small number says little. With 0 this is
    DCRNN's masked_mae, masked_rmse and masked_mape over a whole test set, with the mask of the raw
    readings; how windows are batched does not matter.
    """

    def __init__(self, horizon: int, mape_min: float = 0.0) -> None:
        self.mape_min = mape_min
        self.count, self.mape_count, self.zeros = np.zeros((3, horizon), np.int64)
        self.absolute, self.squared, self.relative = np.zeros((3, horizon))
        self.targets, self.sizes = np.zeros((2, horizon))

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
        self.sizes += labels.sum(axis=1)
        self.zeros += np.count_nonzero(mask & (labels == 0), axis=1)
        labels = np.where(labels >= self.mape_min, labels, 0.0)
        self.mape_count += np.count_nonzero(labels, axis=1)
        self.absolute += errors.sum(axis=1)
        self.squared += (errors**2).sum(axis=1)
        self.relative += np.divide(errors, labels, out=np.zeros_like(errors), where=labels > 0).sum(
            axis=1
        )

    def include(self, sums: Mapping[str, np.ndarray]) -> None:
        """Add what another has counted, its `vars`."""
        for name, counted in sums.items():
            if name != "mape_min":
                vars(self)[name] += counted

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
            wape=_ratio(100 * self.absolute[steps].sum(), self.sizes[steps].sum()),
            zeros=int(self.zeros[steps].sum()),
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
        wape=mean([e.wape for e in errors]),
        zeros=sum(e.zeros for e in errors),
    )


def score(
    predict: Forecaster,
    dataset: TrafficDataset,
    windows: Windows,
    starts: np.ndarray,
    batch_size: int = 64,
    mape_min: float = 0.0,
    team: Team = ALONE,
) -> ForecastErrors:
    """Score every one of the `windows` that starts at `starts`, the last partial batch included.

    predict : first rows (B,) -> predictions (horizon, B * N) in the data's units.
    team    : the ranks that share out the batches. Their sums are added in the order of batches.
    """
    ahead, shape = np.arange(windows.history, windows.span)[:, None], (windows.horizon, -1)
    firsts, own = range(0, len(starts), batch_size), []
    for first in dealt(firsts, team):
        batch, errors = (
            starts[first : first + batch_size],
            ForecastErrors(windows.horizon, mape_min),
        )
        speeds, valid = dataset.speeds[ahead + batch], dataset.valid[ahead + batch]
        errors.add(predict(batch), speeds.reshape(shape), valid.reshape(shape))
        own.append(vars(errors))
    errors = ForecastErrors(windows.horizon, mape_min)
    for sums in [sums for of_rank in team.all(own) for sums in of_rank]:
        errors.include(sums)
    return errors


def reported_steps(step: float, horizon: int, at: Sequence[str] = ()) -> dict[float, int]:
    """Minutes ahead -> steps ahead of those that are reported, in ascending order; the last step
    always.

    step : seconds between two rows.
    at   : minutes ahead such as `45`, or steps such as `step3`; by default the paper's 15, 30 and
           60 minutes, those of them that there are.
    Raises SettingsError for what is no such number, or not within the horizon.

    >>> reported_steps(300, 12), reported_steps(300, 12, ["45", "step1"])
    ({15: 3, 30: 6, 60: 12}, {5: 1, 45: 9, 60: 12})
    """
    usual = [m * 60 / step for m in (15, 30, 60) if m * 60 % step == 0 and m * 60 <= horizon * step]
    steps = [_step_at(text, step, horizon) for text in at] or list(map(round, usual))
    return {_minutes(count, step): count for count in sorted({*steps, horizon})}


def _step_at(text: str, step: float, horizon: int) -> int:
    """The number of steps that a text of minutes or steps means."""
    found = AT.fullmatch(text.strip().lower())
    if found is None:
        raise SettingsError(
            f"at: expected minutes ahead such as 15,45 or steps such as step1,step6, got {text!r}"
        )
    count = float(found[2]) if found[1] else float(found[2]) * 60 / step
    if abs(count - round(count)) > 1e-6:
        raise SettingsError(
            f"at: {text.strip()}: not a whole number of steps of {_minutes(1, step):g} minutes"
        )
    if not 1 <= round(count) <= horizon:
        raise SettingsError(
            f"at: {text.strip()}: the run forecasts {horizon} steps of {_minutes(1, step):g} "
            f"minutes, {_minutes(horizon, step):g} minutes in all"
        )
    return round(count)


def _minutes(steps: int, step: float) -> float:
    minutes = float(steps * step / 60)
    return int(minutes) if minutes.is_integer() else round(minutes, 3)


def _ratio(total: float, count: float) -> float | None:
    return float(total / count) if count else None
