"""Ids as text: what programs write for one and the same name."""

import re
from collections.abc import Sequence

import numpy as np

from gaancore.errors import DataError

WHOLE = re.compile(r"([+-]?\d+)(\.0*)?")
FREE = 1 << 26  # bytes that an array of ids may take whatever is in it
PADDED = 16  # how many times the bytes of its texts a larger one may take


def plain_ids(names: Sequence[str]) -> tuple[str, ...]:
    """`717.0` is 717, as a column of whole numbers that became floats is written.

    Only if all names are whole numbers: 1.0 and 1.5 are two names.

    >>> plain_ids(["717.0", "718.0"]), plain_ids(["1.0", "1.5"])
    (('717', '718'), ('1.0', '1.5'))
    """
    whole = [WHOLE.fullmatch(name) for name in names]
    return tuple(match[1] for match in whole if match) if all(whole) else tuple(names)


def id_texts(where: str, ids: np.ndarray) -> tuple[str, ...]:
    """Ids (N,) as text, from bytes, str or numbers. Raises DataError for anything else."""
    if ids.ndim != 1 or ids.dtype.kind not in "iufSU":
        raise DataError(
            f"{where}: sensor ids: expected text or numbers in one row, got {ids.dtype} "
            f"{ids.shape}; write them as text"
        )
    if ids.dtype.kind == "S":
        ids = np.char.decode(ids, "utf-8", "replace")
    return plain_ids([str(name) for name in ids.tolist()])


def number_text(where: str, number: int) -> str:
    """An id that is an integer, as text. Raises DataError for thousands of digits."""
    try:
        return str(number)
    except ValueError:  # Python's own limit
        raise DataError(
            f"{where}: an id of {number.bit_length() * 0.301:,.0f} digits; give shorter ids"
        ) from None


def are_positions(ids: Sequence[str]) -> bool:
    """Whether the ids are 0, 1, ..., n - 1, in any order, each once."""
    return len(ids) > 0 and {*ids} == {*map(str, range(len(ids)))}


def text_array(where: str, texts: Sequence[str]) -> np.ndarray:
    """(N,) text, in which every entry takes the room of the longest.

    Raises DataError if a few long ones would make it far larger than they all are.
    """
    longest = max(texts, key=len, default="")
    needed, held = 4 * len(longest) * len(texts), 4 * sum(map(len, texts))
    if needed > FREE + PADDED * held:
        raise DataError(
            f"{where}: an id of {len(longest):,} characters, {longest[:20]!r}..., among "
            f"{len(texts):,} shorter ones: together they would take {needed / 1e9:,.1f} GB; "
            "shorten it"
        )
    return np.array(texts, str).reshape(len(texts))
