"""What bench/scale.py makes of clocks: a model is found again in made-up ones, sums are by hand."""

import sys
from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))

import scale_model
import scale_report
from scale_model import Model, Network

TRUE = Model(
    per_share=2e-3,
    per_edge=3e-6,
    per_node=2e-5,
    rest=4e-3,
    network=Network(latency=5e-5, per_byte=1e-9),
    numbers=1000,
)
SMALL = {"gather": 80, "exchange": 40_000, "collect": 20_000}  # bytes of a call on two ranks


def work_of(shares: int) -> np.ndarray:
    """(shares, 3): the more shares, the more nodes for an edge, as repeats make it."""
    rng = np.random.default_rng(shares)
    edges = 100_000 / shares * rng.uniform(0.95, 1.05, shares)
    return np.stack([edges, edges * 0.2 * shares**0.4, np.zeros(shares)], axis=1)


def made_up(ranks: int, shares: int) -> dict[str, Any]:
    """A measured pair whose clocks are TRUE's, in plain loops; the quicker rank waits in the second
    call. One step of four was disturbed.
    """
    found = []
    for disturbed in (1.0, 1.0, 3.0, 1.0):
        work, rows = work_of(shares), []
        for rank in range(ranks):
            own = range(shares * rank // ranks, shares * (rank + 1) // ranks)
            seconds = sum(0.0015 + 3e-6 * work[i, 0] + 2e-5 * work[i, 1] for i in own) * disturbed
            row = {"shares": len(own), "edges": 0.0, "nodes": 0.0}
            for i in own:
                row["edges"] += work[i, 0]
                row["nodes"] += work[i, 1]
            row |= {"make": 0.1 * seconds, "sample": 0.04 * seconds, "learn": 0.9 * seconds}
            rows.append({**row, "rest": 4e-3 + 5e-4 * len(own)})
        busy = [row["make"] + row["learn"] + row["rest"] for row in rows]
        for row, own_busy in zip(rows, busy, strict=True):
            calls = []
            for place, name in enumerate(("gather", "gather", "exchange", "collect", "gather")):
                size = SMALL[name] * shares
                waves = 2 if name == "gather" else 1
                waiting = max(busy) - own_busy if place == 1 else 0.0
                calls.append([name, 5e-5 * waves + 1e-9 * size + waiting, size, size])
            row["calls"] = calls if ranks > 1 else []
            row["step"] = own_busy + sum(call[1] for call in row["calls"])
            del row["rest"]
        found.append(rows)
    return {"ranks": ranks, "shares": shares, "numbers": 1000, "steps": found}


def test_the_model_of_made_up_clocks_is_found_again():
    pairs = [(1, 1), (1, 2), (1, 32), (2, 2), (2, 3)]
    found = scale_model.fitted([made_up(*pair) for pair in pairs])
    for name in ("per_share", "per_edge", "per_node", "rest", "network", "numbers"):
        assert getattr(found, name) == pytest.approx(getattr(TRUE, name), rel=1e-9), name


def test_a_pair_that_was_not_fitted_is_predicted():
    found = scale_model.fitted([made_up(*pair) for pair in [(1, 1), (1, 2), (1, 32), (2, 2)]])
    step = made_up(2, 8)["steps"][0]
    cost = found.step(work_of(8), 2)
    busy = max(row["make"] + row["learn"] for row in step)
    assert cost.shares == pytest.approx(busy + 4 * 5e-4)  # what four shares add to the rest
    assert cost.rest == pytest.approx(4e-3)


def test_runs_of_one_rank_alone_make_talk_cost_nothing():
    found = scale_model.fitted([made_up(1, shares) for shares in (1, 2, 32)])
    assert found.network == (0.0, 0.0)
    assert found.step(work_of(8), 4).talk == 0.0


def test_a_step_takes_as_long_as_the_rank_with_most_to_do_worked_by_hand():
    model = Model(1.0, 0.5, 0.25, 10.0, Network(2.0, 0.125), numbers=10)
    work = np.array([[2, 4, 0], [4, 8, 0], [6, 4, 0]])  # of 3, 5 and 5 s; ranks have one and two
    cost = model.step(work, 2)
    # 40 bytes of two shares' slices of 5 numbers, 20 of a sum, 300 of three gathers; 8 rounds
    assert (cost.shares, cost.rest, cost.talk) == (10.0, 10.0, 8 * 2.0 + 360 * 0.125)
    assert cost.seconds == 20.0 + 61.0
    assert model.step(work, 1).seconds == 13.0 + 10.0
    wire = Network(0.0, 0.0).over(8e-9, 1.0)  # a byte a second
    assert model.step(work, 2, wire).talk == 8 * 1.0 + 360
    more = work + np.array([2, 2, 0])
    assert model.seconds(np.array([work, more]), 1, wire) == (23.0 + 27.5) / 2
    in_parts = replace(model, trades=4)  # one with two gathers and a trade: three rounds more
    read = work + np.array([[0, 0, 100], [0, 0, 300], [0, 0, 20]])  # 320 bytes by the second rank
    assert in_parts.step(read, 2, wire).talk == (8 + 4 * 3) * 1.0 + 360 + 320
    assert in_parts.step(work, 1, wire).talk == 0


@pytest.mark.parametrize(
    ("ranks", "gather", "others"), [(1, 0, 0), (2, 2, 1), (3, 4, 2), (4, 4, 3), (256, 16, 255)]
)
def test_rounds_of_messages_grow_with_the_ranks(ranks, gather, others):
    assert scale_model.rounds("gather", ranks) == gather
    assert scale_model.rounds("exchange", ranks) == scale_model.rounds("collect", ranks) == others


def test_waiting_is_what_a_call_takes_beyond_what_it_takes_the_last_to_come():
    row = {"shares": 1, "edges": 10, "nodes": 4, "make": 0.3, "sample": 0.1, "learn": 1.0}
    pair = {
        "steps": [
            [
                {**row, "step": 2.0, "calls": [["gather", 0.2, 8, 16], ["collect", 0.3, 4, 4]]},
                {**row, "step": 2.0, "calls": [["gather", 0.5, 24, 8], ["collect", 0.1, 4, 4]]},
            ]
        ]
    }
    found = scale_model.means(pair)
    assert (found.sample, found.learn) == (0.1, 1.0)
    assert found.gather == pytest.approx(0.2)
    assert found.talk == pytest.approx(0.2 + 0.1)
    assert found.waiting == pytest.approx((0.5 + 0.6) / 2 - 0.3)
    assert found.rest == pytest.approx(2.0 - 1.3 - 0.55)
    assert (found.sent, found.received) == (20.0, 16.0)
    assert (found.edges, found.nodes) == (20, 8)


def test_a_check_says_how_far_off_it_is_and_when_there_is_none():
    args = Namespace(held_out=(2, 8))
    row = {"fitted": False, "step": 0.5, "predicted": 0.55, "error": 0.1}
    words = "Check: 2 ranks, 8 shares, which it was not fitted to: "
    measured = "measured 0.500 s a step, predicted 0.550 s, +10.0%: within 15%"
    assert scale_report._of_check([row], args) == words + measured
    assert scale_report._of_check([row | {"error": 0.2}], args).endswith("+20.0%: NOT within 15%")
    left_out = "left out, so nothing was checked"
    assert scale_report._of_check([row | {"fitted": True}], args) == words + left_out
