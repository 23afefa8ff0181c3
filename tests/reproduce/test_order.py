"""Whether runs show the paper's order: paired differences, worked out by hand."""

import numpy as np
import pytest
from scipy.stats import ttest_rel

from gaancore.reproduce.claims import claim_of
from gaancore.reproduce.report.order import interval, judged
from gaancore.reproduce.report.page import page

# Student's t at 97.5 %, from a printed table: degrees of freedom -> quantile
T = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 9: 2.262}


def pairs(table: str, task: str = "ppi", **scores: list[float]) -> dict:
    """(better, worse) -> pair, for the scores of seeds 0, 1, ... of some rows."""
    metric = claim_of(table, task).metric
    seeds = {
        name.replace("_", "-"): {seed: {metric: score} for seed, score in enumerate(of)}
        for name, of in scores.items()
    }
    found = judged(table, task, seeds)
    assert found
    return {(pair["better"], pair["worse"]): pair for pair in found["pairs"]}


@pytest.mark.parametrize("n", [2, 3, 4, 5, 10])
def test_the_interval_has_the_quantile_of_the_printed_table(n):
    low, high = interval([1.0, -1.0] + [0.0] * (n - 2))
    s = (2 / (n - 1)) ** 0.5  # mean 0, sum of squares 2
    assert -low == pytest.approx(high)
    assert high == pytest.approx(T[n - 1] * s / n**0.5, rel=2e-4)


def test_three_differences_done_by_hand():
    """Differences 1, 1.5 and 1: their mean is 7/6, their deviation 1/sqrt(12)."""
    pair = pairs("main", gaan=[90.0, 91.0, 92.0], attention=[89.0, 89.5, 91.0])["gaan", "attention"]
    half = 4.30265 * 12**-0.5 / 3**0.5  # 0.71711
    assert pair == {
        "better": "gaan", "worse": "attention", "outcome": "shown", "n": 3,
        "difference": 1.1667, "interval": [round(7 / 6 - half, 4), round(7 / 6 + half, 4)],
    }  # fmt: skip


def test_an_interval_that_contains_0_decides_nothing():
    """Differences 2, 1, -0.5: mean 0.8333, s = 1.2583, half 3.1258; the mean alone would hold."""
    pair = pairs("main", gaan=[92.0, 92.0, 90.5], attention=[90.0, 91.0, 91.0])["gaan", "attention"]
    assert pair["outcome"] == "not decided"
    assert pair["difference"] == 0.8333
    assert pair["interval"] == [pytest.approx(-2.2925, abs=2e-4), pytest.approx(3.9591, abs=2e-4)]


def test_an_interval_below_0_reverses_the_order():
    pair = pairs("main", gaan=[90.0, 90.1], attention=[91.0, 91.11])["gaan", "attention"]
    # differences -1 and -1.01: s = 0.00707, half 12.706 * 0.005 = 0.0635
    assert (pair["outcome"], pair["difference"]) == ("reversed", -1.005)
    assert pair["interval"] == [-1.0685, -0.9415]


def test_pairs_are_of_the_same_seed():
    """The same scores in another order of seeds: the same mean, another interval."""
    close = pairs("main", gaan=[90.0, 95.0, 99.0], attention=[89.0, 94.0, 98.01])
    apart = pairs("main", gaan=[90.0, 95.0, 99.0], attention=[98.01, 89.0, 94.0])
    one, other = (found["gaan", "attention"] for found in (close, apart))
    assert one["difference"] == other["difference"]
    assert (one["outcome"], other["outcome"]) == ("shown", "not decided")


def test_seeds_that_only_one_row_has_are_left_out():
    found = {"gaan": {0: 90.0, 2: 92.0, 3: 93.0}, "attention": {0: 89.0, 1: 99.0, 3: 92.5}}
    scores = {
        row: {seed: {"micro_f1": score} for seed, score in of.items()} for row, of in found.items()
    }
    (pair,) = [p for p in judged("main", "ppi", scores)["pairs"] if p["worse"] == "attention"]
    assert (pair["n"], pair["difference"]) == (2, 0.75)


def test_one_run_decides_nothing_and_no_run_is_no_comparison():
    found = pairs("main", gaan=[99.0], attention=[50.0])
    assert found["gaan", "attention"] == {
        "better": "gaan", "worse": "attention", "outcome": "not decided", "n": 1,
        "difference": 49.0, "interval": None,
    }  # fmt: skip
    assert found["avg-pool", "fnn"] == {
        "better": "avg-pool", "worse": "fnn", "outcome": "not run", "n": 0,
    }  # fmt: skip


def test_rows_that_are_alike_in_every_run_decide_nothing():
    pair = pairs("main", gaan=[90.0, 91.0], attention=[90.0, 91.0])["gaan", "attention"]
    assert (pair["outcome"], pair["interval"]) == ("not decided", [0.0, 0.0])


def test_of_errors_the_smaller_is_better():
    found = pairs("traffic", "metr-la", gaan=[3.0, 3.1], attention=[3.2, 3.31])
    assert found["gaan", "attention"]["difference"] == 0.205
    assert found["gaan", "attention"]["outcome"] == "shown"


def test_features_of_roads_are_compared_at_each_horizon_as_our_claim_and_not_the_papers():
    def scores(*errors):
        return {
            seed: {"60 min mae": e, "60 min rmse": 2 * e, "15 min mae": 3.0}
            for seed, e in enumerate(errors)
        }

    rows = {"gaan-with": scores(3.5, 3.4), "gaan-without": scores(3.6, 3.51)}
    found = judged("edges", "metr-la", rows)
    hour, squares = found["pairs"][0], found["also"]["60 min rmse"][0]
    assert (hour["better"], hour["worse"]) == ("gaan-with", "gaan-without")
    # differences 0.1 and 0.11: s = 0.00707, half 12.706 * 0.005 = 0.0635
    assert (hour["difference"], hour["interval"]) == (0.105, [0.0415, 0.1685])
    assert (squares["difference"], squares["outcome"]) == (0.21, "shown")
    assert found["also"]["15 min mae"][0]["outcome"] == "not decided"  # 0 both times
    assert found["also"]["30 min mae"][0]["outcome"] == "not run"
    assert found["pairs"][1]["outcome"] == "not run"
    assert found["ours"]


def test_the_outcome_is_that_of_scipys_paired_test():
    """The interval leaves 0 out where ttest_rel rejects at 5 %."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        n = int(rng.integers(2, 9))
        a, b = rng.normal(0.6, 1, n), rng.normal(0, 1, n)
        pair = pairs("main", gaan=a.tolist(), attention=b.tolist())["gaan", "attention"]
        outcome = "shown" if np.mean(a - b) > 0 else "reversed"
        rejected = ttest_rel(a, b).pvalue < 0.05
        assert pair["outcome"] == (outcome if rejected else "not decided")


def test_reddits_table_compares_sample_sizes_and_that_of_ppi_heads():
    sizes, heads = pairs("ablation", "reddit"), pairs("ablation", "ppi")
    assert ("gaan-k8-s50-20", "gaan-k8") in sizes
    assert ("gaan-k8", "gaan-k4") not in sizes
    assert ("gaan-k8", "gaan-k4") in heads
    assert judged("gates", "reddit", {}) is None


def line(pair: dict) -> str:
    """How the page has a pair."""
    report = {
        "table": "main", "title": "t", "task": "ppi", "changed": [], "rows": [], "missing": [],
        "data": {"kind": "part", "words": "w", "file": "f", "checksum": ""}, "command": "",
        "order": {"claim": "a ≥ b", "metric": "micro_f1", "pairs": [pair]},
    }  # fmt: skip
    return page(report).splitlines()[-1]


def test_the_page_never_says_holds_and_names_the_interval():
    pair = {"better": "a", "worse": "b", "outcome": "reversed", "n": 3, "difference": -0.5}
    found = line(pair | {"interval": [-0.75, -0.25]})
    assert found == "| a ≥ b | −0.50 | −0.75 to −0.25 | 3 | **reversed** |"
    one = line(pair | {"outcome": "not decided", "n": 1, "interval": None})
    assert one == "| a ≥ b | −0.50 |  | 1 | not decided (one run) |"
