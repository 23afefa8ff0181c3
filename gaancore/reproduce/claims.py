"""What the paper, or we, say of its tables: which row is no worse than which.

Every pair of main, ablation and traffic stands so in the printed numbers. Of output dimensions the
paper prints none; its text says that larger ones are better and that GaAN leads at each.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise, product

from gaancore.reproduce.tables import Row


@dataclass(frozen=True)
class Claim:
    """metric : the score that is compared; of errors, less is better.
    pairs  : (row, row that it is said to be no worse than), the most telling first.
    also   : other scores in which these rows are compared.
    ours   : whether we say so, and not the paper.
    """

    metric: str
    words: str
    pairs: Sequence[tuple[str, str]]
    also: Sequence[str] = ()
    ours: bool = False


HEADS = (8, 4, 2, 1)
SIZES = ("", "-s50-20", "-s100-40", "-s200-80")
WIDTHS = (64, 96, 128)
POOLS = ("max-pool", "avg-pool")
SUMS = ("pairwise-sigmoid", "pairwise-tanh")

ATTENTION = [("gaan", "attention"), *(("attention", other) for other in (*SUMS, *POOLS))]
GATES = [(f"gaan-k{k}", f"attention-k{k}") for k in HEADS]
MORE_HEADS = [(f"{model}-k{more}", f"{model}-k{fewer}")
              for model in ("gaan", "attention") for more, fewer in pairwise(HEADS)]  # fmt: skip
SAMPLED = [*(f"{model}-k{k}" for model in ("gaan", "attention") for k in HEADS), *SUMS, *POOLS]
LARGER_SAMPLES = [(row + larger, row + smaller)
                  for row in SAMPLED for smaller, larger in pairwise(SIZES)]  # fmt: skip
LEADS = [(f"gaan-d{width}", f"{other}-d{width}")
         for width in reversed(WIDTHS)
         for other in ("attention", "pairwise-sigmoid", "max-pool")]  # fmt: skip
WIDER = [(f"{model}-d{wider}", f"{model}-d{narrower}")
         for model in ("gaan", "attention", "pairwise-sigmoid", "max-pool")
         for narrower, wider in pairwise(WIDTHS)]  # fmt: skip

CLAIMS = {
    "main": Claim(
        "micro_f1",
        "gated attention ≥ attention ≥ pairwise sums and pools; pools ≥ no graph",
        [*ATTENTION, *((pool, "fnn") for pool in POOLS)],
    ),
    "ablation": Claim(
        "micro_f1",
        "gated attention ≥ attention with as many heads; more heads ≥ fewer",
        [*GATES, *MORE_HEADS],
    ),
    "out-dim": Claim(
        "micro_f1",
        "gated attention leads at each output dimension; larger ones ≥ smaller",
        [*LEADS, *WIDER],
    ),
    "traffic": Claim(
        "mean mae", "gated attention ≥ attention ≥ pairwise sums and pools", ATTENTION
    ),
    "edges": Claim(
        "60 min mae",
        "forecasts with features of roads ≥ those without, an hour ahead most of all",
        [(f"{model}-with", f"{model}-without") for model in ("gaan", "avg-pool")],
        also=["60 min rmse", *(f"{n} min {error}" for n in (30, 15) for error in ("mae", "rmse"))],
        ours=True,
    ),
}
ON_REDDIT = Claim(
    "micro_f1",
    "gated attention ≥ attention with as many heads, at each sample size; larger samples ≥ smaller",
    [*((a + size, b + size) for size, (a, b) in product(SIZES, GATES)), *LARGER_SAMPLES],
)


def claim_of(table: str, task: str) -> Claim | None:
    """What is said of a table on the data of `task`; None for a table without an order."""
    return ON_REDDIT if (table, task) == ("ablation", "reddit") else CLAIMS.get(table)


def most_telling_first(table: str, task: str, rows: Iterable[Row]) -> list[Row]:
    """Rows in the order in which the pairs of the claim name them, then the others."""
    claim = claim_of(table, task)
    named = [name for pair in claim.pairs for name in pair] if claim else []
    place = {name: number for number, name in reversed(list(enumerate(named)))}
    return sorted(rows, key=lambda row: place.get(row.name, len(named)))
