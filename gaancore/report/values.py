"""Numbers and names as a page holds them: every digit of a number, no name of endless length."""

import math
from base64 import b64encode
from collections.abc import Iterable
from typing import Any

import numpy as np

LONGEST = 200  # characters of a name that a page keeps
WORDS = 1_500  # of a note, as in messages


def packed(values: np.ndarray) -> dict[str, Any]:
    """float32 numbers, bit for bit, in 4/3 of their bytes; `shape` is theirs.

    >>> packed(np.ones((1, 2)))
    {'shape': [1, 2], 'float32': 'AACAPwAAgD8='}
    """
    little = np.ascontiguousarray(values, "<f4")
    return {"shape": list(little.shape), "float32": b64encode(little.tobytes()).decode()}


def number(value: Any) -> float | None:
    """A number as JSON has it; None for one that is not finite."""
    return None if value is None or not math.isfinite(value) else float(value)


def numbers(values: Iterable[Any]) -> list[float | None]:
    """The same of several."""
    return [number(value) for value in values]


def name(text: object, most: int = LONGEST) -> str:
    """A name from the data; of one of more than `most` characters, both ends and how long it is.

    >>> name(7), len(name("x" * 10_000))
    ('7', 219)
    """
    found = str(text)
    if len(found) <= most:
        return found
    half = most // 2
    return f"{found[:half]}…{found[-half:]} ({len(found):,} characters)"


def names(texts: Iterable[object], most: int = LONGEST) -> list[str]:
    """The same of several."""
    return [name(text, most) for text in texts]


def sample(rows: np.ndarray, most: int, seed: int) -> np.ndarray:
    """`rows`, or `most` of them that are drawn by `seed`, in their order."""
    if rows.size <= most:
        return rows
    rng = np.random.default_rng(seed)
    return rows[np.sort(rng.choice(rows.size, most, replace=False))]


def spread(rows: np.ndarray, most: int) -> np.ndarray:
    """`rows`, or `most` of them that are spread evenly over them."""
    if rows.size <= most:
        return rows
    return rows[np.linspace(0, rows.size - 1, most).round().astype(np.int64)]


def edges_of_bins(values: np.ndarray, most: int) -> np.ndarray:
    """The ends of at most `most` bins that hold about as many of `values` each.

    >>> edges_of_bins(np.array([1, 1, 1, 2, 3, 9]), 3).tolist()
    [1.0, 2.0, 9.0]
    """
    cuts = np.quantile(values, np.linspace(0, 1, most + 1), method="nearest")
    return np.unique(cuts.astype(np.float64))


def places_in_bins(values: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Which bin each of `values` is in: from one end up to the next; the last one has both."""
    return np.clip(np.searchsorted(edges, values, side="right") - 1, 0, max(0, edges.size - 2))
