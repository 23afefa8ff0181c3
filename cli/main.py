"""`gaancore`: commands, exit codes and what an error looks like.

Exit codes: 0 done, 2 the input or an option is wrong, 130 interrupted (the state is saved).
"""

import re
import sys
import traceback

import click

from gaancore import __version__
from gaancore.array import memory_shortage
from gaancore.errors import UserError

from .convert import check, convert
from .doctor import doctor
from .download import download_command
from .embed import embed
from .evaluate import evaluate
from .explain import explain
from .forecast import forecast
from .info import info
from .params import params
from .plot import plot
from .predict import predict
from .reproduce import reproduce, results
from .sample import sample
from .synth import synth
from .train import train

# arguments below that an option sets under another name
ALSO = {"shares": ("split", "split_shares"), "split": ("split_shares",), "seed": ("split_seed",)}


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
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
    gaancore download ppi                      a public copy, to where train finds it
    gaancore info FOLDER                       what is in a dataset
    gaancore convert FOLDER STORE              a large graph, memory-mapped from then on
    gaancore sample STORE                      what a sampled batch needs: the paper's Table 1
    gaancore reproduce main --data FOLDER      a table of the paper, beside the paper's numbers
    gaancore params                            every parameter count, beside the paper's
    gaancore doctor                            check the installation, look for a GPU
    """


gaancore.add_command(train)
gaancore.add_command(evaluate)
gaancore.add_command(predict)
gaancore.add_command(explain)
gaancore.add_command(embed)
gaancore.add_command(forecast)
gaancore.add_command(plot)
gaancore.add_command(info)
gaancore.add_command(download_command)
gaancore.add_command(convert)
gaancore.add_command(check)
gaancore.add_command(synth)
gaancore.add_command(sample)
gaancore.add_command(reproduce)
gaancore.add_command(results)
gaancore.add_command(params)
gaancore.add_command(doctor)


def main() -> None:
    """Run a command; turn errors into one line and an exit code."""
    debug = "--debug" in sys.argv[1:]
    try:
        code = gaancore.main(standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted", err=True)
        sys.exit(130)
    except UserError as error:
        if debug:
            traceback.print_exc()
        click.echo(f"error: {_with_option(str(error))}", err=True)
        sys.exit(2)
    except MemoryError as error:
        if debug:
            traceback.print_exc()
        shortage = memory_shortage(error)
        click.echo(
            f"error: out of memory ({shortage}); to train, lower --batch-size or --fanouts",
            err=True,
        )
        sys.exit(2)
    sys.exit(code if isinstance(code, int) else 0)


def _with_option(message: str) -> str:
    """A message with the command's options for the arguments that it names, first or in brackets.

    What lies below the command line names arguments, because a Python user has no options.
    """
    command = gaancore.commands.get(next(iter(sys.argv[1:]), ""))
    options = {}
    for parameter in command.params if command else ():
        if isinstance(parameter, click.Option):
            for name in (parameter.name, *ALSO.get(parameter.name or "", ())):
                options[name] = parameter.opts[-1]
    message = re.sub(r"^\w+(?=: )", lambda found: options.get(found[0], found[0]), message)
    return re.sub(r"\((\w+)\)", lambda found: f"({options.get(found[1], found[1])})", message)
