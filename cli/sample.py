"""`gaancore sample`."""

import json
from dataclasses import asdict

import click
from rich.table import Table

from gaancore.data import TRAIN, NodeDataset
from gaancore.graph import CSRGraph
from gaancore.reproduce.sampling import PAPER_SIZES, PRINTED, SampledSizes, sampled_sizes
from gaancore.tasks import choose, task_named

from .process import debug_option, ranks
from .show import Display, phases, print_whole, progress_bar

PAPER_FANOUTS, PAPER_SEEDS = "15,15,15", 512


@click.command()
@click.argument("data", metavar="[DATA]", required=False)
@click.option(
    "--task", type=click.Choice(("reddit", "ppi", "labels", "classes")),
    help="The task whose reader to use.  [default: what fits DATA, else reddit]",
)  # fmt: skip
@click.option(
    "--fanouts", default=PAPER_FANOUTS, show_default=True, help="-1 or all: all neighbours."
)
@click.option(
    "--seeds", "num_seeds", type=click.IntRange(1), default=PAPER_SEEDS, show_default=True,
    help="Nodes to start from, drawn at random.",
)  # fmt: skip
@click.option("--repeats", type=click.IntRange(1), default=10, show_default=True)
@click.option(
    "--nodes", type=click.Choice(("all", "train")), default="all", show_default=True,
    help="Draw within the whole graph, or within what training sees.",
)  # fmt: skip
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, not a table.  [default: no]")
@debug_option
def sample(
    data: str | None,
    task: str | None,
    fanouts: str,
    num_seeds: int,
    repeats: int,
    nodes: str,
    seed: int,
    as_json: bool,
) -> int:
    """The paper's Table 1: how many nodes a batch needs, with and without merging.

    From each node of B_l, up to S neighbours are sampled without replacement; B_{l+1} is B_l and
    all sampled neighbours. Merged, a node that is sampled twice counts once. The table has the mean
    of |B_l| over the draws, beside the paper's figures for Reddit, and the mean time of a draw on
    one thread. DATA is in any layout that train takes; without it, the command looks for Reddit
    where train does.

    `mpiexec -n N gaancore sample ...` shares out the draws among N processes. The numbers of nodes
    and edges are the same whatever N is.
    """
    with ranks(threads=1) as team:
        change = ("fanouts", {"fanouts": fanouts, "eval_fanouts": "-1"})
        with phases(as_json or not team.first):
            if task is None and data is not None:
                chosen = choose(data, [change], lenient=True)
                what, dataset = chosen.task, chosen.dataset
            else:
                what = task_named(task or "reddit")
                dataset = what.load(data, what.settings(change))
            graph = dataset.graph if nodes == "all" else dataset.view(TRAIN)[0].graph
        settings = what.settings(change)
        sizes = []
        with progress_bar("sample", as_json or not team.first) as progress:
            for merge in (False, True):
                found = sampled_sizes(
                    graph,
                    settings.fanouts,
                    num_seeds=num_seeds,
                    repeats=repeats,
                    seed=seed,
                    merge=merge,
                    team=team,
                )
                sizes.append(found)
                progress(len(sizes) / 2)
        if team.first:
            as_in_paper = (what.name, fanouts, num_seeds) == ("reddit", PAPER_FANOUTS, PAPER_SEEDS)
            _show(dataset, graph, sizes, as_in_paper, as_json)
    return 0


def _show(
    dataset: NodeDataset,
    graph: CSRGraph,
    sizes: list[SampledSizes],
    as_in_paper: bool,
    as_json: bool,
) -> None:
    if as_json:
        facts = {"data": dataset.kind, "path": dataset.path, "num_nodes": graph.num_nodes}
        rows = [
            asdict(row) | {"paper": PAPER_SIZES[row.merge] if as_in_paper else None}
            for row in sizes
        ]
        click.echo(json.dumps({**facts, "num_edges": graph.num_edges, "rows": rows}, indent=2))
        return
    display = Display(quiet=False)
    if dataset.kind == "synthetic":
        display.say(dataset.notes[0])
    display.say(
        f"{dataset.path or 'built in'}: {graph.num_nodes:,} nodes, {graph.num_edges:,} arcs"
    )
    print_whole(display.console, _table(sizes, as_in_paper))


def _table(sizes: list[SampledSizes], as_in_paper: bool) -> Table:
    table = Table("", *(f"|B_{step}|" for step in range(len(sizes[0].nodes))), "edges", "ms")
    for row in sizes:
        name = "merged" if row.merge else "not merged"
        counts = [f"{count:,.0f}" for count in (*row.nodes, row.edges)]
        table.add_row(name, *counts, f"{row.seconds * 1e3:.2f}")
        if as_in_paper:
            table.add_row("  paper, Reddit", *PRINTED[row.merge])
    return table
