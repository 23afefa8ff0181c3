"""Attention on the CPU: which of two walks over the edges takes it.

attention_by_head.py goes head by head over packed copies. attention_all_heads.py takes all heads
of an edge at once. With 8 edges a row the second needs a half to a third of the time. With 24 edges
a row and 32 numbers a head the first is faster, until one head's keys and values are found in no
cache either. Then narrow heads are better fetched all at once (measured up to 10^7 edges); heads of
64 numbers and more stay with the first.
"""

import numpy as np

from gaancore.kernels.cpu import attention_all_heads as all_heads
from gaancore.kernels.cpu import attention_by_head as by_head

SHORT = 16  # edges a row, on average, up to which all heads of an edge are taken at once
CACHED = 32 << 20  # bytes of one head's keys and values, above which they are taken so, too,
NARROW = 256  # if a key and a value of one head have so many bytes at most

Saved = all_heads.AllHeads | by_head.ByHead
Triple = tuple[np.ndarray, np.ndarray, np.ndarray]


def attention_forward(
    queries: np.ndarray, keys: np.ndarray, values: np.ndarray, indptr: np.ndarray,
    indices: np.ndarray, scale: float, rate: float, seed: int,
) -> tuple[np.ndarray, Saved]:  # fmt: skip
    if rate == 0 and all_heads_are_faster(queries, keys, values, indices):
        return all_heads.forward(queries, keys, values, indptr, indices, scale)
    return by_head.forward(queries, keys, values, indptr, indices, scale, rate, seed)


def all_heads_are_faster(
    queries: np.ndarray, keys: np.ndarray, values: np.ndarray, indices: np.ndarray
) -> bool:
    """From shapes alone: on every machine the same walk, and so the same bits."""
    one_head = (keys.shape[2] + values.shape[2]) * keys.itemsize  # bytes of a source
    past_caches = one_head <= NARROW and one_head * keys.shape[0] > CACHED
    return indices.size <= SHORT * queries.shape[0] or past_caches


def attention_backward(
    grad: np.ndarray, out: np.ndarray, saved: Saved, scale: float, rate: float, seed: int,
    indptr: np.ndarray, indices: np.ndarray, t_indptr: np.ndarray, t_indices: np.ndarray,
    t_edge_ids: np.ndarray,
) -> Triple:  # fmt: skip
    transpose = (t_indptr, t_indices, t_edge_ids)
    if isinstance(saved, all_heads.AllHeads):
        return all_heads.backward(grad, saved, scale, indptr, indices, transpose)
    return by_head.backward(grad, out, saved, scale, rate, seed, indptr, indices, transpose)
