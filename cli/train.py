"""`gaancore train`."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import click

from gaancore.errors import SettingsError
from gaancore.system.paths import user_path
from gaancore.system.process import prepare_process
from gaancore.train.choices import differences, with_changes
from gaancore.train.nodes.run import ClassifierRun
from gaancore.train.progress import RunInterrupt
from gaancore.train.run_folder import AnySettings, RunFolder, default_settings
from gaancore.train.traffic.run import ForecastRun

from .data import TASKS, load, make_run, open_run, settings_for
from .options import given_settings, process_options, quiet_option, settings_options
from .show import Display


@click.command(short_help="Train one model and write its folder.")
@click.option("--task", type=click.Choice(TASKS), default="ppi", show_default=True)
@click.option(
    "--data",
    metavar="PATH",
    help="The folder (a public layout, nodes.csv and edges.csv, or what convert wrote), GraphSAGE "
    "prefix or .npz file; for METR-LA a folder or a file of speeds.  "
    "[default: $GAANCORE_DATA/TASK or ~/.local/share/gaancore/TASK, else built-in synthetic data]",
)
@click.option(
    "--out", metavar="DIR", help="Folder of the run.  [default: runs/TASK-MODEL-VARIANT-seedN]"
)
@click.option(
    "--resume", metavar="DIR", help="Go on with the run in this folder.  [default: a new run]"
)
@settings_options
@quiet_option
@process_options
def train(**options: Any) -> int:
    """Train one model on one task; write settings, checkpoints, log and record.

    The defaults are the paper's for the task. PPI: GaAN with 8 heads, batches of 512 nodes with
    all of their neighbours. Reddit: 4 heads, and (25, 10) neighbours drawn. METR-LA: a Graph GRU
    that reads an hour and forecasts the next. Early stopping. The folder of the run holds
    record.json (the outcome), log.jsonl (a line per validation), best.safetensors and
    last.safetensors. Ctrl-C saves the state; --resume goes on from there, and ends with the same
    weights as if nothing had happened. With --epochs beside it, also of a run that had ended, the
    run ends later than it was to, or sooner if it has not come so far, and keeps all its other
    settings.
    """
    prepare_process(options["threads"])
    display = Display(quiet=options["quiet"])
    run = _resumed(options) if options["resume"] else _new(options)
    display.begin(run)
    try:
        with _interrupts() as stop_requested, display:
            run.watcher = display.watcher(stop_requested)
            record = run.train()
    except RunInterrupt:
        click.echo(
            f"interrupted at step {run.progress.step}; the state is saved, go on with "
            f"gaancore train --resume {run.folder.path}",
            err=True,
        )
        return 130
    display.end(record, run.folder)
    return 0


def _new(options: dict[str, Any]) -> ClassifierRun | ForecastRun:
    given = given_settings(options)
    asked = default_settings(options["task"], *given)
    dataset = load(options["data"], asked)
    named = any("epochs" in changes for _, changes in given)
    settings = settings_for(dataset, asked, epochs_named=named)
    folder = RunFolder(user_path(options["out"]) if options["out"] else _free(settings))
    run = make_run(settings, dataset, folder, options["device"], options["prefetch"])
    run.start()
    return run


def _resumed(options: dict[str, Any]) -> ClassifierRun | ForecastRun:
    if options["out"]:
        raise SettingsError("--out: a resumed run stays in its folder; leave it out")
    folder = RunFolder(user_path(options["resume"]))
    settings, _ = folder.read_settings()
    asked = with_changes(settings, *given_settings(options))
    if changed := differences(replace(settings, epochs=asked.epochs), asked):
        raise SettingsError(
            f"{folder.path}: a resumed run keeps its settings, but these differ: "
            + "; ".join(changed)
        )
    run = open_run(folder, options["data"], options["device"], options["prefetch"])
    run.resume()
    if asked.epochs != settings.epochs:
        run.set_epochs(asked.epochs)
    return run


def _free(settings: AnySettings) -> Path:
    """runs/TASK-MODEL-VARIANT-seedN, with a number behind it if that one is taken."""
    name = f"{settings.task}-{settings.model}-{settings.variant}-seed{settings.seed}"
    candidates = (Path("runs") / (name + (f"-{n}" if n > 1 else "")) for n in range(1, 10_000))
    return next(path for path in candidates if not path.exists())


@contextmanager
def _interrupts() -> Iterator[Callable[[], bool]]:
    """Inside, Ctrl-C (or SIGTERM) is noted, for the run to stop after its step; the second one
    stops at once. Gives the function that tells whether one came."""
    asked: list[int] = []

    def handler(number: int, frame: FrameType | None) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(number)

    before = {number: signal.signal(number, handler) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: bool(asked)
    finally:
        for number, old in before.items():
            signal.signal(number, old)
