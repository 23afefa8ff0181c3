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
    order: np.ndarray = np.empty(keys.size, index_dtype(keys.size))
    return _group_positions(keys, num_keys, order), order


def sorted_rows(src: np.ndarray, dst: np.ndarray, num_nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """indptr and indices of the arcs src[e] -> dst[e]: by dst, then by src.

    Grouping by source and then, source by source, by target leaves every row ascending.
    """
    starts, targets = _group(src, dst, num_nodes)
    return _group_rows(starts, targets, num_nodes)


def sorted_order(src: np.ndarray, dst: np.ndarray, num_nodes: int) -> np.ndarray:
    """Which arc each entry of `sorted_rows` is, (E,); equal arcs in the order they came."""
    _, by_source = counting_sort(src, num_nodes)
    _, by_target = counting_sort(dst[by_source], num_nodes)
    return by_source[by_target]


@jit
def _group_positions(keys: np.ndarray, num_keys: int, order: np.ndarray) -> np.ndarray:
    """indptr; the positions of the keys, by key, go to `order`."""
    indptr, free = _count(keys, num_keys)
    for e in range(len(keys)):
        order[free[keys[e]]] = e
        free[keys[e]] += 1
    return indptr


@jit
def _group(keys: np.ndarray, values: np.ndarray, num_keys: int) -> tuple[np.ndarray, np.ndarray]:
    """indptr, and `values` by key, equal keys in the order they came."""
    indptr, free = _count(keys, num_keys)
    grouped = np.empty_like(values)
    for e in range(len(keys)):
        grouped[free[keys[e]]] = values[e]
        free[keys[e]] += 1
    return indptr, grouped


@jit
def _group_rows(
    starts: np.ndarray, keys: np.ndarray, num_keys: int
) -> tuple[np.ndarray, np.ndarray]:
    """indptr, and the rows of a CSR that `keys` lie in, by key: the transpose."""
    indptr, free = _count(keys, num_keys)
    grouped = np.empty_like(keys)
    for row in range(len(starts) - 1):
        for e in range(starts[row], starts[row + 1]):
            grouped[free[keys[e]]] = row
            free[keys[e]] += 1
    return indptr, grouped


@jit
def _count(keys: np.ndarray, num_keys: int) -> tuple[np.ndarray, np.ndarray]:
    """indptr of the keys by number, and its first num_keys places, to be filled from."""
    indptr = np.zeros(num_keys + 1, np.int64)
    for key in keys:
        indptr[key + 1] += 1
    for key in range(num_keys):
        indptr[key + 1] += indptr[key]
    return indptr, indptr[:-1].copy()
