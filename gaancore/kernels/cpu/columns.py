"""Columns of several arrays as those of one, and back."""

from itertools import accumulate

import numpy as np


def join_columns(parts: tuple[np.ndarray, ...]) -> np.ndarray:
    return np.concatenate(parts, axis=1)


def split_columns(x: np.ndarray, widths: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    stops = accumulate(widths)
    columns = (x[:, stop - width : stop] for stop, width in zip(stops, widths, strict=True))
    return tuple(map(np.ascontiguousarray, columns))
