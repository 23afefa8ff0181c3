"""`gaancore evaluate`."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from gaancore.data.dataset import TEST, TRAIN, VALIDATION
from gaancore.train.process import prepare_process
from gaancore.train.record import RunFolder

from .train import open_run

SPLITS = {"train": TRAIN, "validation": VALIDATION, "test": TEST}


@click.command(short_help="Score the best weights of a run.")
@click.argument("run", metavar="RUN")
@click.option("--data", metavar="PATH", help="The data, if it has moved since.")
@click.option(
    "--split", "splits", type=click.Choice(tuple(SPLITS)), multiple=True,
    default=("validation", "test"), show_default=True, help="May be repeated.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
@click.option("--device", default="auto", show_default=True, help="auto, cpu or cuda[:N].")
@click.option("--threads", type=click.IntRange(0), default=0, help="0: all CPUs.")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def evaluate(run: str, splits: tuple[str, ...], as_json: bool, **options: Any) -> int:
    """Score the best weights of the run in folder RUN, on whole neighbourhoods.

    Each split sees what it may see: training nodes themselves; for validation also the validation
    nodes; for test everything.
    """
    prepare_process(options["threads"])
    opened = open_run(RunFolder(Path(run).expanduser()), options["data"], options["device"])
    opened.load_best()
    scores = {name: asdict(opened.score(SPLITS[name])) for name in splits}
    if as_json:
        click.echo(json.dumps({"run": run, **scores}, indent=2))
        return 0
    table = Table("", "micro-F1", "macro-F1")
    for name, score in scores.items():
        table.add_row(name, f"{score['micro']:.4f}", f"{score['macro']:.4f}")
    Console(soft_wrap=True, highlight=False).print(table)
    return 0
