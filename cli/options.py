"""Options that name a setting, and how they, a config file and --set come together."""

from collections.abc import Callable, Collection, Sequence
from typing import Any

import click

from gaancore.errors import SettingsError
from gaancore.models.node_classifier import MODELS
from gaancore.nn.aggregators import VARIANTS
from gaancore.tasks import TASKS
from gaancore.training.choices import Layer, choices_of, read_config

Command = Callable[..., Any]

CHOICES = {
    name: choices
    for task in TASKS.values()
    for name, choices in choices_of(type(task.settings())).items()
}


def choice_of(setting: str) -> click.Choice:
    return click.Choice(CHOICES[setting])


# setting, option, type, help; the help ends with the paper's values, which are the defaults
SETTINGS: tuple[tuple[str, str, Any, str], ...] = (
    ("model", "--model", click.Choice(MODELS), "Model: how neighbours are aggregated."),
    ("variant", "--variant", click.Choice(VARIANTS), "Which reading of the paper."),
    ("seed", "--seed", int, "Seed of initialisation, batches, sampling and dropout."),
    ("epochs", "--epochs", int, "Maximum number of epochs; 0: until early stopping."),
    ("batch", "--batch", choice_of("batch"),
     "What a step is: `seeds`, nodes and their neighbourhoods, or `graphs`, whole graphs."),
    ("batch_size", "--batch-size", int,
     "Nodes a step (graphs: at least this many; 0: all of them); sequences a step for traffic."),
    ("shares", "--shares", int,
     "Parts of a step, whose gradients are added in their order. Several processes share them out; "
     "under mpiexec 8 unless another number is given."),
    ("fanouts", "--fanouts", str, "Neighbours sampled at each hop from the seeds; -1 or all: all."),
    ("eval_fanouts", "--eval-fanouts", str,
     "The same for validation and test; all: whole neighbourhoods, in bounded memory."),
    ("num_heads", "--heads", int, "K, attention heads a layer (on Reddit the first has one)."),
    ("embed_dim", "--embed-dim", int, "Width of the projected features."),
    ("out_dim", "--out-dim", int, "d_o, output width of each layer."),
    ("key_dim", "--key-dim", int,
     "d_a, width of queries and keys of a head; traffic 0: 16, 32 (pairwise)."),
    ("value_dim", "--value-dim", int,
     "d_v, width of a head's values; 0: 256/K (attention), 64 (pairwise), 512 (pools); on Reddit "
     "512/K, 256, 1024; traffic 16, 128 (pools)."),
    ("gate_dim", "--gate-dim", int, "d_m, width of the gate's pooled neighbours."),
    ("dropout", "--dropout", float, "Dropout after each layer."),
    ("input_dropout", "--input-dropout", float, "Dropout of the features of nodes."),
    ("lr", "--lr", float, "Adam's initial learning rate."),
    ("weight_decay", "--weight-decay", float,
     "Nodes: AdamW's decay of weights, apart from the gradient; biases have none."),
    ("class_weight", "--class-weight", choice_of("class_weight"),
     "Nodes count alike, or classes do however few nodes they have (balanced)."),
    ("label_smoothing", "--label-smoothing", float,
     "Share of a node's label that is spread evenly over all classes."),
    ("consistency", "--consistency", float,
     "Weight of a loss that wants one answer for a node without a training label, whatever dropout "
     "leaves of it; for a whole graph in a step."),
    ("transductive", "--transductive", bool,
     "Training sees the features and arcs of validation and test nodes, never their labels; as in "
     "the literature on Cora, Citeseer and Pubmed. The run says so."),
    ("history", "--history", int, "Steps that a forecast reads."),
    ("horizon", "--horizon", int, "Steps that it forecasts."),
    ("features", "--features", str,
     "A graph: those of the file, or in their place degree, ones, spectral or learned. Traffic: "
     "inputs beside the speed: auto, none or any of time_of_day,day_of_week,coordinates."),
    ("label", "--label", str,
     "Column or attribute that is the label.  [default: label]"),
    ("split_column", "--split-column", str,
     "Column of the split, or the number of one of several.  [default: split]"),
    ("scaler", "--scaler", choice_of("scaler"),
     "One mean and deviation for all sensors, or one for each."),
    ("missing", "--missing", choice_of("missing"),
     "A missing reading in the input becomes 0 (as in DCRNN), the mean, or is interpolated."),
    ("split", "--split", str,
     "Traffic: what is shared out 70/10/20, `windows` (as in DCRNN) or `rows` (as in GaAN). A "
     "graph whose files have no split: per cent to draw, such as 60,20,20."),
    ("mape_min", "--mape-min", float,
     "Traffic: readings below it do not count in MAPE, of which a small one takes most."),
    ("graph", "--graph", str,
     "File of the roads; for --graph-from knn or radius, of the sensors' places.  "
     "[default: found beside the speeds]"),
    ("graph_from", "--graph-from", choice_of("graph_from"),
     "What arcs between sensors are made from: the file of the roads; the places of the sensors "
     "(knn, radius); how their readings correlate in training; or no arcs."),
    ("neighbours", "--neighbours", int, "Of each sensor, for knn and correlation."),
    ("radius", "--radius", float, "Kilometres between neighbours, for radius."),
    ("kernel", "--kernel", choice_of("kernel"),
     "Which roads of a file of distances are arcs: those with weight enough by the kernel of DCRNN "
     "or STGCN (metres), or all (none)."),
    ("sigma", "--sigma", float,
     "Width of the kernel, in the unit of the distances; 0: their standard deviation, for stgcn "
     "3162."),
    ("threshold", "--threshold", float, "Least weight of an arc; 0: 0.1, for stgcn 0.5."),
    ("max_pairs", "--max-pairs", float,
     "Refuse a graph that was made here if a larger share of all pairs are neighbours."),
    ("channel", "--channel", str,
     "Which quantity to forecast, by name or by number from 0, of files with several.  "
     "[default: the first]"),
    ("inputs", "--inputs", str,
     "Other quantities of such files that a forecast reads too, with commas between."),
    ("sensor_ids", "--sensor-ids", str, "File of sensor ids.  [default: found beside the speeds]"),
    ("start", "--start", str, "Time of the first row.  [default: what the file says]"),
    ("null_value", "--null-value", str,
     "The reading that means missing, besides an empty cell; none: no reading does."),
    ("graph_kind", "--graph-kind", choice_of("graph_kind"),
     "Roads in both directions, or as the file has them."),
    ("self_loops", "--self-loops", choice_of("self_loops"),
     "Edges from a node to itself."),
    ("normalize", "--normalize", choice_of("normalize"),
     "Features as they are, standardised over the training nodes, or shares of their row's sum."),
    ("unflagged", "--unflagged", choice_of("unflagged"),
     "Nodes in no split: drop them, train on them, keep them as neighbours only, or refuse them."),
    ("edge_features", "--edge-features", str,
     "Features of edges: the further columns of edges.csv, edge_attr of an .npz, or attributes in "
     "networkx's files; auto: all, none, or names with commas between, as weight for the third "
     "cell of a list of edges.  [default: auto; ppi, reddit and metr-la none]"),
    ("repeated_edges", "--repeated-edges", choice_of("repeated_edges"),
     "What the features of edges become that are there more than once."),
    ("nan", "--nan", choice_of("nan"),
     "Features that are NaN: refuse them, or replace them by 0 or the mean of training nodes."),
)  # fmt: skip


def settings_options(command: Command) -> Command:
    """Add an option for each setting above, `--config` and `--set`."""
    command = click.option(
        "--set", "assignments", multiple=True, metavar="NAME=VALUE",
        help="Any other setting by name; repeatable.  [default: none]",
    )(command)  # fmt: skip
    command = click.option(
        "--config", metavar="FILE",
        help="Settings from a TOML file or a shipped recipe; options and --set override it."
        "  [default: none]",
    )(command)  # fmt: skip
    return _named_options(command, [name for name, *_ in SETTINGS])


OF_GRAPHS = ("label", "split_column", "features", "edge_features", "repeated_edges")
OF_SENSORS = (
    *("graph", "graph_from", "neighbours", "radius", "kernel", "sigma", "threshold", "max_pairs"),
    *("channel", "inputs", "sensor_ids", "start", "null_value"),
)


def graph_reading_options(command: Command) -> Command:
    """Add an option for each setting that says what to do where files of a graph leave a choice."""
    return _named_options(command, OF_GRAPHS)


def sensor_reading_options(command: Command) -> Command:
    """Add an option for each setting that says how readings of sensors are read."""
    return _named_options(command, OF_SENSORS)


def _named_options(command: Command, names: Collection[str]) -> Command:
    for name, option, kind, text in reversed(SETTINGS):
        if name in names:
            help_text = text if "[default" in text else f"{text}  [default: {_defaults(name)}]"
            kinds: dict[str, Any] = {"is_flag": True} if kind is bool else {"type": kind}
            command = click.option(option, name, default=None, help=help_text, **kinds)(command)
    return command


def _defaults(name: str) -> str:
    """A setting's value in each of the paper's tasks that has it; once, if all agree."""
    shown = {}
    papers = [task for task in TASKS.values() if task.of_paper]
    for task in papers:
        value = getattr(task.settings(), name, None)
        if value is not None:
            shown[task.name] = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
    if len(shown) == len(papers) and len(set(shown.values())) == 1:
        return shown[papers[0].name]
    return "; ".join(f"{task} {value}" for task, value in shown.items())


def given_settings(options: dict[str, Any]) -> list[Layer]:
    """What the user asked for, weakest first: (where it stands, {setting: value})."""
    layers: list[Layer] = []
    if options["config"]:
        layers.append((options["config"], read_config(options["config"])))
    layers += given_options(options)
    layers.append(("--set", given_assignments(options["assignments"])))
    return layers


def given_options(options: dict[str, Any]) -> list[Layer]:
    """The settings that options name; those that are not among the command's are not looked for."""
    layers: list[Layer] = []
    for name, option, *_ in SETTINGS:
        if (value := options.get(name)) is not None:
            shares = name == "split" and value[:1].isdigit()
            layers.append((option, {"split_shares" if shares else name: value}))
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
