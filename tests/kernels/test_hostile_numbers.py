"""Large scores, infinities and NaN: what must survive, and what must never be hidden."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gaancore.doctor import plain_loops as reference
from gaancore.graph import Block

DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
# destination 1 has no neighbour, 2 meets source 3 twice
BLOCK = Block([0, 3, 3, 6], [4, 3, 0, 3, 3, 1], 5)
LINKS = (BLOCK.indptr, BLOCK.indices)


def softmax(kernels, scores, indptr, dtype) -> np.ndarray:
    column = np.array(scores, dtype)[:, None]
    return kernels.segment_softmax_forward(column, np.array(indptr))[:, 0]


def attention(kernels, queries, keys, values, scale=1.0, grad=None, block=BLOCK):
    static = (scale, 0.0, 0)
    links = (block.indptr, block.indices)
    out, saved = kernels.attention_forward(queries, keys, values, *links, *static)
    grad = np.ones_like(out) if grad is None else grad
    return out, kernels.attention_backward(grad, out, saved, *static, *links, *block.transpose)


def ones(dtype) -> list[np.ndarray]:
    """Queries (3, 2, 3), keys (5, 2, 3) and values (5, 2, 5) of 1."""
    return [np.ones(shape, dtype) for shape in ((3, 2, 3), (5, 2, 3), (5, 2, 5))]


@DTYPES
def test_scores_of_a_thousand_give_the_softmax_of_their_differences(kernels, dtype):
    weights = softmax(kernels, [1000, 1000, 999], [0, 3], dtype)
    assert_allclose(weights, np.array([1, 1, np.exp(-1)]) / (2 + np.exp(-1)), rtol=1e-6)
    assert weights.sum() == pytest.approx(1, abs=1e-6)
    grads = kernels.segment_softmax_backward(
        weights[:, None], np.array([[1], [2], [3]], dtype), np.array([0, 3])
    )
    assert np.isfinite(grads).all()


@DTYPES
def test_a_segment_far_below_another_is_not_emptied_by_it(kernels, dtype):
    weights = softmax(kernels, [200, 201, 0, 1, -1e4, -1e4], [0, 2, 4, 6], dtype)
    assert_allclose(weights[2:4], weights[0:2], rtol=1e-6)
    assert_array_equal(weights[4:], [0.5, 0.5])


def test_float32_scores_of_ten_thousand_either_way_stay_finite(kernels):
    scores = np.random.default_rng(0).uniform(-1e4, 1e4, (64, 3)).astype(np.float32)
    indptr = np.arange(0, 65, 8)
    weights = kernels.segment_softmax_forward(scores, indptr)
    assert_allclose(weights.reshape(8, 8, 3).sum(axis=1), 1, rtol=1e-6)


def test_float32_attention_with_scores_of_ten_thousand_stays_finite(kernels):
    queries, keys, values = ones(np.float32)
    keys *= np.linspace(-1, 1, 5, dtype=np.float32)[:, None, None]
    out, grads = attention(kernels, queries, keys, values, scale=1e4 / 3)
    assert_array_equal(out, np.array([1, 0, 1], np.float32)[:, None, None] * np.ones((3, 2, 5)))
    assert all(np.isfinite(grad).all() for grad in grads)


@DTYPES
def test_a_segment_of_minus_infinity_only_gives_zeros(kernels, dtype):
    inf = np.inf
    weights = softmax(kernels, [-inf, -inf, 0, -inf, -inf], [0, 2, 4, 5], dtype)
    assert_array_equal(weights, [0, 0, 1, 0, 0])


@DTYPES
def test_attention_whose_scores_are_all_minus_infinity_gives_zeros_and_no_gradient(kernels, dtype):
    queries, keys, values = ones(dtype)
    queries[0] = -np.finfo(dtype).max
    with np.errstate(over="ignore"):  # that is the point
        out, grads = attention(kernels, queries, keys, values, scale=4)
    assert_array_equal(out[0], np.zeros((2, 5)))
    assert_allclose(out[2], 1, rtol=1e-6)
    assert_array_equal(grads[0][0], np.zeros((2, 3)))
    for grad in grads[1:]:  # sources that only destination 0 meets
        assert_array_equal(grad[[0, 4]], np.zeros((2, *grad.shape[1:])))


@DTYPES
@pytest.mark.parametrize(
    "scores",
    [
        [np.nan],
        [np.nan, 1, 2],
        [1, np.nan, 2],
        [1, 2, np.nan],
        [-np.inf, np.nan],
        [np.nan, -np.inf],
    ],
    ids=str,
)
def test_a_score_that_is_nan_makes_its_whole_segment_nan_and_no_other(kernels, dtype, scores):
    weights = softmax(kernels, [*scores, 1, 1], [0, len(scores), len(scores) + 2], dtype)
    assert np.isnan(weights[:-2]).all()
    assert_array_equal(weights[-2:], [0.5, 0.5])


@DTYPES
@pytest.mark.parametrize("source", range(5))
def test_a_value_that_is_nan_reaches_sum_mean_and_max_of_whoever_meets_it(kernels, dtype, source):
    values = np.random.default_rng(0).standard_normal((5, 3)).astype(dtype)
    values[source, 1] = np.nan
    meets = np.zeros((3, 3), bool)
    meets[:, 1] = [source in (4, 3, 0), False, source in (3, 1)]

    weights = np.ones((6, 1), dtype)
    total = kernels.segment_weighted_sum(weights, values[:, None].copy(), *LINKS)
    assert_array_equal(np.isnan(total[:, 0]), meets)
    assert_array_equal(np.isnan(kernels.segment_mean_forward(values, *LINKS)), meets)
    out, winners = kernels.segment_max_forward(values, *LINKS)
    assert_array_equal(np.isnan(out), meets)
    assert (winners[meets] == source).all()


@DTYPES
@pytest.mark.parametrize("which", [0, 1, 2], ids=["query", "key", "value"])
def test_a_query_key_or_value_that_is_nan_reaches_whoever_meets_it(kernels, dtype, which):
    inputs = ones(dtype)
    inputs[which][0, 1, 2] = np.nan  # destination 0, or source 0 whom only destination 0 meets
    out, _ = attention(kernels, *inputs)
    expected = np.zeros(out.shape, bool)
    expected[0, 1, 2 if which == 2 else slice(None)] = True
    assert_array_equal(np.isnan(out), expected)


@DTYPES
def test_an_only_neighbour_with_a_nan_key_is_not_taken_for_an_empty_segment(kernels, dtype):
    block = Block([0, 1], [0], 1)
    one, nan = np.ones((1, 1, 3), dtype), np.full((1, 1, 3), np.nan, dtype)
    out, grads = attention(kernels, one, nan, one, block=block)
    assert np.isnan(out).all()
    assert np.isnan(grads[2]).all()


@DTYPES
def test_a_gradient_that_is_nan_is_passed_on(kernels, dtype):
    inputs = ones(dtype)
    inputs[1] *= np.arange(5, dtype=dtype)[:, None, None]
    grad = np.ones((3, 2, 5), dtype)
    grad[2, 0, 0] = np.nan
    _, grads = attention(kernels, *inputs, grad=grad)
    assert all(np.isnan(grad_x[[2, 3, 3][i], 0]).any() for i, grad_x in enumerate(grads))
    t_indptr, t_indices, _ = BLOCK.transpose
    flat = grad[:, 0].copy()
    assert np.isnan(kernels.segment_mean_backward(flat, LINKS[0], t_indptr, t_indices)[3, 0])
    winners = np.full((3, 5), 1, np.int32)
    assert np.isnan(kernels.segment_max_backward(flat, winners, t_indptr, t_indices)[1, 0])


@DTYPES
def test_the_largest_of_infinities_is_what_comparison_says(kernels, dtype):
    values = np.array([[-np.inf], [np.inf], [0], [-np.inf], [-np.inf]], dtype)
    out, winners = kernels.segment_max_forward(values, *LINKS)
    expected, expected_winners = reference.maximum(values, BLOCK)
    assert_array_equal(out, expected)
    assert_array_equal(winners, expected_winners)
    assert_array_equal(out[:, 0], [-np.inf, 0, np.inf])


@DTYPES
def test_ties_go_to_the_first_edge_in_csr_order(kernels, dtype):
    block = Block([0, 3], [2, 0, 1], 3)  # values [3, 3, 1] in edge order
    values = np.array([[3], [1], [3]], dtype)
    out, winners = kernels.segment_max_forward(values, block.indptr, block.indices)
    assert (out[0, 0], winners[0, 0]) == (3, 2)
    t_indptr, t_indices, _ = block.transpose
    grad = np.array([[7]], dtype)
    back = kernels.segment_max_backward(grad, winners, t_indptr, t_indices)
    assert_array_equal(back[:, 0], [0, 0, 7])
