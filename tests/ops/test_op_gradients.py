"""The gradient of every op against finite differences; hypothesis draws the shapes and blocks.

Blocks have empty rows, repeated neighbours, self-loops, one node or none. Ops with a kink get
numbers that are spaced out (`spaced`), never a wider tolerance.
"""

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gradcheck import check_gradient
from hypothesis import assume, given
from hypothesis import strategies as st
from kinks import SAFE, kink_margin
from strategies import blocks, seeds

from gaancore import ops
from gaancore.array import to_device
from gaancore.graph import Block
from gaancore.sparse import CSRMatrix
from gaancore.tensor import Tensor

rngs = seeds().map(np.random.default_rng)
heads = st.integers(1, 3)
widths = st.sampled_from([1, 3, 8])
sizes = st.integers(0, 5)
ATTENTION_WIDTHS = st.sampled_from([(1, 1), (3, 5), (8, 16)])
edge_widths = st.sampled_from([1, 17])
OF_EDGES = st.sampled_from([(1, 1, 1), (3, 8, 1), (2, 8, 17)])  # K, D, B: compiled for each
STRANGE_BLOCKS = [
    Block([0, 2, 2, 5], [1, 1, 0, 2, 0], 4), Block([0, 2], [0, 0], 1), Block([0, 0], [], 1)
]  # fmt: skip
STRANGE = ["an empty row between two", "one node, two loops", "one node, no edge"]


@pytest.fixture
def check(device: str) -> Callable[..., Any]:
    return partial(check_gradient, device=device)


def spaced(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Distinct numbers in random order, 0.1 apart and at least 0.05 away from 0."""
    count = int(np.prod(shape))
    return ((rng.permutation(count) - count // 2 + 0.5) / 10).reshape(shape)


def edges_of(block: Block, B: int, rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal((block.num_edges, B))


def smallest_lead(values: np.ndarray, block: Block) -> float:
    """How far the largest of each row and column is ahead of the next, at least."""
    leads = [np.inf]
    for start, stop in pairwise(block.indptr):
        if stop - start > 1:
            low, high = np.sort(values[start:stop], axis=0)[-2:]
            leads.append((high - low).min(initial=np.inf))
    return min(leads)


@st.composite
def broadcasting(draw, rank: int = 3) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Two shapes that fit together: sizes of 1 are stretched, leading ones may be missing."""
    full = draw(st.lists(st.integers(0, 3), max_size=rank))

    def stretched() -> tuple[int, ...]:
        ones = draw(st.lists(st.booleans(), min_size=len(full), max_size=len(full)))
        shape = [1 if one else size for one, size in zip(ones, full, strict=True)]
        return tuple(shape[draw(st.integers(0, len(full))) :])

    return stretched(), stretched()


@pytest.mark.parametrize("op", [ops.add, ops.subtract, ops.multiply], ids=lambda op: op.__name__)
@given(shapes=broadcasting(), rng=rngs)
def test_sums_differences_and_products_of_shapes_that_broadcast(op, shapes, rng, check):
    check(op, *(rng.standard_normal(shape) for shape in shapes), rng=rng)


@pytest.mark.parametrize(
    "op", [ops.sigmoid, ops.tanh, ops.negative, ops.total], ids=lambda op: op.__name__
)
@given(shape=st.lists(sizes, max_size=3), rng=rngs)
def test_smooth_functions_of_one_array(op, shape, rng, check):
    check(op, rng.standard_normal(shape), rng=rng)


@given(shape=st.lists(sizes, max_size=3), slope=st.sampled_from([0.0, 0.1, 1.0]), rng=rngs)
def test_leaky_relu_away_from_its_kink(shape, slope, rng, check):
    check(partial(ops.leaky_relu, slope=slope), spaced(rng, *shape), rng=rng)


@given(shape=st.lists(sizes, max_size=3), rate=st.floats(0, 0.9), seed=seeds(), rng=rngs)
def test_dropout_has_the_gradient_of_the_mask_it_used(shape, rate, seed, rng, check):
    check(partial(ops.dropout, rate=rate, seed=seed), rng.standard_normal(shape), rng=rng)


@given(rows=st.sampled_from([0, 1, 5]), K=sizes, D=sizes, rng=rngs)
def test_heads_scaled_by_their_gates(rows, K, D, rng, check):
    heads, gates = rng.standard_normal((rows, K, D)), rng.standard_normal((rows, K))
    check(ops.scale_heads, heads, gates, rng=rng)


@given(m=sizes, n=sizes, p=sizes, rng=rngs)
def test_matmul(m, n, p, rng, check):
    check(ops.matmul, rng.standard_normal((m, n)), rng.standard_normal((n, p)), rng=rng)


@given(rows=sizes, F=st.integers(1, 5), G=sizes, each=st.integers(0, 4), rng=rngs)
def test_the_product_of_a_sparse_matrix(rows, F, G, each, rng, device, check):
    """Rows and columns without a number among them, and places with two."""
    counts = rng.integers(0, each + 1, rows)
    entries = rng.integers(0, F, counts.sum())
    values = rng.standard_normal(entries.size)
    matrix = CSRMatrix(np.cumsum([0, *counts]), entries, values, num_columns=F).to(device)
    op = partial(ops.sparse_matmul, matrix=matrix)
    check(op, values, rng.standard_normal((F, G)), rng=rng)


@given(
    rows=st.sampled_from([0, 1, 4, 300]),
    F=st.lists(sizes, min_size=1, max_size=3),
    G=sizes,
    rng=rngs,
)
def test_linear_of_one_input_and_of_several_side_by_side(rows, F, G, rng, check):
    shapes = (*((rows, width) for width in F), (sum(F), G), (G,))
    check(ops.linear, *(rng.standard_normal(shape) for shape in shapes), rng=rng)


@given(rows=sizes, F=sizes, G=sizes, slope=st.sampled_from([0.0, 0.1]), rng=rngs)
def test_linear_with_an_activation_away_from_its_kink(rows, F, G, slope, rng, check):
    arrays = [rng.standard_normal(shape) for shape in ((rows, F), (F, G), (G,))]
    op = partial(ops.linear, slope=slope)
    assume(kink_margin(lambda: op(*map(Tensor, arrays))) > SAFE)
    check(op, *arrays, rng=rng)


@given(
    rows=st.sampled_from([0, 1, 4]),
    F=sizes,
    layers=st.lists(st.tuples(sizes, st.sampled_from([0.0, 0.1, 1.0])), min_size=1, max_size=4),
    rng=rngs,
)
def test_layers_of_one_input_away_from_their_kinks(rows, F, layers, rng, check):
    widths, slopes = zip(*layers, strict=True)
    x = rng.standard_normal((rows, F))
    weights = [rng.standard_normal((F, G)) for G in widths]
    biases = [rng.standard_normal(G) for G in widths]
    before = [x @ w + b for w, b in zip(weights, biases, strict=True)]
    assume(min(np.abs(u).min(initial=np.inf) for u in before) > SAFE)

    def op(x, *rest):
        outs = ops.linear_each(*[x] * len(layers), *rest, slopes=slopes)
        return ops.concat(*outs)

    check(op, x, *weights, *biases, rng=rng)


@given(N=sizes, C=sizes, rng=rngs)
def test_binary_cross_entropy(N, C, rng, device, check):
    targets = rng.integers(0, 2, (N, C), dtype=np.uint8)

    def loss(logits):
        return ops.bce_with_logits(logits, to_device(targets, device))

    check(loss, rng.standard_normal((N, C)), rng=rng)


@given(N=sizes, C=st.integers(1, 5), rng=rngs)
def test_softmax_cross_entropy(N, C, rng, device, check):
    targets = rng.integers(0, C, N)

    def loss(logits):
        return ops.softmax_cross_entropy(logits, to_device(targets, device))

    check(loss, rng.standard_normal((N, C)), rng=rng)


@given(N=sizes, C=sizes, rng=rngs)
def test_binary_cross_entropy_with_soft_targets_and_weights(N, C, rng, device, check):
    targets, weights = to_device(rng.random((2, N, C)), device)

    def loss(logits):
        return ops.soft_bce_with_logits(logits, targets, weights)

    check(loss, rng.standard_normal((N, C)), rng=rng)


@given(N=sizes, C=st.integers(1, 5), rng=rngs)
def test_cross_entropy_with_soft_targets(N, C, rng, device, check):
    targets = to_device(rng.random((N, C)), device)
    check(
        lambda logits: ops.soft_cross_entropy(logits, targets), rng.standard_normal((N, C)), rng=rng
    )


@given(shape=st.sampled_from([(6,), (2, 3), (3, -1), (1, 2, 3), (-1,)]), rng=rngs)
def test_reshape(shape, rng, check):
    check(partial(ops.reshape, shape=shape), rng.standard_normal((3, 2)), rng=rng)


@given(leading=st.lists(sizes, max_size=2), last=st.lists(sizes, min_size=1, max_size=4), rng=rngs)
def test_concat(leading, last, rng, check):
    check(ops.concat, *(rng.standard_normal((*leading, F)) for F in last), rng=rng)


@given(rows=sizes, count=sizes, rng=rngs)
def test_first_rows(rows, count, rng, check):
    assume(count <= rows)
    check(partial(ops.first_rows, count=count), rng.standard_normal((rows, 3)), rng=rng)


@given(block=blocks(), K=heads, rng=rngs)
def test_segment_softmax(block, K, rng, device, check):
    scores = rng.standard_normal((block.num_edges, K))
    check(partial(ops.segment_softmax, block=block.to(device)), scores, rng=rng)


@given(block=blocks(), K=heads, D=widths, rng=rngs)
def test_segment_weighted_sum(block, K, D, rng, device, check):
    weights = rng.standard_normal((block.num_edges, K))
    values = rng.standard_normal((block.num_src, K, D))
    check(partial(ops.segment_weighted_sum, block=block.to(device)), weights, values, rng=rng)


@given(block=blocks(), K=heads, D=widths, rng=rngs)
def test_edge_dot(block, K, D, rng, device, check):
    queries = rng.standard_normal((block.num_dst, K, D))
    keys = rng.standard_normal((block.num_src, K, D))
    check(partial(ops.edge_dot, block=block.to(device)), queries, keys, rng=rng)


@given(block=blocks(), trailing=st.lists(st.integers(0, 3), max_size=2), rng=rngs)
def test_divide_by_degree(block, trailing, rng, device, check):
    x = rng.standard_normal((block.num_dst, *trailing))
    check(partial(ops.divide_by_degree, block=block.to(device)), x, rng=rng)


@given(block=blocks(), F=widths, rng=rngs)
def test_segment_mean(block, F, rng, device, check):
    values = rng.standard_normal((block.num_src, F))
    check(partial(ops.segment_mean, block=block.to(device)), values, rng=rng)


@given(block=blocks(), F=widths, rng=rngs)
def test_segment_max_away_from_ties(block, F, rng, device, check):
    values = spaced(rng, block.num_src, F)
    check(partial(ops.segment_max, block=block.to(device)), values, rng=rng)


@given(
    block=blocks(),
    K=heads,
    width=ATTENTION_WIDTHS,
    rate=st.sampled_from([0.0, 0.5]),
    seed=seeds(),
    rng=rngs,
)
def test_segment_attention(block, K, width, rate, seed, rng, device, check):
    queries = rng.standard_normal((block.num_dst, K, width[0]))
    keys, values = (rng.standard_normal((block.num_src, K, W)) for W in width)
    op = partial(ops.segment_attention, block=block.to(device), scale=0.7, dropout=rate, seed=seed)
    check(op, queries, keys, values, rng=rng)


@pytest.mark.parametrize("block", STRANGE_BLOCKS, ids=STRANGE)
@pytest.mark.parametrize("K", [1, 8])
def test_attention_where_blocks_are_strange(block, K, device, check):
    rng = np.random.default_rng(0)
    queries = rng.standard_normal((block.num_dst, K, 3))
    keys, values = (rng.standard_normal((block.num_src, K, width)) for width in (3, 5))
    check(partial(ops.segment_attention, block=block.to(device)), queries, keys, values, rng=rng)
    check(partial(ops.segment_mean, block=block.to(device)), values[:, 0].copy(), rng=rng)
    check(partial(ops.segment_max, block=block.to(device)), spaced(rng, block.num_src, 5), rng=rng)


@given(N=sizes, K=heads, A=sizes, B=edge_widths, rng=rngs)
def test_edge_queries(N, K, A, B, rng, check):
    check(ops.edge_queries, rng.standard_normal((N, K, A)), rng.standard_normal((B, K, A)), rng=rng)


@given(block=blocks(), K=heads, B=edge_widths, rng=rngs)
def test_edge_scores(block, K, B, rng, device, check):
    queries, edges = rng.standard_normal((block.num_dst, B, K)), edges_of(block, B, rng)
    check(partial(ops.edge_scores, block=block.to(device)), queries, edges, rng=rng)


@given(block=blocks(), B=edge_widths, rng=rngs)
def test_edge_total(block, B, rng, device, check):
    check(partial(ops.edge_total, block=block.to(device)), edges_of(block, B, rng), rng=rng)


@given(block=blocks(), sizes=OF_EDGES, rng=rngs)
def test_edge_weighted_sum_away_from_its_kink(block, sizes, rng, device, check):
    K, D, B = sizes
    weights = rng.standard_normal((block.num_edges, K))
    values = rng.standard_normal((block.num_src, K, D))
    edges, projection = edges_of(block, B, rng), rng.standard_normal((B, K, D))
    before = values[block.indices] + np.tensordot(edges, projection, 1)
    assume(np.abs(before).min(initial=np.inf) > SAFE)
    op = partial(ops.edge_weighted_sum, block=block.to(device), slope=0.1)
    check(op, weights, values, edges, projection, rng=rng)


@given(block=blocks(), sizes=OF_EDGES, rng=rngs)
@pytest.mark.parametrize("rate", [0.0, 0.5])
def test_edge_attention_away_from_its_kink(block, sizes, rate, rng, device, check):
    K, D, B = sizes
    queries, keys = rng.standard_normal((block.num_dst, K, 3)), spaced(rng, block.num_src, K, 3)
    values, edges = rng.standard_normal((block.num_src, K, D)), edges_of(block, B, rng)
    to_keys, to_values = rng.standard_normal((B, K, 3)), rng.standard_normal((B, K, D))
    before = values[block.indices] + np.tensordot(edges, to_values, 1)
    assume(np.abs(before).min(initial=np.inf) > SAFE)
    static = {"block": block.to(device), "slope": 0.1, "scale": 0.3, "dropout": rate, "seed": 5}
    op = partial(ops.edge_attention, **static)
    check(op, queries, keys / 9, values, edges, to_keys, to_values, rng=rng)


@given(block=blocks(), sizes=st.sampled_from([(1, 1), (8, 17)]), rng=rngs)
def test_edge_mean_away_from_its_kink(block, sizes, rng, device, check):
    F, B = sizes
    values, edges = rng.standard_normal((block.num_src, F)), edges_of(block, B, rng)
    projection = rng.standard_normal((B, F))
    assume(np.abs(values[block.indices] + edges @ projection).min(initial=np.inf) > SAFE)
    op = partial(ops.edge_mean, block=block.to(device), slope=0.1)
    check(op, values, edges, projection, rng=rng)


@given(block=blocks(), F=widths, B=edge_widths, rng=rngs)
def test_edge_max_away_from_ties(block, F, B, rng, device, check):
    values, edges = rng.standard_normal((block.num_src, F)), edges_of(block, B, rng)
    projection = rng.standard_normal((B, F))
    assume(smallest_lead(values[block.indices] + edges @ projection, block) > SAFE)
    op = partial(ops.edge_max, block=block.to(device))
    check(op, values, edges, projection, rng=rng)


@pytest.mark.parametrize("block", STRANGE_BLOCKS, ids=STRANGE)
@pytest.mark.parametrize("B", [1, 17])
def test_features_of_edges_where_blocks_are_strange(block, B, device, check):
    rng = np.random.default_rng(0)
    weights, values = rng.standard_normal((block.num_edges, 1)), spaced(rng, block.num_src, 1, 3)
    edges, projection = edges_of(block, B, rng), rng.standard_normal((B, 1, 3))
    there = {"block": block.to(device)}
    op = partial(ops.edge_weighted_sum, **there, slope=0.1)
    check(op, weights, values, edges, projection, rng=rng)
    given = (values[:, 0].copy(), edges, projection[:, 0].copy())
    check(partial(ops.edge_max, **there), *given, rng=rng)
    queries = rng.standard_normal((block.num_dst, B, 1))
    check(partial(ops.edge_scores, **there), queries, edges, rng=rng)


@given(m=sizes, n=sizes, count=st.integers(1, 3), rng=rngs, data=st.data())
def test_matrices_beside_each_other(m, n, count, rng, check, data):
    start = data.draw(st.integers(0, m))
    own = slice(start, data.draw(st.integers(start, m)))
    matrices = [rng.standard_normal((m, n)) for _ in range(count)]
    check(partial(ops.beside, own=own), *matrices, rng=rng)


@pytest.mark.parametrize("op", [ops.split_rows, ops.split_columns], ids=lambda op: op.__name__)
@given(count=st.integers(1, 3), n=sizes, F=sizes, rng=rngs)
def test_parts_of_an_array_each_with_a_use_of_its_own_or_none(op, count, n, F, rng, check):
    def of_some_parts(x):
        first, *others = op(x, count=count)
        return ops.concat(ops.tanh(first), *(ops.multiply(part, part) for part in others[1:]))

    shape = (count * n, F) if op is ops.split_rows else (n, count * F)
    check(of_some_parts, rng.standard_normal(shape), rng=rng)


@given(rows=st.lists(sizes, min_size=1, max_size=3), F=sizes, rng=rngs)
def test_rows_one_below_the_other(rows, F, rng, check):
    check(ops.concat_rows, *(rng.standard_normal((n, F)) for n in rows), rng=rng)


@given(n=sizes, D=sizes, rng=rngs)
def test_the_update_of_a_gru(n, D, rng, check):
    parts = [rng.standard_normal((n, D)) for _ in range(7)]
    op = partial(ops.gru_update, slope=0.1)
    assume(kink_margin(lambda: op(*parts)) > SAFE)
    check(op, *parts, rng=rng)


@given(n=sizes, C=sizes, count=st.integers(0, 9), rng=rngs)
def test_the_masked_absolute_error_away_from_its_kink(n, C, count, rng, device, check):
    targets, mask = rng.standard_normal((n, C)), rng.random((n, C)) < 0.7
    there = partial(to_device, device=device)
    targets, targets_seen, mask = map(there, (targets, np.where(mask, targets, np.nan), mask))

    def loss(errors):
        moved = ops.add(errors, targets)
        return ops.masked_absolute_error(moved, targets_seen, mask, count=count)

    check(loss, spaced(rng, n, C), rng=rng)


def test_no_op_is_forgotten():
    """Every op of the package is named in this file."""
    source = Path(__file__).read_text(encoding="utf-8")
    assert [name for name in ops.__all__ if f"ops.{name}" not in source] == []
