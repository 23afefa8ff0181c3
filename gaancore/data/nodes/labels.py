"""Labels of nodes: what means none, classes by name or number, several labels a node."""

import unicodedata
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from gaancore.data.files.arrays import listed
from gaancore.data.files.number_table import NOTHING
from gaancore.data.nodes.checks import expect_rows
from gaancore.errors import DataError

MOST_CLASSES = 1_000_000
# What means "no label" in every layout; -100 is what PyTorch's losses leave out.
NONE_NUMBERS = (-1, -100)
NONE_WORDS = {*NOTHING, "<na>", "nat", "-1", "-1.0", "-100", "-100.0"}
MEANT = "NaN, NA, -1 and -100 mean none"


@dataclass(frozen=True)
class Labels:
    """values : (N, C) uint8 of 0 and 1, or (N,) int64 classes 0..num_classes-1.

    numbers     : the files' numbers of the classes, ascending; None if they are 0..num_classes-1.
    class_names : what the files call the classes or labels; None if by these numbers.
    """

    values: np.ndarray
    num_classes: int
    numbers: tuple[int, ...] | None = None
    class_names: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class CodedClasses:
    """places : (N,) float64 places in `names`, NaN where a text means no label.

    names : of the classes, all different, sorted by value if all are numbers, else as text. Empty
            if the classes have numbers and no names: `places` are these numbers then.
    """

    places: np.ndarray
    names: tuple[str, ...]
    notes: tuple[str, ...]


def code_classes(texts: Sequence[str]) -> CodedClasses:
    """Classes by their names. Notes say which texts mean no label (NONE_WORDS, in any case), and
    which names differ in nothing but their spelling: those stay apart.
    """
    nothing = Counter(text for text in texts if text.strip().casefold() in NONE_WORDS)
    names = sorted({*texts} - nothing.keys())
    with suppress(ValueError):
        names = sorted(names, key=float)
    place = {name: float(at) for at, name in enumerate(names)}
    words = [f"{text!r} ({count:,})" for text, count in sorted(nothing.items()) if text.strip()]
    notes = [f"labels {', '.join(words)} mean none"] if words else []
    places = np.array([place.get(text, np.nan) for text in texts])
    return CodedClasses(places, tuple(names), (*notes, *spelling_notes(names)))


def spelling_notes(names: Sequence[str]) -> list[str]:
    """A note on each group of names that differ only in case, spacing or the form of a number."""
    alike: dict[object, list[str]] = {}
    for name in names:
        alike.setdefault(_spelling(name), []).append(name)
    return [
        f"classes {' and '.join(map(repr, group))} differ only in how they are written: taken as "
        f"{len(group)} classes; write them alike if they are one"
        for group in alike.values()
        if len(group) > 1
    ]


def label_array(labels: np.ndarray) -> CodedClasses:
    """An array of a file as labels: classes by name if it is text, (N,) or (N, 1), else as it is,
    with no `names`.
    """
    if labels.dtype.kind != "U" or labels.ndim not in (1, 2) or labels.shape[1:] not in ((), (1,)):
        return CodedClasses(labels, (), ())
    return code_classes([text.strip() for text in labels.reshape(-1).tolist()])


def _spelling(name: str) -> object:
    """What two spellings of a name share: the number, or the text in one case and spacing."""
    if "_" not in name:
        with suppress(ValueError):
            return float(name)
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def without_label(labels: np.ndarray) -> np.ndarray:
    """(N,) bool: whether all of a row of numbers, (N,) or (N, C), mean no label."""
    none: np.ndarray = np.logical_or.reduce([labels == number for number in NONE_NUMBERS])
    if labels.dtype.kind == "f":
        none = none | np.isnan(labels)
    return np.asarray(none.reshape(len(labels), -1).all(axis=1))


def are_numbers(labels: np.ndarray, num_nodes: int) -> bool:
    """Whether `labels` have the type and shape of labels of so many nodes."""
    right_type = labels.dtype.kind in "biuf"
    return right_type and labels.ndim in (1, 2) and len(labels) == num_nodes


def check_labels(
    where: str, labels: np.ndarray, node_ids: np.ndarray, multi_label: bool | None
) -> Labels:
    """The labels of nodes with several labels each, or with one class each.

    True  : (N, C), C >= 2, of 0 and 1 in any numeric type.
    False : classes in (N,) or (N, 1), any integers from 0 on, or one-hot rows (N, C). The classes
            are those that a node has, renumbered from 0 on: no gap between two makes a class.
    None  : classes if there is one column or every row has exactly one 1, else several labels. For
            labels in shape (N, 1) or (N, C), a note says which, and why.
    Raises DataError, also for a node without a label (NaN, -1 or -100, in all of its row).
    """
    if labels.dtype.kind not in "biuf" or labels.ndim not in (1, 2):
        raise DataError(
            f"{where}: labels: expected numbers in shape (nodes,) or (nodes, classes); "
            f"got {labels.dtype} {labels.shape}"
        )
    expect_rows(where, "labels", labels, node_ids)
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
        found = _numbered(where, classes)
        if one_column and multi_label is None:
            return replace(found, notes=("labels have one column: taken as one class per node",))
        return found
    _refuse_labels(where, labels, node_ids, (labels != 0) & (labels != 1), "0 or 1")
    binary = np.ascontiguousarray(labels, dtype=np.uint8)
    counts = binary.sum(axis=1)
    others = np.flatnonzero(counts != 1)
    if multi_label:
        looks = "every row of labels has exactly one 1: is it not one class per node? taken as "
        notes = () if others.size else (f"{looks}several labels per node, as asked for",)
        return Labels(binary, binary.shape[1], notes=notes)
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
    return replace(_numbered(where, binary.argmax(axis=1).astype(np.int64)), notes=notes)


def _numbered(where: str, classes: np.ndarray) -> Labels:
    """The classes that a node has, from 0 on."""
    found = np.unique(classes)
    if found.size > MOST_CLASSES:
        raise DataError(
            f"{where}: labels: {found.size:,} classes, more than {MOST_CLASSES:,}; are these ids?"
        )
    if found[-1] == found.size - 1:
        return Labels(classes, found.size)
    values = np.searchsorted(found, classes)
    return Labels(values.astype(np.int64), found.size, tuple(found.tolist()))


def name_classes(labels: Labels, names: tuple[str, ...] | None) -> Labels:
    """`labels` with the names of their classes, and a note on numbers and names that are changed.

    names : the files' names of the classes from 0 on; None where classes have but numbers.
    """
    numbers = labels.numbers or tuple(range(labels.num_classes))
    if names is not None:
        notes: tuple[str, ...] = ()
        if labels.values.ndim == 1 and len(names) > len(numbers):
            kept = set(numbers)
            lacking = [name for number, name in enumerate(names) if number not in kept]
            notes = (f"classes that no node of the split has, left out: {listed(lacking)}",)
        own = tuple(names[number] for number in numbers)
        return replace(labels, class_names=own, notes=(*labels.notes, *notes))
    if labels.numbers is None:
        return labels
    own = tuple(map(str, numbers))
    in_a_row = numbers[-1] - numbers[0] < len(numbers)
    which = f"{own[0]} to {own[-1]}" if in_a_row else listed(own)
    gaps = "" if in_a_row else " (no node of the split has another)"
    note = f"classes {which}{gaps} renumbered 0 to {len(own) - 1}"
    return replace(labels, class_names=own, notes=(*labels.notes, note))


def _refuse_unlabelled(where: str, labels: np.ndarray, node_ids: np.ndarray) -> None:
    without = without_label(labels)
    if without.any():
        row = int(np.argmax(without))
        raise DataError(
            f"{where}: labels: nodes without any: {without.sum():,}, first row {row} (node id "
            f"{node_ids[row]}), as {MEANT}; label them, or take them out of the split and "
            "choose unflagged: context"
        )


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
