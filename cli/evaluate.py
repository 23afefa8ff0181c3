"""`gaancore evaluate`."""

import json
from typing import Any

import click
from rich.table import Table

from gaancore.tasks import open_run, task_named
from gaancore.trained.elsewhere import SPLITS
from gaancore.trained.nodes import NodeRun
from gaancore.trained.opened import OpenedRun, Scored
from gaancore.trained.traffic import TrafficRun

from .asked import expect_asked_of
from .process import prefetch_option, process_options, ranks
from .show import Display, print_whole, score_table


@click.command()
@click.argument("run", metavar="RUN")
@click.option(
    "--data", metavar="PATH",
    help="The data, if it has moved since, another labelled graph with the same features, or other "
    "readings of the same sensors, such as a later period.  [default: where the run found it]",
)  # fmt: skip
@click.option(
    "--split", "splits", type=click.Choice(tuple(SPLITS)), multiple=True,
    help="Which nodes or windows to score; repeatable.  [default: validation and test; of another "
    "graph its own parts, or all labelled nodes; of other readings all windows]",
)  # fmt: skip
@click.option(
    "--eval-fanouts", metavar="S1,S2",
    help="Neighbours drawn at each step; all: whole neighbourhoods.  [default: as in training]",
)  # fmt: skip
@click.option(
    "--per-class", is_flag=True,
    help="Precision, recall, F1, support and calibration of each class or label as well."
    "  [default: no]",
)  # fmt: skip
@click.option(
    "--at", metavar="M1,M2",
    help="Traffic: minutes ahead, such as 15,45, or steps, such as step1,step6, that are reported "
    "beside the last one.  [default: 15,30,60]",
)  # fmt: skip
@click.option(
    "--mape-min", type=float,
    help="Traffic: readings below it do not count in MAPE.  [default: as in training]",
)  # fmt: skip
@click.option(
    "--start", metavar="TIME",
    help="Traffic: the time of the first row of --data, if the file has no times."
    "  [default: the file's own times]",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON, not a table.  [default: no]")
@prefetch_option
@process_options
def evaluate(
    run: str,
    splits: tuple[str, ...],
    eval_fanouts: str | None,
    per_class: bool,
    at: str | None,
    mape_min: float | None,
    start: str | None,
    as_json: bool,
    **options: Any,
) -> int:
    """Score the best weights of the run in folder RUN, as its validations did.

    Whole neighbourhoods are computed layer by layer, a few rows at a time, so memory does not grow
    with their size. Each split sees what it may see: training nodes only their own graph,
    validation nodes also training nodes, test nodes everything. Traffic is scored over all windows
    of the split, in the data's units. Beside scores on the run's data stand those of simple
    guesses. For nodes these are the majority, logistic regression on the features alone, and label
    propagation.

    On another graph every node sees all others, and classes are joined by their names. A class
    that the run has not seen is reported, and counts as missed. Other readings of the same sensors
    are joined by sensor id, and all of their windows are scored; the guesses beside them know the
    run's training part alone.

    --per-class adds a line for each class or label. Precision: the fraction of predicted nodes that
    are correct. Recall: the fraction of true nodes that are found. F1: their harmonic mean; its
    mean over the classes is macro-F1. Support: the number of true nodes. 0 / 0 counts as 0. ECE:
    how far a predicted probability is on average from how often it comes true, in 15 bins.

    `mpiexec -n N gaancore evaluate ...` shares out the rows of each layer, or the windows, among N
    processes. The scores have the same bits whatever N is.
    """
    extra: dict[str, Any] = {"eval_fanouts": eval_fanouts, "per_class": per_class}
    of_nodes = {name: value for name, value in extra.items() if value}
    if eval_fanouts:
        of_nodes["prefetch"] = options["prefetch"]
    ahead = {"at": at.split(",") if at else None, "mape_min": mape_min, "start": start}
    of_traffic = {name: value for name, value in ahead.items() if value is not None}
    with ranks(options["threads"], run) as team:
        opened = open_run(run, options["device"], team=team)
        expect_asked_of(opened, "classify nodes", NodeRun, of_nodes)
        expect_asked_of(opened, "forecast", TrafficRun, of_traffic)
        asked = of_nodes | of_traffic
        scores = opened.evaluate(splits or None, data=options["data"], **asked)
        if team.first:
            _show(run, opened, scores, as_json)
    return 0


def _show(run: str, opened: OpenedRun, scores: Scored, as_json: bool) -> None:
    facts = opened.facts
    kind = scores.kind or facts["kind"]
    for note in scores.notes:
        click.echo(note if note.startswith("warning: ") else f"note: {note}", err=True)
    if as_json:
        click.echo(json.dumps({"run": run, "data": kind, **scores}, indent=2))
        return
    display = Display(quiet=False)
    words = task_named(opened.settings.task).words
    print_whole(display.console, score_table(words, scores))
    for name, found in scores.items():
        if "per_class" in found:
            print_whole(display.console, _class_table(name, found))
    if kind == "synthetic":
        display.say(" ".join(facts["notes"]))
    elif facts["kind"] == "synthetic":
        display.say(f"{run}: trained on SYNTHETIC data")


def _class_table(split: str, scores: dict[str, Any]) -> Table:
    caption = f"expected calibration error (ECE) of the predictions: {scores['ece']:.4f}"
    columns = ("class", "precision", "recall", "F1", "support", "ECE")
    table = Table(*columns, title=split, caption=caption)
    for found in scores["per_class"]:
        shares = (f"{found[key]:.4f}" for key in ("precision", "recall", "f1"))
        table.add_row(str(found["class"]), *shares, f"{found['support']:,}", f"{found['ece']:.4f}")
    return table
