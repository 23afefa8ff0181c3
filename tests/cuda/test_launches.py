"""How often a training step asks something of a GPU: of models of full size, on little data.

Nothing is executed: only the number of calls counts, and it does not depend on widths or batches.
"""

from collections import Counter
from typing import Any

import pytest
from emulator.calls import counting
from emulator.device import EmulatedCupy
from small_run import small_dataset
from small_traffic_run import small_roads

from gaancore.tasks import task_named
from gaancore.training.run_folder import RunFolder

idle = EmulatedCupy(idle=True)


def calls_of_a_step(run: Any) -> Counter[str]:
    """Those of the third step, as one of many."""
    with run.fetch() as batches:
        for _ in range(3):
            with counting() as calls:
                run._step(batches)
    print(calls.total(), calls.most_common())
    return calls


def test_ppi(tmp_path):
    settings = task_named("ppi").settings(("x", {"variant": "paper"}))
    with idle.installed():
        run = task_named("ppi").run(settings, small_dataset(), RunFolder(tmp_path), "cuda", 0)
        calls = calls_of_a_step(run)
    assert calls.total() <= 120


@pytest.mark.parametrize("variant", ["paper", "released"])
def test_metr(tmp_path, variant):
    settings = task_named("metr-la").settings(("x", {"variant": variant, "batch_size": 2}))
    with idle.installed():
        run = task_named("metr-la").run(settings, small_roads(), RunFolder(tmp_path), "cuda", 0)
        calls = calls_of_a_step(run)
    assert calls.total() <= 6000
