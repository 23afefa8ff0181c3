"""The values of a dataset, checked once; every refusal names the file, the row and the node."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from gaancore.errors import DataError, GraphError, SettingsError


def expect_option(option: str, value: str, choices: Sequence[str]) -> None:
    """Raises SettingsError unless `value` is one of `choices`."""
    if value not in choices:
        raise SettingsError(f"{option}: expected one of {', '.join(choices)}, got {value!r}")


def check_features(where: str, features: np.ndarray, node_ids: np.ndarray) -> np.ndarray:
    """`features` as finite, C-contiguous float32 (N, F) with N = len(node_ids), N and F >= 1."""
    if features.ndim != 2 or features.dtype.kind not in "biuf" or 0 in features.shape:
        raise DataError(
            f"{where}: features: expected numbers in shape (nodes, features), neither of them 0; "
            f"got {features.dtype} {features.shape}"
        )
    _expect_rows(where, "features", features, node_ids)
    with np.errstate(over="ignore"):  # too large for float32 becomes inf, and is reported as such
        single = np.ascontiguousarray(features, dtype=np.float32)
    bad = ~np.isfinite(single)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise DataError(
            f"{where}: features: {bad.sum():,} values are not finite in float32, first "
            f"{features[row, column]} at row {row}, column {column} (node id {node_ids[row]}); "
            "repair or remove them"
        )
    return single


def check_labels(
    where: str, labels: np.ndarray, node_ids: np.ndarray, multi_label: bool
) -> tuple[np.ndarray, int]:
    """The labels in the task's form, and the number of classes C.

    multi_label : (N, C), C >= 2, of 0 and 1 in any numeric type -> uint8.
    otherwise  : classes in (N,) or (N, 1), or one-hot rows (N, C) -> int64 (N,).
    """
    if labels.dtype.kind not in "biuf" or labels.ndim not in (1, 2):
        raise DataError(
            f"{where}: labels: expected numbers in shape (nodes,) or (nodes, classes); "
            f"got {labels.dtype} {labels.shape}"
        )
    _expect_rows(where, "labels", labels, node_ids)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim == 1 and multi_label:
        raise DataError(
            f"{where}: labels: one class per node, but this task has several labels per node; "
            "expected rows of 0 and 1"
        )
    if labels.ndim == 1:
        with np.errstate(invalid="ignore"):  # NaN and inf become some integer, which they are not
            classes = labels.astype(np.int64)
        _refuse_labels(where, labels, node_ids, (labels < 0) | (classes != labels), "0, 1, 2, ...")
        return classes, int(classes.max()) + 1
    _refuse_labels(where, labels, node_ids, (labels != 0) & (labels != 1), "0 or 1")
    binary = np.ascontiguousarray(labels, dtype=np.uint8)
    if multi_label:
        return binary, binary.shape[1]
    counts = binary.sum(axis=1)
    if (counts != 1).any():
        row = int(np.argmax(counts != 1))
        raise DataError(
            f"{where}: labels: this task has one class per node, but row {row} "
            f"(node id {node_ids[row]}) has {counts[row]} labels"
        )
    return binary.argmax(axis=1).astype(np.int64), binary.shape[1]


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
