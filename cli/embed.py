"""`gaancore embed`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from gaancore.system.mapped import scratch_in

from .asked import graph_options, open_classifier
from .out_file import (
    formulas_option,
    number_rows,
    out_file,
    say_written,
    told_of_scratch,
    write_result,
)
from .process import process_options, ranks
from .show import phases

if TYPE_CHECKING:
    from gaancore.choices import Nan
    from gaancore.data.nodes.inputs import NodeInputs
    from gaancore.data.parts.dataset import PartedDataset


@click.command()
@graph_options
@click.option(
    "--layer", type=int, metavar="L",
    help="Hidden layer, from 1.  [default: the last, which the head reads]",
)  # fmt: skip
@click.option(
    "--out", metavar="FILE", default="embeddings.npz", show_default=True,
    help="An .npz with node_ids (N,) and embeddings (N, D), or a .csv with a row for each node.",
)  # fmt: skip
@formulas_option
@process_options
def embed(
    run: str,
    data: str | None,
    nan: "Nan | None",
    layer: int | None,
    out: str,
    escape_formulas: bool,
    **options: Any,
) -> int:
    """Embeddings of every node, under its own id, by the best weights of the run in folder RUN.

    An embedding is the output of an aggregator (fnn: of a hidden layer), after its activation and
    without dropout, from the whole neighbourhood. Columns of the .csv: node_id, h0, h1, ... Your
    own graph needs only edges and features, as for `gaancore predict`, and mpiexec shares out the
    work as there.
    """
    with ranks(options["threads"], run) as team:
        target = Path(team.from_first(lambda: str(out_file(out))))
        opened = open_classifier(run, options["device"], team)
        with scratch_in(target.parent) as scratch, phases(not team.first):
            asked = opened.asked(data, nan=nan)
            found = opened.embed(asked, layer=layer)
        if team.first:
            _write(target, asked, found, escape_formulas, told_of_scratch(scratch))
    return 0


def _write(
    target: Path,
    asked: "NodeInputs | PartedDataset",
    found: np.ndarray,
    escape: bool,
    notes: list[str],
) -> None:
    rows = ([*names, *row] for names, row in number_rows([asked.node_ids], found))
    header = ["node_id", *(f"h{d}" for d in range(found.shape[1]))]
    arrays = {"node_ids": asked.node_ids, "embeddings": found}
    notes = write_result(target, arrays, header, rows, escape=escape) + notes
    size = f"{len(found):,} nodes, {found.shape[1]:,} numbers each"
    say_written(target, size, [*asked.notes, *notes])
