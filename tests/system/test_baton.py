"""The baton: whoever waits awake or asleep gets it, once for each time it was given."""

import threading
import time

import numpy as np
import pytest

from gaancore.system import baton
from gaancore.system.baton import Baton


@pytest.fixture(params=[400_000, 1], ids=["mostly awake", "asleep at once"])
def patience(request, monkeypatch):
    """How long a taker looks before it sleeps."""
    monkeypatch.setattr(baton, "LOOKS", request.param)


def in_thread(function) -> threading.Thread:
    thread = threading.Thread(target=function, daemon=True)
    thread.start()
    return thread


def test_one_given_before_it_is_asked_for_is_taken_at_once(patience):
    one = Baton()
    one.give()
    taker = in_thread(one.take)
    taker.join(timeout=30)
    assert not taker.is_alive()


@pytest.mark.parametrize("delay", [0, 0.001, 0.05])
def test_a_taker_waits_until_it_is_given(patience, delay):
    one, events = Baton(), []

    def take() -> None:
        one.take()
        events.append("taken")

    taker = in_thread(take)
    time.sleep(delay)
    events.append("given")
    one.give()
    taker.join(timeout=30)
    assert events == ["given", "taken"]


def test_nothing_is_lost_or_taken_twice_in_many_turns(patience):
    """Two threads take turns at a counter that neither protects; pauses put either to sleep."""
    there, back, turns = Baton(), Baton(), 3000
    pauses = np.random.default_rng(0).choice([0.0, 0.0003], turns, p=[0.98, 0.02])
    seen = []

    def partner() -> None:
        there.take()
        for turn in range(turns):
            if pauses[-turn]:
                time.sleep(pauses[-turn])
            seen.append(("partner", turn))
            if turn < turns - 1:
                there.take_after_giving(back)
        back.give()

    thread = in_thread(partner)
    for turn in range(turns):
        if pauses[turn]:
            time.sleep(pauses[turn])
        seen.append(("caller", turn))
        there.give()
        back.take()
    thread.join(timeout=30)
    assert seen == [(who, turn) for turn in range(turns) for who in ("caller", "partner")]
