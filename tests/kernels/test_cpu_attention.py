"""Which of the CPU's two walks takes attention, and what each keeps for the way back."""

import numpy as np
import pytest

from gaancore.graph import Block
from gaancore.kernels import cpu
from gaancore.kernels.cpu.attention import SHORT, all_heads_are_faster
from gaancore.kernels.cpu.attention_all_heads import AllHeads
from gaancore.kernels.cpu.attention_by_head import ByHead

N, K, A, D = 6, 2, 3, 4


@pytest.mark.parametrize(
    ("degree", "rate", "kind"),
    [(SHORT, 0.0, AllHeads), (SHORT + 1, 0.0, ByHead), (SHORT, 0.5, ByHead)],
)
def test_short_rows_take_all_heads_at_once_unless_weights_are_dropped(degree, rate, kind):
    block = Block(np.arange(N + 1) * degree, np.arange(N * degree) % N, N)
    queries, values = np.ones((N, K, A), np.float32), np.ones((N, K, D), np.float32)
    links = (block.indptr, block.indices)
    _, saved = cpu.attention_forward(queries, queries, values, *links, 1.0, rate, 7)
    assert type(saved) is kind


@pytest.mark.parametrize(("num_src", "expected"), [(1 << 20, False), ((1 << 20) + 1, True)])
def test_rows_that_fit_no_cache_take_all_heads_at_once_however_long(num_src, expected):
    """3 + 5 numbers of 4 bytes a source and head: 2^20 sources are 2^25 bytes, whatever K is."""
    queries = np.empty((1, 2, 3), np.float32)
    keys, values = (np.empty((num_src, 2, width), np.float32) for width in (3, 5))
    assert all_heads_are_faster(queries, keys, values, np.arange(99)) is expected


@pytest.mark.parametrize(("width", "expected"), [(32, True), (33, False)])
def test_past_the_caches_only_narrow_heads_are_taken_at_once(width, expected):
    queries, keys = np.empty((1, 2, 32), np.float32), np.empty((1 << 20, 2, 32), np.float32)
    values = np.empty((1 << 20, 2, width), np.float32)
    assert all_heads_are_faster(queries, keys, values, np.arange(99)) is expected


@pytest.mark.parametrize("degree", [SHORT, SHORT + 1])
def test_nothing_is_kept_for_each_edge_and_width(degree):
    block = Block(np.arange(N + 1) * degree, np.arange(N * degree) % N, N)
    queries, values = np.ones((N, K, A), np.float32), np.ones((N, K, D), np.float32)
    links = (block.indptr, block.indices)
    _, saved = cpu.attention_forward(queries, queries, values, *links, 1.0, 0.0, 7)
    nodes, edges = N * K * (2 * A + D + 1), block.num_edges * K
    assert sum(array.size for array in saved) <= nodes + edges
