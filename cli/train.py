"""`gaancore train`."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import click

from gaancore.data import (
    NodeDataset,
    find_ppi,
    find_reddit,
    load_ppi,
    load_reddit,
    synthetic_ppi,
    synthetic_reddit,
)
from gaancore.errors import DataError, SettingsError
from gaancore.train.classify import ClassifierRun
from gaancore.train.process import prepare_process
from gaancore.train.record import RunFolder, describe_data
from gaancore.train.run import RunInterrupt
from gaancore.train.settings import Settings, differences, task_settings, with_changes

from .options import given_settings, process_options, quiet_option, settings_options
from .show import Display

# A run on the built-in data that names no number of epochs does so many, and validates after each:
# the paper's patience is made for sets that are far larger.
SYNTHETIC_EPOCHS = {"ppi": 80, "reddit": 40}
SYNTHETIC_NOTES = {
    "ppi": (
        "SYNTHETIC data: no --data was given and no PPI was found, so this trains on a built-in "
        "look-alike; its scores say nothing about PPI.",
        "For real scores: put PPI (GraphSAGE's ppi-*.json and .npy, GraphSAINT's or DGL's folder, "
        "or one .npz) into ~/.local/share/gaancore/ppi or $GAANCORE_DATA/ppi, or name it with "
        "--data.",
    ),
    "reddit": (
        "SYNTHETIC data: no --data was given and no Reddit was found, so this trains on a "
        "built-in look-alike, 50 times smaller; its scores say nothing about Reddit.",
        "For real scores: put Reddit (DGL's reddit_data.npz and reddit_graph.npz, GraphSAINT's or "
        "GraphSAGE's files, or a folder that gaancore convert wrote) into "
        "~/.local/share/gaancore/reddit or $GAANCORE_DATA/reddit, or name it with --data.",
    ),
}
# How data is loaded, where it is looked for, and what stands in for it.
Source = tuple[Callable[..., NodeDataset], Callable[[], Path | None], Callable[[], NodeDataset]]
SOURCES: dict[str, Source] = {
    "ppi": (load_ppi, find_ppi, synthetic_ppi),
    "reddit": (load_reddit, find_reddit, synthetic_reddit),
}


@click.command(short_help="Train one model and write its folder.")
@click.option("--task", type=click.Choice(tuple(SOURCES)), default="ppi", show_default=True)
@click.option(
    "--data",
    metavar="PATH",
    help="The folder (a public layout, or what convert wrote), GraphSAGE prefix or .npz file.  "
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
    all of their neighbours. Reddit: 4 heads, and (25, 10) neighbours drawn. Early stopping. The
    folder of the run holds record.json (the outcome), log.jsonl (a line per validation),
    best.safetensors and last.safetensors. Ctrl-C saves the state; --resume goes on from there,
    and ends with the same weights as if nothing had happened.
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


def _new(options: dict[str, Any]) -> ClassifierRun:
    settings = task_settings(options["task"], *given_settings(options))
    dataset = load_data(options["data"], settings)
    if dataset.kind == "synthetic" and not settings.epochs:
        every = settings.validate_every if settings.validate_every >= 0 else 0
        epochs = SYNTHETIC_EPOCHS[settings.task]
        settings = replace(settings, epochs=epochs, validate_every=every)
    folder = RunFolder(Path(options["out"]).expanduser() if options["out"] else _free(settings))
    run = ClassifierRun(settings, dataset, folder, options["device"], prefetch=options["prefetch"])
    run.start()
    return run


def _resumed(options: dict[str, Any]) -> ClassifierRun:
    if options["out"]:
        raise SettingsError("--out: a resumed run stays in its folder; leave it out")
    folder = RunFolder(Path(options["resume"]).expanduser())
    settings, _ = folder.read_settings()
    asked = with_changes(settings, *given_settings(options))
    if changed := differences(settings, asked):
        raise SettingsError(
            f"{folder.path}: a resumed run keeps its settings, but these differ: "
            + "; ".join(changed)
        )
    run = open_run(folder, options["data"], options["device"], options["prefetch"])
    run.resume()
    return run


def open_run(folder: RunFolder, path: str | None, device: str, prefetch: int) -> ClassifierRun:
    """The run in `folder` with its data, from `path` if the files have moved.

    Raises DataError or SettingsError if there is no run or the data is not the same.
    """
    settings, data = folder.read_settings()
    if not path and data["path"] and not Path(data["path"]).exists():
        raise DataError(
            f"{folder.path}: its data is no longer at {data['path']}; say where with --data"
        )
    dataset = load_data(path or data["path"], settings, synthetic=data["path"] is None)
    if (found := describe_data(dataset)["checksum"]) != data["checksum"]:
        raise SettingsError(
            f"{folder.path}: the data has changed since the run began (checksum {found}, then "
            f"{data['checksum']}); give it the same files with --data"
        )
    return ClassifierRun(settings, dataset, folder, device, prefetch=prefetch)


def load_data(path: str | None, settings: Settings, synthetic: bool = False) -> NodeDataset:
    """The data at `path`, else in the user's data folder, else the built-in look-alike."""
    load, find, look_alike = SOURCES[settings.task]
    source = path or (None if synthetic else find())
    if source is None:
        return replace(look_alike(), notes=SYNTHETIC_NOTES[settings.task])
    # absolute, so that the run can be gone on with from any folder
    source = Path(source).expanduser().absolute()
    return load(source, self_loops=settings.self_loops, unflagged=settings.unflagged)


def _free(settings: Settings) -> Path:
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
