"""What must hold whatever the numbers are: invariances, adjoints, fused equals composed."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from strategies import blocks, seeds

from gaancore import ops
from gaancore.graph import Block
from gaancore.tensor import Tensor

rngs = seeds().map(np.random.default_rng)
heads = st.integers(1, 3)


def softmax(scores: np.ndarray, block: Block) -> np.ndarray:
    return ops.segment_softmax(scores, block=block).data


def rows(block: Block) -> np.ndarray:
    """The destination of every edge."""
    return np.repeat(np.arange(block.num_dst), np.diff(block.indptr))


def attention_inputs(block: Block, K: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Queries (N, K, 3), keys (S, K, 3), values (S, K, 5)."""
    shapes = ((block.num_dst, K, 3), (block.num_src, K, 3), (block.num_src, K, 5))
    return [rng.standard_normal(shape) for shape in shapes]


@given(block=blocks(), K=heads, rng=rngs)
def test_softmax_ignores_a_shift_of_a_segments_scores(block, K, rng):
    scores = rng.standard_normal((block.num_edges, K))
    shift = 100 * rng.standard_normal((block.num_dst, K))
    shifted = softmax(scores + shift[rows(block)], block)
    assert_allclose(shifted, softmax(scores, block), rtol=1e-10)


@given(block=blocks(), K=heads, rng=rngs)
def test_softmax_sums_to_one_over_the_neighbours_of_each_destination(block, K, rng):
    weights = softmax(5 * rng.standard_normal((block.num_edges, K)), block)
    sums = np.zeros((block.num_dst, K))
    np.add.at(sums, rows(block), weights)
    filled = np.diff(block.indptr) > 0
    assert_allclose(sums[filled], 1, rtol=1e-12)
    assert ((weights > 0) & (weights <= 1)).all()


def test_softmax_is_over_destinations_not_sources():
    """An asymmetric graph, edges 0 -> 2, 1 -> 2, 2 -> 0: grouping by source would give all ones."""
    block = Block([0, 1, 1, 3], [2, 0, 1], 3)
    assert softmax(np.zeros((3, 1)), block)[:, 0].tolist() == [1, 0.5, 0.5]


@given(block=blocks(), K=heads, rng=rngs, data=st.data())
def test_segments_do_not_see_each_other(block, K, rng, data):
    if block.num_dst == 0:
        return
    i = data.draw(st.integers(0, block.num_dst - 1))
    row = slice(block.indptr[i], block.indptr[i + 1])
    scores = rng.standard_normal((block.num_edges, K))
    others = 1000 * rng.standard_normal(scores.shape)
    others[row] = scores[row]
    assert_array_equal(softmax(others, block)[row], softmax(scores, block)[row])


@given(block=blocks(), K=heads, rng=rngs)
def test_attention_follows_a_permutation_of_the_destinations(block, K, rng):
    queries, keys, values = attention_inputs(block, K, rng)
    order = rng.permutation(block.num_dst)
    parts = [block.indices[block.indptr[i] : block.indptr[i + 1]] for i in order]
    indptr = np.cumsum([0, *map(len, parts)])
    permuted = Block(indptr, np.concatenate([np.zeros(0, np.int32), *parts]), block.num_src)
    out = ops.segment_attention(queries, keys, values, block=block).data
    again = ops.segment_attention(queries[order], keys, values, block=permuted).data
    assert_array_equal(again, out[order])


@given(block=blocks(), K=heads, rng=rngs)
def test_the_order_of_edges_within_a_row_does_not_matter(block, K, rng):
    queries, keys, values = attention_inputs(block, K, rng)
    shuffled = np.lexsort((rng.random(block.num_edges), rows(block)))
    other = Block(block.indptr, block.indices[shuffled], block.num_src)

    out = ops.segment_attention(queries, keys, values, block=block).data
    again = ops.segment_attention(queries, keys, values, block=other).data
    assert_allclose(again, out, rtol=1e-10, atol=1e-12)
    flat = values[:, 0].copy()
    for pool in (ops.segment_mean, ops.segment_max):
        assert_allclose(pool(flat, block=other).data, pool(flat, block=block).data, atol=1e-12)
    scores = rng.standard_normal((block.num_edges, K))
    assert_allclose(softmax(scores[shuffled], other), softmax(scores, block)[shuffled], rtol=1e-12)


def attention_in_steps(queries, keys, values, *, block, scale, dropout, seed):
    scores = ops.multiply(ops.edge_dot(queries, keys, block=block), np.array(scale))
    weights = ops.segment_softmax(scores, block=block)
    weights = ops.dropout(weights, rate=dropout, seed=seed)
    return ops.segment_weighted_sum(weights, values, block=block)


@given(block=blocks(), K=heads, rate=st.sampled_from([0.0, 0.3, 0.5]), seed=seeds(), rng=rngs)
def test_fused_attention_is_the_four_steps_in_value_and_gradient(block, K, rate, seed, rng):
    arrays = attention_inputs(block, K, rng)
    static = {"block": block, "scale": 1 / 3, "dropout": rate, "seed": seed}
    grad = rng.standard_normal((block.num_dst, K, 5))
    results = []
    for function in (ops.segment_attention, attention_in_steps):
        leaves = [Tensor(array, requires_grad=True) for array in arrays]
        out = function(*leaves, **static)
        out.backward(grad)
        results.append([out.data, *(leaf.grad for leaf in leaves)])
    for fused, composed in zip(*results, strict=True):
        assert_allclose(fused, composed, rtol=1e-10, atol=1e-12)


@given(block=blocks(), K=heads, rng=rngs)
def test_weighted_sum_and_edge_dot_are_each_others_adjoint(block, K, rng):
    """<weighted_sum(w, V), Y> = <w, edge_dot(Y, V)> = <V, weighted_sum^T(w, Y)>."""
    Y, _, V = attention_inputs(block, K, rng)
    Y = rng.standard_normal((block.num_dst, K, 5))
    w = rng.standard_normal((block.num_edges, K))
    values = Tensor(V, requires_grad=True)
    out = ops.segment_weighted_sum(w, values, block=block)
    product = np.vdot(out.data, Y)
    scale = 1e-12 * (1 + np.abs(out.data * Y).sum())
    assert abs(product - np.vdot(w, ops.edge_dot(Y, V, block=block).data)) <= scale
    out.backward(Y)
    assert abs(product - np.vdot(V, values.grad)) <= scale


@given(block=blocks(), F=st.sampled_from([1, 5]), rng=rngs)
def test_the_mean_is_a_weighted_sum_divided_by_the_degree(block, F, rng):
    values = rng.standard_normal((block.num_src, F))
    ones = np.ones((block.num_edges, 1))
    total = ops.segment_weighted_sum(ones, values[:, None], block=block)
    mean = ops.divide_by_degree(total, block=block).data[:, 0]
    assert_allclose(ops.segment_mean(values, block=block).data, mean, rtol=1e-12, atol=1e-14)


def test_merged_nodes_gather_the_gradients_of_all_their_appearances():
    """Two seeds that share neighbour 7: merged, it is one source; unmerged, it is two."""
    seeds_, indptr, neighbours = np.array([3, 5]), np.array([0, 2, 4]), np.array([7, 8, 7, 5])
    merged = Block.from_neighbours(seeds_, indptr, neighbours, 9)
    apart = Block.from_neighbours(seeds_, indptr, neighbours, 9, merge=False)
    rng = np.random.default_rng(0)
    features, weights, grad = rng.random((9, 1, 5)), rng.random((4, 1)), rng.random((2, 1, 5))

    gathered = {}
    for block in (merged, apart):
        values = Tensor(features[block.src_ids], requires_grad=True)
        out = ops.segment_weighted_sum(weights, values, block=block)
        out.backward(grad)
        gathered[block] = np.zeros(features.shape)
        np.add.at(gathered[block], block.src_ids, values.grad)
    assert (merged.num_src, apart.num_src) == (4, 6)
    assert_allclose(gathered[merged], gathered[apart], rtol=1e-12)


@pytest.mark.parametrize("rate", [0.2, 0.5])
def test_dropout_keeps_the_mean_and_its_gradient_the_mask(rate):
    x = Tensor(np.full((300, 400), 2.0), requires_grad=True)
    out = ops.dropout(x, rate=rate, seed=8)
    assert out.data.mean() == pytest.approx(2, abs=5 * 2 * np.sqrt(rate / (1 - rate) / x.data.size))
    ops.total(out).backward()
    assert_array_equal(x.grad, out.data / 2)
    assert_array_equal(ops.dropout(x, rate=rate, seed=8).data, out.data)
    assert (ops.dropout(x, rate=rate, seed=9).data != out.data).any()


def test_dropout_at_rate_zero_is_the_identity():
    x = np.random.default_rng(0).standard_normal((3, 4))
    assert ops.dropout(x, rate=0, seed=1).data is x


@given(block=blocks(), seed=seeds())
def test_attention_with_dropout_is_a_function_of_its_seed(block, seed):
    inputs = attention_inputs(block, 2, np.random.default_rng(0))
    runs = [
        ops.segment_attention(*inputs, block=block, dropout=0.5, seed=seed).data for _ in range(2)
    ]
    assert_array_equal(*runs)


@pytest.mark.parametrize("slope", [1.0, 0.1])
def test_data_that_needs_no_gradient_changes_no_bit_of_the_weights_gradients(slope):
    rng = np.random.default_rng(3)
    arrays = [rng.standard_normal(shape) for shape in [(50, 4), (50, 3), (7, 6), (6,)]]

    def gradients(op, inputs: list[np.ndarray], constants: int) -> list[np.ndarray | None]:
        leaves = [Tensor(a, requires_grad=n >= constants) for n, a in enumerate(inputs)]
        out = op(*leaves)
        out.backward(np.cos(np.arange(out.data.size)).reshape(out.shape))
        return [leaf.grad for leaf in leaves]

    for op, inputs in [
        (partial(ops.linear, slope=slope), arrays),
        (ops.matmul, [arrays[0], arrays[2][:4]]),
    ]:
        expected = gradients(op, inputs, 0)
        for constants in range(len(inputs)):
            found = gradients(op, inputs, constants)
            for number, (mine, theirs) in enumerate(zip(found, expected, strict=True)):
                if number < constants:
                    assert mine is None
                else:
                    assert_array_equal(mine, theirs)


def test_a_product_that_nobody_needs_is_not_made(monkeypatch):
    """Of the two products of a gradient, one is left when the other factor is data."""
    made = []

    def counted(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        made.append((a.shape, b.shape))
        return a @ b

    a, b = np.ones((5, 4)), np.ones((4, 3))
    for needs_a, needs_b in [(True, True), (True, False), (False, True)]:
        out = ops.total(ops.matmul(Tensor(a, needs_a), Tensor(b, needs_b)))
        with monkeypatch.context() as patch:
            patch.setattr("gaancore.kernels.cpu.matmul", counted)
            out.backward()
    assert made == [((5, 3), (3, 4)), ((4, 5), (5, 3)), ((5, 3), (3, 4)), ((4, 5), (5, 3))]
