"""`gaancore plot`."""

from pathlib import Path
from typing import Any

import click

from gaancore.errors import SettingsError
from gaancore.train.forecast import ForecastRun
from gaancore.train.process import prepare_process
from gaancore.train.record import RunFolder

from .data import open_run
from .options import process_options


@click.command(short_help="Draw forecasts and errors of a METR-LA run.")
@click.argument("run", metavar="RUN")
@click.option(
    "--data", metavar="PATH",
    help="The data, if it has moved since.  [default: where the run found it]",
)  # fmt: skip
@click.option(
    "--sensor", "sensors", multiple=True, metavar="ID",
    help="May be repeated.  [default: the first sensor]",
)  # fmt: skip
@click.option("--out", metavar="DIR", help="Folder of the pictures.  [default: RUN/plots]")
@process_options
def plot(run: str, sensors: tuple[str, ...], out: str | None, **options: Any) -> int:
    """Draw the best weights' forecasts of the test part, as PNG and SVG.

    Forecast against truth for the chosen sensors, error by minutes ahead beside the last value's,
    error by hour of the day.
    """
    from gaancore.train.forecast_plots import draw_plots  # matplotlib takes a second to import

    prepare_process(options["threads"])
    folder = RunFolder(Path(run).expanduser())
    opened = open_run(folder, options["data"], options["device"], options["prefetch"])
    if not isinstance(opened, ForecastRun):
        raise SettingsError(f"{folder.path}: not a run of task metr-la; only those are drawn")
    opened.load_best()
    target = Path(out).expanduser() if out else folder.path / "plots"
    for path in draw_plots(opened, sensors or opened.dataset.sensor_ids[:1], target):
        click.echo(f"written: {path}")
    return 0
