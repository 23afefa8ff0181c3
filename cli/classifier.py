"""What commands share that ask a finished run about the nodes of a graph."""

from collections.abc import Callable
from typing import Any

import click

from gaancore.data import NodeDataset
from gaancore.data.nodes.inputs import NodeInputs, inputs_of, read_inputs
from gaancore.data.nodes.missing import Nan
from gaancore.errors import SettingsError
from gaancore.system.paths import user_path
from gaancore.train.nodes.predict import Classifier, load_classifier
from gaancore.train.run_folder import RunFolder

from .data import load_again

Command = Callable[..., Any]


def classifier_options(command: Command) -> Command:
    """Add RUN, `--data` and `--nan`: a run, and the graph that it is asked about."""
    command = click.option(
        "--nan", type=click.Choice(("error", "zero")),
        help="Features of --data that are NaN: refused, or 0."
        "  [default: 0 if it was so in training]",
    )(command)  # fmt: skip
    command = click.option(
        "--data", metavar="PATH",
        help="Another graph with the same features, in any layout; it needs no labels and no "
        "split.  [default: the run's own data]",
    )(command)  # fmt: skip
    return click.argument("run", metavar="RUN")(command)


def open_classifier(
    run: str, data: str | None, nan: Nan | None, device: str
) -> tuple[Classifier, NodeInputs]:
    """The best weights of the run, and the graph at `data`, by default the run's own."""
    if nan is not None and data is None:
        raise SettingsError("--nan: the run's own data is read as in training; leave it out")
    folder = RunFolder(user_path(run))
    classifier = load_classifier(folder, device)
    settings = classifier.settings
    if data is None:
        dataset = load_again(folder, None)
        assert isinstance(dataset, NodeDataset)
        return classifier, inputs_of(dataset)
    # The mean over training nodes is not one of a new graph, which has none
    as_trained: Nan = "zero" if settings.nan == "zero" else "error"
    return classifier, read_inputs(data, self_loops=settings.self_loops, nan=nan or as_trained)
