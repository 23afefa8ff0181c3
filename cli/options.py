"""Options that name a setting, and how they, a config file and --set come together."""

from collections.abc import Callable, Sequence
from typing import Any

import click

from gaancore.array import resolve_device
from gaancore.errors import SettingsError
from gaancore.models.node_classifier import MODELS, VARIANTS
from gaancore.train.choices import read_config
from gaancore.train.run_folder import default_settings

from .data import TASKS

Command = Callable[..., Any]

# setting, option, type, help; the help ends with the default, which is the paper's value
_SETTINGS: tuple[tuple[str, str, Any, str], ...] = (
    ("model", "--model", click.Choice(MODELS), "What gathers the neighbours."),
    ("variant", "--variant", click.Choice(VARIANTS), "Which reading of the paper."),
    ("seed", "--seed", int, "Seeds initialisation, batches, sampling and dropout."),
    ("epochs", "--epochs", int, "Most epochs; 0: until validation stops improving."),
    ("batch", "--batch", click.Choice(("seeds", "graphs")),
     "A step is `seeds`: nodes and their neighbourhoods, or `graphs`: whole graphs."),
    ("batch_size", "--batch-size", int,
     "Nodes in a step (graphs: at least so many); sequences in a step of metr-la."),
    ("fanouts", "--fanouts", str, "Neighbours drawn at each step from the seeds; -1: all."),
    ("eval_fanouts", "--eval-fanouts", str,
     "The same for scores; -1: whole neighbourhoods, layer by layer in bounded memory."),
    ("num_heads", "--heads", int, "K, attention heads of a layer (on Reddit the first has one)."),
    ("embed_dim", "--embed-dim", int, "Width of the projected features."),
    ("out_dim", "--out-dim", int, "d_o, width of each layer's output."),
    ("key_dim", "--key-dim", int,
     "d_a, width of queries and keys of a head; metr-la 0: 16, 32 (pairwise)."),
    ("value_dim", "--value-dim", int,
     "d_v, width of a head's values; 0: 256/K (attention), 64 (pairwise), 512 (pools); on Reddit "
     "512/K, 256, 1024; metr-la 16, 128 (pools)."),
    ("gate_dim", "--gate-dim", int, "d_m, width of the gate's pooled neighbours."),
    ("dropout", "--dropout", float, "Dropout after each layer."),
    ("lr", "--lr", float, "Adam's first learning rate."),
    ("history", "--history", int, "Steps that a forecast sees."),
    ("horizon", "--horizon", int, "Steps that it forecasts."),
    ("features", "--features", str,
     "Beside the speed: auto, none or any of time_of_day,day_of_week,coordinates."),
    ("scaler", "--scaler", click.Choice(("global", "per-sensor")),
     "One mean and deviation for all sensors, or for each its own."),
    ("missing", "--missing", click.Choice(("zero", "nan", "interpolate")),
     "A missing reading in the input: 0 as in DCRNN, the mean, or a line through its neighbours."),
    ("split", "--split", click.Choice(("windows", "rows")),
     "What is shared out 70/10/20: windows (as in DCRNN) or rows (as in GaAN)."),
    ("graph", "--graph", str, "File of the roads.  [default: found beside the speeds]"),
    ("sensor_ids", "--sensor-ids", str, "File of sensor ids.  [default: found beside the speeds]"),
    ("start", "--start", str, "Time of the first row.  [default: what the file says]"),
    ("null_value", "--null-value", str,
     "The reading that means missing, beside an empty cell; none: there is no such reading."),
    ("graph_kind", "--graph-kind", click.Choice(("undirected", "directed")),
     "Roads in both directions, or as the file has them."),
    ("self_loops", "--self-loops", click.Choice(("keep", "drop", "add")),
     "Edges from a node to itself."),
    ("normalize", "--normalize", click.Choice(("none", "standard")),
     "Features as they are, or with mean 0 and deviation 1 over the training nodes."),
    ("unflagged", "--unflagged", click.Choice(("drop", "train", "context", "error")),
     "Nodes in no split: dropped, trained on, mere neighbours without a label, or refused."),
    ("nan", "--nan", click.Choice(("error", "zero", "mean")),
     "Features that are NaN: refused, 0, or the mean over the training nodes."),
)  # fmt: skip


def settings_options(command: Command) -> Command:
    """Add an option for each setting above, `--config` and `--set`."""
    command = click.option(
        "--set", "assignments", multiple=True, metavar="NAME=VALUE",
        help="Any other setting by name; may be repeated.  [default: none]",
    )(command)  # fmt: skip
    command = click.option(
        "--config", metavar="FILE",
        help="Settings from a TOML file or a shipped recipe; options and --set win over it."
        "  [default: none]",
    )(command)  # fmt: skip
    for name, option, kind, text in reversed(_SETTINGS):
        help_text = text if "[default" in text else f"{text}  [default: {_defaults(name)}]"
        command = click.option(option, name, type=kind, default=None, help=help_text)(command)
    return command


def _defaults(name: str) -> str:
    """A setting's value in each task that has it; once, if all agree."""
    shown = {}
    for task in TASKS:
        value = getattr(default_settings(task), name, None)
        if value is not None:
            shown[task] = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
    if len(shown) == len(TASKS) and len(set(shown.values())) == 1:
        return shown[TASKS[0]]
    return "; ".join(f"{task} {value}" for task, value in shown.items())


# main() looks for --debug itself, so no command has to.
debug_option = click.option(
    "--debug", is_flag=True, expose_value=False,
    help="Show the traceback of an error.  [default: no]",
)  # fmt: skip
quiet_option = click.option(
    "--quiet", is_flag=True, help="Print the result line only.  [default: no]"
)


def process_options(command: Command) -> Command:
    """Add `--device`, `--threads`, `--prefetch` and `--debug`: how to run, whatever is run."""
    command = debug_option(command)
    command = click.option(
        "--threads", type=click.IntRange(0), default=0, show_default=True, help="0: all CPUs."
    )(command)
    command = click.option(
        "--prefetch", type=click.IntRange(0), default=2, show_default=True,
        help="Batches made ahead of their use, by up to so many threads; 0: none.",
    )(command)  # fmt: skip
    return click.option(
        "--device", default="auto", show_default=True, callback=_usable_device,
        help="auto (a GPU if one works), cpu or cuda[:N].",
    )(command)  # fmt: skip


def _usable_device(context: click.Context, option: click.Parameter, name: str) -> str:
    return resolve_device(name, lambda notice: click.echo(f"note: {notice}", err=True))


def given_settings(options: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """What the user asked for, weakest first: (where it stands, {setting: value})."""
    layers: list[tuple[str, dict[str, Any]]] = []
    if options["config"]:
        layers.append((options["config"], read_config(options["config"])))
    for name, option, *_ in _SETTINGS:
        if options[name] is not None:
            layers.append((option, {name: options[name]}))
    layers.append(("--set", given_assignments(options["assignments"])))
    return layers


def given_assignments(assignments: Sequence[str]) -> dict[str, Any]:
    """The settings in the NAME=VALUE of `--set`; of two of one name the later."""
    given = {}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        if not equals:
            raise SettingsError(f"--set: expected NAME=VALUE, got {assignment!r}")
        given[name.strip()] = value.strip()
    return given
