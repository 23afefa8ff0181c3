"""What a run says about each node, and how many classes or labels are taken from it."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from gaancore.data.nodes.inputs import NodeInputs
from gaancore.data.parts.dataset import PartedDataset
from gaancore.errors import SettingsError
from gaancore.parallel import ALONE, Team
from gaancore.training.nodes.predict import Classifier, by_rows


@dataclass(frozen=True)
class Predictions:
    """What a run says about each of N nodes.

    node_ids      : (N,) the data's own ids.
    logits        : (N, C).
    probabilities : (N, C): of each class, or of each label by itself.
    class_names   : (C,) the names of the classes or labels, as text; numbers where there are none.
    labels        : (N,) the most likely class by name; or (N, C) bool, the labels that are more
                    likely than not, or as `threshold` or `top_k` asked.
    top           : (N, top_k) the most likely classes or labels, as columns of `probabilities`, the
                    most likely first; of equals the first. None if they were not asked for.
    notes         : what was assumed when the graph was read.
    """

    node_ids: np.ndarray
    logits: np.ndarray
    probabilities: np.ndarray
    class_names: np.ndarray
    labels: np.ndarray
    top: np.ndarray | None
    notes: tuple[str, ...]


def expect_choosable(
    classifier: Classifier, num_classes: int, top_k: int | None, threshold: float | None
) -> None:
    """Raises SettingsError for a number of classes that there are not, or a threshold that is no
    probability, or has nothing to decide.
    """
    if top_k is not None and not 1 <= top_k <= num_classes:
        raise SettingsError(
            f"top_k: expected 1 to {num_classes}, the classes of the run, got {top_k}"
        )
    if threshold is None:
        return
    if not 0 <= threshold <= 1:
        raise SettingsError(f"threshold: expected a probability, 0 to 1, got {threshold}")
    if not classifier.multi_label:
        raise SettingsError(
            f"threshold: {classifier.path}: a node has one class there, the most likely; a "
            "threshold is for several labels"
        )
    if top_k is not None:
        raise SettingsError("threshold: top_k says already how many labels are taken; give one")


def predictions_of(
    classifier: Classifier,
    inputs: NodeInputs | PartedDataset,
    top_k: int | None,
    threshold: float | None,
    team: Team = ALONE,
) -> Predictions:
    """Everything about every node of `inputs`, computed by all ranks of `team` together, each of
    which gets it. Raises SettingsError as `expect_choosable`.
    """
    num_classes = classifier.model.head.bias.shape[0]
    expect_choosable(classifier, num_classes, top_k, threshold)
    logits = classifier.logits(inputs, team)
    probabilities = classifier.probabilities(logits)
    names = np.array(classifier.class_names or tuple(map(str, range(num_classes))))
    top = None
    if top_k is not None:
        top = by_rows(partial(_largest, count=top_k), logits, (len(logits), top_k), np.int64)
    if not classifier.multi_label:
        labels = by_rows(
            lambda rows: names[rows.argmax(axis=1)], logits, logits.shape[:1], names.dtype
        )
    elif top is not None:
        labels = by_rows(partial(_marked, width=num_classes), top, logits.shape, np.bool_)
    else:
        given, least = (logits, 0.0) if threshold is None else (probabilities, threshold)
        labels = by_rows(lambda rows: rows > least, given, given.shape, np.bool_)
    return Predictions(inputs.node_ids, logits, probabilities, names, labels, top, inputs.notes)


def _largest(rows: np.ndarray, count: int) -> np.ndarray:
    """(n, count) the columns of the largest numbers of each row; of equals the first."""
    return np.argsort(-rows, axis=1, kind="stable")[:, :count]


def _marked(columns: np.ndarray, width: int) -> np.ndarray:
    """(n, width) bool: whether a column is among those of its row."""
    marks = np.zeros((len(columns), width), bool)
    np.put_along_axis(marks, columns, True, axis=1)
    return marks
