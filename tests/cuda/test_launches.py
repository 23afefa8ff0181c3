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


def calls_of_a_step(
    folder: Path, task: str, dataset: Any, **settings: Any
) -> tuple[Counter[str], int]:
    """Those of the third step, as one of many; and how many texts were compiled until then."""
    chosen = task_named(task)
    with EmulatedCupy(idle=True, memory=GPU).installed() as device:
        given = chosen.settings(("this test", settings))
        run = chosen.run(given, dataset, RunFolder(folder), "cuda", 0)
        with run.fetch() as batches:
            for _ in range(3):
                with counting() as calls:
                    run._account(run._step(batches))
    return calls, device.texts


@pytest.mark.parametrize(
    ("variant", "batch_size", "most"),
    [("paper", 0, 110), ("paper", 16, 120), ("released", 0, 117), ("released", 16, 127)],
)  # batches of 0 are all nodes
def test_a_step_of_ppi_makes_few_calls_of_few_texts(tmp_path, variant, batch_size, most):
    split = np.repeat([0, 0, 0, 0, 1, 2], NODES // GRAPHS)  # whole graphs, as in PPI
    dataset = small_dataset(split=split)
    settings = {"variant": variant, "batch_size": batch_size}
    calls, texts = calls_of_a_step(tmp_path, "ppi", dataset, **settings)
    assert calls.total() <= most, calls
    assert texts <= 15


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_step_of_metr_la_makes_few_calls_of_few_texts(tmp_path, variant):
    settings = {"variant": variant, "batch_size": 2}
    calls, texts = calls_of_a_step(tmp_path, "metr-la", small_roads(), **settings)
    assert calls.total() <= 5_100, calls
    assert texts <= 12


def test_a_batch_of_metr_la_is_one_piece_where_a_gpu_has_the_memory():
    with EmulatedCupy(memory=GPU).installed():
        assert pieces(BATCH, SENSORS, "cuda:0") == [slice(0, BATCH)]
    with EmulatedCupy(memory=GPU // 20).installed():
        assert len(pieces(BATCH, SENSORS, "cuda:0")) == 3
