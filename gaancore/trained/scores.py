"""Scores of a split as plain facts, of all classes together and of each."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from gaancore.training.nodes.metrics import Counts, calibration_errors, class_counts


def scores_of(
    logits: np.ndarray,
    probabilities: np.ndarray,
    labels: np.ndarray,
    names: Sequence[Any],
    *,
    per_class: bool,
    counted: Sequence[int] | None = None,
) -> dict[str, Any]:
    """`micro_f1` and `macro_f1`, and if `per_class` is asked for a row for each of `names`, with
    the calibration of each and of all.

    logits, probabilities (n, C), labels as in a dataset. counted: those of the C classes that
    scores are over; by default all.
    """
    counts = class_counts(logits, labels)
    if counted is not None:
        at = np.asarray(counted, np.int64)
        counts = Counts(counts.hits[at], counts.predicted[at], counts.support[at])
    found: dict[str, Any] = asdict(counts.scores())
    if per_class:
        overall, each = calibration_errors(probabilities, labels)
        rows = zip(names, counts.per_class(), each if counted is None else each[at], strict=True)
        found["ece"] = overall
        found["per_class"] = [
            {"class": name, **asdict(row), "ece": float(error)} for name, row, error in rows
        ]
    return found
