"""`gaancore train`."""

from typing import TYPE_CHECKING, Any

import click

from gaancore import parallel
from gaancore.choices import TASKS
from gaancore.errors import SettingsError
from gaancore.system.interrupts import interrupts
from gaancore.system.mapped import Scratch, scratch_folder, scratch_in
from gaancore.system.process import prepare_process
from gaancore.training.progress import RunInterrupt

from .options import given_settings, settings_options
from .out_file import told_of_scratch
from .process import prefetch_option, process_options, quiet_option

if TYPE_CHECKING:
    from gaancore.tasks.begin import Begun


@click.command()
@click.option(
    "--task", type=click.Choice(TASKS),
    help="ppi, reddit, metr-la: the paper's. classes (one class a node), labels (several) and "
    "forecast (speeds of sensors): for your own data.  [default: what fits --data, else ppi]",
)  # fmt: skip
@click.option(
    "--data",
    metavar="PATH",
    help="A folder (nodes.csv and edges.csv, a public layout, or what convert wrote), a GraphSAGE "
    "or Planetoid prefix, or a file (.npz, .mat, .graphml, ...); for traffic a folder or a file of "
    "speeds.  "
    "[default: $GAANCORE_DATA/TASK or ~/.local/share/gaancore/TASK, else built-in synthetic data]",
)
@click.option(
    "--out", metavar="DIR", help="Folder of the run.  [default: runs/TASK-MODEL-VARIANT-seedN]"
)
@click.option(
    "--resume", metavar="DIR", help="Continue the run in this folder.  [default: a new run]"
)
@click.option(
    "--tensorboard", is_flag=True,
    help="Write the log for TensorBoard too, into DIR/tensorboard.  [default: no]",
)  # fmt: skip
@click.option(
    "--cache", type=click.FloatRange(0, 100), default=None, metavar="PERCENT",
    help="Of a store in parts, in several processes: the share of all nodes, those with the most "
    "neighbours, whose rows each process keeps beside its own.  [default: 5]",
)  # fmt: skip
@settings_options
@quiet_option
@prefetch_option
@process_options
def train(**options: Any) -> int:
    """Train one model on one task; write settings, checkpoints, log and record.

    Without --task, the data decide: `gaancore train --data mygraph` looks at them, chooses the
    task and settings that suit their size, and says which. For the paper's tasks the defaults are
    the paper's. PPI: GaAN with 8 heads, batches of 512 nodes with all of their neighbours. Reddit:
    4 heads, and (25, 10) sampled neighbours. METR-LA: a Graph GRU that reads an hour and forecasts
    the next.

    The folder of the run holds record.json (the outcome), log.jsonl and log.csv (a line per
    validation), best.safetensors and last.safetensors. Ctrl-C saves the state; --resume goes on
    from there, and ends with the same weights as if nothing had happened. With --epochs N, a
    resumed run, even a finished one, trains until epoch N; all other settings stay.

    `mpiexec -n N gaancore train ...` trains in N processes, on one machine or several. The run has
    the same bits whatever N is, and goes on in any other number of processes.
    """
    team = parallel.team()
    prepare_process(options["threads"] or parallel.num_threads(team))
    with scratch_in(scratch_folder()) as scratch:
        return _train(options, team, scratch)


def _train(options: dict[str, Any], team: parallel.Team, scratch: Scratch) -> int:
    from .show import Display, phases

    display = Display(quiet=options["quiet"], silent=not team.first)
    with phases(options["quiet"] or not team.first):
        begun = _resumed(options) if options["resume"] else _new(options)
    run = begun.run
    go_on = f"go on with {_launched(team)}gaancore train --resume {run.folder.path}"
    lost = f"the state of the last validation is safe; {go_on}"
    display.begin(begun)
    for note in [] if options["quiet"] else told_of_scratch(scratch):
        display.say(f"note: {note}")
    try:
        with interrupts() as stop, parallel.watched(team, run.folder.path, lost), display:
            run.watcher = display.watcher(stop)
            record = run.train()
    except RunInterrupt:
        if team.first:
            click.echo(
                f"interrupted at step {run.progress.step}; the state is saved, {go_on}", err=True
            )
        return 130
    if team.first:
        display.end(record, run.folder)
    return 0


def _launched(team: parallel.Team) -> str:
    """The beginning of a command that starts as many processes."""
    return f"mpiexec -n {team.size} " if team.size > 1 else ""


def _new(options: dict[str, Any]) -> "Begun":
    from gaancore.tasks.begin import begin

    return begin(
        options["data"],
        task=options["task"],
        out=options["out"],
        device=options["device"],
        prefetch=options["prefetch"],
        tensorboard=options["tensorboard"],
        cache=_share(options["cache"]),
        layers=given_settings(options),
    )


def _share(percent: float | None) -> float | None:
    return None if percent is None else percent / 100


def _resumed(options: dict[str, Any]) -> "Begun":
    from gaancore.tasks.begin import resume

    if options["out"]:
        raise SettingsError("out: a resumed run stays in its folder; leave it out")
    return resume(
        options["resume"],
        options["data"],
        device=options["device"],
        prefetch=options["prefetch"],
        tensorboard=options["tensorboard"],
        cache=_share(options["cache"]),
        layers=given_settings(options),
    )
