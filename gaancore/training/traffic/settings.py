"""Every choice of a forecasting run, with the paper's value and its place as the default."""

import math
from dataclasses import dataclass, fields
from typing import Any

from gaancore.choices import (
    MODELS,
    VARIANTS,
    WIDTHS,
    GraphFrom,
    GraphKind,
    Kernel,
    Missing,
    RoadChoices,
    ScalerKind,
    ScalerMissing,
    SelfLoops,
    WindowSplit,
)
from gaancore.errors import SettingsError, expect_choice
from gaancore.training.choices import expect_at_least, expect_choices, expect_rates


@dataclass(frozen=True)
class ForecastSettings:
    """What a run on METR-LA is made of. Sections are those of the paper (GaAN, UAI 2018).

    The variants differ in the cell, the gate and the scale of the scores (see nn/graph_gru.py), in
    how the decoder starts (see models/traffic_forecaster.py) and in the features of an input.
    """

    task: str = "metr-la"
    model: str = "gaan"
    variant: str = "paper"
    seed: int = 0

    # The network, section 5.3: two layers of 64 units, K = 4, d_a = d_v = 16, d_m = 64.
    hidden_dim: int = 64
    num_layers: int = 2
    num_heads: int = 4  # K
    key_dim: int = 0  # d_a; 0: 16, for pairwise sums 32
    value_dim: int = 0  # d_v; 0: 16, for pools 128
    gate_dim: int = 64  # d_m
    fnn_dim: int = 1024  # units of each layer of the network without a graph

    # Windows, section 5.3: an hour of 5-minute steps ahead from an hour behind; 70 / 10 / 20.
    history: int = 12
    horizon: int = 12
    split: WindowSplit = "windows"
    fractions: tuple[float, float, float] = (0.7, 0.1, 0.2)
    features: tuple[str, ...] = ("auto",)  # auto: time_of_day; released: coordinates, if known
    scaler: ScalerKind = "global"
    scaler_missing: ScalerMissing = "leave-out"  # DCRNN counts them as speeds of 0: "zero"
    missing: Missing = "zero"
    # features of roads that the aggregators read: none; auto: all that the graph's file has; names
    edge_features: str = "none"

    # Optimisation, section 5.3: Adam, batches of 64 sequences, scheduled sampling. The paper names
    # neither clipping nor a schedule; 5.0, the floor and the factor are the released defaults.
    batch_size: int = 64
    shares: int = 1  # of a step: see gaancore.parallel
    lr: float = 0.001
    lr_floor: float = 0.00001
    lr_factor: float = 0.1
    decay_patience: int = 3  # epochs without improvement before the rate falls
    stop_patience: int = 5  # and, at its floor, before the run ends
    clip_norm: float = 5.0
    teacher_decay: float = 3000.0  # tau of the inverse sigmoid, in steps; 0: no teacher at all
    epochs: int = 100

    mape_min: float = 0.0  # targets below it, in absolute value, do not count in MAPE

    # Data; an empty path, time or channel: what the files themselves say
    graph: str = ""
    sensor_ids: str = ""
    start: str = ""
    channel: str = ""  # of files with several quantities
    inputs: tuple[str, ...] = ("none",)  # others of them, which a forecast reads too
    graph_from: GraphFrom = "file"
    neighbours: int = 8  # of each sensor, where the graph is made of places or readings
    radius: float = 2.0  # km
    kernel: Kernel = "dcrnn"  # weights of distances
    sigma: float = 0.0  # 0: the kernel's own
    threshold: float = 0.0
    max_pairs: float = 0.25  # share of pairs that may be neighbours in a graph that was made
    graph_kind: GraphKind = "undirected"
    self_loops: SelfLoops = "drop"
    null_value: str = "0"  # the reading that means missing, beside an empty one; or "none"

    def __post_init__(self) -> None:
        expect_choice("task", self.task, ("metr-la", "forecast"))
        expect_choice("model", self.model, MODELS)
        expect_choice("variant", self.variant, VARIANTS)
        expect_choices(self)
        widths = ("hidden_dim", "num_layers", "num_heads", "gate_dim", "fnn_dim")
        expect_at_least(self, 1, *widths, "shares", "history", "horizon", "batch_size")
        counts = ("key_dim", "value_dim", "seed", "epochs", "decay_patience", "stop_patience")
        expect_at_least(self, 0, *counts, "clip_norm", "teacher_decay", "mape_min")
        expect_rates(self)
        _ = self.roads  # whose making refuses what cannot be
        if len(self.fractions) != 3:
            raise SettingsError(f"fractions: expected three numbers, got {self.fractions}")
        known = ("auto", "none", *WIDTHS)
        for feature in self.features:
            if feature not in known:
                raise SettingsError(
                    f"features: expected any of {', '.join(known)}, got {feature!r}"
                )
        if self.null_value != "none" and not _is_finite(self.null_value):
            raise SettingsError(
                f"null_value: expected a number such as 0 or -1, or none, got {self.null_value!r}"
            )

    @property
    def null_reading(self) -> float | None:
        """`null_value` as a number; None if no reading means missing."""
        return None if self.null_value == "none" else float(self.null_value)

    @property
    def roads(self) -> RoadChoices:
        """What arcs are made from."""
        names = [f.name for f in fields(RoadChoices)]
        chosen: dict[str, Any] = {name: getattr(self, name) for name in names}
        return RoadChoices(**chosen)

    @property
    def keys_per_head(self) -> int:
        """d_a."""
        return self.key_dim or (32 if self.model.startswith("pairwise") else 16)

    @property
    def values_per_head(self) -> int:
        """d_v."""
        return self.value_dim or (128 if self.model in ("avg-pool", "max-pool") else 16)


def _is_finite(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
