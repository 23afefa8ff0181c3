"""`gaancore train`."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import click

from gaancore.data import NodeDataset, find_ppi, load_ppi, synthetic_ppi
from gaancore.errors import DataError, SettingsError
from gaancore.train.classify import ClassifierRun
from gaancore.train.process import prepare_process
from gaancore.train.record import RunFolder, describe_data
from gaancore.train.run import RunInterrupt
from gaancore.train.settings import Settings, differences, with_changes

from .options import given_settings, process_options, settings_options
from .show import Display

# A run on the built-in data that names no number of epochs does so many, and validates after each:
# the paper's patience is made for a set twenty-five times as large.
SYNTHETIC_EPOCHS = 80
SYNTHETIC_NOTES = (
    "SYNTHETIC data: no --data was given and no PPI was found, so this trains on a built-in "
    "look-alike; its scores say nothing about PPI.",
    "For real scores: put PPI (GraphSAGE's ppi-*.json and .npy, GraphSAINT's or DGL's folder, or "
    "one .npz) into ~/.local/share/gaancore/ppi or $GAANCORE_DATA/ppi, or name it with --data.",
)


@click.command(short_help="Train one model and write its folder.")
@click.option("--task", type=click.Choice(("ppi",)), default="ppi", show_default=True)
@click.option(
    "--data",
    metavar="PATH",
    help="PPI's folder, GraphSAGE prefix or .npz file.  [default: $GAANCORE_DATA/ppi or "
    "~/.local/share/gaancore/ppi, else built-in synthetic data]",
)
@click.option(
    "--out", metavar="DIR", help="Folder of the run.  [default: runs/TASK-MODEL-VARIANT-seedN]"
)
@click.option(
    "--resume", metavar="DIR", help="Go on with the run in this folder.  [default: a new run]"
)
@settings_options
@click.option("--quiet", is_flag=True, help="Print the result line only.  [default: no]")
@process_options
def train(**options: Any) -> int:
    """Train one model on one task; write settings, checkpoints, log and record.

    The defaults are the paper's: GaAN with 8 heads, batches of 512 nodes with all of their
    neighbours, early stopping. The folder of the run holds record.json (the outcome), log.jsonl
    (a line per validation), best.safetensors and last.safetensors. Ctrl-C saves the state;
    --resume goes on from there, and ends with the same weights as if nothing had happened.
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
    settings = with_changes(Settings(task=options["task"]), *given_settings(options))
    dataset = _load(options["data"], settings)
    if dataset.kind == "synthetic" and not settings.epochs:
        every = settings.validate_every if settings.validate_every >= 0 else 0
        settings = replace(settings, epochs=SYNTHETIC_EPOCHS, validate_every=every)
    folder = RunFolder(Path(options["out"]).expanduser() if options["out"] else _free(settings))
    run = ClassifierRun(settings, dataset, folder, options["device"])
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
    run = open_run(folder, options["data"], options["device"])
    run.resume()
    return run


def open_run(folder: RunFolder, path: str | None, device: str) -> ClassifierRun:
    """The run in `folder` with its data, from `path` if the files have moved.

    Raises DataError or SettingsError if there is no run or the data is not the same.
    """
    settings, data = folder.read_settings()
    if not path and data["path"] and not Path(data["path"]).exists():
        raise DataError(
            f"{folder.path}: its data is no longer at {data['path']}; say where with --data"
        )
    dataset = _load(path or data["path"], settings, synthetic=data["path"] is None)
    if (found := describe_data(dataset)["checksum"]) != data["checksum"]:
        raise SettingsError(
            f"{folder.path}: the data has changed since the run began (checksum {found}, then "
            f"{data['checksum']}); give it the same files with --data"
        )
    return ClassifierRun(settings, dataset, folder, device)


def _load(path: str | None, settings: Settings, synthetic: bool = False) -> NodeDataset:
    """The data at `path`, else in the user's data folder, else the built-in look-alike."""
    source = path or (None if synthetic else find_ppi())
    if source is None:
        return replace(synthetic_ppi(), notes=SYNTHETIC_NOTES)
    # absolute, so that the run can be gone on with from any folder
    source = Path(source).expanduser().absolute()
    return load_ppi(source, self_loops=settings.self_loops, unflagged=settings.unflagged)


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
