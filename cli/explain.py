"""`gaancore explain`."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from gaancore.errors import DataError, SettingsError
from gaancore.system.paths import user_path
from gaancore.system.process import prepare_process

from .asked import graph_options, open_classifier
from .out_file import formulas_option, layer_rows, out_file, say_written, write_result
from .process import process_options

if TYPE_CHECKING:
    from gaancore.choices import Nan
    from gaancore.data.nodes.inputs import NodeInputs


@click.command()
@graph_options
@click.option(
    "--what", type=click.Choice(("gates", "attention")), default="gates", show_default=True,
    help="gates: one number for each node and head, of a gaan. attention: one for each arc into "
    "a node and head, of a gaan or attention.",
)  # fmt: skip
@click.option(
    "--nodes", metavar="IDS",
    help="Ids as in the data, with commas between; or a file, each line of which begins with one; "
    "or `all`.  [default: all for gates; required for attention]",
)  # fmt: skip
@click.option("--layer", type=int, metavar="L", help="This layer alone, from 1.  [default: all]")
@click.option(
    "--out", metavar="FILE", help="A .csv or .npz, see above.  [default: gates.csv, attention.csv]"
)
@formulas_option
@process_options
def explain(
    run: str,
    data: str | None,
    nan: "Nan | None",
    what: str,
    nodes: str | None,
    layer: int | None,
    out: str | None,
    escape_formulas: bool,
    **options: Any,
) -> int:
    """Gates, or attention weights, by the best weights of the run in folder RUN.

    Every node sees its whole neighbourhood, as in `gaancore predict`; layers and heads are
    numbered from 1, as in the pictures of `gaancore plot`.

    \b
    gates.csv      node_id, layer, head1, head2, ...: g_i^k, a row for each node and layer
    attention.csv  node_id, neighbor_id, layer, head1, head2, ...: w_ij^k, a row for each arc
                   into a node and layer; they sum to 1 over the arcs into a node. Features of
                   edges stand before the layer, under the names that the data give them
    .npz of gates      node_ids (n,); layer1, layer2, ... (n, K)
    .npz of attention  node_ids, neighbor_ids (E,); layer1, layer2, ... (E, K); edge_attr (E, B)
                       if edges have features

    A node without neighbours has gates and no arcs. An id that is named twice is there twice, in
    the order of --nodes.
    """
    from gaancore.training.nodes.heads.explain import arc_attention, node_gates

    prepare_process(options["threads"])
    target = out_file(out or f"{what}.csv")
    if nodes is None and what == "attention":
        raise SettingsError(
            "nodes: required for attention, which has a number for each arc, head and layer; name "
            "the nodes, or say all"
        )
    opened = open_classifier(run, options["device"])
    inputs = opened.inputs(data, nan=nan)
    rows = _rows_of(nodes, inputs)
    ids: dict[str, np.ndarray]
    edges: dict[str, np.ndarray] = {}
    if what == "gates":
        layers = node_gates(opened.classifier, inputs, rows, layer)
        ids = {"node_id": inputs.node_ids[rows]}
        size = f"gates of {rows.size:,} nodes"
    else:
        found = arc_attention(opened.classifier, inputs, rows, layer)
        layers = found.layers
        ids = {
            "node_id": inputs.node_ids[found.targets],
            "neighbor_id": inputs.node_ids[found.sources],
        }
        size = f"attention weights of {found.targets.size:,} arcs into {rows.size:,} nodes"
        if found.edge_attr is not None:
            count = found.edge_attr.shape[1]
            names = inputs.edge_names or tuple(f"edge{n}" for n in range(1, 1 + count))
            edges = dict(zip(names, found.edge_attr.T.astype(str), strict=True))
    arrays = {f"{name}s": column for name, column in ids.items()}
    arrays |= {f"layer{number}": values for number, values in layers.items()}
    if edges:
        arrays["edge_attr"] = np.stack(list(edges.values()), axis=1).astype(np.float32)
    heads = range(1, 1 + max(values.shape[1] for values in layers.values()))
    header = [*ids, *edges, "layer", *(f"head{k}" for k in heads)]
    table = layer_rows([*ids.values(), *edges.values()], layers)
    notes = write_result(target, arrays, header, table, texts=len(ids), escape=escape_formulas)
    size += f", layer {' and '.join(map(str, layers))}"
    say_written(target, size, [*inputs.notes, *notes])
    return 0


def _rows_of(nodes: str | None, inputs: "NodeInputs") -> np.ndarray:
    """The rows that `--nodes` names."""
    if nodes in (None, "all"):
        return np.arange(inputs.graph.num_nodes)
    if os.path.isfile(file := user_path(nodes)):  # also of a list too long for a name
        from gaancore.data.files.arrays import read_csv_rows

        ids = [cells[0] for _, cells in read_csv_rows(Path(file))]
    else:
        ids = [name.strip() for name in nodes.split(",")]
    ids = [name for name in ids if name]
    if not ids:
        raise SettingsError(f"nodes: no ids in {nodes!r}")
    try:
        return inputs.rows_of(ids)
    except DataError as error:
        raise DataError(f"nodes: {error}") from None
