"""`gaancore reproduce` and `gaancore results`."""

import shlex
from pathlib import Path
from typing import Any

import click

from gaancore.data import NodeDataset, TrafficDataset, find_dataset
from gaancore.errors import SettingsError
from gaancore.nn.aggregators import VARIANTS
from gaancore.reproduce.collected import collected_page
from gaancore.reproduce.jobs import Jobs
from gaancore.reproduce.parameters import parameters_report
from gaancore.reproduce.report import changed_settings, table_report
from gaancore.reproduce.runs import TableRun, plan, runs_folder
from gaancore.reproduce.sizes import datasets_report, sampling_report
from gaancore.reproduce.tables import TABLES, TRAINED, Row, expect_common, rows_of, seeds_of
from gaancore.reproduce.written import draw_gates, draw_report, expect_same_data, write_report
from gaancore.system.disk import write_whole
from gaancore.system.paths import user_path
from gaancore.system.process import prepare_process
from gaancore.system.threads import get_num_threads
from gaancore.train.choices import read_config
from gaancore.train.run_folder import AnySettings, default_settings, describe_data
from gaancore.train.traffic.forecaster import with_known_features
from gaancore.train.traffic.settings import ForecastSettings

from .data import TASKS, load, settings_for
from .options import given_assignments, process_options
from .out_file import writable_file
from .show import JobsDisplay

OUT = "reproduced"
Dataset = NodeDataset | TrafficDataset
Layer = tuple[str, dict[str, Any]]


@click.command(short_help="Run a table of the paper and write it beside the paper's numbers.")
@click.argument("table", type=click.Choice(tuple(TABLES)))
@click.option(
    "--task",
    type=click.Choice(TASKS),
    help="Of the tables that have several.  [default: the first]",
)
@click.option(
    "--data", metavar="PATH",
    help="As for train.  [default: the data folder, else built-in synthetic data]",
)  # fmt: skip
@click.option("--rows", help="Only these rows, with commas between.  [default: all]")
@click.option(
    "--seeds", type=click.IntRange(1),
    help="Runs of each row, with seeds 0, 1, ...  [default: ppi 3, reddit 5, metr-la 3; gates 1]",
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
    help="Change a setting of every row; wins over --config.  [default: none]",
)  # fmt: skip
@click.option(
    "--out", metavar="DIR", default=OUT, show_default=True, help="Folder of runs and reports."
)
@click.option(
    "--jobs", type=click.IntRange(1), default=1, show_default=True, help="Runs at the same time."
)
@click.option(
    "--budget", type=click.FloatRange(0), metavar="MINUTES",
    help="Stop by then; what is not finished is saved for the next time.  [default: no limit]",
)  # fmt: skip
@click.option("--report-only", is_flag=True, help="Run nothing.  [default: no]")
@process_options
def reproduce(table: str, **options: Any) -> int:
    """Do the runs of TABLE, then write OUT/TABLE.md, .json and .png from their records.

    \b
    datasets   the paper's counts beside those of your files
    sampling   sampled sizes, merged and not
    main       test micro-F1 of all seven models, on PPI or Reddit
    ablation   heads and sample sizes
    out-dim    test micro-F1 against output dimension, on PPI
    gates      pictures of gate values
    traffic    errors on METR-LA
    params     all 26 parameter counts; exit code 1 if one is not the paper's

    Finished runs in OUT/runs are used again and unfinished ones continued, so a command that was
    stopped is simply given again. Ctrl-C saves the state of what is running. Scores on anything
    but the paper's full data stand in a column of their own.
    """
    prepare_process(options["threads"])
    out = user_path(options["out"])
    _expect_of_use(table, options)
    if table == "params":
        return _params(out)
    tasks = TABLES[table][1]
    task = options["task"] or tasks[0]
    if task not in tasks:
        raise SettingsError(f"--task: table {table} is of {', '.join(tasks)}, got {task}")
    layers = _given(options)
    if table == "datasets":
        named = [options["task"]] if options["task"] else tasks
        return _datasets(named, options["data"], layers, out)
    asked: list[Row] = []
    if table in TRAINED:
        names = options["rows"].split(",") if options["rows"] else []
        asked = rows_of(table, task, [name.strip() for name in names])
        expect_common(table, rows_of(table, task), *layers)
    dataset = load(options["data"], default_settings(task, *layers))
    facts = describe_data(dataset)
    expect_same_data(out, table, task, facts["checksum"])
    if table == "sampling":
        assert isinstance(dataset, NodeDataset)
        return _written(write_report(sampling_report(task, dataset), out))
    return _trained(table, task, dataset, facts, out, options, layers, asked)


def _params(out: Path) -> int:
    report = parameters_report()
    _written(write_report(report, out))
    click.echo(report["sentence"])
    return 0 if report["equal"] == len(report["rows"]) else 1


def _expect_of_use(table: str, options: dict[str, Any]) -> None:
    """Raise SettingsError for an option that would say nothing to this table."""
    if table in TRAINED:
        return
    useless = {"rows": "--rows", "seeds": "--seeds", "variant": "--variant"}
    if table == "params":
        useless |= {"data": "--data", "config": "--config", "assignments": "--set"}
    for name, option in useless.items():
        if options[name]:
            raise SettingsError(f"{option}: table {table} has no runs that it could be for")


def _datasets(tasks: Any, path: str | None, layers: list[Layer], out: Path) -> int:
    found = {}
    for number, task in enumerate(tasks):
        source = path if number == 0 and path else find_dataset(task)
        dataset = load(str(source), default_settings(task, *layers)) if source else None
        found[task] = describe_data(dataset) if dataset else None
    return _written(write_report(datasets_report(found), out))


def _given(options: dict[str, Any]) -> list[Layer]:
    """What is to hold for every row, weakest first: (where it stands, {setting: value})."""
    layers = [("--set", given_assignments(options["assignments"]))]
    if options["config"]:
        layers.insert(0, (options["config"], read_config(options["config"])))
    return layers


def _trained(
    table: str,
    task: str,
    dataset: Dataset,
    facts: dict[str, Any],
    out: Path,
    options: Any,
    given: list[Layer],
    asked: list[Row],
) -> int:
    reading = [("--variant", {"variant": options["variant"]})] if options["variant"] else []

    def settings_of(row: Row, seed: int, given: list[Layer] = given) -> AnySettings:
        layers = [(row.name, row.settings), *given, *reading, ("", {"seed": seed})]
        named = any("epochs" in values for _, values in layers)
        settings = settings_for(dataset, default_settings(task, *layers), epochs_named=named)
        if isinstance(settings, ForecastSettings):
            assert isinstance(dataset, TrafficDataset)
            settings = with_known_features(settings, dataset)
        return settings

    rows = rows_of(table, task)
    seeds = options["seeds"] or seeds_of(table, task)
    folder = runs_folder(out, task, facts["checksum"])
    runs = plan(rows, seeds, folder, facts["checksum"], settings_of)
    changed = dict.fromkeys(
        change
        for row in rows
        for change in changed_settings(settings_of(row, 0), settings_of(row, 0, []))
    )
    display = JobsDisplay()
    failed = interrupted = False
    if not options["report_only"]:
        wanted = [run for run in runs if run.row in asked]
        failed, interrupted = _work(task, wanted, out, options, [*given, *reading], display)
    command = _command(table, task, options)
    report = table_report(table, task, rows, runs, facts, list(changed), command)
    pictures = draw_report(report, runs, out)
    if table == "gates":
        assert isinstance(dataset, NodeDataset)
        report["gates"] = draw_gates(runs, dataset, out)
    click.echo(report["data"]["words"])
    _written([*write_report(report, out), *pictures])
    return 130 if interrupted else 2 if failed else 0


def _work(
    task: str,
    runs: list[TableRun],
    out: Path,
    options: Any,
    given: list[Layer],
    display: JobsDisplay,
) -> tuple[bool, bool]:
    """Do the runs; returns whether one failed, and whether Ctrl-C came."""
    process = ["--device", options["device"], "--prefetch", str(options["prefetch"]), "--quiet"]
    process += ["--threads", str(max(1, get_num_threads() // options["jobs"]))]
    if options["data"]:
        process += ["--data", options["data"]]

    def arguments(run: TableRun) -> list[str]:
        layers = [run.row.settings, *(changes for _, changes in given)]
        sets = [f"--set={name}={_text(layer[name])}" for layer in layers for name in layer]
        where = ["--task", task, "--seed", str(run.seed), "--out", str(run.folder.path)]
        return [*where, *sets, *process]

    jobs = Jobs(
        arguments=arguments,
        resume=lambda run: ["--resume", str(run.folder.path), *process],
        count=options["jobs"],
        budget=None if options["budget"] is None else 60 * options["budget"],
        watch=display.watch,
        ended=display.ended,
    )
    with display:
        try:
            jobs.work(runs, out)
        except KeyboardInterrupt:
            return display.failed, True
    return display.failed, False


def _text(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _command(table: str, task: str, options: dict[str, Any]) -> str:
    """What does the rest; folders of this machine left out."""
    words = ["gaancore", "reproduce", table, "--task", task]
    for name in ("data", "out", "config"):
        if options[name] and options[name] != OUT:
            words += [f"--{name}", Path(options[name]).name]
    for name in ("seeds", "variant"):
        if options[name]:
            words += [f"--{name}", str(options[name])]
    words += [f"--set={assignment}" for assignment in options["assignments"]]
    return shlex.join(words)


def _written(paths: list[Path]) -> int:
    for path in paths:
        click.echo(f"written: {path}")
    return 0


@click.command(short_help="One page from the reports of reproduce.")
@click.argument("folders", metavar="OUT...", nargs=-1, required=True)
@click.option("--to", metavar="FILE", default="docs/results.md", show_default=True)
def results(folders: tuple[str, ...], to: str) -> int:
    """Put the reports in the folders that reproduce wrote together to one Markdown page.

    The page says what was run, on which data, and what was not run and how to run it.
    """
    text = collected_page([user_path(folder) for folder in folders])
    target = writable_file(to, "--to", make_folder=True)
    write_whole(target, text.encode())
    return _written([target])
