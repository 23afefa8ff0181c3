"""Attention on the CPU: which of two walks over the edges takes it.

attention_by_head.py goes head by head over packed copies. attention_all_heads.py takes all heads
of an edge at once. With 8 edges a row the second needs a half to a third of the time; with 24 edges
a row and 32 numbers a head the first is faster.
"""

import numpy as np

from gaancore.kernels.cpu import attention_all_heads as all_heads
from gaancore.kernels.cpu import attention_by_head as by_head

SHORT = 16  # edges a row, on average, up to which all heads of an edge are taken at once

Saved = all_heads.AllHeads | by_head.ByHead
Triple = tuple[np.ndarray, np.ndarray, np.ndarray]


def attention_forward(
    queries: np.ndarray, keys: np.ndarray, values: np.ndarray, indptr: np.ndarray,
    indices: np.ndarray, scale: float, rate: float, seed: int,
) -> tuple[np.ndarray, Saved]:  # fmt: skip
    if rate == 0 and indices.size <= SHORT * queries.shape[0]:
        return all_heads.forward(queries, keys, values, indptr, indices, scale)
    return by_head.forward(queries, keys, values, indptr, indices, scale, rate, seed)


def attention_backward(
    grad: np.ndarray, out: np.ndarray, saved: Saved, scale: float, rate: float, seed: int,
    indptr: np.ndarray, indices: np.ndarray, t_indptr: np.ndarray, t_indices: np.ndarray,
    t_edge_ids: np.ndarray,
) -> Triple:  # fmt: skip
    transpose = (t_indptr, t_indices, t_edge_ids)
    if isinstance(saved, all_heads.AllHeads):
        return all_heads.backward(grad, saved, scale, indptr, indices, transpose)
    return by_head.backward(grad, out, saved, scale, rate, seed, indptr, indices, transpose)
