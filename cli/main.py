"""`gaancore`: commands, exit codes and what an error looks like.

Exit codes: 0 done, 1 a table's numbers are not the paper's, 2 the input or an option is wrong,
3 out of memory, 130 interrupted.
"""

import errno
import re
import sys
import traceback
from importlib import import_module
from typing import Any, NoReturn

import click
from click.shell_completion import CompletionItem

from gaancore import __version__
from gaancore.errors import UserError
from gaancore.launcher import expect_alone, launch, speaks

OUT_OF_MEMORY, INTERRUPTED = 3, 130

# name -> module, its object, and the line in the list of commands. A command is imported when it is
# asked for: the libraries behind them take seconds.
COMMANDS = {
    "train": ("train", "train", "Train one model and write its folder."),
    "evaluate": ("evaluate", "evaluate", "Score the best weights of a run."),
    "predict": ("predict", "predict", "Predict every node, of a new graph too."),
    "explain": (
        "explain",
        "explain",
        "Write the gates or attention weights of a run, node by node.",
    ),
    "embed": ("embed", "embed", "Write the output of a hidden layer for every node."),
    "forecast": ("forecast", "forecast", "Forecast the steps after the last row of the data."),
    "plot": ("plot", "plot", "Draw a run: how it learned, its gates or its forecasts."),
    "report": ("report", "report", "One HTML page of a run, or of several side by side."),
    "info": ("info", "info", "Describe a dataset before training on it."),
    "download": ("download", "download_command", "Fetch a public copy of PPI or Reddit."),
    "convert": (
        "convert",
        "convert",
        "Write a dataset to disk so that it can be memory-mapped.",
    ),
    "check": ("convert", "check", "Compare every byte of a store with its checksums."),
    "synth": ("synth", "synth", "Write a synthetic dataset of any size."),
    "sample": ("sample", "sample", "How large sampled neighbourhoods grow, merged and not."),
    "reproduce": (
        "reproduce",
        "reproduce",
        "Run a table of the paper and write it beside the paper's numbers.",
    ),
    "results": ("reproduce", "results", "One page from the reports of reproduce."),
    "params": ("params", "params", "Parameter counts, layer by layer, beside the paper's."),
    "doctor": ("doctor", "doctor", "Check the installation, look for a GPU."),
}

# commands that several processes of mpiexec may run as one, and those that one of them runs
ON_RANKS = ("train", "evaluate", "predict", "embed", "forecast", "sample")
BY_THE_FIRST = ("convert",)

# arguments below that an option sets under another name
ALSO = {"shares": ("split", "split_shares"), "split": ("split_shares",), "seed": ("split_seed",)}


class Commands(click.Group):
    """The commands above, each imported when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, attribute, _ = COMMANDS[cmd_name]
        return getattr(import_module(f".{module}", __package__), attribute)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        found = super().resolve_command(ctx, args)
        if found[0] in BY_THE_FIRST:
            _go_on_alone(f"gaancore {found[0]}")
        elif found[0] not in ON_RANKS:
            expect_alone(f"gaancore {found[0]}")
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name][2]) for name in self.list_commands(ctx)])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        names = [name for name in self.list_commands(ctx) if name.startswith(incomplete)]
        found = [CompletionItem(name, help=COMMANDS[name][2]) for name in names]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:  # here, because click would print an empty line first
            _interrupted()


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="gaancore")
def gaancore() -> None:
    """Gated Attention Networks on large graphs, from scratch.

    \b
    gaancore train --task ppi                  a first run: needs no data, takes a minute
    gaancore train --data FOLDER               your own graph or sensors: the data decide
    gaancore train --task metr-la              forecast traffic, on a built-in road network
    gaancore evaluate runs/NAME                score a finished run again
    gaancore predict runs/NAME --data NEW.npz  classes of every node of a new graph
    gaancore explain runs/NAME                 gates, or attention weights, of every node
    gaancore embed runs/NAME                   embeddings of every node
    gaancore forecast runs/NAME                the hour after the last row of the data
    gaancore plot runs/NAME                    pictures of learning, gates, forecasts
    gaancore report runs/NAME                  one page: scores, gates, node by node
    gaancore download ppi                      a public copy, to where train finds it
    gaancore info FOLDER                       what is in a dataset
    gaancore convert FOLDER STORE              a large graph, memory-mapped from then on
    gaancore sample STORE                      what a sampled batch needs: the paper's Table 1
    gaancore reproduce main --data FOLDER      a table of the paper, beside the paper's numbers
    gaancore params                            every parameter count, beside the paper's
    gaancore doctor                            check the installation, look for a GPU

    Exit codes: 0 done, 1 a table's numbers are not the paper's, 2 the input or an option is wrong,
    3 out of memory, 130 interrupted.
    """


def main() -> None:
    """Run a command; turn errors into one line and an exit code."""
    _print_any_name()
    try:
        code = gaancore.main(standalone_mode=False)
    except click.ClickException as error:
        if speaks():
            error.show()
        sys.exit(2)
    except (KeyboardInterrupt, click.Abort):
        _interrupted()
    except UserError as error:
        _fail(_with_option(str(error)), 2)
    except MemoryError as error:
        from gaancore.array import memory_shortage

        _fail(f"out of memory ({memory_shortage(error)}); {_less_memory()}", OUT_OF_MEMORY)
    except OSError as error:
        if error.errno != errno.ENOMEM:
            raise
        _fail(f"out of memory ({error}); {_less_memory()}", OUT_OF_MEMORY)
    sys.exit(code if isinstance(code, int) else 0)


def _go_on_alone(what: str) -> None:
    """Of several processes that a launcher has started, let the first do `what`; end the others.

    None of them has joined the others yet, so nobody waits for anybody.
    """
    found = launch()
    if found is None or found.size == 1:
        return
    if not speaks():
        sys.exit(0)
    click.echo(
        f"note: {what} runs in one process; of the {found.size or 'several'} that {found.name} has "
        "started the first does it, and the others end",
        err=True,
    )


def _print_any_name() -> None:
    """Let a terminal or pipe that is not UTF-8 show escapes for the letters that it lacks."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _interrupted() -> NoReturn:
    from gaancore import parallel

    if speaks():
        click.echo("interrupted", err=True)
    parallel.leave(INTERRUPTED)


def _fail(message: str, code: int) -> NoReturn:
    """End with one line, after the traceback of the error at hand if it was asked for."""
    from gaancore import parallel

    if speaks() or not parallel.agreed():
        if "--debug" in sys.argv[1:]:
            traceback.print_exc()
        click.echo(f"error: {message}", err=True)
    parallel.leave(code)


def _less_memory() -> str:
    """What to do where memory does not suffice; only options that the command has."""
    there = [
        name for name in ("--batch-size", "--fanouts", "--jobs") if name in _options().values()
    ]
    if there:
        return f"lower {' or '.join(there)}"
    return "close other programs, or use a machine with more memory"


def _options() -> dict[str, str]:
    """The options of the command that was called, by the arguments that they set."""
    name = next(iter(sys.argv[1:]), "")
    command = gaancore.get_command(click.Context(gaancore), name)
    options = {}
    for parameter in command.params if command else ():
        if isinstance(parameter, click.Option):
            for argument in (parameter.name, *ALSO.get(parameter.name or "", ())):
                options[argument or ""] = parameter.opts[-1]
    return options


def _with_option(message: str) -> str:
    """A message with the command's options for the arguments that it names, first or in brackets.

    What lies below the command line names arguments, because a Python user has no options.
    """
    options = _options()
    message = re.sub(r"^\w+(?=: )", lambda found: options.get(found[0], found[0]), message)
    return re.sub(r"\((\w+)\)", lambda found: f"({options.get(found[1], found[1])})", message)
