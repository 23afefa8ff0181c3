"""Features that are not there: NaN in the files."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal, get_args

import numpy as np
from scipy import sparse

from gaancore.data.nodes.checks import VALUES_AT_A_TIME, check_split
from gaancore.data.nodes.dataset import TRAIN
from gaancore.data.nodes.make import RawDataset
from gaancore.errors import DataError, expect_choice
from gaancore.system.mapped import forget_pages, room_for

Nan = Literal["error", "zero", "mean"]


def fill_missing(raw: RawDataset, nan: Nan) -> RawDataset:
    """`raw` with a number for every feature that is NaN, and a note of how many there were.

    nan : `error` leaves them, to be refused where features are checked; `zero`; or the `mean` of
          the same feature over the training nodes that have it, 0 if none has.
    A value that is infinite is no missing one: it stays, and is refused. The features are copied if
    any is filled. Raises DataError for a mean where there is no sound split, SettingsError for
    another `nan`.
    """
    expect_choice("nan", nan, get_args(Nan))
    features = raw.features
    if nan == "error" or features.dtype.kind != "f" or features.ndim != 2:
        return raw
    entries = features.data if sparse.issparse(features) else features
    count = sum(int(np.count_nonzero(np.isnan(entries[part]))) for part in _parts(entries))
    if not count:
        return raw
    train = None
    if nan == "mean":
        if raw.split is None:
            raise DataError(
                f"{raw.path}: no split, so no training nodes to take a mean over; nan: choose zero"
            )
        train = check_split(raw.sources["split"], raw.split, raw.node_ids) == TRAIN
    filled = (_filled_sparse if sparse.issparse(features) else _filled)(features, train)
    by = "0" if nan == "zero" else "the mean over the training nodes"
    note = f"{count:,} features that are NaN replaced by {by}"
    return replace(raw, features=filled, notes=(*raw.notes, note))


def _filled(features: np.ndarray, train: np.ndarray | None) -> np.ndarray:
    """0 where features are NaN, or the mean of the same feature over the nodes `train`."""
    fill = np.zeros(features.shape[1])
    if train is not None:
        sums, counts = np.zeros_like(fill), np.zeros(fill.size, np.int64)
        for part in _parts(features):
            rows = features[part]
            there = ~np.isnan(rows) & train[part, None]
            sums += rows.sum(axis=0, dtype=np.float64, where=there)
            counts += there.sum(axis=0)
        fill = sums / counts.clip(1)
    out = room_for(features.shape, features.dtype)
    for part in _parts(features):
        rows = features[part]
        out[part] = np.where(np.isnan(rows), fill.astype(rows.dtype), rows)
    return np.asarray(out)


def _parts(values: np.ndarray) -> Iterator[slice]:
    """Runs of rows with some VALUES_AT_A_TIME values, what was read of them given back."""
    step = max(1, VALUES_AT_A_TIME // max(1, values[:1].size))
    for start in range(0, len(values), step):
        yield slice(start, start + step)
        forget_pages(values)


def _filled_sparse(features: sparse.csr_array, train: np.ndarray | None) -> sparse.csr_array:
    """The same; zeros that have no entry are in the mean."""
    filled, width = features.copy(), features.shape[1]
    missing, fill = np.isnan(features.data), np.zeros(width)
    if train is not None:
        learned = np.repeat(train, np.diff(features.indptr))
        there = learned & ~missing
        sums = np.bincount(features.indices[there], features.data[there], width)
        lacking = np.bincount(features.indices[learned & missing], minlength=width)
        fill = sums / (np.count_nonzero(train) - lacking).clip(1)
    filled.data[missing] = fill[features.indices[missing]]
    filled.eliminate_zeros()
    return filled
