"""Options on how a command runs, whatever it does; light to import, so that help comes at once."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from gaancore import parallel
from gaancore.array import resolve_device
from gaancore.launcher import local_rank, speaks
from gaancore.system.paths import user_path
from gaancore.system.process import prepare_process

Command = Callable[..., Any]

# main() looks for --debug itself, so no command has to.
debug_option = click.option(
    "--debug", is_flag=True, expose_value=False,
    help="Show the traceback of an error.  [default: no]",
)  # fmt: skip
quiet_option = click.option(
    "--quiet", is_flag=True, help="Print the result line only.  [default: no]"
)


def process_options(command: Command) -> Command:
    """Add `--device`, `--threads` and `--debug`: how to run, whatever is run."""
    command = debug_option(command)
    command = click.option(
        "--threads", type=click.IntRange(0), default=0, show_default=True,
        help="0: all CPUs; of several processes on a machine, each takes its part.",
    )(command)  # fmt: skip
    return click.option(
        "--device", default="auto", show_default=True, callback=_usable_device,
        help="auto (a GPU if one works), cpu or cuda[:N].",
    )(command)  # fmt: skip


def prefetch_option(command: Command) -> Command:
    """Add `--prefetch`, for commands that train or draw neighbours."""
    return click.option(
        "--prefetch", type=click.IntRange(0), default=None,
        help="Batches made ahead of time, by as many threads.  [default: 2 on a GPU, 0 on a CPU]",
    )(command)  # fmt: skip


@contextmanager
def ranks(threads: int, run: str = ".") -> Iterator[parallel.Team]:
    """Inside, the processes that a launcher has started are one: each computes its part, the first
    alone prints and writes, and what goes wrong for one ends all. Without a launcher it is alone.

    threads : of each; 0: its part of the CPUs. run: the folder of the run that is asked, if any.
    """
    team = parallel.team()
    prepare_process(threads or parallel.num_threads(team))
    with parallel.watched(team, user_path(run), "start the command again"), team.together():
        yield team


def _usable_device(context: click.Context, option: click.Parameter, name: str) -> str:
    def notify(notice: str) -> None:
        if speaks():
            click.echo(f"note: {notice}", err=True)

    return resolve_device(name, notify, preferred=local_rank())
