"""How often a training step asks something of a GPU: of models of full size, on little data.

Nothing is executed: only the number of calls counts, and it does not depend on widths or rows.
"""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emulator.calls import counting
from emulator.device import EmulatedCupy
from small_run import GRAPHS, NODES, small_dataset
from small_traffic_run import small_roads

from gaancore.choices import VARIANTS
from gaancore.tasks import task_named
from gaancore.training.pieces import pieces
from gaancore.training.run_folder import RunFolder

GPU = 80 * 10**9  # bytes of memory
SENSORS, BATCH = 207, 64  # of METR-LA


def calls_of_a_step(folder: Path, task: str, dataset: Any, **settings: Any) -> Counter[str]:
    """Those of the third step, as one of many."""
    chosen = task_named(task)
    with EmulatedCupy(idle=True, memory=GPU).installed():
        given = chosen.settings(("this test", settings))
        run = chosen.run(given, dataset, RunFolder(folder), "cuda", 0)
        with run.fetch() as batches:
            for _ in range(3):
                with counting() as calls:
                    run._account(run._step(batches))
    return calls


@pytest.mark.parametrize("batch_size", [0, 16], ids=["all nodes", "some nodes"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_step_of_ppi_makes_few_calls(tmp_path, variant, batch_size):
    split = np.repeat([0, 0, 0, 0, 1, 2], NODES // GRAPHS)  # whole graphs, as in PPI
    dataset = small_dataset(split=split)
    calls = calls_of_a_step(tmp_path, "ppi", dataset, variant=variant, batch_size=batch_size)
    assert calls.total() <= (132 if batch_size else 120), calls


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_step_of_metr_la_makes_few_calls(tmp_path, variant):
    calls = calls_of_a_step(tmp_path, "metr-la", small_roads(), variant=variant, batch_size=2)
    assert calls.total() <= 6_000, calls


def test_a_batch_of_metr_la_is_one_piece_where_a_gpu_has_the_memory():
    with EmulatedCupy(memory=GPU).installed():
        assert pieces(BATCH, SENSORS, "cuda:0") == [slice(0, BATCH)]
    with EmulatedCupy(memory=GPU // 20).installed():
        assert len(pieces(BATCH, SENSORS, "cuda:0")) == 3
