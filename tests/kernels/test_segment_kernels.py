"""Every segment kernel against plain loops, for the widths and degrees where indexing goes wrong.

Widths around the lanes of a vector register and the threads of a warp (1, 3, 24, 31, 32, 33, 64,
127), a prime above 128 and one that is cut into strips; degrees 0, 1, 2, 31, 33 and 1000.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from gaancore.doctor import plain_loops as reference
from gaancore.graph import Block
from gaancore.kernels.cpu import attention as cpu_attend

f32, f64 = np.float32, np.float64
DTYPES = pytest.mark.parametrize("dtype", [f32, f64], ids=["float32", "float64"])
HEADS_AND_WIDTHS = pytest.mark.parametrize(
    ("dtype", "K", "D"),
    [
        (f32, 1, 1), (f32, 4, 3), (f32, 2, 24), (f32, 1, 31), (f32, 8, 32), (f32, 2, 33),
        (f32, 1, 64), (f32, 3, 127), (f64, 4, 1), (f64, 2, 24), (f64, 1, 33), (f64, 3, 127),
    ],
)  # fmt: skip
FEATURES = pytest.mark.parametrize(
    ("dtype", "F"),
    [(f32, 1), (f32, 24), (f32, 33), (f32, 127), (f32, 131), (f32, 160), (f64, 3), (f64, 131)],
)
ATTENTION_WIDTHS = pytest.mark.parametrize(
    ("dtype", "K", "A", "D"),
    [
        (f32, 1, 1, 1), (f32, 8, 24, 32), (f32, 2, 3, 127), (f64, 3, 31, 33), (f64, 1, 64, 3),
        (f32, 12, 16, 16), (f32, 17, 2, 8), (f64, 5, 4, 2),
    ],
)  # fmt: skip


def block_with_degrees(*degrees: int, num_src: int = 80, seed: int = 0) -> Block:
    """Neighbours at random, so a source is met repeatedly and some destinations meet themselves."""
    indptr = np.cumsum([0, *degrees])
    indices = np.random.default_rng(seed).integers(0, num_src, indptr[-1])
    return Block(indptr, indices, num_src)


BLOCK = block_with_degrees(0, 1, 2, 31, 0, 0, 33, 1000, 5, 0)
SPARSE_BLOCK = block_with_degrees(2, 0, 3, 1, num_src=40)  # most sources have no edge
TALL_BLOCK = block_with_degrees(*(i * i % 5 for i in range(300)), num_src=310)  # more than a chunk
HEADS = pytest.mark.parametrize(
    ("K", "block"), [(1, BLOCK), (2, BLOCK), (8, BLOCK), (3, TALL_BLOCK), (21, SPARSE_BLOCK)]
)


def numbers(dtype, *shape: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def assert_close(actual: np.ndarray, expected: np.ndarray, dtype) -> None:
    """Equal up to rounding in `dtype`, relative to the largest element (sums may cancel)."""
    assert actual.dtype == dtype
    largest = np.abs(expected).max(initial=1e-30)
    assert_allclose(actual, expected, rtol=0, atol=largest * {4: 5e-6, 8: 1e-13}[actual.itemsize])


def adjacency(weights: np.ndarray, block: Block) -> sparse.csr_array:
    shape = (block.num_dst, block.num_src)
    return sparse.csr_array((weights.astype(f64), block.indices, block.indptr), shape=shape)


@DTYPES
@HEADS
def test_softmax_is_the_softmax_of_each_row_and_head(kernels, dtype, K, block):
    scores = numbers(dtype, block.num_edges, K) * dtype(5)
    weights = kernels.segment_softmax_forward(scores, block.indptr)
    assert_close(weights, reference.softmax(scores, block), dtype)


@DTYPES
@HEADS
def test_the_gradient_of_softmax_is_its_jacobian_applied(kernels, dtype, K, block):
    weights = reference.softmax(numbers(f64, block.num_edges, K), block).astype(dtype)
    grad = numbers(dtype, block.num_edges, K, seed=2)
    out = kernels.segment_softmax_backward(weights, grad, block.indptr)
    assert_close(out, reference.softmax_gradient(weights, grad, block), dtype)


@DTYPES
def test_a_head_whose_scores_are_all_minus_infinity_leaves_the_others_alone(kernels, dtype):
    scores = numbers(dtype, 5, 3)
    scores[:3, 1] = -np.inf
    weights = kernels.segment_softmax_forward(scores, np.array([0, 3, 5]))
    assert_array_equal(weights[:3, 1], 0)
    expected = reference.softmax(scores, Block([0, 3, 5], [0] * 5, 2))
    assert_close(weights, expected, dtype)


@HEADS_AND_WIDTHS
def test_weighted_sum_is_a_loop_over_edges(kernels, dtype, K, D):
    weights, values = numbers(dtype, BLOCK.num_edges, K), numbers(dtype, 80, K, D)
    out = kernels.segment_weighted_sum(weights, values, BLOCK.indptr, BLOCK.indices)
    assert_close(out, reference.weighted_sum(weights, values, BLOCK), dtype)


@HEADS_AND_WIDTHS
def test_weighted_sum_over_the_transpose_gathers_what_each_source_gave(kernels, dtype, K, D):
    for block in (BLOCK, SPARSE_BLOCK):
        weights, grad = numbers(dtype, block.num_edges, K), numbers(dtype, block.num_dst, K, D)
        out = kernels.segment_weighted_sum(weights, grad, *block.transpose)
        assert_close(out, reference.weighted_sum_to_sources(weights, grad, block), dtype)


@pytest.mark.parametrize(("K", "D"), [(3, 24), (1, 33)])
def test_weighted_sum_is_scipys_sparse_product_head_by_head(kernels, K, D):
    weights, values = numbers(f64, BLOCK.num_edges, K), numbers(f64, 80, K, D)
    out = kernels.segment_weighted_sum(weights, values, BLOCK.indptr, BLOCK.indices)
    for k in range(K):
        matrix = adjacency(weights[:, k], BLOCK)
        assert_close(out[:, k], matrix @ values[:, k], f64)
        back = kernels.segment_weighted_sum(weights, out, *BLOCK.transpose)
        assert_close(back[:, k], matrix.T @ out[:, k], f64)


@HEADS_AND_WIDTHS
def test_edge_dot_is_an_inner_product_for_each_edge(kernels, dtype, K, D):
    queries, keys = numbers(dtype, BLOCK.num_dst, K, D), numbers(dtype, 80, K, D, seed=2)
    out = kernels.edge_dot(queries, keys, BLOCK.indptr, BLOCK.indices)
    assert_close(out, reference.edge_dot(queries, keys, BLOCK), dtype)


@FEATURES
def test_mean_and_its_gradient_are_loops_over_edges(kernels, dtype, F):
    values, grad = numbers(dtype, 80, F), numbers(dtype, BLOCK.num_dst, F)
    out = kernels.segment_mean_forward(values, BLOCK.indptr, BLOCK.indices)
    assert_close(out, reference.mean(values, BLOCK), dtype)
    t_indptr, t_indices, _ = BLOCK.transpose
    back = kernels.segment_mean_backward(grad, BLOCK.indptr, t_indptr, t_indices)
    assert_close(back, reference.mean_gradient(grad, BLOCK), dtype)


@FEATURES
def test_max_its_winners_and_its_gradient_are_loops_over_edges(kernels, dtype, F):
    values, grad = numbers(dtype, 80, F).round(1), numbers(dtype, BLOCK.num_dst, F)  # many ties
    out, winners = kernels.segment_max_forward(values, BLOCK.indptr, BLOCK.indices)
    expected, expected_winners = reference.maximum(values, BLOCK)
    assert_array_equal(out, expected)
    assert_array_equal(winners, expected_winners)
    assert winners.dtype == np.int32
    t_indptr, t_indices, _ = BLOCK.transpose
    back = kernels.segment_max_backward(grad, winners, t_indptr, t_indices)
    assert_close(back, reference.maximum_gradient(grad, expected_winners, BLOCK), dtype)


@pytest.mark.parametrize("at_once", [False, True], ids=["by head", "all heads"])
@ATTENTION_WIDTHS
def test_attention_and_its_gradients_are_softmax_and_sum_by_the_chain_rule(
    kernels, monkeypatch, dtype, K, A, D, at_once
):
    monkeypatch.setattr(cpu_attend, "all_heads_are_faster", lambda *_: at_once)
    for block in (BLOCK, SPARSE_BLOCK, TALL_BLOCK):
        queries, keys = numbers(dtype, block.num_dst, K, A), numbers(dtype, block.num_src, K, A)
        values, grad = numbers(dtype, block.num_src, K, D), numbers(dtype, block.num_dst, K, D)
        inputs, static = (queries, keys, values), (1 / A, 0.0, 0)
        out, saved = kernels.attention_forward(*inputs, block.indptr, block.indices, *static)
        assert_close(out, reference.attention(*inputs, block, 1 / A), dtype)
        grads = kernels.attention_backward(
            grad, out, saved, *static, block.indptr, block.indices, *block.transpose
        )
        expected = reference.attention_gradients(grad, *inputs, block, 1 / A)
        for actual, wanted in zip(grads, expected, strict=True):
            assert_close(actual, wanted, dtype)


@DTYPES
@pytest.mark.parametrize(
    "block",
    [Block([0], [], 0), Block([0, 0, 0], [], 2), Block([0], [], 3), Block([0, 1], [0], 1)],
    ids=["no nodes", "no edges", "no destinations", "one self-loop"],
)
def test_blocks_with_nothing_in_them_give_zeros_of_the_right_shape(kernels, dtype, block):
    N, S, E = block.num_dst, block.num_src, block.num_edges
    t_indptr, t_indices, _ = block.transpose
    w, v, x = np.ones((E, 2), dtype), np.ones((S, 2, 3), dtype), np.ones((S, 3), dtype)
    q, g, y = np.ones((N, 2, 3), dtype), np.ones((N, 2, 3), dtype), np.ones((N, 3), dtype)
    links = (block.indptr, block.indices)
    full = float(E > 0)  # the one self-loop copies its node; without edges all is 0

    assert_array_equal(kernels.segment_softmax_forward(w, block.indptr), np.full((E, 2), full))
    assert_array_equal(kernels.segment_softmax_backward(w, w, block.indptr), np.zeros((E, 2)))
    assert_array_equal(kernels.segment_weighted_sum(w, v, *links), np.full((N, 2, 3), full))
    assert_array_equal(kernels.segment_weighted_sum(w, g, *block.transpose), np.full(v.shape, full))
    assert_array_equal(kernels.edge_dot(q, v, *links), np.full((E, 2), 3 * full))
    assert_array_equal(kernels.segment_mean_forward(x, *links), np.full((N, 3), full))
    back = kernels.segment_mean_backward(y, block.indptr, t_indptr, t_indices)
    assert_array_equal(back, np.full(x.shape, full))
    out, winners = kernels.segment_max_forward(x, *links)
    assert_array_equal(out, np.full((N, 3), full))
    assert_array_equal(winners, np.full((N, 3), int(full) - 1))
    back = kernels.segment_max_backward(y, winners, t_indptr, t_indices)
    assert_array_equal(back, np.full(x.shape, full))
    out, saved = kernels.attention_forward(q, v, v, *links, 1.0, 0.0, 0)
    assert_array_equal(out, np.full((N, 2, 3), full))
    grads = kernels.attention_backward(g, out, saved, 1.0, 0.0, 0, *links, *block.transpose)
    for actual, wanted in zip(grads, (0 * q, 0 * v, np.full(v.shape, full)), strict=True):
        assert_array_equal(actual, wanted)
