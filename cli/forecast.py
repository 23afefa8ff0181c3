"""`gaancore forecast`."""

import csv
import io
from typing import Any

import click

from gaancore.system.disk import write_whole
from gaancore.system.process import prepare_process
from gaancore.trained.traffic import TrafficRun

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
@formulas_option
@process_options
def forecast(run: str, out: str, escape_formulas: bool, **options: Any) -> int:
    """Forecast from the latest window, with the best weights of the run in folder RUN.

    The file has the time of each step (its number, where the data have no times) and a column for
    each sensor under its own id, in the data's units. Readings are scaled as in training.
    """
    prepare_process(options["threads"])
    target = writable_file(out)
    opened = open_as(TrafficRun, run, options["device"], "forecast")
    found = opened.forecast(options["data"])
    for warning in found.warnings:
        click.echo(f"warning: {warning}", err=True)
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    ids = Formulas(escape_formulas)
    rows.writerow(["step" if found.times is None else "time", *map(ids.cell, found.sensor_ids)])
    steps = range(1, len(found.speeds) + 1) if found.times is None else found.times
    for step, row in zip(steps, found.speeds, strict=True):
        rows.writerow([step, *(f"{speed:.4f}" for speed in row)])
    write_whole(target, text.getvalue().encode())
    num_steps, num_sensors = found.speeds.shape
    say_written(target, f"{num_steps} steps of {num_sensors} sensors", ids.notes())
    if opened.facts["kind"] == "synthetic":
        click.echo(" ".join(opened.facts["notes"]))
    return 0
