"""`gaancore info`."""

import json
from typing import TYPE_CHECKING, Any

import click

from gaancore.choices import TASKS
from gaancore.training.choices import Layer

from .options import given_options, graph_reading_options, sensor_reading_options
from .process import debug_option

if TYPE_CHECKING:
    from gaancore.tasks import Task


@click.command()
@click.argument("data", metavar="[DATA]", required=False)
@click.option(
    "--task", type=click.Choice(TASKS),
    help="The task whose reader to use.  [default: what fits DATA, else ppi]",
)  # fmt: skip
@graph_reading_options
@sensor_reading_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON, not a table.  [default: no]")
@debug_option
def info(data: str | None, task: str | None, as_json: bool, **reading: Any) -> int:
    """Counts, degrees, splits, features and labels of DATA, in any layout that train takes.

    What training would refuse is an error here too, except for nodes in no split (they count as
    neighbours only) and features that are NaN (they count as 0). Without DATA: what train would
    take.
    """
    from rich.table import Table

    from gaancore.data.parts.dataset import parted_at

    from .show import Display, phases, print_whole

    layers = given_options(reading)
    with phases(as_json):
        what, dataset = _read(parted_at(data), task, layers)
        facts = what.summarize(dataset)
    rows = {"nodes": _node_rows, "traffic": _traffic_rows}[dataset.family]
    about = {
        "data": dataset.path,
        "kind": dataset.kind,
        "task": what.name,
        **facts,
        "notes": list(dataset.notes),
    }
    if as_json:
        click.echo(json.dumps(about, indent=2))
        return 0
    display = Display(quiet=False)
    table = Table("what", "found", title=dataset.path or "built-in, SYNTHETIC")
    table.add_row("task", what.name)
    for name, found in rows(facts):
        table.add_row(name, found)
    print_whole(display.console, table)
    for note in dataset.notes:
        display.say(f"note: {note}")
    return 0


def _read(data: Any, task: str | None, layers: list[Layer]) -> "tuple[Task, Any]":
    from gaancore.data.parts.dataset import PartedDataset
    from gaancore.tasks import choose, task_named

    if task is None and data is not None:
        chosen = choose(data, layers, lenient=True)
        return chosen.task, chosen.dataset
    what = task_named(task or "ppi")
    if isinstance(data, PartedDataset):
        return what, data
    return what, what.load(data, what.settings(("", what.lenient), *layers))


def _node_rows(f: dict[str, Any]) -> list[tuple[str, str]]:
    from gaancore.data.files.arrays import listed

    degree, features, labels = f["degree"], f["features"], f["labels"]
    several = "per_node" in labels
    edges = f"{f['edge_features']}{': ' if f['edge_names'] else ''}{listed(f['edge_names'])}"
    rows = [
        ("nodes", f"{f['nodes']:,}"),
        *((f"  {name}", f"{count:,}") for name, count in f["nodes_per_split"].items()),
        *([("  in no split", f"{f['unflagged']:,}")] if f["unflagged"] else []),
        ("arcs (two for an edge)", f"{f['arcs']:,}"),
        ("self-loops", f"{f['self_loops']:,}"),
        ("nodes without a neighbour", f"{f['isolated']:,}"),
        (
            "degree: min, median, mean, max",
            f"{degree['min']:,}, {degree['median']:,.1f}, {degree['mean']:,.1f}, {degree['max']:,}",
        ),
        *(
            (f"mean degree seen by {name}", f"{mean:,.1f} ({f['arcs_seen'][name]:,} arcs)")
            for name, mean in f["mean_degree"].items()
        ),
        *([("features of an edge", edges)] if f["edge_features"] else []),
        ("features", f"{features['count']:,}{_sparse(features)}"),
        ("  with one value for all nodes", f"{features['constant']:,}"),
        ("nodes whose features are all 0", f"{features['zero_rows']:,}"),
        ("labels" if several else "classes", f"{labels['count']:,}"),
        ("  commonest", _count(*labels["commonest"])),
        ("  rarest", _count(*labels["rarest"])),
    ]
    if several:
        rows.append(("  mean per node", f"{labels['per_node']:.2f}"))
        rows.append(("nodes without a label", f"{labels['nodes_without']:,}"))
    if "parts" in f:
        counts = zip(("nodes", "arcs"), zip(*f["parts"], strict=True), strict=True)
        sizes = " and ".join(f"{min(c):,} to {max(c):,} {name}" for name, c in counts)
        rows.append(("parts", f"{len(f['parts']):,}, of {sizes}"))
        rows.append(("arcs from one part to another", f"{f['crossing']:.1%}"))
    if f["graphs"] is not None:
        rows.insert(1, ("graphs", f"{f['graphs']:,}"))
    size = f["bytes"]
    names = {"graph": "graph", "features": "features", "edge_features": "features of edges"}
    shown = {name: size[key] for key, name in names.items() if size[key]}
    megabytes = ", ".join(f"{number / 1e6:,.1f}" for number in shown.values())
    return [*rows, (f"MB of {', '.join(shown)}", megabytes)]


def _sparse(features: dict[str, Any]) -> str:
    return f", sparse: {features['filled']:.2%} are not 0" if "filled" in features else ""


def _count(label: int | str, nodes: int) -> str:
    name = f"number {label}" if isinstance(label, int) else label
    return f"{name} of {nodes:,} nodes"


def _traffic_rows(f: dict[str, Any]) -> list[tuple[str, str]]:
    from gaancore.training.same_data import minutes

    speeds, known = f["speeds"], {True: "known", False: "not known"}
    span = f"{f['first']} to {f['last']}" if f["first"] else "not known"
    sensor, share = f["most_missing"]
    most = f"; most at {sensor}: {share:.1%}" if share else ""
    return [
        ("sensors", f"{f['sensors']:,}"),
        ("arcs between them", f"{f['arcs']:,}"),
        ("sensors without a neighbour", f"{f['isolated']:,}"),
        ("steps", f"{f['steps']:,} of {minutes(f['step_seconds'])}"),
        ("stretches without a gap", f"{f['stretches']:,}"),
        ("times", span),
        ("time of day", known[f["time_of_day"]]),
        ("coordinates", known[f["coordinates"]]),
        ("readings missing", f"{f['missing']:.1%}{most}"),
        (
            "speeds: min, mean, max",
            f"{speeds['min']:.2f}, {speeds['mean']:.2f}, {speeds['max']:.2f}",
        ),
    ]
