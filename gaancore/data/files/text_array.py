"""Texts as one array, in which every entry takes the room of the longest."""

from collections.abc import Sequence

import numpy as np

from gaancore.errors import DataError

FREE = 1 << 26  # bytes that an array may take whatever is in it
PADDED = 16  # how many times the bytes of its texts a larger one may take


def text_array(where: str, texts: Sequence[str]) -> np.ndarray:
    """(N,) text. Raises DataError if a few long ones would make it far larger than they all are."""
    longest = max(texts, key=len, default="")
    needed, held = 4 * len(longest) * len(texts), 4 * sum(map(len, texts))
    if needed > FREE + PADDED * held:
        raise DataError(
            f"{where}: an id of {len(longest):,} characters, {longest[:20]!r}..., among "
            f"{len(texts):,} shorter ones: together they would take {needed / 1e9:,.1f} GB; "
            "shorten it"
        )
    return np.array(texts, str).reshape(len(texts))
