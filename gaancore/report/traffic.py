"""What a page shows of a run that forecasts traffic."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gaancore.data.traffic.dataset import TrafficDataset, Windows
from gaancore.errors import DataError
from gaancore.report.roads import looked_at, places
from gaancore.report.run import run_facts
from gaancore.report.values import names, number, packed, sample, spread
from gaancore.training.traffic.scores.intervals import Intervals, validation_intervals
from gaancore.training.traffic.scores.metrics import Forecaster, ForecastErrors
from gaancore.training.traffic.scores.scorer import ForecastScorer
from gaancore.training.traffic.words import ahead

Run = Any
WINDOWS = 96  # of the test part that are forecast
SENSORS = 400  # on the map
DAY = 288  # rows whose forecasts are drawn: a day of METR-LA
LEVEL = 0.9  # of the intervals


@dataclass(frozen=True)
class Forecasts:
    """What is forecast from some windows of the test part: (horizon, W, N) each.

    scorer : of those windows. scored: places of the windows that errors are over; of the first day
    the others are shown, too. total: windows of the part.
    """

    scorer: ForecastScorer
    speeds: np.ndarray
    guess: np.ndarray  # the last value
    truth: np.ndarray
    mask: np.ndarray
    scored: np.ndarray
    total: int


def of_traffic(run: Run, seed: int, windows: int = WINDOWS) -> dict[str, Any]:
    """The content of the page of one run.

    windows : how many of the test part are forecast, half of them of its first day; and up to half
              as many of validation for intervals.
    """
    facts, data, forecaster = run_facts(run), run.dataset, run.forecaster
    found = forecasts(data, run.settings, forecaster.predict, windows)
    sensors = sample(np.arange(data.num_sensors), SENSORS, seed)
    steps = found.scorer.reported_steps()
    ends = _intervals(found.scorer, forecaster.predict)
    return {
        "title": f"{facts['name']}: a report by gaancore",
        "kind": "traffic",
        "runs": [facts],
        "windows": {"count": found.scored.size, "total": found.total},
        "aheads": [[ahead(f"{minutes} min"), step] for minutes, step in steps.items()],
        "by_step": by_step(found),
        "by_hour": by_hour(found, list(steps.values())),
        "sensors": {
            "total": data.num_sensors,
            "ids": names(data.sensor_ids[n] for n in sensors),
            "mae": by_sensor(found, found.speeds, sensors),
            "last_value": by_sensor(found, found.guess, sensors),
            **places(data, sensors),
        },
        "day": day(found, sensors, list(steps.values()), ends),
        "attention": looked_at(run, found.scorer, sensors),
    }


def forecasts(data: TrafficDataset, settings: Any, predict: Forecaster, windows: int) -> Forecasts:
    """Forecasts from at most so many windows of the test part, which are spread over it and,
    half of them, over its first day.
    """
    whole = ForecastScorer(data, settings)
    starts = whole.starts("test")
    first_day = starts[starts < starts[0] + DAY]
    scored = shown = spread(starts, windows)
    if scored.size < starts.size > first_day.size:
        scored, shown = (spread(x, max(1, windows // 2)) for x in (starts, first_day))
    chosen = np.union1d(scored, shown)
    few = thinned(whole.windows, chosen, max(1, windows // 2))
    scorer = ForecastScorer(replace(data, windows=few), settings)
    ahead_rows = scorer.rows_ahead("test")
    guess = scorer.guesses()["last value"]
    return Forecasts(
        scorer,
        scorer.predictions(predict, "test"),
        scorer.predictions(guess, "test"),
        data.speeds[ahead_rows],
        data.valid[ahead_rows],
        np.searchsorted(chosen, scored),
        starts.size,
    )


def thinned(windows: Windows, test: np.ndarray, validation: int) -> Windows:
    """The same with these windows of the test part, and so many of validation."""
    return replace(windows, val=spread(windows.val, validation), test=test)


def by_step(found: Forecasts) -> dict[str, Any]:
    """MAE of each step ahead, of the network and of the last value."""
    scorer = found.scorer
    minutes = np.arange(1, scorer.settings.horizon + 1) * scorer.dataset.step / 60
    return {
        "minutes": minutes.tolist(),
        scorer.settings.model: _mae(found, found.speeds),
        "last value": _mae(found, found.guess),
    }


def _mae(found: Forecasts, speeds: np.ndarray) -> list[float | None]:
    """Summed as `evaluate` does, batch by batch."""
    scorer, at = found.scorer, found.scored
    errors = ForecastErrors(len(speeds), scorer.mape_min)
    for first in range(0, at.size, scorer.settings.batch_size):
        batch = at[first : first + scorer.settings.batch_size]
        parts = (x[:, batch].reshape(len(x), -1) for x in (speeds, found.truth, found.mask))
        errors.add(*parts)
    return [errors.at(step + 1).mae for step in range(len(speeds))]


def by_hour(found: Forecasts, steps: list[int]) -> list[list[float | None]] | None:
    """MAE of each of `steps` ahead by the hour of the day that is forecast; None if the time of
    day is not known.
    """
    data = found.scorer.dataset
    if data.time_of_day is None:
        return None
    rows = found.scorer.rows_ahead("test")[:, found.scored]
    hour = (data.time_of_day[rows] * 24).astype(int) % 24
    error, mask = _errors(found, found.speeds)
    table = []
    for step in steps:
        total = np.bincount(hour[step - 1], error[step - 1].sum(axis=1), 24)
        count = np.bincount(hour[step - 1], mask[step - 1].sum(axis=1), 24)
        table.append([float(t / n) if n else None for t, n in zip(total, count, strict=True)])
    return table


def by_sensor(
    found: Forecasts, speeds: np.ndarray, sensors: np.ndarray
) -> list[list[float | None]]:
    """MAE of each reported step ahead (rows) at each of `sensors`."""
    error, mask = _errors(found, speeds)
    table = []
    for step in found.scorer.reported_steps().values():
        total, count = error[step - 1].sum(axis=0), mask[step - 1].sum(axis=0)
        table.append([number(total[n] / count[n]) if count[n] else None for n in sensors])
    return table


def _errors(found: Forecasts, speeds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """|forecast - truth| and where there is a truth, of the scored windows, (horizon, W, N)."""
    at = found.scored
    mask = found.mask[:, at]
    off = np.abs(speeds[:, at].astype(np.float64) - found.truth[:, at])
    return np.where(mask, off, 0.0), mask


def day(
    found: Forecasts, sensors: np.ndarray, steps: list[int], ends: Intervals | None
) -> dict[str, Any]:
    """The first day of the test part: readings, and forecasts of the windows that end in it."""
    scorer, data = found.scorer, found.scorer.dataset
    starts, history = scorer.starts("test"), scorer.windows.history
    first = int(starts[0]) + history
    rows = np.arange(first, min(first + DAY, data.num_steps))
    inside = np.flatnonzero(starts + history <= rows[-1])
    truth = np.where(data.valid[rows], data.speeds[rows], np.nan)[:, sensors]
    at = np.array(steps) - 1
    of_steps = np.ix_(at, inside, sensors)
    return {
        "times": None if data.times is None else np.datetime_as_string(data.times[rows]).tolist(),
        "minutes": data.step / 60,
        "truth": packed(truth),
        "made": (starts[inside] + history - first).tolist(),
        "forecasts": packed(found.speeds[of_steps]),
        "last_value": packed(found.guess[0][np.ix_(inside, sensors)]),
        "level": LEVEL,
        "low": None if ends is None else packed(ends.low[np.ix_(at, sensors)]),
        "high": None if ends is None else packed(ends.high[np.ix_(at, sensors)]),
        "validation_windows": int(scorer.starts("validation").size),
    }


def _intervals(scorer: ForecastScorer, predict: Forecaster) -> Intervals | None:
    try:
        return validation_intervals(scorer, predict, LEVEL)
    except DataError:  # too few readings
        return None
