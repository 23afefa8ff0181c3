"""`gaancore plot`."""

from typing import Any

import click

import gaancore  # whose names are imported when they are first used
from gaancore.system.paths import user_path
from gaancore.system.process import prepare_process

from .asked import expect_asked_of
from .process import process_options


@click.command()
@click.argument("run", metavar="RUN")
@click.option(
    "--data", metavar="PATH",
    help="The data, if it has moved since.  [default: where the run found it]",
)  # fmt: skip
@click.option(
    "--sensor", "sensors", multiple=True, metavar="ID",
    help="Sensor to draw (traffic runs only); repeatable.  [default: the first sensor]",
)  # fmt: skip
@click.option("--out", metavar="DIR", help="Folder of the pictures.  [default: RUN/plots]")
@process_options
def plot(run: str, sensors: tuple[str, ...], out: str | None, **options: Any) -> int:
    """Draw the run in folder RUN, as PNG and SVG.

    Every run: validation score and training loss by epoch. A GaAN that classifies nodes: the gates
    of test nodes, their spread in each head, how they changed in training, and how evenly each head
    attends. Traffic: forecast and truth of the chosen sensors, error by minutes ahead beside the
    last value's, and error by hour of the day.
    """
    prepare_process(options["threads"])
    opened = gaancore.open_run(run, options["device"])
    asked = {"sensors": sensors} if sensors else {}
    expect_asked_of(opened, "forecast", gaancore.TrafficRun, asked)
    target = user_path(out) if out else None
    for path in opened.plot(target, data=options["data"], **asked):
        click.echo(f"written: {path}")
    if opened.facts["kind"] == "synthetic":
        click.echo(" ".join(opened.facts["notes"]))
    return 0
