"""Arrays without columns, heads or rows are ordinary cases of every op and of its gradient."""

from itertools import product

import numpy as np
import pytest

from gaancore import ops
from gaancore.array import to_device, to_numpy
from gaancore.graph import Block
from gaancore.tensor import Tensor

N, S = 3, 4
BLOCK = Block([0, 2, 2, 3], [1, 3, 0], S)
E = BLOCK.num_edges
HEADS_AND_WIDTHS = [(0, 3, 5), (2, 0, 5), (2, 3, 0), (2, 0, 0)]


def cases():
    """(name, op of a block, shapes of its arrays, shape of its result)."""
    F = 0
    yield f"mean {F}", lambda b, x: ops.segment_mean(x, block=b), [(S, F)], (N, F)
    yield f"max {F}", lambda b, x: ops.segment_max(x, block=b), [(S, F)], (N, F)
    yield f"by degree {F}", lambda b, x: ops.divide_by_degree(x, block=b), [(N, F)], (N, F)
    yield f"dropout {F}", lambda b, x: ops.dropout(x, rate=0.5, seed=1), [(N, F)], (N, F)
    gru = [(N, F)] * 7
    yield f"gru {F}", lambda b, *x: ops.gru_update(*x, slope=0.1), gru, (N, F)
    for F, B in ((0, 3), (3, 0), (0, 0)):
        shapes, mean = [(S, F), (E, B), (B, F)], lambda b, *x: ops.edge_mean(*x, block=b, slope=0.1)
        yield f"edge mean {F} {B}", mean, shapes, (N, F)
        yield f"edge max {F} {B}", lambda b, *x: ops.edge_max(*x, block=b), shapes, (N, F)
        yield f"edge total {B}", lambda b, x: ops.edge_total(x, block=b), [(E, B)], (N, B)
    for F in (0, 3):
        for rows, G in product((0, N), (0, 2)):
            shapes = [(rows, F), (F, G), (G,)]
            name = f"linear {rows} {F} {G}"
            yield name, lambda b, *x: ops.linear(*x, slope=0.1), shapes, (rows, G)
            yield f"matmul {rows} {F} {G}", lambda b, *x: ops.matmul(*x), shapes[:2], (rows, G)
        yield f"two parts {F}", lambda b, *x: ops.linear(*x), [(N, F), (N, 0), (F, 2), (2,)], (N, 2)
    for K, A, D in HEADS_AND_WIDTHS:
        name, qkv = f"{K} {A} {D}", [(N, K, A), (S, K, A), (S, K, D)]
        for rate in (0.0, 0.5):
            yield (
                f"attention {name} {rate}",
                lambda b, *x, rate=rate: ops.segment_attention(*x, block=b, dropout=rate),
                qkv,
                (N, K, D),
            )
        yield f"dot {name}", lambda b, *x: ops.edge_dot(*x, block=b), qkv[:2], (E, K)
        weighted = lambda b, *x: ops.segment_weighted_sum(*x, block=b)  # noqa: E731
        yield f"sum {name}", weighted, [(E, K), (S, K, D)], (N, K, D)
        yield f"softmax {name}", lambda b, x: ops.segment_softmax(x, block=b), [(E, K)], (E, K)
        asked, sums = [(N, 3, K), (E, 3)], [(E, K), (S, K, D), (E, 3), (3, K, D)]
        yield f"edge scores {name}", lambda b, *x: ops.edge_scores(*x, block=b), asked, (E, K)
        brought = lambda b, *x: ops.edge_weighted_sum(*x, block=b, slope=0.1)  # noqa: E731
        yield f"edge sum {name}", brought, sums, (N, K, D)
        for rate in (0.0, 0.5):
            over = lambda b, *x, rate=rate: (  # noqa: E731
                ops.edge_attention(*x, block=b, slope=0.1, dropout=rate)
            )
            yield f"edge attention {name} {rate}", over, [*qkv, (E, 3), (3, K, A), (3, K, D)], (
                N, K, D
            )  # fmt: skip
        yield f"scale {name}", lambda b, *x: ops.scale_heads(*x), [(N, K, D), (N, K)], (N, K, D)


CASES = {name: case for name, *case in cases()}


@pytest.mark.parametrize("name", CASES)
def test_it_gives_the_right_shapes_and_finite_gradients(device, name):
    op, shapes, expected = CASES[name]
    inputs = [Tensor(to_device(np.ones(shape), device), requires_grad=True) for shape in shapes]
    out = op(BLOCK.to(device), *inputs)
    assert out.data.shape == expected
    assert np.isfinite(to_numpy(out.data)).all()
    out.backward(to_device(np.ones(expected), device))
    for x, shape in zip(inputs, shapes, strict=True):
        assert x.grad.shape == shape
        assert np.isfinite(to_numpy(x.grad)).all()


def test_scores_of_no_numbers_are_zero_and_so_weigh_neighbours_alike(device):
    nothing = to_device(np.ones((N, 1, 0)), device), to_device(np.ones((S, 1, 0)), device)
    values = to_device(np.array([[[1.0]], [[10]], [[100]], [[1000]]]), device)
    block = BLOCK.to(device)
    assert not to_numpy(ops.edge_dot(*nothing, block=block).data).any()
    out = ops.segment_attention(*nothing, values, block=block)
    assert to_numpy(out.data).ravel().tolist() == [505, 0, 1]
