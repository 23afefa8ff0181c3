"""`gaancore synth`."""

from contextlib import suppress
from typing import Any

import click

from gaancore.data.synthetic.large import write_synthetic_graph
from gaancore.data.synthetic.ppi import write_synthetic_ppi
from gaancore.data.synthetic.reddit import write_synthetic_reddit
from gaancore.system.paths import user_path

from .process import debug_option, quiet_option
from .show import progress_bar


class Count(click.ParamType):
    """A whole number, also written 1e9 or 30_000_000."""

    name = "integer"

    def convert(
        self, value: Any, param: click.Parameter | None, context: click.Context | None
    ) -> int:
        with suppress(ValueError, OverflowError):
            if (number := float(value)) == int(number):
                return int(number)
        self.fail(f"{value!r} is not a whole number such as 30000000 or 3e7", param, context)


@click.group()
def synth() -> None:
    """Write synthetic data to a store: to try sizes and speeds, not to compare scores."""


@synth.command()
@click.argument("store", metavar="OUT")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@debug_option
def ppi(store: str, seed: int) -> int:
    """A look-alike of PPI in the new folder OUT: 8 graphs of 300 nodes, 50 features, 121 labels.

    With seed 0 it is what `gaancore train --task ppi` uses when it finds no data. Labels depend on
    which neighbours a node attends to. The same seed gives the same bytes.
    """
    target = user_path(store)
    write_synthetic_ppi(target, seed)
    click.echo(f"{target}: written; use it with --data {target}")
    return 0


@synth.command()
@click.argument("store", metavar="OUT")
@click.option(
    "--scale", type=click.FloatRange(0, min_open=True), default=1.0, show_default=True,
    help="Share of Reddit's nodes; arcs go with its power 1.5. 2.7 gives 500 million.",
)  # fmt: skip
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@quiet_option
@debug_option
def reddit(store: str, scale: float, seed: int, quiet: bool) -> int:
    """A look-alike of Reddit in the new folder OUT: 232,965 nodes and 114.6 million arcs.

    Degrees are heavy-tailed (median 284, mean 492), with 602 features, 41 classes and Reddit's
    split. Nearly half of a node's neighbours share its class, while its own features reveal its
    class one time in three: a network that ignores the graph is right for at most 37 % of the
    nodes, and no network for more than 97 %. At full size it takes a minute, 1 GB of memory and
    1 GB of disk. The same seed gives the same bytes.
    """
    target = user_path(store)
    with progress_bar("synth reddit", quiet) as progress:
        write_synthetic_reddit(target, seed, scale=scale, progress=progress)
    click.echo(f"{target}: written; use it with --data {target}")
    return 0


@synth.command()
@click.argument("store", metavar="OUT")
@click.option(
    "--nodes", type=Count(), default=100_000, show_default=True,
    help="2,000 and more; 3e7 stands for 30 million.",
)  # fmt: skip
@click.option(
    "--arcs", type=Count(), default=3_000_000, show_default=True,
    help="About so many, two for an edge: those that are drawn again are merged.",
)  # fmt: skip
@click.option("--features", type=Count(), default=64, show_default=True)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@quiet_option
@debug_option
def graph(store: str, nodes: int, arcs: int, features: int, seed: int, quiet: bool) -> int:
    """A graph of any size in the new folder OUT, to try what large graphs take.

    Degrees, classes and features are drawn like those of the look-alike of Reddit. Features are in
    float16. As in graphs of citations, only 1.39 % of the nodes have a label and a part in the
    split; the others are neighbours alone. With --nodes 3e7 --arcs 1e9 it takes a few minutes,
    3 GB of memory, 8 GB of disk, and 4 GB more while it is written. The same seed gives the same
    bytes.
    """
    target = user_path(store)
    with progress_bar("synth graph", quiet) as progress:
        write_synthetic_graph(
            target, seed, num_nodes=nodes, num_arcs=arcs, num_features=features, progress=progress
        )
    click.echo(f"{target}: written; use it with --data {target}")
    return 0
