"""What a classifier is given to learn from: classes of any kind, and who is held out."""

from typing import Any

import numpy as np

from gaancore.data.nodes.dataset import TRAIN, UNFLAGGED, VALIDATION
from gaancore.data.nodes.labels import without_label
from gaancore.door.values import as_array, coded_labels, is_no_label, split_of_masks
from gaancore.errors import DataError, SettingsError
from gaancore.seeding import generator


def shared_out(
    codes: np.ndarray, train_mask: Any, val_mask: Any, fraction: float, seed: int
) -> tuple[np.ndarray, list[str]]:
    """Who is learned from and who is held out, and what to say about it."""
    labelled = ~np.isnan(codes).reshape(len(codes), -1).any(axis=1)
    masks = {"train_mask": train_mask, "val_mask": val_mask}
    chosen = {
        name: np.ones(len(codes), bool)
        if mask is None
        else split_of_masks("fit", {name: mask}, len(codes))[0] != UNFLAGGED
        for name, mask in masks.items()
    }
    learn = labelled & chosen["train_mask"]
    split = np.full(len(codes), UNFLAGGED, np.int8)
    split[learn] = TRAIN
    if val_mask is not None:
        held = labelled & chosen["val_mask"]
        split[held] = VALIDATION
        notes = []
    else:
        held = _held_out(codes, learn, fraction, seed)
        split[held] = VALIDATION
        notes = [f"{held.sum():,} of {learn.sum():,} labelled nodes held out to stop early by"]
    if not (split == TRAIN).any() or not held.any():
        raise DataError(
            f"fit: y: {labelled.sum():,} labelled nodes leave {(split == TRAIN).sum():,} to "
            f"learn from and {held.sum():,} to stop early by; label more, or change the masks "
            "or validation_fraction"
        )
    return split, notes


def unlabelled(y: np.ndarray) -> np.ndarray:
    """(N,) bool: whether a value of (N,) stands for no label."""
    if y.dtype.kind in "iuf":
        return without_label(y)
    return np.array([is_no_label(value) for value in y.tolist()], bool)


def coded_classes(y: Any) -> tuple[np.ndarray, np.ndarray]:
    """(N,) places in the classes, or (N, L) of 0 and 1, NaN for none; and the classes, sorted."""
    array = as_array("fit: y", y)
    if array.ndim == 2 and array.shape[1] > 1:
        codes, _ = coded_labels("fit: y", y)
        return codes, np.arange(codes.shape[1])
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise DataError(f"fit: y: expected shape (nodes,) or (nodes, labels), got {array.shape}")
    without = unlabelled(array)
    values = array[~without]
    if values.dtype.kind == "f" and (values % 1).any():
        raise DataError("fit: y: expected classes, got numbers with a fraction")
    if values.dtype.kind == "O" and len({isinstance(value, str) for value in values.tolist()}) == 1:
        values = np.array(values.tolist())
    try:
        classes, codes = np.unique(values, return_inverse=True)
    except TypeError as error:
        raise DataError(f"fit: y: classes of one kind are expected ({error})") from None
    if classes.size < 2:
        raise DataError(f"fit: y: expected two classes or more, got {classes.tolist()}")
    out = np.full(len(array), np.nan)
    out[~without] = codes
    return out, classes


def _held_out(codes: np.ndarray, learn: np.ndarray, fraction: float, seed: int) -> np.ndarray:
    """(N,) bool: `fraction` of the nodes in `learn`, of classes evenly."""
    if not 0 < fraction < 1:
        raise SettingsError(f"validation_fraction: expected 0 < value < 1, got {fraction}")
    rows = np.flatnonzero(learn)
    rows = rows[generator(seed, "held-out nodes").permutation(rows.size)]
    if codes.ndim == 1:
        rows = rows[np.argsort(codes[rows], kind="stable")]
    shares = np.floor(np.arange(rows.size + 1) * fraction + 0.5)
    held = np.zeros(len(codes), bool)
    held[rows[np.diff(shares) > 0]] = True
    return held
