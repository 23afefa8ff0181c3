"""`gaancore evaluate`."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from gaancore.data.dataset import TEST, TRAIN, VALIDATION
from gaancore.train.classify import ClassifierRun
from gaancore.train.forecast import ForecastRun
from gaancore.train.process import prepare_process
from gaancore.train.record import RunFolder
from gaancore.train.settings import with_changes

from .data import open_run
from .options import process_options
from .show import Display, print_whole
from .words import words_for

SPLITS = {"train": TRAIN, "validation": VALIDATION, "test": TEST}


@click.command(short_help="Score the best weights of a run.")
@click.argument("run", metavar="RUN")
@click.option(
    "--data", metavar="PATH",
    help="The data, if it has moved since.  [default: where the run found it]",
)  # fmt: skip
@click.option(
    "--split", "splits", type=click.Choice(tuple(SPLITS)), multiple=True,
    default=("validation", "test"), show_default=True, help="May be repeated.",
)  # fmt: skip
@click.option(
    "--eval-fanouts", metavar="S1,S2",
    help="Neighbours drawn at each step; -1: whole neighbourhoods.  [default: as in training]",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON, not a table.  [default: no]")
@process_options
def evaluate(
    run: str, splits: tuple[str, ...], eval_fanouts: str | None, as_json: bool, **options: Any
) -> int:
    """Score the best weights of the run in folder RUN, as its validations did.

    Whole neighbourhoods are gone through layer by layer, a few rows at a time, in memory that does
    not depend on how many there are. Each split sees what it may see: training nodes themselves;
    for validation also the validation nodes; for test everything. Traffic is scored over all
    windows of the split, in the data's units.
    """
    prepare_process(options["threads"])
    opened = open_run(
        RunFolder(Path(run).expanduser()), options["data"], options["device"], options["prefetch"]
    )
    if eval_fanouts is not None:
        change = ("--eval-fanouts", {"eval_fanouts": eval_fanouts})
        opened.settings = with_changes(opened.settings, change)
    opened.load_best()
    scores = {name: _score(opened, name) for name in splits}
    kind = opened.data_facts["kind"]
    if as_json:
        click.echo(json.dumps({"run": run, "data": kind, **scores}, indent=2))
        return 0
    display = Display(quiet=False)
    print_whole(display.console, words_for(opened.settings.task).table(scores))
    if kind == "synthetic":
        display.say(" ".join(opened.data_facts["notes"]))
    return 0


def _score(run: ClassifierRun | ForecastRun, split: str) -> dict[str, Any]:
    if isinstance(run, ForecastRun):
        return run.score(split)
    return asdict(run.score(SPLITS[split]))
