"""`gaancore reproduce` and `gaancore results`."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from gaancore.choices import TASKS, VARIANTS
from gaancore.reproduce.tables import TABLES
from gaancore.system.disk import write_whole
from gaancore.system.paths import user_path
from gaancore.system.process import prepare_process
from gaancore.training.choices import Layer, read_config

from .options import given_assignments
from .out_file import writable_file
from .process import prefetch_option, process_options

OUT = "reproduced"
EXIT_CODES = {"done": 0, "unequal": 1, "failed": 2, "out of memory": 3, "interrupted": 130}


@click.command()
@click.argument("table", type=click.Choice(tuple(TABLES)))
@click.option(
    "--task", type=click.Choice(TASKS),
    help="Which task, for tables that cover several.  [default: what fits --data, else the first]",
)  # fmt: skip
@click.option(
    "--data", metavar="PATH",
    help="As for train.  [default: the data folder, else built-in synthetic data]",
)  # fmt: skip
@click.option("--rows", help="Run these rows only, with commas between.  [default: all]")
@click.option(
    "--seeds", type=click.IntRange(1),
    help="Runs of each row, with seeds 0, 1, ...  [default: reddit 5, other tasks 3; gates 1]",
)  # fmt: skip
@click.option(
    "--variant", type=click.Choice(VARIANTS),
    help="Which reading of the paper.  [default: the task's]",
)  # fmt: skip
@click.option(
    "--config", metavar="FILE",
    help="Settings for every row, from a TOML file or a shipped recipe; the report names them."
    "  [default: none]",
)  # fmt: skip
@click.option(
    "--set", "assignments", multiple=True, metavar="NAME=VALUE",
    help="Change a setting of every row; overrides --config; repeatable.  [default: none]",
)  # fmt: skip
@click.option(
    "--out", metavar="DIR", default=OUT, show_default=True, help="Folder of runs and reports."
)
@click.option(
    "--jobs", type=click.IntRange(1), default=1, show_default=True, help="Runs at the same time."
)
@click.option(
    "--budget", type=click.FloatRange(0), metavar="MINUTES",
    help="Stop after so many minutes; unfinished runs are saved and continued the next time. Seed "
    "0 of every row comes before seed 1, and within a seed the rows that the paper's claims about "
    "the table compare first come first. 0 only estimates.  [default: no limit]",
)  # fmt: skip
@click.option(
    "--report-only", is_flag=True, help="Report on the runs there are; run nothing.  [default: no]"
)
@prefetch_option
@process_options
def reproduce(table: str, **options: Any) -> int:
    """Do the runs of TABLE, then write OUT/TABLE.md, .json and .png from their records.

    \b
    datasets   the paper's counts beside those of your files
    sampling   sampled sizes, merged and not
    main       test micro-F1 of all seven models, on PPI, Reddit or your graph
    ablation   heads and sample sizes
    out-dim    test micro-F1 against output dimension, on PPI or your graph
    gates      pictures of gate values
    traffic    errors of forecasts, on METR-LA or your sensors
    edges      the same with features of roads and without, which the paper leaves for the future
    params     all 26 parameter counts; exit code 1 if one is not the paper's

    Before the runs begin, a few steps of each row are taken to say about how long they will be.

    Without --task, the data decide: on your own graph or sensors every model is trained with the
    same settings, which suit the data as those of train do. Finished runs in OUT/runs are used
    again and unfinished ones continued, so after an interruption repeat the command. Ctrl-C saves
    the runs under way. Only scores on the paper's full data, with its settings, stand beside the
    paper's numbers.
    """
    from gaancore.reproduce.jobs import Means
    from gaancore.reproduce.make import Asked, make_table

    from .show import JobsDisplay

    prepare_process(options["threads"])
    layers: list[Layer] = []
    if options["config"]:
        layers.append((options["config"], read_config(options["config"])))
    if options["assignments"]:
        layers.append(("--set", given_assignments(options["assignments"])))
    asked = Asked(
        table,
        user_path(options["out"]),
        task=options["task"],
        data=options["data"],
        layers=layers,
        rows=[name.strip() for name in options["rows"].split(",")] if options["rows"] else [],
        seeds=options["seeds"],
        variant=options["variant"],
    )
    budget = None if options["budget"] is None else 60 * options["budget"]
    means = Means(options["jobs"], budget, options["device"], options["prefetch"])
    made = make_table(
        asked,
        None if options["report_only"] else means,
        JobsDisplay(),
        lambda task: _command(table, task, options),
    )
    _say_written(made.files)
    if made.words:
        click.echo(made.words)
    return EXIT_CODES[made.end]


def _command(table: str, task: str, options: dict[str, Any]) -> str:
    """The command that does the rest; folders of this machine are left out."""
    words = ["gaancore", "reproduce", table, "--task", task]
    for name in ("data", "out", "config"):
        if options[name] and options[name] != OUT:
            words += [f"--{name}", Path(options[name]).name]
    for name in ("seeds", "variant"):
        if options[name]:
            words += [f"--{name}", str(options[name])]
    words += [f"--set={assignment}" for assignment in options["assignments"]]
    return shlex.join(words)


def _say_written(paths: Sequence[Path]) -> None:
    for path in paths:
        click.echo(f"written: {path}")


@click.command()
@click.argument("folders", metavar="OUT...", nargs=-1, required=True)
@click.option("--to", metavar="FILE", default="docs/results.md", show_default=True)
def results(folders: tuple[str, ...], to: str) -> int:
    """Combine the reports in the folders that reproduce wrote into one Markdown page.

    The page says what was run, on which data, what was not run, and how to run it.
    """
    from gaancore.reproduce.report.collected import collected_page

    text = collected_page(
        [user_path(folder) for folder in folders],
        lambda table, task: f"gaancore reproduce {table} --task {task} --data PATH",
    )
    target = writable_file(to, "to", make_folder=True)
    write_whole(target, text.encode())
    _say_written([target])
    return 0
