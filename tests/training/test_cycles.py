"""Python looks for cycles of objects hardly ever while training (see prepare_process), so nothing
that is done again and again may leave one that keeps an array: memory would grow step by step.
"""

import gc
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from ranks import on_ranks, results
from small_parts import write_both
from small_reddit import small_classes, small_reddit_settings
from small_run import small_run
from small_traffic_run import started

from gaancore.data.parts.dataset import parted_at
from gaancore.parallel import ALONE, Team
from gaancore.training.nodes.run import ClassifierRun
from gaancore.training.run_folder import RunFolder


def arrays_in_cycles(work: Callable[[], Any]) -> list[tuple[int, ...]]:
    """The shapes of the arrays that `work` leaves in cycles. It is done once before, since
    compiling leaves some.
    """
    kept = [work()]
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        kept.append(work())
        gc.collect()
        found = [x for left in gc.garbage for x in gc.get_referents(left)]
        return [x.shape for x in found if isinstance(x, np.ndarray)]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


def trained(run: Any) -> Any:
    """A run that is already started, which it returns: it may be a cycle itself."""
    run.train()
    return run


def test_a_cycle_with_an_array_is_seen():
    def work() -> None:
        array = np.zeros(3)

        def again(n: int) -> Any:
            return again(n - 1) if n else array

        again(2)

    assert (3,) in arrays_in_cycles(work)


@pytest.fixture
def folders(tmp_path):
    """A new folder at each call."""
    return iter([tmp_path / str(n) for n in range(9)]).__next__


@pytest.mark.parametrize(
    "changes", [{}, {"fanouts": (3, 2), "edge_dropout": 0.3}, {"shares": 3, "dropout": 0.5}]
)
def test_training_on_a_graph_leaves_none(folders, changes):
    assert arrays_in_cycles(lambda: trained(small_run(folders(), epochs=2, **changes))) == []


@pytest.mark.parametrize("model", ["gaan", "max-pool"])
def test_training_on_speeds_leaves_none(folders, model):
    assert arrays_in_cycles(lambda: trained(started(folders(), epochs=1, model=model))) == []


@pytest.mark.parametrize("size", [1, 2])
def test_training_on_parts_leaves_none(tmp_path, size):
    write_both(tmp_path, small_classes(), 2)
    settings, numbers = small_reddit_settings(fanouts=(4, 3), epochs=2, shares=2), iter(range(9))

    def work() -> Any:
        folder = RunFolder(tmp_path / f"run{next(numbers)}")
        data = replace(parted_at(tmp_path / "parts"), cache=0.1)

        def of_rank(team: Team = ALONE) -> Any:
            run = ClassifierRun(settings, data, folder, team=team)
            team.from_first(run.start)
            return trained(run)

        return results(on_ranks(size, of_rank))

    assert arrays_in_cycles(work) == []
