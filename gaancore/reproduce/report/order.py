"""Whether runs show the paper's order of two rows: a paired comparison over their seeds."""

import statistics
from collections.abc import Mapping, Sequence

import scipy  # whose modules are imported at their first use

from gaancore.reproduce.claims import Claim, claim_of
from gaancore.reproduce.report.schema import Order, Outcome, Pair

LEVEL = 0.95


Scores = Mapping[str, Mapping[int, Mapping[str, float]]]  # row -> seed -> score by name


def judged(table: str, task: str, scores: Scores) -> Order | None:
    """Each pair of rows that a claim puts in an order; None for a table that has none.

    scores : a row may be missing, a seed, and a score that the data do not have.
    """
    claim = claim_of(table, task)
    if claim is None:
        return None
    order: Order = {
        "claim": claim.words,
        "metric": claim.metric,
        "pairs": _pairs(claim, claim.metric, scores),
    }
    if claim.also:
        order["also"] = {metric: _pairs(claim, metric, scores) for metric in claim.also}
    if claim.ours:
        order["ours"] = True
    return order


def _pairs(claim: Claim, metric: str, scores: Scores) -> list[Pair]:
    sign = 1 if metric == "micro_f1" else -1  # of errors the smaller is better
    pairs = []
    for better, worse in claim.pairs:
        a, b = (
            {seed: found[metric] for seed, found in scores.get(row, {}).items() if metric in found}
            for row in (better, worse)
        )
        differences = [sign * (a[seed] - b[seed]) for seed in sorted(a.keys() & b.keys())]
        pairs.append(_pair(better, worse, differences))
    return pairs


def interval(differences: Sequence[float]) -> tuple[float, float]:
    """The 95 % interval of the mean of n >= 2 differences, by Student's t with n - 1 degrees.

    mean -+ t_{0.975, n-1} s / sqrt(n), with s the standard deviation of the sample.

    >>> low, high = interval([1.0, 2.0, 3.0])  # t = 4.3027, s = 1
    >>> round(low, 3), round(high, 3)
    (-0.484, 4.484)
    """
    n = len(differences)
    quantile = float(scipy.special.stdtrit(n - 1, (1 + LEVEL) / 2))
    mean = statistics.fmean(differences)
    half = quantile * statistics.stdev(differences) / n**0.5
    return mean - half, mean + half


def _pair(better: str, worse: str, differences: Sequence[float]) -> Pair:
    n = len(differences)
    pair: Pair = {"better": better, "worse": worse, "outcome": "not run", "n": n}
    if differences:
        found = interval(differences) if n > 1 else None
        pair["difference"] = round(statistics.fmean(differences), 4)
        pair["interval"] = [round(end, 4) for end in found] if found else None
        pair["outcome"] = _outcome(found)
    return pair


def _outcome(found: tuple[float, float] | None) -> Outcome:
    """What an interval says of an order; None for that of a single run."""
    if found is None or found[0] <= 0 <= found[1]:
        return "not decided"
    return "shown" if found[0] > 0 else "reversed"
