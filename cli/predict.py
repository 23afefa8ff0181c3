"""`gaancore predict`."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gaancore.system.mapped import scratch_in

from .asked import graph_options, open_classifier
from .out_file import (
    ROWS_AT_A_TIME,
    formulas_option,
    out_file,
    say_written,
    told_of_scratch,
    write_result,
)
from .process import process_options, ranks
from .show import phases

if TYPE_CHECKING:
    from gaancore.data.nodes.missing import Nan
    from gaancore.trained.predictions import Predictions


@click.command()
@graph_options
@click.option(
    "--out", metavar="FILE", default="predictions.csv", show_default=True,
    help="A .csv with a row for each node, or an .npz with node_ids, probabilities, "
    "class_names and, with --top-k, top.",
)  # fmt: skip
@click.option(
    "--top-k", type=click.IntRange(1), metavar="K",
    help="`predicted` names the K most likely classes or labels, the most likely first."
    "  [default: one class; of labels, those above --threshold]",
)  # fmt: skip
@click.option(
    "--threshold",
    type=float,
    metavar="P",
    help="Of several labels, those with a probability above P are predicted.  [default: 0.5]",
)
@formulas_option
@process_options
def predict(
    run: str,
    data: str | None,
    nan: "Nan | None",
    out: str,
    top_k: int | None,
    threshold: float | None,
    escape_formulas: bool,
    **options: Any,
) -> int:
    """Predict every node, under its own id, with the best weights of the run in folder RUN.

    The .csv has a row for each node. `predicted` is its most likely class, or all labels that are
    more likely than not; --top-k and --threshold choose otherwise. The columns p0, p1, ... are the
    probabilities of each class, or of each label by itself; they are called p:NAME where the run's
    data has names. Every node sees its whole neighbourhood. For your own graph, one .npz with edges
    (`src dst`, `edge_index` or `indptr indices`) and features (`x`) is enough, or a folder with
    nodes.csv (`id` and features) and edges.csv (`src dst`).

    `mpiexec -n N gaancore predict ...` shares out the rows of each layer among N processes. The
    file has the same bits whatever N is.
    """
    with ranks(options["threads"], run) as team:
        target = Path(team.from_first(lambda: str(out_file(out))))
        opened = open_classifier(run, options["device"], team)
        with scratch_in(target.parent) as scratch, phases(not team.first):
            found = opened.predictions(data, nan=nan, top_k=top_k, threshold=threshold)
        if team.first:
            named = opened.classifier.class_names is not None
            _write(target, found, named, escape_formulas, told_of_scratch(scratch))
    return 0


def _write(target: Path, found: "Predictions", named: bool, escape: bool, notes: list[str]) -> None:
    arrays = {
        "node_ids": found.node_ids,
        "probabilities": found.probabilities,
        "class_names": found.class_names,
    }
    if found.top is not None:
        arrays["top"] = found.top
    called = [f"p:{name}" if named else f"p{name}" for name in found.class_names]
    rows = _rows(found, ";" if named else " ")
    header = ["node_id", "predicted", *called]
    notes = write_result(target, arrays, header, rows, texts=2, escape=escape) + notes
    nodes, classes = found.probabilities.shape
    say_written(target, f"{nodes:,} nodes, {classes:,} probabilities each", [*found.notes, *notes])


def _rows(found: "Predictions", between: str) -> Iterator[list[object]]:
    names = found.class_names
    taken = found.labels if found.top is None else found.top
    for start in range(0, len(taken), ROWS_AT_A_TIME):
        part = slice(start, start + ROWS_AT_A_TIME)
        probabilities = found.probabilities[part].tolist()
        ids = found.node_ids[part].tolist()
        for node_id, label, row in zip(ids, taken[part], probabilities, strict=True):
            predicted = between.join(names[label]) if taken.ndim == 2 else label
            yield [node_id, predicted, *(f"{p:.6f}" for p in row)]
