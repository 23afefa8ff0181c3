"""Settings that suit speeds of one's own, chosen by how many windows there are to learn from.

The paper's settings are made for four months of METR-LA: 64 sequences a step, and scheduled
sampling that lasts tens of thousands of steps.
"""

from typing import Any

from gaancore.data.traffic.dataset import TrafficDataset

STEPS = 200  # an epoch is to have, if there are windows enough
SHORT = 10_000  # rows, up to which the decoder never sees the truth
LARGEST_BATCH, SMALLEST_BATCH = 64, 4


def suited(dataset: TrafficDataset) -> tuple[dict[str, Any], str]:
    """Settings by name, and one line that says what they are and why."""
    rows = dataset.num_steps
    batch = max(SMALLEST_BATCH, min(LARGEST_BATCH, int(0.7 * rows) // STEPS))
    size = f"{dataset.num_sensors:,} sensors, {rows:,} steps"
    changes: dict[str, Any]
    if rows >= SHORT:
        changes = {"batch_size": batch}
        return (
            changes,
            f"settings for a long series ({size}): the paper's, {batch} sequences a step",
        )
    changes = {
        "batch_size": batch,
        "teacher_decay": 0.0,
        "decay_patience": 1,
        "stop_patience": 2,
        "epochs": 20,
    }
    words = f"{batch} sequences a step, no scheduled sampling, at most 20 epochs"
    return changes, f"settings for a short series ({size}): {words}"
