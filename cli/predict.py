"""`gaancore predict`."""

from collections.abc import Iterator, Sequence
from typing import Any

import click
import numpy as np

from gaancore.data.nodes.inputs import NodeInputs
from gaancore.data.nodes.missing import Nan
from gaancore.system.process import prepare_process
from gaancore.train.nodes.predict import Classifier

from .classifier import classifier_options, open_classifier
from .options import process_options
from .out_file import out_file, say_written, write_result


@click.command(short_help="Write what a run says of every node, of a new graph too.")
@classifier_options
@click.option(
    "--out", metavar="FILE", default="predictions.csv", show_default=True,
    help="A .csv with a row for each node, or an .npz with node_ids, probabilities and "
    "class_names.",
)  # fmt: skip
@process_options
def predict(run: str, data: str | None, nan: Nan | None, out: str, **options: Any) -> int:
    """Probabilities of every node, under its own id, by the best weights of the run in folder RUN.

    A node of the .csv has `predicted`, its most likely class, or all labels more likely than not
    with blanks between, and p0, p1, ...: of each class, or of each label by itself. Where the data
    of the run has names for them, they stand there, with ; between, and the columns are p:NAME.
    Every node sees its whole neighbourhood. One .npz with edges (`src dst`, `edge_index` or
    `indptr indices`) and features (`x`), or a folder with nodes.csv (`id` and features) and
    edges.csv (`src dst`) is enough for a graph of your own.
    """
    prepare_process(options["threads"])
    target = out_file(out)
    classifier, inputs = open_classifier(run, data, nan, options["device"])
    logits = classifier.logits(inputs)
    found, names = classifier.probabilities(logits), classifier.class_names
    called = names or tuple(str(c) for c in range(found.shape[1]))
    arrays = {
        "node_ids": inputs.node_ids,
        "probabilities": found,
        "class_names": np.array(called),
    }
    header = ["node_id", "predicted", *(f"p:{name}" if names else f"p{name}" for name in called)]
    write_result(target, arrays, header, _rows(inputs, logits, found, classifier, called))
    say_written(target, f"{len(found):,} nodes, {found.shape[1]:,} probabilities each", inputs)
    return 0


def _rows(
    inputs: NodeInputs,
    logits: np.ndarray,
    found: np.ndarray,
    classifier: Classifier,
    called: Sequence[str],
) -> Iterator[list[object]]:
    between, several = ";" if classifier.class_names else " ", classifier.multi_label
    for node_id, logit, row in zip(inputs.node_ids.tolist(), logits, found, strict=True):
        chosen = np.flatnonzero(logit > 0).tolist() if several else [int(logit.argmax())]
        yield [node_id, between.join(called[c] for c in chosen), *(f"{p:.6f}" for p in row)]
