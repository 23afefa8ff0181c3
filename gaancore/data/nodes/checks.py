"""The values of a dataset, checked once; every refusal names the file, the row and the node."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from gaancore.errors import DataError, GraphError
from gaancore.system.mapped import forget_pages

VALUES_AT_A_TIME = 16_000_000  # of features, while they are checked or copied
MOST_CLASSES = 1_000_000


@dataclass(frozen=True)
class Labels:
    """values : (N, C) uint8 of 0 and 1, or (N,) int64 classes 0..num_classes-1.

    class_names : what the files call the classes or labels; None if by these numbers.
    """

    values: np.ndarray
    num_classes: int
    class_names: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()


def check_features(where: str, features: np.ndarray, node_ids: np.ndarray) -> np.ndarray:
    """`features` as finite, C-contiguous float32 (N, F) with N = len(node_ids), N and F >= 1."""
    expect_features(where, features, node_ids)
    return np.ascontiguousarray(features, dtype=np.float32)


def expect_features(where: str, features: np.ndarray, node_ids: np.ndarray) -> None:
    """Raises DataError unless `features` can be such an array; never copies all of it."""
    if features.ndim != 2 or features.dtype.kind not in "biuf" or 0 in features.shape:
        raise DataError(
            f"{where}: features: expected numbers in shape (nodes, features), neither of them 0; "
            f"got {features.dtype} {features.shape}"
        )
    _expect_rows(where, "features", features, node_ids)
    count, first = 0, (0, 0)
    step = max(1, VALUES_AT_A_TIME // features.shape[1])
    for start in range(0, len(features), step):
        with np.errstate(over="ignore"):  # too large for float32 is inf, and reported as such
            bad = ~np.isfinite(np.asarray(features[start : start + step], dtype=np.float32))
        if not count and bad.any():
            row, column = np.argwhere(bad)[0]
            first = (start + int(row), int(column))
        count += int(np.count_nonzero(bad))
        forget_pages(features)
    if count:
        raise DataError(
            f"{where}: features: {count:,} values are not finite in float32, first "
            f"{features[first]} at row {first[0]}, column {first[1]} "
            f"(node id {node_ids[first[0]]}); correct them; nan: zero or mean fills those that are "
            "NaN"
        )


def check_labels(
    where: str, labels: np.ndarray, node_ids: np.ndarray, multi_label: bool | None
) -> Labels:
    """The labels of nodes with several labels each, or with one class each.

    True  : (N, C), C >= 2, of 0 and 1 in any numeric type.
    False : classes in (N,) or (N, 1), counted from any number, or one-hot rows (N, C).
    None  : classes if there is one column or every row has exactly one 1, else several labels. For
            labels in shape (N, 1) or (N, C), a note says which, and why.
    """
    if labels.dtype.kind not in "biuf" or labels.ndim not in (1, 2):
        raise DataError(
            f"{where}: labels: expected numbers in shape (nodes,) or (nodes, classes); "
            f"got {labels.dtype} {labels.shape}"
        )
    _expect_rows(where, "labels", labels, node_ids)
    one_column = labels.ndim == 2 and labels.shape[1] == 1
    if one_column:
        labels = labels[:, 0]
    _refuse_unlabelled(where, labels, node_ids)
    if labels.ndim == 1 and multi_label:
        raise DataError(
            f"{where}: labels: one class per node, where several labels per node are expected: "
            "rows of 0 and 1; multi_label: False takes classes"
        )
    if labels.ndim == 1:
        with np.errstate(invalid="ignore"):  # NaN and inf become some integer, which they are not
            classes = labels.astype(np.int64)
        _refuse_labels(where, labels, node_ids, (labels < 0) | (classes != labels), "0, 1, 2, ...")
        found = _counted_from_0(where, classes)
        if one_column and multi_label is None:
            note = "labels have one column: taken as one class per node"
            return replace(found, notes=(note, *found.notes))
        return found
    _refuse_labels(where, labels, node_ids, (labels != 0) & (labels != 1), "0 or 1")
    binary = np.ascontiguousarray(labels, dtype=np.uint8)
    if multi_label:
        return Labels(binary, binary.shape[1])
    counts = binary.sum(axis=1)
    others = np.flatnonzero(counts != 1)
    if others.size and multi_label is None:
        note = (
            f"{others.size:,} of {len(binary):,} rows of labels have no 1 or more than one: taken "
            "as several labels per node"
        )
        return Labels(binary, binary.shape[1], notes=(note,))
    if others.size:
        row = int(others[0])
        raise DataError(
            f"{where}: labels: one class per node is expected, but row {row} (node id "
            f"{node_ids[row]}) has {counts[row]} labels; multi_label: True takes several"
        )
    notes = ("every row of labels has exactly one 1: taken as one class per node",)
    return Labels(binary.argmax(axis=1).astype(np.int64), binary.shape[1], notes=notes)


def _refuse_unlabelled(where: str, labels: np.ndarray, node_ids: np.ndarray) -> None:
    without = np.isnan(labels).reshape(len(labels), -1).all(axis=1)
    if without.any():
        row = int(np.argmax(without))
        raise DataError(
            f"{where}: labels: nodes without any: {without.sum():,}, first row {row} (node id "
            f"{node_ids[row]}); label them, or take them out of the split and "
            "choose unflagged: context"
        )


def _counted_from_0(where: str, classes: np.ndarray) -> Labels:
    lowest, highest = int(classes.min()), int(classes.max())
    if highest - lowest >= MOST_CLASSES:
        raise DataError(
            f"{where}: labels: classes {lowest} to {highest}, more than {MOST_CLASSES:,}; number "
            "them without such gaps"
        )
    if lowest == 0:
        return Labels(classes, highest + 1)
    names = tuple(str(number) for number in range(lowest, highest + 1))
    note = f"classes {lowest} to {highest} renumbered 0 to {highest - lowest}"
    return Labels(classes - lowest, len(names), names, (note,))


def check_split(where: str, split: np.ndarray, node_ids: np.ndarray) -> np.ndarray:
    """`split` as int8 (N,) of -1, 0, 1, 2 (a fresh copy)."""
    _expect_integers(where, "split", split, node_ids)
    bad = (split < -1) | (split > 2)
    if bad.any():
        row = int(np.argmax(bad))
        raise DataError(
            f"{where}: split: {split[row]} at row {row} (node id {node_ids[row]}); "
            "expected 0 train, 1 validation, 2 test or -1 for none"
        )
    return split.astype(np.int8)


def check_graph_ids(where: str, graph_ids: np.ndarray, node_ids: np.ndarray) -> np.ndarray:
    """`graph_ids` as int64 (N,)."""
    _expect_integers(where, "graph ids", graph_ids, node_ids)
    return graph_ids.astype(np.int64)


@contextmanager
def naming_file(where: str) -> Iterator[None]:
    """Turn a GraphError inside into a DataError that also says which file the graph is from."""
    try:
        yield
    except GraphError as error:
        raise DataError(f"{where}: {error}") from error


def _expect_rows(where: str, what: str, values: np.ndarray, node_ids: np.ndarray) -> None:
    if len(values) != len(node_ids):
        raise DataError(
            f"{where}: {what}: expected {len(node_ids):,} rows (one per node), got {len(values):,}"
        )


def _expect_integers(where: str, what: str, values: np.ndarray, node_ids: np.ndarray) -> None:
    if values.ndim != 1 or values.dtype.kind not in "iu":
        raise DataError(
            f"{where}: {what}: expected integers in shape (nodes,); got {values.dtype} "
            f"{values.shape}"
        )
    _expect_rows(where, what, values, node_ids)


def _refuse_labels(
    where: str, labels: np.ndarray, node_ids: np.ndarray, bad: np.ndarray, expected: str
) -> None:
    if bad.any():
        place = np.argwhere(bad)[0]
        column = f", column {place[1]}" if labels.ndim == 2 else ""
        raise DataError(
            f"{where}: labels: {bad.sum():,} values are not {expected}, first "
            f"{labels[tuple(place)]} at row {place[0]}{column} (node id {node_ids[place[0]]}); "
            "correct them or remove the nodes"
        )
