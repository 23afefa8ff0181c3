"""Stable counting sort: how edges are grouped by an end, in linear time, without comparisons."""

import numpy as np

from gaancore.graph.checks import index_dtype
from gaancore.system.jit import jit


def counting_sort(keys: np.ndarray, num_keys: int) -> tuple[np.ndarray, np.ndarray]:
    """Group positions by key, equal keys in the order they came.

    keys : (E,) int32 or int64, each in 0..num_keys-1 (not checked here).
    Returns indptr (num_keys + 1,) int64 and order (E,), int32 while E < 2^31: the keys equal to k
    are at positions order[indptr[k]:indptr[k + 1]].
    """
    indptr = np.zeros(num_keys + 1, np.int64)
    order: np.ndarray = np.empty(keys.size, index_dtype(keys.size))
    _sort(keys, indptr, order)
    return indptr, order


@jit
def _sort(keys: np.ndarray, indptr: np.ndarray, order: np.ndarray) -> None:
    for key in keys:
        indptr[key + 1] += 1
    for key in range(len(indptr) - 1):
        indptr[key + 1] += indptr[key]
    free = indptr[:-1].copy()
    for position in range(len(keys)):
        key = keys[position]
        order[free[key]] = position
        free[key] += 1
