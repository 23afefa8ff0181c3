"""Pictures of a forecasting run: forecast against truth, and where the errors are."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure

from gaancore.errors import DataError, SettingsError
from gaancore.plots.picture import literal, save_figure
from gaancore.system.paths import file_names
from gaancore.training.traffic.forecaster import SpeedForecaster
from gaancore.training.traffic.scores.intervals import Intervals, validation_intervals
from gaancore.training.traffic.scores.scorer import ForecastScorer
from gaancore.training.traffic.words import ahead

SHOWN_STEPS = 288  # of forecast against truth: a day of METR-LA
UNIT = "in the data's unit"
LEVEL = 0.9  # of the interval


def draw_plots(
    forecaster: SpeedForecaster, scorer: ForecastScorer, sensors: Sequence[str], folder: Path
) -> list[Path]:
    """Draw the test part's pictures as PNG and SVG into `folder`; returns the files.

    forecast-ID    : each of `sensors`, one curve for the truth and one for each reported step
                     ahead, over the first day of the test part; the interval of the last step, if
                     validation has readings enough for it.
    error-by-step  : MAE of each step ahead, beside the last value's.
    error-by-hour  : MAE by the hour of the day that is forecast, if the time of day is known.
    Raises SettingsError for an unknown sensor, DataError if a file cannot be written.
    """
    ids = scorer.dataset.sensor_ids
    for sensor in sensors:
        if sensor not in ids:
            first = ", ".join(ids[:6]) + (", ..." if len(ids) > 6 else "")
            raise SettingsError(
                f"sensors: no sensor {sensor!r}; the data have {len(ids):,}: {first}"
            )
    names = file_names(ids)  # of all, so that a sensor's name does not depend on what else is drawn
    starts = scorer.starts("test")
    predicted = scorer.predictions(forecaster.predict, "test")
    try:
        intervals = validation_intervals(scorer, forecaster.predict, LEVEL)
    except DataError:  # too few readings
        intervals = None
    figures = {
        f"forecast-{names[sensor]}": _against_truth(
            scorer, starts, predicted, intervals, ids.index(sensor)
        )
        for sensor in sensors
    }
    figures["error-by-step"] = _by_step(forecaster, scorer)
    if scorer.dataset.time_of_day is not None:
        figures["error-by-hour"] = _by_hour(scorer, starts, predicted)
    for figure in figures.values():
        (axes,) = figure.axes
        axes.set_title(f"{axes.get_title()}\n{_of_what(scorer)}", fontsize="medium")
    saved = (save_figure(figure, folder / f"{name}.png") for name, figure in figures.items())
    return [path for paths in saved for path in paths]


def _against_truth(
    scorer: ForecastScorer,
    starts: np.ndarray,
    predicted: np.ndarray,
    intervals: Intervals | None,
    sensor: int,
) -> Figure:
    data, steps = scorer.dataset, scorer.reported_steps()
    figure = Figure(figsize=(10, 4), layout="constrained")
    axes = figure.subplots()
    first = int(starts[0]) + scorer.windows.history
    rows = np.arange(first, min(first + SHOWN_STEPS, data.num_steps))
    at = rows if data.times is None else data.times
    truth = np.where(data.valid[rows, sensor], data.speeds[rows, sensor], np.nan)
    axes.plot(at if data.times is None else at[rows], truth, color="black", label="measured")
    for minutes, step in steps.items():
        shown = starts + scorer.windows.history + step - 1
        shown_now = shown < rows[-1] + 1
        x = shown[shown_now] if data.times is None else at[shown[shown_now]]
        (curve,) = axes.plot(
            x, predicted[step - 1, shown_now, sensor], label=ahead(f"{minutes} min") + " ahead"
        )
    if intervals is not None:  # of the last step, whose `x` and curve these are
        low, high = intervals.around(predicted[:, shown_now])
        ends = low[-1, :, sensor], high[-1, :, sensor]
        label = f"{LEVEL:.0%} interval"
        axes.fill_between(x, *ends, color=curve.get_color(), alpha=0.2, linewidth=0, label=label)
    name, first_day = literal(data.sensor_ids[sensor]), "first day of the test part"
    axes.set(title=f"sensor {name}, {first_day}", ylabel=f"speed, {UNIT}")
    if data.times is None:
        axes.set_xlabel(f"row of the data ({data.step / 60:g} minutes each)")
    else:
        axes.set_xlabel("time")
        locator = AutoDateLocator(maxticks=8)
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))
    figure.legend(loc="outside right upper", frameon=False)
    return figure


def _by_step(forecaster: SpeedForecaster, scorer: ForecastScorer) -> Figure:
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    minutes = np.arange(1, scorer.settings.horizon + 1) * scorer.dataset.step / 60
    for name, predict in {scorer.settings.model: forecaster.predict, **scorer.guesses()}.items():
        errors = scorer.errors(predict, "test")
        mae = [errors.at(step + 1).mae for step in range(scorer.settings.horizon)]
        axes.plot(minutes, [np.nan if e is None else e for e in mae], marker="o", label=name)
    axes.set(xlabel="minutes ahead", ylabel=f"MAE, {UNIT}", title="error by horizon, test part")
    axes.legend()
    return figure


def _by_hour(scorer: ForecastScorer, starts: np.ndarray, predicted: np.ndarray) -> Figure:
    data, horizon = scorer.dataset, scorer.settings.horizon
    assert data.time_of_day is not None
    rows = starts + scorer.windows.history + np.arange(horizon)[:, None]  # (horizon, W)
    hour = (data.time_of_day[rows] * 24).astype(int) % 24
    valid = data.valid[rows]
    errors = np.where(valid, np.abs(predicted - data.speeds[rows]), 0).sum(axis=2)
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    for minutes, step in scorer.reported_steps().items():
        total = np.bincount(hour[step - 1], errors[step - 1], 24)
        count = np.bincount(hour[step - 1], valid[step - 1].sum(axis=1), 24)
        mae = np.divide(total, count, out=np.full(24, np.nan), where=count > 0)
        axes.plot(np.arange(24), mae, marker="o", label=ahead(f"{minutes} min") + " ahead")
    axes.set(xlabel="hour of the day", ylabel=f"MAE, {UNIT}", title="error by hour, test part")
    axes.legend()
    return figure


def _of_what(scorer: ForecastScorer) -> str:
    s, data = scorer.settings, scorer.dataset
    path = data.path or "data from memory"
    kind = "SYNTHETIC data" if data.kind == "synthetic" else literal(Path(path).name)
    return f"{s.model}, variant {s.variant}, seed {s.seed}, {s.task}: {kind}"
