"""`gaancore forecast`."""

import csv
import io
from typing import Any

import click

from gaancore.system.disk import write_whole
from gaancore.system.process import prepare_process
from gaancore.trained.traffic import TrafficRun
from gaancore.training.traffic.latest import STANDS_IN, LatestMissing

from .asked import open_as
from .options import process_options
from .out_file import Formulas, formulas_option, say_written, writable_file


@click.command()
@click.argument("run", metavar="RUN")
@click.option(
    "--data", metavar="PATH",
    help="Speeds of the same sensors, up to now.  [default: the run's own data]",
)  # fmt: skip
@click.option(
    "--out", metavar="FILE", default="next_hour.csv", show_default=True,
    help="A row for each step, a column for each sensor.",
)  # fmt: skip
@click.option(
    "--start", metavar="TIME",
    help="The time of the first row of --data, such as 2012-03-01T00:00, if the file has no times."
    "  [default: the file's own times]",
)  # fmt: skip
@click.option(
    "--missing", type=click.Choice(tuple(STANDS_IN)), default="refuse", show_default=True,
    help="If a sensor has fewer than half of the readings that a forecast sees: refuse, or let the "
    "mean, a line between its readings, or what training put there (keep) stand in.",
)  # fmt: skip
@formulas_option
@process_options
def forecast(
    run: str,
    out: str,
    start: str | None,
    missing: LatestMissing,
    escape_formulas: bool,
    **options: Any,
) -> int:
    """Forecast from the latest window, with the best weights of the run in folder RUN.

    The file has the time of each step (its number, where the data have no times) and a column for
    each sensor under its own id, in the data's units. Behind them, a column read:ID for each
    sensor is the share of the readings it rests on that are really there. Columns of --data are
    joined by sensor id. Readings are scaled as in training.
    """
    prepare_process(options["threads"])
    target = writable_file(out)
    opened = open_as(TrafficRun, run, options["device"], "forecast")
    found = opened.forecast(options["data"], start=start, missing=missing)
    for warning in found.warnings:
        click.echo(f"warning: {warning}", err=True)
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    ids = Formulas(escape_formulas)
    names = [ids.cell(name) for name in found.sensor_ids]
    shares = [f"read:{name}" for name in found.sensor_ids]
    rows.writerow(["step" if found.times is None else "time", *names, *shares])
    steps = range(1, len(found.speeds) + 1) if found.times is None else found.times
    for step, row in zip(steps, found.speeds, strict=True):
        rows.writerow([step, *(f"{x:.4f}" for x in row), *(f"{x:.4f}" for x in found.read)])
    write_whole(target, text.getvalue().encode())
    num_steps, num_sensors = found.speeds.shape
    notes = [*found.notes, *ids.notes()]
    say_written(target, f"{num_steps} steps of {num_sensors} sensors", notes)
    least = found.read.argmin()
    click.echo(
        f"read: {found.read.mean():.1%} of the last {opened.settings.history} readings of each "
        f"sensor, at least {found.read[least]:.1%} (sensor {found.sensor_ids[least]})"
    )
    if opened.facts["kind"] == "synthetic":
        click.echo(" ".join(opened.facts["notes"]))
    return 0
