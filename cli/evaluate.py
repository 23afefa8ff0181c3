"""`gaancore evaluate`."""

import json
from dataclasses import asdict
from typing import Any

import click
from rich.table import Table

from gaancore.data.nodes.dataset import TEST, TRAIN, VALIDATION
from gaancore.errors import SettingsError
from gaancore.system.paths import user_path
from gaancore.system.process import prepare_process
from gaancore.train.choices import with_changes
from gaancore.train.nodes.run import ClassifierRun
from gaancore.train.run_folder import RunFolder
from gaancore.train.traffic.run import ForecastRun

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
@click.option(
    "--per-class", is_flag=True,
    help="Precision, recall, F1 and support of each class or label as well.  [default: no]",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON, not a table.  [default: no]")
@process_options
def evaluate(
    run: str,
    splits: tuple[str, ...],
    eval_fanouts: str | None,
    per_class: bool,
    as_json: bool,
    **options: Any,
) -> int:
    """Score the best weights of the run in folder RUN, as its validations did.

    Whole neighbourhoods are gone through layer by layer, a few rows at a time, in memory that does
    not depend on how many there are. Each split sees what it may see: training nodes themselves;
    for validation also the validation nodes; for test everything. Traffic is scored over all
    windows of the split, in the data's units, and so are the guesses beside it.

    --per-class adds, for each split, a line for each class or label, by its name where the data
    has names: precision, the share that is right of the nodes it is predicted of; recall, the share
    that is found of the nodes that have it; F1, the harmonic mean of both, whose mean over the
    classes is macro-F1; support, the number of nodes that have it. What would be 0 / 0 is 0:
    precision of a class that is never predicted, recall of one that no node has.
    """
    prepare_process(options["threads"])
    folder = RunFolder(user_path(run))
    if per_class and folder.read_settings()[0].task == "metr-la":
        raise SettingsError(
            f"--per-class: {folder.path} is a run of task metr-la, which has no classes; "
            "leave it out"
        )
    opened = open_run(folder, options["data"], options["device"], options["prefetch"])
    if eval_fanouts is not None:
        change = ("--eval-fanouts", {"eval_fanouts": eval_fanouts})
        opened.settings = with_changes(opened.settings, change)
    opened.load_best()
    scores = {name: _score(opened, name, per_class) for name in splits}
    if isinstance(opened, ForecastRun):
        for name in splits:
            guesses = opened.baselines(name).items()
            scores |= {f"{guess} on {name}": found for guess, found in guesses}
    kind = opened.data_facts["kind"]
    if as_json:
        click.echo(json.dumps({"run": run, "data": kind, **scores}, indent=2))
        return 0
    display = Display(quiet=False)
    print_whole(display.console, words_for(opened.settings.task).table(scores))
    for name, found in scores.items() if per_class else ():
        print_whole(display.console, _class_table(name, found["per_class"]))
    if kind == "synthetic":
        display.say(" ".join(opened.data_facts["notes"]))
    return 0


def _score(run: ClassifierRun | ForecastRun, split: str, per_class: bool) -> dict[str, Any]:
    if isinstance(run, ForecastRun):
        return run.score(split)
    counts = run.counts(SPLITS[split])
    scores = asdict(counts.scores())
    if per_class:
        names = run.dataset.class_names or range(run.dataset.num_classes)
        found = zip(names, counts.per_class(), strict=True)
        scores["per_class"] = [{"class": name, **asdict(of_class)} for name, of_class in found]
    return scores


def _class_table(split: str, classes: list[dict[str, Any]]) -> Table:
    table = Table("class", "precision", "recall", "F1", "support", title=split)
    for found in classes:
        shares = (f"{found[key]:.4f}" for key in ("precision", "recall", "f1"))
        table.add_row(str(found["class"]), *shares, f"{found['support']:,}")
    return table
