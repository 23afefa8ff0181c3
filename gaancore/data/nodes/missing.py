"""Features that are not there: NaN in the files."""

from dataclasses import replace
from typing import Literal, get_args

import numpy as np

from gaancore.data.nodes.checks import check_split
from gaancore.data.nodes.dataset import TRAIN
from gaancore.data.nodes.make import RawDataset
from gaancore.errors import DataError, expect_choice

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
    missing = np.isnan(features)
    count = int(np.count_nonzero(missing))
    if not count:
        return raw
    fill = np.zeros(features.shape[1])
    if nan == "mean":
        if raw.split is None:
            raise DataError(
                f"{raw.path}: no split, so no training nodes to take a mean over; nan: choose zero"
            )
        split = check_split(raw.sources["split"], raw.split, raw.node_ids)
        there = ~missing & (split == TRAIN)[:, None]
        fill = features.sum(axis=0, dtype=np.float64, where=there) / there.sum(axis=0).clip(1)
    filled = np.where(missing, fill.astype(features.dtype), features)
    by = "0" if nan == "zero" else "the mean over the training nodes"
    note = f"{count:,} features that are NaN replaced by {by}"
    return replace(raw, features=filled, notes=(*raw.notes, note))
