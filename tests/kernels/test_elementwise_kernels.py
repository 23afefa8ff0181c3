"""linear, dropout, the loss of PPI and Adam, each against its formula in NumPy's float64."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gaancore.kernels import cpu
from gaancore.kernels.cpu.products import tiles

DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
SHAPES = pytest.mark.parametrize(
    ("rows", "F", "G"), [(1, 1, 1), (7, 3, 5), (300, 20, 33), (129, 2, 64), (0, 3, 4)]
)
SEED = 12345


def numbers(dtype, *shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def tolerance(dtype) -> dict[str, float]:
    return {"rtol": 1e-4, "atol": 1e-5} if dtype == np.float32 else {"rtol": 1e-11, "atol": 1e-12}


@DTYPES
@SHAPES
@pytest.mark.parametrize("slope", [1.0, 0.1, 0.0])
@pytest.mark.parametrize("more", [(), (5,), (1, 40)], ids=["x", "two parts", "three parts"])
def test_linear_is_a_product_a_bias_and_a_leaky_relu(kernels, dtype, rows, F, G, more, slope):
    parts = tuple(numbers(dtype, rows, width, seed=width) for width in (F, *more))
    x, bias = np.concatenate(parts, axis=1), numbers(dtype, G)
    weight = numbers(dtype, x.shape[1], G, seed=1)
    before = x.astype(np.float64) @ weight + bias
    out = kernels.linear_forward(parts, weight, bias, slope)
    assert out.dtype == dtype
    assert_allclose(out, np.where(before > 0, before, slope * before), **tolerance(dtype))

    grad = numbers(dtype, rows, G, seed=2)
    grad_before = np.where(out > 0, 1, slope) * grad.astype(np.float64)
    grad_parts, *grads = kernels.linear_backward(
        grad, out, parts, weight, slope, (True,) * len(parts)
    )
    assert [part.shape for part in grad_parts] == [part.shape for part in parts]
    grads = (np.concatenate(grad_parts, axis=1), *grads)
    wanted = (grad_before @ weight.T, x.T @ grad_before, grad_before.sum(axis=0))
    for actual, expected in zip(grads, wanted, strict=True):
        assert actual.dtype == dtype
        assert_allclose(actual, expected, **tolerance(dtype))


@DTYPES
@pytest.mark.parametrize("rows", [0, 1, 300])
def test_a_part_that_needs_no_gradient_changes_no_bit_of_the_others(kernels, dtype, rows):
    parts = tuple(numbers(dtype, rows, width, seed=width) for width in (3, 40))
    grad, weight = numbers(dtype, rows, 5), numbers(dtype, 43, 5, seed=1)
    out = kernels.linear_forward(parts, weight, numbers(dtype, 5), 0.1)
    wanted, *all_others = kernels.linear_backward(grad, out, parts, weight, 0.1, (True, True))
    for needed in product((True, False), repeat=2):
        found, *others = kernels.linear_backward(grad, out, parts, weight, 0.1, needed)
        for asked, part, expected in zip(needed, found, wanted, strict=True):
            assert_array_equal(part, expected) if asked else None
            assert (part is not None) == asked
        for other, expected in zip(others, all_others, strict=True):
            assert_array_equal(other, expected)


@DTYPES
@pytest.mark.parametrize(
    "shape", [(0, 3, 4), (3, 0, 4), (3, 4, 0), (1, 1, 1), (1500, 7, 3), (5, 9, 700)]
)
def test_matmul_of_any_shape(kernels, dtype, shape):
    m, n, p = shape
    a, b = numbers(dtype, m, n), numbers(dtype, n, p, seed=1)
    actual = kernels.matmul(a, b)
    assert actual.dtype == dtype
    assert_allclose(actual, a.astype(np.float64) @ b, **tolerance(dtype))


@DTYPES
@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_dropout_keeps_its_share_and_scales_it_up(kernels, dtype, rate):
    x = np.ones((400, 500), dtype)
    out = kernels.dropout(x, rate, SEED)
    assert_array_equal(np.unique(out), np.array([0, 1 / (1 - rate)], dtype))
    share = np.count_nonzero(out) / x.size
    assert abs(share - (1 - rate)) < 5 * np.sqrt(rate * (1 - rate) / x.size)


def test_dropout_is_a_function_of_seed_and_position(kernels):
    x = np.ones(100_000, np.float32)
    out = kernels.dropout(x, 0.5, SEED)
    assert_array_equal(kernels.dropout(x, 0.5, SEED), out)
    assert_array_equal(kernels.dropout(x[:777].copy(), 0.5, SEED), out[:777])
    assert_array_equal(kernels.dropout(x.astype(np.float64), 0.5, SEED), out)
    assert_array_equal(kernels.dropout(x.reshape(10, -1), 0.5, SEED).ravel(), out)
    for other in (SEED + 1, SEED + 2**32, 0):
        both = np.count_nonzero(out * kernels.dropout(x, 0.5, other))
        assert abs(both / x.size - 0.25) < 5 * np.sqrt(0.25 * 0.75 / x.size)


def test_dropping_more_drops_the_same_and_others(kernels):
    x = np.ones(10_000, np.float32)
    few, many = (kernels.dropout(x, rate, SEED) == 0 for rate in (0.2, 0.6))
    assert not np.any(few & ~many)


@pytest.mark.parametrize("rate", [0.1, 0.5])
def test_attention_drops_weights_like_dropout_of_an_array_of_edges_and_heads(kernels, rate):
    """Values that name their edge show which weights were kept."""
    E, K = 200, 3
    links = (np.array([0, E]), np.arange(E, dtype=np.int32))
    queries, keys = np.zeros((1, K, 1), np.float64), np.zeros((E, K, 1), np.float64)
    values = np.repeat(np.eye(E)[:, None, :], K, axis=1)
    out, _ = kernels.attention_forward(queries, keys, values, *links, 1.0, rate, SEED)
    expected = kernels.dropout(np.full((E, K), 1 / E), rate, SEED)
    assert_allclose(out[0].T, expected, rtol=1e-12)


@DTYPES
def test_binary_cross_entropy_is_log_of_one_plus_exp_minus_tx(kernels, dtype):
    logits = numbers(dtype, 50, 7) * dtype(10)
    targets = np.random.default_rng(1).integers(0, 2, (50, 7), dtype=np.uint8)
    x = logits.astype(np.float64)
    total, grad = kernels.bce_with_logits(logits, targets)
    assert total == pytest.approx((np.logaddexp(0, x) - targets * x).sum(), rel=1e-6)
    assert grad.dtype == dtype
    assert_allclose(grad, 1 / (1 + np.exp(-x)) - targets, rtol=1e-5, atol=1e-6)


@DTYPES
def test_binary_cross_entropy_of_huge_logits_is_linear_in_them(kernels, dtype):
    logits = np.array([[1e4, -1e4], [1e4, -1e4], [0, -0.0]], dtype)
    targets = np.array([[1, 0], [0, 1], [0, 1]], np.uint8)
    total, grad = kernels.bce_with_logits(logits, targets)
    assert total == pytest.approx(2e4 + 2 * np.log(2), rel=1e-6)
    assert_array_equal(grad, np.array([[0, 0], [1, -1], [0.5, -0.5]], dtype))


def test_binary_cross_entropy_of_nan_is_nan_and_of_nothing_zero(kernels):
    targets = np.zeros((1, 3), np.uint8)
    total, grad = kernels.bce_with_logits(np.array([[0, np.nan, 1]], np.float32), targets)
    assert np.isnan(total)
    assert np.isnan(grad).tolist() == [[False, True, False]]
    total, grad = kernels.bce_with_logits(np.zeros((0, 3), np.float32), targets[:0])
    assert (total, grad.shape) == (0, (0, 3))


@DTYPES
@pytest.mark.parametrize("C", [1, 2, 41, 70])
def test_softmax_cross_entropy_is_log_of_the_sum_of_exponentials_minus_the_targets(
    kernels, dtype, C
):
    logits = numbers(dtype, 50, C) * dtype(10)
    targets = np.random.default_rng(1).integers(0, C, 50)
    x = logits.astype(np.float64)
    total, grad = kernels.softmax_cross_entropy(logits, targets)
    expected = np.logaddexp.reduce(x, axis=1) - x[np.arange(50), targets]
    assert total == pytest.approx(expected.sum(), rel=1e-5, abs=1e-9)
    assert grad.dtype == dtype
    shares = np.exp(x - np.logaddexp.reduce(x, axis=1)[:, None])
    assert_allclose(grad, shares - np.eye(C)[targets], rtol=1e-4, atol=1e-6)


@DTYPES
def test_softmax_cross_entropy_of_huge_logits_is_linear_in_them(kernels, dtype):
    logits = np.array([[1e4, -1e4, 0], [1e4, -1e4, 0], [-1e4, -1e4, -1e4]], dtype)
    total, grad = kernels.softmax_cross_entropy(logits, np.array([0, 1, 2]))
    assert total == pytest.approx(2e4 + np.log(3), rel=1e-6)
    third = 1 / dtype(3)
    assert_allclose(grad, [[0, 0, 0], [1, -1, 0], [third, third, third - 1]], rtol=1e-6)


def test_softmax_cross_entropy_of_nan_is_nan_in_its_row_and_of_nothing_zero(kernels):
    logits = np.array([[0, np.nan, 1], [0, 0, 0], [np.nan, 0, 0]], np.float32)
    total, grad = kernels.softmax_cross_entropy(logits, np.array([0, 1, 2]))
    assert np.isnan(total)
    assert np.isnan(grad).all(axis=1).tolist() == [True, False, True]
    total, grad = kernels.softmax_cross_entropy(np.zeros((0, 3)), np.zeros(0, np.int64))
    assert (total, grad.shape) == (0, (0, 3))


@DTYPES
def test_adam_moves_a_parameter_by_its_first_moment_over_the_root_of_its_second(kernels, dtype):
    rate, beta1, beta2, eps = 0.01, 0.9, 0.999, 1e-8
    p = numbers(dtype, 4, 5)
    m, v = np.zeros_like(p), np.zeros_like(p)
    theta, first, second = p.astype(np.float64), np.zeros(p.shape), np.zeros(p.shape)
    for step in range(1, 6):
        g = numbers(dtype, 4, 5, seed=step)
        kernels.adam_step(p, g, m, v, rate, beta1, beta2, eps)
        first = beta1 * first + (1 - beta1) * g
        second = beta2 * second + (1 - beta2) * g.astype(np.float64) ** 2
        theta -= rate * first / (np.sqrt(second) + eps)
    assert_allclose(p, theta, **tolerance(dtype))


@DTYPES
@pytest.mark.parametrize(("rows", "D"), [(0, 3), (1, 1), (7, 5), (130, 64)])
def test_gru_update_is_its_formula_and_its_gradients_are_the_formulas(kernels, dtype, rows, D):
    parts = [3 * numbers(dtype, rows, D, seed=seed) for seed in range(7)]
    grad, (x_u, x_r, x_c, h_u, h_r, h_c, h) = numbers(dtype, rows, D, seed=8), parts
    u, r = 1 / (1 + np.exp(-x_u - h_u)), 1 / (1 + np.exp(-x_r - h_r))
    before = x_c + r * h_c
    c = np.where(before > 0, before, 0.1 * before)
    out, saved = kernels.gru_update_forward(*parts, 0.1)
    assert_allclose(out, (1 - u) * c + u * h, **tolerance(dtype))
    grad_c = grad * (1 - u) * np.where(before > 0, 1, 0.1)
    expected = (
        grad * (h - c) * u * (1 - u), grad_c * h_c * r * (1 - r), grad_c, grad_c * r, grad * u,
    )  # fmt: skip
    for found, wanted in zip(
        kernels.gru_update_backward(grad, h_c, h, saved, 0.1), expected, strict=True
    ):
        assert found.dtype == dtype
        assert_allclose(found, wanted, **tolerance(dtype))


def test_gru_update_of_huge_sums_opens_or_shuts_and_never_overflows(kernels):
    huge, one = np.full((1, 2), 3e38, np.float32), np.ones((1, 2), np.float32)
    zero = np.zeros((1, 2), np.float32)
    with np.errstate(all="raise"):
        kept, _ = kernels.gru_update_forward(huge, zero, one, zero, zero, zero, 5 * one, 0.1)
        new, _ = kernels.gru_update_forward(-huge, zero, one, zero, zero, zero, 5 * one, 0.1)
    assert_array_equal(kept, 5 * one)
    assert_array_equal(new, one)


@DTYPES
def test_tiles_of_every_height_come_to_the_same_bits(dtype):
    """Which height is taken depends on the processor."""
    line = 64 // np.dtype(dtype).itemsize
    a, panel = numbers(dtype, 24, 30), numbers(dtype, 30, line, seed=1)
    bias, outs = numbers(dtype, 1, line, seed=2), []
    for height in (1, 2, 6, 12):
        out = numbers(dtype, 24, line, seed=3)
        given = (a, 0, 0, 24, 30, panel, 0, bias, 0, dtype(0.1), out, 0, 0, True, True)
        assert tiles._tiles_of_rows(height)(*given) == 24
        sums = numbers(dtype, 24, line, seed=4)
        rows = a.T[:24].copy()  # (24 sums of rows, and 24 columns)
        assert tiles._tiles_of_columns(height)(rows, 0, 0, 24, out, 0, sums, 0) == 24
        outs.append((out.tobytes(), sums.tobytes()))
        expected = numbers(dtype, 24, line, seed=3) + a.astype(np.float64) @ panel + bias
        assert_allclose(out, np.where(expected > 0, expected, 0.1 * expected), **tolerance(dtype))
        by_hand = numbers(dtype, 24, line, seed=4) + rows.T.astype(np.float64) @ out
        assert_allclose(sums, by_hand, **tolerance(dtype))
    assert len(set(outs)) == 1


@DTYPES
@pytest.mark.parametrize("widths", [(1,), (7,), (64,), (3, 30)], ids=str)
@pytest.mark.parametrize("G", [1, 8, 16, 37])
def test_a_row_of_a_layer_has_the_same_bits_alone_and_in_any_company(dtype, widths, G):
    parts, bias = tuple(numbers(dtype, 141, F) for F in widths), numbers(dtype, G)
    weight, grad = numbers(dtype, sum(widths), G, seed=1), numbers(dtype, 141, G, seed=2)
    out = cpu.linear_forward(parts, weight, bias, 0.1)
    needed = (True,) * len(parts)
    grads, _, _ = cpu.linear_backward(grad, out, parts, weight, 0.1, needed)
    for rows in (slice(0, 1), slice(5, 7), slice(9, 140), slice(70, 76)):
        few = tuple(part[rows] for part in parts)
        assert_array_equal(cpu.linear_forward(few, weight, bias, 0.1), out[rows])
        found, _, _ = cpu.linear_backward(grad[rows], out[rows], few, weight, 0.1, needed)
        for some, all_of_them in zip(found, grads, strict=True):
            assert_array_equal(some, all_of_them[rows])
