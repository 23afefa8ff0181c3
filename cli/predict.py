"""`gaancore predict`."""

from collections.abc import Iterator
from typing import Any

import click
import numpy as np

from gaancore.data.inputs import NodeInputs
from gaancore.data.missing import Nan
from gaancore.train.predict import Classifier
from gaancore.train.process import prepare_process

from .classifier import classifier_options, open_classifier
from .options import process_options
from .out_file import out_file, say_written, write_result


@click.command(short_help="Write what a run says of every node, of a new graph too.")
@classifier_options
@click.option(
    "--out", metavar="FILE", default="predictions.csv", show_default=True,
    help="A .csv with a row for each node, or an .npz with node_ids and probabilities.",
)  # fmt: skip
@process_options
def predict(run: str, data: str | None, nan: Nan | None, out: str, **options: Any) -> int:
    """Probabilities of every node, under its own id, by the best weights of the run in folder RUN.

    A node of the .csv has `predicted`, its most likely class, or all labels more likely than not
    with blanks between, and p0, p1, ...: of each class, or of each label by itself. Every node sees
    its whole neighbourhood. One .npz with edges (`src dst`, `edge_index` or `indptr indices`) and
    features (`x`) is enough for a graph of your own.
    """
    prepare_process(options["threads"])
    target = out_file(out)
    classifier, inputs = open_classifier(run, data, nan, options["device"])
    logits = classifier.logits(inputs)
    found = classifier.probabilities(logits)
    arrays = {"node_ids": inputs.node_ids, "probabilities": found}
    header = ["node_id", "predicted", *(f"p{c}" for c in range(found.shape[1]))]
    write_result(target, arrays, header, _rows(inputs, logits, found, classifier))
    say_written(target, f"{len(found):,} nodes, {found.shape[1]:,} probabilities each", inputs)
    return 0


def _rows(
    inputs: NodeInputs, logits: np.ndarray, found: np.ndarray, classifier: Classifier
) -> Iterator[list[object]]:
    for node_id, logit, row in zip(inputs.node_ids.tolist(), logits, found, strict=True):
        chosen = np.flatnonzero(logit > 0) if classifier.multi_label else [logit.argmax()]
        yield [node_id, " ".join(map(str, chosen)), *(f"{p:.6f}" for p in row)]
