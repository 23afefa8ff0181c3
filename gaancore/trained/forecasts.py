"""What a run forecasts, and what is told about the readings that it rests on."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gaancore.data.traffic.dataset import TrafficDataset
from gaancore.training.traffic.scores.intervals import Intervals
from gaancore.training.traffic.scores.scorer import ForecastScorer
from gaancore.training.traffic.settings import ForecastSettings

WARNING = "warning: "


@dataclass(frozen=True)
class Forecast:
    """Speeds of N sensors in the steps right after the last row of the data.

    speeds     : (horizon, N) float32, in the data's units.
    times      : (horizon,) datetime64[s]; None if the data have no times.
    sensor_ids : (N,) the data's own names, in the order of the run's.
    read       : (N,) of each sensor, the share of the last `history` readings, which the forecast
                 rests on, that are really there.
    warnings   : what to doubt, such as readings that look like another unit.
    notes      : what was assumed or joined when other data were read.
    low, high  : (horizon, N) the ends of the intervals, if they were asked for.
    """

    speeds: np.ndarray
    times: np.ndarray | None
    sensor_ids: tuple[str, ...]
    read: np.ndarray
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    low: np.ndarray | None = None
    high: np.ndarray | None = None


@dataclass(frozen=True)
class Forecasts:
    """What is forecast from each of W windows, and what came.

    speeds, truth, mask : (horizon, W, N), in the data's units; truth is 0 where mask is False.
    rows       : (W,) int64, the last row that each window sees.
    made       : (W,) datetime64, its time; times: (horizon, W), those of the steps that are
                 forecast; None if the data have no times.
    sensor_ids : (N,). low, high: (horizon, W, N), the ends of the intervals, if asked for.
    coverage   : (horizon,) the share of the readings within their interval.
    warnings, notes : see Forecast.
    """

    speeds: np.ndarray
    truth: np.ndarray
    mask: np.ndarray
    rows: np.ndarray
    made: np.ndarray | None
    times: np.ndarray | None
    sensor_ids: tuple[str, ...]
    low: np.ndarray | None
    high: np.ndarray | None
    coverage: np.ndarray | None
    warnings: tuple[str, ...]
    notes: tuple[str, ...]


def on_others(
    dataset: TrafficDataset,
    differ: Sequence[str],
    own: TrafficDataset | None,
    settings: ForecastSettings,
) -> list[str]:
    """Lines on readings that are not those of a run.

    differ : how they differ. own: the run's, None where they are gone.
    """
    lines = [
        f"{dataset.where}: not the data that the run was trained on ({'; '.join(differ)}): all of "
        "its windows count"
    ]
    if own is None:
        lines.append(
            "the run's own data are not where they were: without them there are no guesses to "
            "compare with"
        )
    elif own.times is not None and dataset.times is not None:
        seen = ForecastScorer(own, settings).windows.training_rows(own.num_steps)
        if np.isin(dataset.times, own.times[seen]).any():
            lines.append(
                f"warning: {dataset.where}: some of its times are among those that the run was "
                "trained on: errors there are too small"
            )
    return lines


def on_shared(intervals: Intervals) -> list[str]:
    """A line if some sensors have too few readings of their own for intervals."""
    if not intervals.shared:
        return []
    return [
        f"intervals: {intervals.shared:,} of {intervals.low.shape[1]:,} sensors have too few "
        "readings in validation for their own: the errors of all sensors stand in"
    ]


def sorted_out(lines: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Warnings, without the word, and notes."""
    warnings = (line.removeprefix(WARNING) for line in lines if line.startswith(WARNING))
    return tuple(warnings), tuple(line for line in lines if not line.startswith(WARNING))
