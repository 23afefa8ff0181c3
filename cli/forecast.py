"""`gaancore forecast`."""

import csv
import io
from typing import Any

import click

from gaancore.data import TrafficDataset
from gaancore.errors import SettingsError
from gaancore.system.disk import write_whole
from gaancore.system.paths import user_path
from gaancore.system.process import prepare_process
from gaancore.train.run_folder import RunFolder
from gaancore.train.traffic.forecaster import load_forecaster

from .data import load_again
from .options import process_options
from .out_file import writable_file


@click.command(short_help="Forecast the steps after the last row of the data.")
@click.option("--run", "run", metavar="RUN", required=True, help="Folder of a METR-LA run.")
@click.option(
    "--data", metavar="PATH",
    help="Speeds of the same sensors, up to now.  [default: the run's own data]",
)  # fmt: skip
@click.option(
    "--out", metavar="FILE", default="next_hour.csv", show_default=True,
    help="A row for each step, a column for each sensor.",
)  # fmt: skip
@process_options
def forecast(run: str, out: str, **options: Any) -> int:
    """Forecast from the latest window, with the best weights of RUN, in the data's units.

    The file has the time of each step (or its number, where the data have no times) and a column
    for each sensor under its own id. The readings are scaled as in training.
    """
    prepare_process(options["threads"])
    folder, target = RunFolder(user_path(run)), writable_file(out)
    dataset = load_again(folder, options["data"])
    if not isinstance(dataset, TrafficDataset):
        raise SettingsError(f"{folder.path}: not a run of task metr-la, which does not forecast")
    forecaster = load_forecaster(folder, dataset, options["device"])
    if warning := forecaster.scaler.foreign_units(dataset):
        click.echo(f"warning: {warning}", err=True)
    speeds = forecaster.latest()
    ahead = dataset.continued(len(speeds))
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["step" if ahead.times is None else "time", *dataset.sensor_ids])
    for step, row in enumerate(speeds):
        at = step + 1 if ahead.times is None else ahead.times[dataset.num_steps + step]
        rows.writerow([at, *(f"{speed:.4f}" for speed in row)])
    write_whole(target, text.getvalue().encode())
    click.echo(f"written: {target}: {speeds.shape[0]} steps of {speeds.shape[1]} sensors")
    if dataset.kind == "synthetic":
        click.echo(" ".join(dataset.notes))
    return 0
