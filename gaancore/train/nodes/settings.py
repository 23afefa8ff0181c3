"""Every choice of a run, with the paper's value and its place as the default."""

import tomllib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from importlib import resources
from typing import Any, TypeVar

from gaancore.data.nodes.make import SelfLoops, Unflagged
from gaancore.data.nodes.missing import Nan
from gaancore.errors import SettingsError
from gaancore.models.node_classifier import MODELS
from gaancore.nn.aggregators import VARIANTS
from gaancore.system.paths import user_path

# Widths that the paper's parameter counts pin: K d_v of attention, d_v of each
# head of a pairwise sum, d_v of a pool.
VALUE_WIDTHS = {"ppi": (256, 64, 512), "reddit": (512, 256, 1024)}

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


@dataclass(frozen=True)
class Settings:
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
    dropout: float = 0.1  # after each aggregator
    attention_dropout: float = 0.0  # of attention weights
    edge_dropout: float = 0.0  # share of arcs left out, drawn anew for each step and layer

    # Batches, section 5.1: 512 nodes with all their neighbours.
    batch: str = "seeds"  # or "graphs": whole graphs until a step has `batch_size` nodes
    batch_size: int = 512
    fanouts: tuple[int, ...] = (-1, -1)  # S_1, S_2; -1 = all neighbours
    eval_fanouts: tuple[int, ...] = (-1,)  # for scores; one number stands for every step

    # Optimisation, section 5.1: Adam, rate 0.01 halved down to 0.001 on a plateau.
    lr: float = 0.01
    lr_floor: float = 0.001
    lr_factor: float = 0.5
    lr_cooldown: float = 0.0  # share of the epochs, the last ones, in which it falls to its floor
    decay_patience: int = 15
    stop_patience: int = 30
    clip_norm: float = 0.0
    epochs: int = 0  # 0: until early stopping
    validate_every: int = -1  # steps; 0: once an epoch; -1: as the variant says

    # Data
    self_loops: SelfLoops = "keep"
    normalize: str = "none"
    unflagged: Unflagged = "drop"
    nan: Nan = "error"

    def __post_init__(self) -> None:
        _check(self)

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


AnySettings = TypeVar("AnySettings", bound=Any)  # a frozen dataclass of one task's settings


def with_changes(settings: AnySettings, *layers: tuple[str, dict[str, Any]]) -> AnySettings:
    """`settings` with values replaced; strings are read as the field's type.

    layers : (what to blame in an error, such as a file name; {setting: value}); where two name the
             same setting, the later one wins. Only what comes out at the end has to be valid.
    Raises SettingsError for a name or value that is not valid.
    """
    known = {f.name: f.default for f in fields(settings)}
    values: dict[str, Any] = {}
    blame: dict[str, str] = {}
    for where, changes in layers:
        for name, value in changes.items():
            if name not in known:
                raise SettingsError(f"{where}: {name}: no such setting; known: {', '.join(known)}")
            values[name] = _convert(where, name, value, known[name])
            blame[name] = where
    try:
        return replace(settings, **values)
    except SettingsError as error:
        culprit = blame.get(str(error).partition(":")[0])
        raise SettingsError(f"{culprit}: {error}" if culprit else str(error)) from None


def task_settings(task: str, *layers: tuple[str, dict[str, Any]]) -> Settings:
    """The paper's settings for `task` with the changes of `layers` (see with_changes).

    On Reddit some depend on what the layers ask for. The parameter counts pin one head in the
    first layer of attention, and 4 heads of a pairwise sum where the text says 8; the released
    configuration drops half of the attention weights, the text none; and scores are drawn with
    the fan-outs of training.
    """
    asked = {name: value for _, changes in layers for name, value in changes.items()}
    settings = Settings(task=task)
    if task == "reddit":
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
    settings = with_changes(settings, *layers)
    if task == "reddit" and "eval_fanouts" not in asked:
        settings = replace(settings, eval_fanouts=settings.fanouts)
    return settings


def shipped_recipes() -> list[str]:
    """Names of the recipes that come with the package."""
    folder = resources.files("gaancore.recipes")
    names = (file.name for file in folder.iterdir())
    return sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml"))


def read_config(name: str) -> dict[str, Any]:
    """The settings of a TOML file, one `name = value` a line.

    name : a path, or the name of a shipped recipe. Raises SettingsError.
    """
    recipes = shipped_recipes()
    try:
        path: Any = user_path(name)
        if not path.exists() and name in recipes:
            path = resources.files("gaancore.recipes") / f"{name}.toml"
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(
            f"{name}: cannot be read ({error.strerror}), and no shipped recipe has this name "
            f"({', '.join(recipes) or 'there are none'})"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{name}: not a TOML file: {error}") from None


def differences(a: Any, b: Any) -> list[str]:
    """`name: value in a, value in b` for each setting in which they differ."""
    mine, yours = asdict(a), asdict(b)
    return [f"{name}: {mine[name]} -> {yours[name]}" for name in mine if mine[name] != yours[name]]


def _convert(where: str, name: str, value: Any, default: Any) -> Any:
    """`value` as something of the type of `default`; a tuple's elements as its first one."""
    kind = type(default)
    try:
        if kind is tuple:
            parts = value.split(",") if isinstance(value, str) else value
            return tuple(_convert(where, name, part, default[0]) for part in parts)
        if isinstance(value, bool) or (kind is int and isinstance(value, float)):
            raise ValueError
        if kind is str and not isinstance(value, str | int | float):
            raise ValueError
        return kind(value)
    except (TypeError, ValueError):
        meaning = {tuple: "numbers such as 25,10", int: "a whole number", float: "a number"}
        raise SettingsError(
            f"{where}: {name}: expected {meaning.get(kind, 'text')}, got {value!r}"
        ) from None


def expect_choice(settings: Any, name: str, allowed: Sequence[str]) -> None:
    """Raise SettingsError unless the setting is one of `allowed`."""
    if getattr(settings, name) not in allowed:
        raise SettingsError(
            f"{name}: expected one of {', '.join(allowed)}, got {getattr(settings, name)!r}"
        )


def expect_at_least(settings: Any, least: int, *names: str) -> None:
    """Raise SettingsError unless each of the settings is `least` or more, and not NaN."""
    for name in names:
        if not getattr(settings, name) >= least:
            raise SettingsError(f"{name}: expected {least} or more, got {getattr(settings, name)}")


def expect_rates(settings: Any) -> None:
    """Raise SettingsError unless the learning rate can start, fall and stop falling."""
    s = settings
    if not (0 < s.lr_floor <= s.lr < float("inf") and 0 < s.lr_factor < 1):
        raise SettingsError(
            f"lr: expected 0 < lr_floor <= lr and 0 < lr_factor < 1, got lr {s.lr}, "
            f"lr_floor {s.lr_floor}, lr_factor {s.lr_factor}; set all three with --set"
        )


def _check(s: Settings) -> None:
    choices = {
        "task": tuple(VALUE_WIDTHS),
        "model": MODELS,
        "variant": VARIANTS,
        "batch": ("seeds", "graphs"),
        "self_loops": ("keep", "drop", "add"),
        "normalize": ("none", "standard"),
        "unflagged": ("drop", "train", "context", "error"),
        "nan": ("error", "zero", "mean"),
    }
    for name, allowed in choices.items():
        expect_choice(s, name, allowed)
    positive = ("embed_dim", "out_dim", "num_heads", "key_dim", "gate_dim", "hidden_dim")
    expect_at_least(s, 1, *positive, "batch_size")
    counts = ("first_heads", "value_dim", "seed", "epochs", "decay_patience", "stop_patience")
    expect_at_least(s, 0, *counts, "clip_norm")
    for name in ("dropout", "attention_dropout", "edge_dropout", "lr_cooldown"):
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
    if s.validate_every < -1:
        raise SettingsError(f"validate_every: expected -1, 0 or more, got {s.validate_every}")
