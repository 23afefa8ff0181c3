"""`gaancore report`."""

from typing import Any

import click

import gaancore  # whose names are imported when they are first used
from gaancore.report import NODES, write
from gaancore.report.html import expect_library
from gaancore.system.process import prepare_process

from .out_file import writable_file
from .process import process_options


@click.command()
@click.argument("runs", metavar="RUN...", nargs=-1, required=True)
@click.option(
    "--out", metavar="FILE", default="report.html", show_default=True, help="The page to write."
)
@click.option(
    "--data", metavar="PATH",
    help="The data of the runs, if it has moved since.  [default: where each run found it]",
)  # fmt: skip
@click.option(
    "--nodes", type=click.IntRange(1), default=NODES, show_default=True,
    help="How many nodes can be looked at one by one, and the most of other lists of nodes.",
)  # fmt: skip
@click.option(
    "--seed", type=int, default=0, show_default=True,
    help="Draws these nodes, and other samples where the data are large.",
)  # fmt: skip
@process_options
def report(
    runs: tuple[str, ...], out: str, data: str | None, nodes: int, seed: int, **options: Any
) -> int:
    """Write one HTML page about what the run in folder RUN has learned, or about several runs.

    The page is one file. It fetches nothing, so it can be opened without a network, and sent.

    A run that classifies nodes: scores beside guesses, learning curves, classes, calibration,
    gates, and nodes to look at one by one: their neighbours, attention and gates. A run that
    forecasts: a map of the sensors, errors by minutes ahead, hour and sensor, and the first day of
    the test part, sensor by sensor. Several runs: the settings that differ, scores, curves, and
    nodes on which they disagree.
    """
    prepare_process(options["threads"])
    expect_library()
    target = writable_file(out)
    opened = [gaancore.open_run(run, options["device"], data=data) for run in runs]
    path = write(opened, target, nodes=nodes, seed=seed)
    click.echo(
        f"written: {path}: {path.stat().st_size / 1e6:.1f} MB, one file that fetches nothing"
    )
    for run in opened:
        if run.facts["kind"] == "synthetic":
            click.echo(" ".join(run.facts["notes"]))
            break
    return 0
