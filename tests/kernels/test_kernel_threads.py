"""The same bits for any number of threads, and in a forked child."""

import multiprocessing
from functools import cache

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from gaancore.graph import Block
from gaancore.system import threads

pytestmark = pytest.mark.usefixtures("any_threads")

N, S, K, A, D, F = 1500, 2000, 4, 24, 32, 96
SEED = 99


@cache
def block() -> Block:
    """Degrees from 0 to hundreds, so that equal shares of edges are unequal shares of rows."""
    rng = np.random.default_rng(0)
    degrees = np.minimum(rng.geometric(0.3, N) ** 2, 600)
    degrees[::7] = 0
    indptr = np.cumsum([0, *degrees])
    return Block(indptr, rng.integers(0, S, indptr[-1]), S)


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def softmax(kernels, links, transpose):
    weights = kernels.segment_softmax_forward(numbers(block().num_edges, K), links[0])
    return weights, kernels.segment_softmax_backward(weights, numbers(*weights.shape), links[0])


def weighted_sum(kernels, links, transpose):
    weights = numbers(block().num_edges, K)
    return (
        kernels.segment_weighted_sum(weights, numbers(S, K, D), *links),
        kernels.segment_weighted_sum(weights, numbers(N, K, D), *transpose),
    )


def edge_dot(kernels, links, transpose):
    return (kernels.edge_dot(numbers(N, K, D), numbers(S, K, D), *links),)


def mean(kernels, links, transpose):
    out = kernels.segment_mean_forward(numbers(S, F), *links)
    return out, kernels.segment_mean_backward(numbers(N, F), links[0], *transpose[:2])


def maximum(kernels, links, transpose):
    out, winners = kernels.segment_max_forward(numbers(S, F), *links)
    return out, winners, kernels.segment_max_backward(numbers(N, F), winners, *transpose[:2])


def attention(kernels, links, transpose):
    static = (1 / A, 0.5, SEED)
    inputs = (numbers(N, K, A), numbers(S, K, A), numbers(S, K, D))
    out, saved = kernels.attention_forward(*inputs, *links, *static)
    grads = kernels.attention_backward(numbers(N, K, D), out, saved, *static, *links, *transpose)
    return out, *grads


B = 3


def features_of_edges(kernels, links, transpose):
    E = block().num_edges
    dots = kernels.feature_dot(numbers(N, B, K), numbers(E, B), links[0])
    return dots, kernels.feature_sum(numbers(E, K), numbers(E, B), links[0])


def edge_sum(kernels, links, transpose):
    E = block().num_edges
    given = (numbers(E, K), numbers(S, K, D), numbers(E, B), numbers(B, K, D), 0.1)
    out = kernels.edge_sum_forward(*given, *links)
    return out, *kernels.edge_sum_backward(numbers(N, K, D), *given, True, *links, *transpose)


def edge_attention(kernels, links, transpose):
    static, E = (0.1, 1 / A, 0.5, SEED), block().num_edges
    inputs = (numbers(N, K, A), numbers(S, K, A), numbers(S, K, D))
    of_edges = (numbers(E, B), numbers(B, K, A), numbers(B, K, D))
    out, saved = kernels.edge_attention_forward(*inputs, *of_edges, *links, *static)
    given = (numbers(N, K, D), out, saved, *static, True)
    return out, *kernels.edge_attention_backward(*given, *links, *transpose)


def edge_max(kernels, links, transpose):
    edges, projection = numbers(block().num_edges, B), numbers(B, F)
    out, places = kernels.edge_max_forward(numbers(S, F), edges, projection, *links)
    given = (numbers(N, F), places, edges, projection, True)
    return out, places, *kernels.edge_max_backward(*given, *links, *transpose)


def linear(kernels, links, transpose):
    parts, weight = (numbers(S, 50), numbers(S, 7)), numbers(57, F)
    out = kernels.linear_forward(parts, weight, numbers(F), 0.1)
    grad_parts, *grads = kernels.linear_backward(
        numbers(S, F), out, parts, weight, 0.1, (True,) * len(parts)
    )
    return out, *grad_parts, *grads


def matmul(kernels, links, transpose):
    tall, wide = numbers(S + 3, 130), numbers(130, 301)
    return kernels.matmul(tall, wide), kernels.matmul(wide.T[:7].copy(), tall.T.copy())


def scale_heads(kernels, links, transpose):
    heads, gates = numbers(S, K, D), numbers(S, K)
    out = kernels.scale_heads_forward(heads, gates)
    return out, *kernels.scale_heads_backward(numbers(S, K, D), heads, gates)


def gru_update(kernels, links, transpose):
    parts = [numbers(S, 7 * F)[:, i * F : (i + 1) * F].copy() for i in range(7)]
    out, saved = kernels.gru_update_forward(*parts, 0.1)
    grads = kernels.gru_update_backward(numbers(S, F), *parts[-2:], saved, 0.1)
    return out, *saved, *grads


def dropout(kernels, links, transpose):
    return (kernels.dropout(numbers(S, F), 0.5, SEED),)


def bce_with_logits(kernels, links, transpose):
    targets = (numbers(S, F) > 0).astype(np.uint8)
    total, grad = kernels.bce_with_logits(numbers(S, F + 1)[:, :F].copy(), targets)
    return np.array(total), grad


def softmax_cross_entropy(kernels, links, transpose):
    total, grad = kernels.softmax_cross_entropy(numbers(S, F), np.arange(S) % F)
    return np.array(total), grad


def adam_step(kernels, links, transpose):
    p, m, v = numbers(S, F), numbers(S, F + 1)[:, 1:].copy(), np.abs(numbers(S + 1, F)[1:])
    kernels.adam_step(p, numbers(S, F), m, v, 0.01, 0.9, 0.999, 1e-8)
    return p, m, v


EVERY_KERNEL = pytest.mark.parametrize(
    "work",
    [
        softmax, weighted_sum, edge_dot, mean, maximum, attention,
        features_of_edges, edge_sum, edge_attention, edge_max, linear, matmul, scale_heads,
        gru_update, dropout, bce_with_logits, softmax_cross_entropy, adam_step,
    ],
    ids=lambda work: work.__name__,
)  # fmt: skip


@EVERY_KERNEL
def test_one_two_and_four_threads_give_the_same_bits(kernels, monkeypatch, work):
    ranges = []
    run_ranges = threads.run_ranges
    monkeypatch.setattr(
        threads, "run_ranges", lambda f, b, *a: (ranges.append(len(b) - 1), run_ranges(f, b, *a))
    )
    results = {}
    with threadpool_limits(1, user_api="blas"):
        for count in (1, 2, 4):
            threads.set_num_threads(count)
            ranges.clear()
            arrays = work(kernels, (block().indptr, block().indices), block().transpose)
            results[count] = [array.tobytes() for array in arrays]
            assert max(ranges) == count, "the work was not shared out: the test proves nothing"
    assert results[1] == results[2] == results[4]


@EVERY_KERNEL
def test_a_second_run_gives_the_same_bits(kernels, work):
    links = (block().indptr, block().indices)
    runs = [work(kernels, links, block().transpose) for _ in range(2)]
    assert [a.tobytes() for a in runs[0]] == [b.tobytes() for b in runs[1]]


def _checksum_in_child(pipe, kernels) -> None:
    out = weighted_sum(kernels, (block().indptr, block().indices), block().transpose)
    pipe.send([array.tobytes() for array in out])


@pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="this system cannot fork"
)
@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")  # it is what is tested
def test_a_forked_child_can_use_kernels_after_its_parent_has(kernels):
    threads.set_num_threads(2)
    expected = weighted_sum(kernels, (block().indptr, block().indices), block().transpose)
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    child = context.Process(target=_checksum_in_child, args=(theirs, kernels))
    child.start()
    try:
        assert ours.poll(30), "the child hangs"
        assert ours.recv() == [array.tobytes() for array in expected]
        child.join(10)
        assert child.exitcode == 0
    finally:
        child.kill()
        child.join()
