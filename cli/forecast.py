"""`gaancore forecast`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np

from gaancore.errors import SettingsError
from gaancore.trained.forecasts import Forecast, Forecasts
from gaancore.trained.traffic import TrafficRun
from gaancore.training.traffic.latest import STANDS_IN, LatestMissing

from .asked import open_as
from .out_file import formulas_option, out_file, say_written, writable_file, write_result
from .process import process_options, ranks


@click.command()
@click.argument("run", metavar="RUN")
@click.option(
    "--data", metavar="PATH",
    help="Speeds of the same sensors, up to now.  [default: the run's own data]",
)  # fmt: skip
@click.option(
    "--all", "everything", is_flag=True,
    help="Forecast from every window of the test part, or of --data, and write the truth beside it."
    "  [default: from the latest window]",
)  # fmt: skip
@click.option(
    "--out", metavar="FILE",
    help="A row for each step, a column for each sensor; with --all a row for each forecast. In an "
    ".npz arrays.  [default: next_hour.csv; with --all forecasts.csv]",
)  # fmt: skip
@click.option(
    "--start", metavar="TIME",
    help="The time of the first row of --data, such as 2012-03-01T00:00, if the file has no times."
    "  [default: the file's own times]",
)  # fmt: skip
@click.option(
    "--missing", type=click.Choice(tuple(STANDS_IN)),
    help="If a sensor has fewer than half of the readings that a forecast sees: refuse, or let the "
    "mean, a line between its readings, or what training put there (keep) stand in.  "
    "[default: refuse; with --all keep]",
)  # fmt: skip
@click.option(
    "--interval", type=click.FloatRange(0, 100, min_open=True, max_open=True), metavar="PERCENT",
    help="Add the ends of intervals that hold this share of the errors of validation, by step and "
    "sensor.  [default: none]",
)  # fmt: skip
@formulas_option
@process_options
def forecast(
    run: str,
    everything: bool,
    out: str | None,
    start: str | None,
    missing: LatestMissing | None,
    interval: float | None,
    escape_formulas: bool,
    **options: Any,
) -> int:
    """Forecast from the latest window, with the best weights of the run in folder RUN.

    The file has the time of each step (its number, where the data have no times) and a column for
    each sensor under its own id, in the data's units. Behind them, a column read:ID for each
    sensor is the share of the readings it rests on that are really there. Columns of --data are
    joined by sensor id. Readings are scaled as in training.

    With --all the file has a row for each forecast: the time it is made at (that of the last row
    that the window sees), the time that it is for, the steps between them, the sensor, the forecast
    and the truth, which is empty where the reading is missing. A name that ends in .npz gives
    arrays (steps, windows, sensors): forecast, truth, mask, times, made, sensor_ids.

    --interval 90 adds low and high: of the errors of validation at the same step and sensor, 90 %
    lie between them. With --all, the share of the readings that they hold is printed.

    `mpiexec -n N gaancore forecast ...` shares out the windows of --all and --interval among N
    processes. The file has the same bits whatever N is.
    """
    level = None if interval is None else interval / 100
    asked: dict[str, Any] = {"start": start, "interval": level}
    if everything and missing not in (None, "keep"):
        raise SettingsError(f"missing: with all windows it is as in training; got {missing}")
    data = options["data"]
    with ranks(options["threads"], run) as team:
        target = Path(team.from_first(lambda: str(_target(out, everything))))
        opened = open_as(TrafficRun, run, options["device"], "forecast", team)
        if everything:
            every = opened.forecast_all(data, **asked)
            if team.first:
                _write_all(target, every, escape_formulas)
        else:
            found = opened.forecast(data, missing=missing or "refuse", **asked)
            if team.first:
                _write_latest(target, found, escape_formulas, opened.settings.history)
        if team.first and opened.facts["kind"] == "synthetic":
            click.echo(" ".join(opened.facts["notes"]))
    return 0


def _target(out: str | None, everything: bool) -> Path:
    return out_file(out or "forecasts.csv") if everything else writable_file(out or "next_hour.csv")


def _write_latest(target: Path, found: Forecast, escape: bool, history: int) -> None:
    _warn(found.warnings)
    num_steps, num_sensors = found.speeds.shape
    columns = {"": found.speeds}
    if found.low is not None and found.high is not None:
        columns |= {"low:": found.low, "high:": found.high}
    columns["read:"] = np.broadcast_to(found.read, found.speeds.shape)
    header = [f"{kind}{name}" for kind in columns for name in found.sensor_ids]
    steps = range(1, num_steps + 1) if found.times is None else found.times
    rows = (
        [step, *(f"{x:.4f}" for values in columns.values() for x in values[number])]
        for number, step in enumerate(steps)
    )
    first = "step" if found.times is None else "time"
    arrays = {"forecast": found.speeds, "sensor_ids": np.array(found.sensor_ids)}
    arrays |= {} if found.times is None else {"times": found.times}
    arrays |= {kind.rstrip(":"): values for kind, values in columns.items() if kind}
    notes = write_result(target, arrays, [first, *header], rows, texts=0, escape=escape)
    say_written(target, f"{num_steps} steps of {num_sensors} sensors", [*found.notes, *notes])
    least = found.read.argmin()
    click.echo(
        f"read: {found.read.mean():.1%} of the last {history} readings of each "
        f"sensor, at least {found.read[least]:.1%} (sensor {found.sensor_ids[least]})"
    )


def _write_all(target: Path, found: Forecasts, escape: bool) -> None:
    _warn(found.warnings)
    arrays = {"forecast": found.speeds, "truth": found.truth, "mask": found.mask}
    arrays |= {"rows": found.rows, "sensor_ids": np.array(found.sensor_ids)}
    if found.made is not None and found.times is not None:
        arrays |= {"made": found.made, "times": found.times}
    names = ["forecast", "truth"]
    if found.low is not None and found.high is not None:
        arrays |= {"low": found.low, "high": found.high}
        names += ["low", "high"]
    first = ["sensor", "made_at", "time" if found.times is not None else "row", "step"]
    notes = write_result(target, arrays, [*first, *names], _rows(found), texts=1, escape=escape)
    num_steps, num_windows, num_sensors = found.speeds.shape
    what = f"{num_windows:,} windows, {num_steps} steps of {num_sensors} sensors each"
    say_written(target, what, [*found.notes, *notes])
    if found.coverage is not None:
        each = ", ".join(f"{share:.1%}" for share in found.coverage)
        click.echo(f"readings within their interval, by step ahead: {each}")


def _rows(found: Forecasts) -> Iterator[list[object]]:
    """A row for each window, step and sensor."""
    num_steps, num_windows, _ = found.speeds.shape
    for window in range(num_windows):
        made = found.rows[window] if found.made is None else found.made[window]
        for step in range(num_steps):
            at = made + step + 1 if found.times is None else found.times[step, window]
            values = [_texts(found.speeds[step, window]), _texts(found.truth[step, window])]
            mask = found.mask[step, window]
            values[1] = [text if there else "" for text, there in zip(values[1], mask, strict=True)]
            if found.low is not None and found.high is not None:
                values += [_texts(ends[step, window]) for ends in (found.low, found.high)]
            for sensor, *numbers in zip(found.sensor_ids, *values, strict=True):
                yield [sensor, made, at, step + 1, *numbers]


def _texts(values: np.ndarray) -> list[str]:
    return [f"{x:.4f}" for x in values.tolist()]


def _warn(warnings: tuple[str, ...]) -> None:
    for warning in warnings:
        click.echo(f"warning: {warning}", err=True)
