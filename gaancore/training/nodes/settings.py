"""Every choice of a run, with the paper's value and its place as the default."""

from dataclasses import dataclass, field, replace
from typing import Any, Literal

from gaancore.data import (
    MadeFeatures,
    Nan,
    Normalize,
    Reading,
    RepeatedEdges,
    SelfLoops,
    Unflagged,
    UnknownEdges,
)
from gaancore.errors import SettingsError, expect_choice
from gaancore.models.node_classifier import MODELS
from gaancore.nn.aggregators import VARIANTS
from gaancore.training.choices import (
    Layer,
    expect_at_least,
    expect_choices,
    expect_rates,
    with_changes,
)

Batch = Literal["seeds", "graphs"]
ClassWeight = Literal["none", "balanced"]

# Widths that the paper's parameter counts pin: K d_v of attention, d_v of each
# head of a pairwise sum, d_v of a pool.
VALUE_WIDTHS = {"ppi": (256, 64, 512), "reddit": (512, 256, 1024)}
VALUE_WIDTHS |= {"labels": VALUE_WIDTHS["ppi"], "classes": VALUE_WIDTHS["reddit"]}

# Where Reddit departs from PPI in section 5.1: features standardised on the training nodes,
# projected to 256; d_a 32; 25 neighbours of each seed, then 10; Adam from 0.001 down to 0.0001,
# patience 4 and 10, clipped at 1.0.
REDDIT: dict[str, Any] = {
    "unflagged": "error",  # public copies differ in what becomes of these nodes
    "normalize": "standard",
    "embed_dim": 256,
    "key_dim": 32,
    "fanouts": (25, 10),
    "lr": 0.001,
    "lr_floor": 0.0001,
    "decay_patience": 4,
    "stop_patience": 10,
    "clip_norm": 1.0,
}

# Where a graph of one's own departs from both: every node stays, and a split is drawn if the files
# have none. What depends on its size is in suit.py.
OWN: dict[str, Any] = {
    "unflagged": "context", "split_shares": (60.0, 20.0, 20.0), "edge_features": "auto"
}  # fmt: skip


@dataclass(frozen=True)
class NodeSettings:
    """What a run is made of. Sections are those of the paper (GaAN, UAI 2018).

    The defaults are PPI's, section 5.1; task_settings gives those of a task.

    The two variants differ in the gate, the scale of the scores and the order of concatenation
    (see nn/), and in what patience counts: `paper` epochs, `released` validations, one per 100
    steps of 512 nodes. 0 stands for "none" or "no limit" where that makes sense.
    """

    task: str = "ppi"
    model: str = "gaan"
    variant: str = "released"
    seed: int = 0

    # The network, section 5.1 (PPI): input projection 64, two aggregators of 128 outputs.
    embed_dim: int = 64
    out_dim: int = 128
    num_heads: int = 8  # K
    first_heads: int = 0  # of the first layer, if not K
    key_dim: int = 24  # d_a
    value_dim: int = 0  # d_v; 0: as VALUE_WIDTHS says
    gate_dim: int = 64  # d_m
    hidden_dim: int = 1024  # of the two-layer network
    input_dropout: float = 0.0  # of the features
    dropout: float = 0.1  # after each aggregator
    attention_dropout: float = 0.0  # of attention weights
    edge_dropout: float = 0.0  # share of arcs left out, drawn anew for each step and layer

    # Batches, section 5.1: 512 nodes with all their neighbours.
    batch: Batch = "seeds"  # or "graphs": whole graphs until a step has `batch_size` nodes
    batch_size: int = 512  # 0: no limit, all training nodes in one step
    # S_1, S_2; -1 or "all" = all neighbours
    fanouts: tuple[int, ...] = field(default=(-1, -1), metadata={"words": {"all": -1}})
    # the same for scores; one number stands for every step
    eval_fanouts: tuple[int, ...] = field(default=(-1,), metadata={"words": {"all": -1}})
    shares: int = 1  # of a step, and of the rows of a layer in validation: see gaancore.parallel

    # Optimisation, section 5.1: Adam, rate 0.01 halved down to 0.001 on a plateau.
    lr: float = 0.01
    lr_floor: float = 0.001
    lr_factor: float = 0.5
    lr_cooldown: float = 0.0  # share of the epochs, the last ones, in which it falls to its floor
    decay_patience: int = 15
    stop_patience: int = 30
    clip_norm: float = 0.0
    weight_decay: float = 0.0  # of AdamW, not of biases
    class_weight: ClassWeight = "none"  # or "balanced": see loss.py
    label_smoothing: float = 0.0
    consistency: float = 0.0  # weight of a loss of nodes without a training label: see loss.py
    epochs: int = 0  # 0: until early stopping
    validate_every: int = -1  # steps; 0: once an epoch; -1: as the variant says

    # Data
    transductive: bool = False  # training sees the features and arcs of all nodes
    self_loops: SelfLoops = "keep"
    normalize: Normalize = "none"
    unflagged: Unflagged = "drop"
    nan: Nan = "error"
    unknown_edges: UnknownEdges = "error"  # that name an id no node has
    label: str = ""  # the column or attribute that is the label; "": its usual name
    split_column: str = ""  # the same of the split, or its number where there are several
    features: MadeFeatures = "file"  # or what stands for features
    # features of edges, of two tables or an .npz: auto (all), none, or names with commas between
    edge_features: str = "none"
    repeated_edges: RepeatedEdges = "error"  # what the features of merged edges become
    # per cent of training, validation and test nodes where the files have no split; 0: refused
    split_shares: tuple[float, float, float] = (0.0, 0.0, 0.0)
    split_seed: int = 0

    def __post_init__(self) -> None:
        _check(self)

    @property
    def multi_label(self) -> bool:
        """Whether a node has several labels, not one class."""
        return self.task in ("ppi", "labels")

    @property
    def reading(self) -> Reading:
        """How files are read that leave a choice."""
        return Reading(
            self.unknown_edges, self.label, self.split_column, self.features, self.edge_features
        )

    @property
    def by_row(self) -> bool:
        """Whether each node's features are divided by their sum."""
        return self.normalize == "row"

    @property
    def heads(self) -> list[int]:
        """Of each layer, from the features to the seeds."""
        return [self.first_heads or self.num_heads] + [self.num_heads] * (len(self.fanouts) - 1)

    @property
    def value_dims(self) -> list[int]:
        """d_v of each layer: the paper keeps K d_v of attention as K changes."""
        attention, pairwise, pool = VALUE_WIDTHS[self.task]
        if self.value_dim:
            return [self.value_dim] * len(self.fanouts)
        if self.model in ("avg-pool", "max-pool"):
            return [pool] * len(self.fanouts)
        if self.model.startswith("pairwise"):
            return [pairwise] * len(self.fanouts)
        return [max(1, attention // heads) for heads in self.heads]

    def steps_between_validations(self, num_nodes: int, steps_per_epoch: int) -> int:
        """How many steps lie between two validations of a run over `num_nodes` training nodes.

        The released code validates every 100 steps of 512 nodes; with other batches that is
        every 51,200 nodes trained on, so that patience means the same.
        """
        if self.validate_every > 0:
            return self.validate_every
        if self.validate_every == 0 or self.variant == "paper":
            return steps_per_epoch
        return max(1, round(100 * 512 * steps_per_epoch / num_nodes))


def task_settings(task: str, *layers: Layer) -> NodeSettings:
    """The settings for `task` with the changes of `layers` (see with_changes): the paper's for
    `ppi` and `reddit`; for `labels` and `classes` those of PPI's and Reddit's networks.

    With Reddit's network some depend on what the layers ask for. The parameter counts pin one head
    in the first layer of attention, and 4 heads of a pairwise sum where the text says 8; the
    released configuration drops half of the attention weights, the text none; and scores are drawn
    with the fan-outs of training.
    """
    asked = {name: value for _, changes in layers for name, value in changes.items()}
    settings = NodeSettings(task=task)
    one_class = task in ("reddit", "classes")
    if one_class:
        model = asked.get("model", settings.model)
        attends = model in ("gaan", "attention")
        released = asked.get("variant", settings.variant) == "released"
        settings = replace(
            settings,
            **REDDIT,
            num_heads=4 if attends or released else 8,
            first_heads=1 if attends else 0,
            attention_dropout=0.5 if attends and released else 0.0,
        )
    if task in ("labels", "classes"):
        settings = replace(settings, **OWN)
    settings = with_changes(settings, *layers)
    if one_class and "eval_fanouts" not in asked:
        settings = replace(settings, eval_fanouts=settings.fanouts)
    return settings


def _check(s: NodeSettings) -> None:
    expect_choice("task", s.task, tuple(VALUE_WIDTHS))
    expect_choice("model", s.model, MODELS)
    expect_choice("variant", s.variant, VARIANTS)
    expect_choices(s)
    positive = ("shares", "embed_dim", "out_dim", "num_heads", "key_dim", "gate_dim", "hidden_dim")
    expect_at_least(s, 1, *positive)
    counts = (
        "batch_size",
        "first_heads",
        "value_dim",
        "seed",
        "epochs",
        "decay_patience",
        "stop_patience",
    )
    expect_at_least(s, 0, *counts, "clip_norm", "split_seed", "weight_decay", "consistency")
    shares = ("input_dropout", "dropout", "attention_dropout", "edge_dropout")
    for name in (*shares, "label_smoothing", "lr_cooldown"):
        if not 0 <= getattr(s, name) < 1:
            raise SettingsError(f"{name}: expected 0 <= value < 1, got {getattr(s, name)}")
    expect_rates(s)
    if s.lr_cooldown and not s.epochs:
        raise SettingsError("lr_cooldown: needs a number of epochs to count back from; set epochs")
    if s.model != "fnn" and not s.fanouts:
        raise SettingsError("fanouts: expected one number per aggregator, such as -1,-1")
    for name in ("fanouts", "eval_fanouts"):
        if any(fanout < -1 for fanout in getattr(s, name)):
            raise SettingsError(f"{name}: expected -1 (all) or 0 and more, got {getattr(s, name)}")
    if len(s.eval_fanouts) not in (1, len(s.fanouts)):
        raise SettingsError(
            f"eval_fanouts: expected one number, or as many as fanouts {s.fanouts}, "
            f"got {s.eval_fanouts}"
        )
    if s.consistency and (s.multi_label or s.batch != "graphs" or s.batch_size):
        raise SettingsError(
            "consistency: needs one class per node, and all nodes in every step (batch = graphs, "
            "batch_size = 0); else set consistency = 0"
        )
    if s.validate_every < -1:
        raise SettingsError(f"validate_every: expected -1, 0 or more, got {s.validate_every}")
