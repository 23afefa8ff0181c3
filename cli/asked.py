"""What commands share that ask a run: which run, which graph, and whether it can answer."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

import gaancore  # whose names are imported when they are first used
from gaancore.errors import SettingsError
from gaancore.parallel import ALONE, Team

if TYPE_CHECKING:
    from gaancore.trained.nodes import NodeRun
    from gaancore.trained.opened import OpenedRun

Command = Callable[..., Any]
Kind = TypeVar("Kind", bound="OpenedRun")


def graph_options(command: Command) -> Command:
    """Add RUN, `--data` and `--nan`: a run, and the graph that it is asked about."""
    command = click.option(
        "--nan", type=click.Choice(("error", "zero")),
        help="Features of --data that are NaN: refuse them, or replace them by 0."
        "  [default: 0 if it was so in training]",
    )(command)  # fmt: skip
    command = click.option(
        "--data", metavar="PATH",
        help="Another graph with the same features, in any layout; it needs no labels and no "
        "split.  [default: the run's own data]",
    )(command)  # fmt: skip
    return click.argument("run", metavar="RUN")(command)


def open_as(kind: type[Kind], run: str, device: str, what: str, team: Team = ALONE) -> Kind:
    """The run in the folder `run`, asked by the ranks of a team together. Raises SettingsError
    unless it can do `what`.
    """
    opened = gaancore.open_run(run, device, team=team)
    if not isinstance(opened, kind):
        raise SettingsError(f"{run}: a run of task {opened.settings.task}, which does not {what}")
    return opened


def open_classifier(run: str, device: str, team: Team = ALONE) -> "NodeRun":
    """The same of a run that has to classify nodes."""
    return open_as(gaancore.NodeRun, run, device, "classify nodes", team)


def expect_asked_of(
    opened: "OpenedRun", what: str, kind: type["OpenedRun"], asked: Mapping[str, Any]
) -> None:
    """Raises SettingsError if options were given that only runs of another kind take."""
    if asked and not isinstance(opened, kind):
        raise SettingsError(
            f"{next(iter(asked))}: {opened.path} is a run of task {opened.settings.task}, which "
            f"does not {what}; leave it out"
        )
