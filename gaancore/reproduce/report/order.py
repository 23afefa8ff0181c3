"""Whether the rows of a table stand in the paper's order, computed from their means."""

from itertools import pairwise

from gaancore.reproduce.report.schema import Order, Pair, Spread

# (row, row that the paper has it no worse than)
ATTENTION = [
    ("gaan", "attention"),
    ("attention", "pairwise-sigmoid"),
    ("attention", "pairwise-tanh"),
]
POOLS = [("avg-pool", "fnn"), ("max-pool", "fnn")]
HEADS = [(f"{m}-k{more}", f"{m}-k{k}") for m in ("gaan", "attention") for k, more in
         pairwise((1, 2, 4, 8))]  # fmt: skip
# table -> (score, what the paper says of it, pairs); of errors, less is better
CLAIMS: dict[str, tuple[str, str, list[tuple[str, str]]]] = {
    "main": (
        "micro_f1",
        "gated attention ≥ attention ≥ pairwise sums; pools ≥ no graph",
        ATTENTION + POOLS,
    ),
    "ablation": ("micro_f1", "test micro-F1 grows with the number of heads", HEADS),
    "traffic": ("mean mae", "gated attention ≥ attention ≥ pairwise sums", ATTENTION),
}


def judged(table: str, scores: dict[str, dict[str, Spread]]) -> Order | None:
    """Each pair of rows that the paper puts in an order; None for a table that claims none.

    scores : of each row, by name of the score; {} where there is no run.
    Of a pair: `holds` (None if one was not run), `gap` (positive where it holds) and `within`,
    whether the gap is no larger than the greater of the two standard deviations (None for a
    single run, which has none).
    """
    if table not in CLAIMS:
        return None
    metric, words, pairs = CLAIMS[table]
    sign = -1 if metric.endswith("mae") else 1
    found: list[Pair] = []
    for better, worse in pairs:
        a, b = scores.get(better, {}).get(metric), scores.get(worse, {}).get(metric)
        pair: Pair = {"better": better, "worse": worse, "holds": None}
        if a and b:
            deviations = [s["std"] for s in (a, b) if s["std"] is not None]
            pair["gap"] = gap = round(sign * (a["mean"] - b["mean"]), 4)
            pair["holds"] = gap >= 0
            pair["within"] = abs(gap) <= max(deviations) if len(deviations) == 2 else None
        found.append(pair)
    return {"claim": words, "metric": metric, "pairs": found}
