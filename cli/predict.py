"""`gaancore predict`."""

import csv
import io
from pathlib import Path
from typing import Any

import click
import numpy as np

from gaancore.data import NodeDataset
from gaancore.data.inputs import NodeInputs, inputs_of, read_inputs
from gaancore.data.missing import Nan
from gaancore.errors import SettingsError
from gaancore.train.checkpoint import write_whole
from gaancore.train.predict import Classifier, load_classifier
from gaancore.train.process import prepare_process
from gaancore.train.record import RunFolder

from .data import load_again
from .options import process_options

KINDS = (".csv", ".npz")


@click.command(short_help="Write what a run says of every node, of a new graph too.")
@click.argument("run", metavar="RUN")
@click.option(
    "--data", metavar="PATH",
    help="Another graph with the same features, in any layout; it needs no labels and no split.  "
    "[default: the run's own data]",
)  # fmt: skip
@click.option(
    "--out", metavar="FILE", default="predictions.csv", show_default=True,
    help="A .csv with a row for each node, or an .npz with node_ids, probabilities and "
    "class_names.",
)  # fmt: skip
@click.option(
    "--nan", type=click.Choice(("error", "zero")),
    help="Features of --data that are NaN: refused, or 0.  [default: 0 if it was so in training]",
)  # fmt: skip
@process_options
def predict(run: str, out: str, nan: Nan | None, **options: Any) -> int:
    """Probabilities of every node, under its own id, by the best weights of the run in folder RUN.

    A node of the .csv has `predicted`, its most likely class, or all labels more likely than not
    with blanks between, and p0, p1, ...: of each class, or of each label by itself. Where the data
    of the run has names for them, they stand there, with ; between, and the columns are p:NAME.
    Every node sees its whole neighbourhood. One .npz with edges (`src dst`, `edge_index` or
    `indptr indices`) and features (`x`), or a folder with nodes.csv (`id` and features) and
    edges.csv (`src dst`) is enough for a graph of your own.
    """
    prepare_process(options["threads"])
    folder, target = RunFolder(Path(run).expanduser()), Path(out).expanduser()
    if target.suffix not in KINDS:
        raise SettingsError(f"--out: {target}: expected a name that ends in .csv or .npz")
    if nan is not None and options["data"] is None:
        raise SettingsError("--nan: the run's own data is read as in training; leave it out")
    classifier = load_classifier(folder, options["device"])
    inputs = _inputs(classifier, folder, options["data"], nan)
    logits = classifier.logits(inputs)
    write_whole(target, _written(target.suffix, inputs, logits, classifier))
    click.echo(f"written: {target}: {len(logits):,} nodes, {logits.shape[1]:,} probabilities each")
    for note in inputs.notes:
        click.echo(f"note: {note}")
    return 0


def _inputs(
    classifier: Classifier, folder: RunFolder, path: str | None, nan: Nan | None
) -> NodeInputs:
    settings = classifier.settings
    if path is None:
        dataset = load_again(folder, None)
        assert isinstance(dataset, NodeDataset)
        return inputs_of(dataset)
    # The mean over training nodes is not one of a new graph, which has none
    as_trained: Nan = "zero" if settings.nan == "zero" else "error"
    return read_inputs(path, self_loops=settings.self_loops, nan=nan or as_trained)


def _written(kind: str, inputs: NodeInputs, logits: np.ndarray, classifier: Classifier) -> bytes:
    found, names = classifier.probabilities(logits), classifier.class_names
    called = names or tuple(str(c) for c in range(found.shape[1]))
    if kind == ".npz":
        archive = io.BytesIO()
        np.savez(
            archive,
            node_ids=inputs.node_ids,
            probabilities=found,
            class_names=np.array(called),
        )
        return archive.getvalue()
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    before, between = ("p:", ";") if names else ("p", " ")
    rows.writerow(["node_id", "predicted", *(before + name for name in called)])
    for node_id, logit, row in zip(inputs.node_ids.tolist(), logits, found, strict=True):
        chosen = np.flatnonzero(logit > 0) if classifier.multi_label else [logit.argmax()]
        predicted = between.join(called[c] for c in chosen)
        rows.writerow([node_id, predicted, *(f"{p:.6f}" for p in row)])
    return text.getvalue().encode()
