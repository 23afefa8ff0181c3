"""The aggregators by the names of the command line."""

from typing import Any

from gaancore.errors import SettingsError
from gaancore.nn.aggregators import Aggregator, Attention, GatedAttention, PairwiseSum, Pooling

AGGREGATORS = ("gaan", "attention", "avg-pool", "max-pool", "pairwise-sigmoid", "pairwise-tanh")


def make_aggregator(
    name: str,
    x_dim: int,
    z_dim: int,
    out_dim: int,
    *,
    num_heads: int,
    key_dim: int,
    value_dim: int,
    gate_dim: int,
    attention_dropout: float = 0.0,
    mean_in_gate: bool = True,
    **shared: Any,
) -> Aggregator:
    """The aggregator called `name`; what it has no use for is left aside.

    shared : `variant`, `rng` and, if it is not the usual one, the `slope` of the output.
    Raises SettingsError for another name.
    """
    dims = (x_dim, z_dim, out_dim)
    if name in ("avg-pool", "max-pool"):
        pool = "mean" if name == "avg-pool" else "max"
        return Pooling(*dims, pool=pool, value_dim=value_dim, **shared)
    shared |= {"num_heads": num_heads, "key_dim": key_dim, "value_dim": value_dim}
    if name in ("pairwise-sigmoid", "pairwise-tanh"):
        return PairwiseSum(*dims, activation=name.removeprefix("pairwise-"), **shared)
    shared |= {"attention_dropout": attention_dropout}
    if name == "attention":
        return Attention(*dims, **shared)
    if name == "gaan":
        return GatedAttention(*dims, gate_dim=gate_dim, mean_in_gate=mean_in_gate, **shared)
    raise SettingsError(f"model: expected one of {', '.join(AGGREGATORS)}, got {name!r}")
