"""A split for files that have none."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gaancore.data.dataset import TEST, TRAIN, VALIDATION
from gaancore.data.raw import RawDataset
from gaancore.errors import SettingsError
from gaancore.seeding import generator


def with_random_split(raw: RawDataset, shares: Sequence[int], *, seed: int) -> RawDataset:
    """`raw` with its nodes drawn into training, validation and test.

    shares : per cent of the nodes, such as (60, 20, 20).
    Every node is drawn alike, whatever its class and neighbours; the draw is noted. What each
    part may see is the inductive setting's (NodeDataset.view). The same seed gives the same split.
    Raises SettingsError if the shares are not three positive numbers that add up to 100, or leave
    a part without nodes, or if the files have a split of their own.
    """
    if raw.split is not None:
        raise SettingsError(f"--split: {raw.path} has a split of its own; leave the option out")
    if len(shares) != 3 or min(shares) < 1 or sum(shares) != 100:
        raise SettingsError(
            f"--split: expected per cent of training, validation and test nodes that add up to "
            f"100, such as 60,20,20; got {','.join(map(str, shares))}"
        )
    num_nodes = len(raw.node_ids)
    stops = [round(num_nodes * share / 100) for share in np.cumsum(shares)]
    sizes = np.diff(stops, prepend=0)
    if not sizes.all():
        raise SettingsError(f"--split: a part of {num_nodes} nodes would be empty")
    split = np.empty(num_nodes, np.int8)
    order = generator(seed, "random split").permutation(num_nodes)
    split[order] = np.repeat(np.array([TRAIN, VALIDATION, TEST], np.int8), sizes)
    note = (
        f"no split in the file: {sizes[0]:,} training, {sizes[1]:,} validation and {sizes[2]:,} "
        f"test nodes drawn at random ({'/'.join(map(str, shares))} %, seed {seed})"
    )
    return replace(raw, split=split, notes=(*raw.notes, note))
