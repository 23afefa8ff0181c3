"""A split for files that have none."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gaancore.data.nodes.dataset import TEST, TRAIN, UNFLAGGED, VALIDATION
from gaancore.data.nodes.labels import are_numbers, without_label
from gaancore.data.nodes.make import RawDataset
from gaancore.errors import SettingsError
from gaancore.seeding import generator

Shares = Sequence[float]  # per cent of training, validation and test nodes


def with_random_split(raw: RawDataset, shares: Shares, *, seed: int) -> RawDataset:
    """`raw` with its nodes that have a label drawn into training, validation and test.

    shares : per cent of these nodes, such as (60, 20, 20). Nodes without a label are in no part.
    Every node is equally likely to be in each part, whatever its class and neighbours; a note says
    how many were drawn. What each part may see is the inductive setting's (NodeDataset.view). The
    same seed gives the same split.
    Raises SettingsError if the shares are not three positive numbers that add up to 100, or leave
    a part without nodes, or if the files have a split of their own.
    """
    if raw.split is not None:
        raise SettingsError(f"split_shares: {raw.path} has a split of its own; leave them out")
    if len(shares) != 3 or min(shares) <= 0 or not abs(sum(shares) - 100) <= 1e-9:
        raise SettingsError(
            "split_shares: expected per cent of training, validation and test nodes that add up "
            f"to 100, such as 60,20,20; got {','.join(f'{share:g}' for share in shares)}"
        )
    labelled = np.flatnonzero(has_label(raw))
    stops = [round(labelled.size * share / 100) for share in np.cumsum(shares)]
    sizes = np.diff(stops, prepend=0)
    if not sizes.all():
        raise SettingsError(
            f"split_shares: a part of {labelled.size} labelled nodes would be empty; make it larger"
        )
    split = np.full(len(raw.node_ids), UNFLAGGED, np.int8)
    order = generator(seed, "random split").permutation(labelled.size)
    split[labelled[order]] = np.repeat(np.array([TRAIN, VALIDATION, TEST], np.int8), sizes)
    note = (
        f"no split in the files: {'/'.join(f'{share:g}' for share in shares)} drawn with seed "
        f"{seed}: {sizes[0]:,} training, {sizes[1]:,} validation and {sizes[2]:,} test nodes"
    )
    return replace(raw, split=split, notes=(*raw.notes, note))


def has_label(raw: RawDataset) -> np.ndarray:
    """(N,) bool: whether the node has a label, and all of it; where there are none at all, True."""
    if raw.labels is None or not are_numbers(raw.labels, len(raw.node_ids)):
        return np.ones(len(raw.node_ids), bool)  # what is wrong with them is said elsewhere
    finite = np.isfinite(raw.labels).reshape(len(raw.labels), -1).all(axis=1)
    return finite & ~without_label(raw.labels)
