"""The CPU's kernels beyond 2^31 numbers, where an index product of 32 bits wraps: two_billion.py.

Of each loop only the last rows are run: all of them would take the memory that nobody has.
"""

import resource
import sys

import numpy as np
import pytest
from dropout_words import words
from numpy.testing import assert_allclose, assert_array_equal
from two_billion import CALLS, COMPARED, FEW, WIDE, WIDTH, Rows, count_beyond

from gaancore.kernels import cpu, dropout_constants
from gaancore.kernels.cpu import attention as cpu_attention
from gaancore.kernels.cpu import pools
from gaancore.kernels.cpu.edges.columns import backward_columns
from gaancore.kernels.cpu.edges.maxima import _max_backward
from gaancore.system import threads

LAST = 64  # rows of a loop that are run


def largest_process() -> float:
    """The most memory that this process has had, in GB."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / 2**20 if sys.platform == "linux" else most / 2**30


@pytest.fixture(autouse=True)
def last_rows_only(monkeypatch):
    """Every loop of the CPU over rows, cut down to the last of them."""
    try:
        np.empty(2**31 + 2**20, np.float32)
    except MemoryError:
        pytest.skip("no 8 GB of address space")

    def run_last(function, bounds, *args):
        if bounds[-1]:
            function(*args, max(0, bounds[-1] - LAST), bounds[-1])

    monkeypatch.setattr(threads, "run_ranges", run_last)
    monkeypatch.setattr(
        threads, "share_rows", lambda function, rows, work, *args: run_last(function, [rows], *args)
    )
    before = largest_process()
    yield
    assert largest_process() - before < 2, "a test fills what it should leave alone"


def last_numbers(call, count: int) -> list[np.ndarray]:
    with np.errstate(invalid="ignore", over="ignore"):  # losses are summed that nobody wrote
        return [x.reshape(-1)[-COMPARED:].copy() for x in call(cpu, Rows(count))]


def assert_same_far_away(call, width: int) -> None:
    few, many = (last_numbers(call, count) for count in (FEW, count_beyond(width)))
    for wanted, found in zip(few, many, strict=True):
        assert_array_equal(found, wanted)
        assert np.count_nonzero(wanted), "zeros would be found anywhere"


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.__name__)
def test_the_last_of_two_billion_numbers_are_those_of_a_few(call):
    assert_same_far_away(call, CALLS[call])


@pytest.mark.parametrize("at_once", [True, False], ids=["all heads at once", "head by head"])
@pytest.mark.parametrize("edges", ["few edges", pytest.param("many edges", marks=pytest.mark.slow)])
def test_attention_and_its_gradients(monkeypatch, at_once, edges):
    monkeypatch.setattr(cpu_attention, "all_heads_are_faster", lambda *_: at_once)

    def attention(kernels, rows):
        many = edges == "many edges"
        links, transpose = rows.many_edges() if many else rows.two_edges()
        shape = (WIDTH, 1) if many else (2, WIDTH // 2)
        nodes = {"rows": rows.nodes_of_many_edges if many else None}
        inputs = [rows.numbers(*shape, **nodes) for _ in range(3)]
        out, saved = kernels.attention_forward(*inputs, *links, 0.3, 0.0, 0)
        static = (0.3, 0.0, 0)
        grad = rows.numbers(*shape, **nodes)
        grads = kernels.attention_backward(grad, out, saved, *static, *links, *transpose)
        return out, *grads

    assert_same_far_away(attention, WIDTH)


def test_attention_drops_edges_by_their_whole_position(monkeypatch):
    """Of two billion positions and more: head K - 1 of the last edge is the last word of all."""
    count, heads = count_beyond(WIDTH), WIDTH
    rows = Rows(count)
    links, _ = rows.many_edges()
    nodes = rows.nodes_of_many_edges
    keys = rows.array(np.zeros((3, heads, 1), np.float32), nodes)
    values = rows.array(np.ones((1, heads, 1), np.float32), nodes)
    out, _ = cpu.attention_forward(keys, keys, values, *links, 1.0, 0.5, 9)
    positions = np.arange((count - 3) * heads, count * heads)
    kept = masks(9, positions).reshape(3, heads)
    assert_allclose(out[-1, :, 0], kept.sum(axis=0) * (2 / 3), rtol=1e-6)


def masks(seed: int, positions: np.ndarray) -> np.ndarray:
    return words(seed, positions) >= 2**31


def test_dropout():
    x = np.zeros(2**31 + 100, np.float32)
    x[-COMPARED:] = 1
    out = cpu.dropout(x, 0.5, 9)
    expected = 2 * masks(9, np.arange(x.size - COMPARED, x.size))
    assert_array_equal(out[-COMPARED:], expected)


def test_products():
    def linear(kernels, rows):
        x, weight, bias = rows.numbers(WIDTH), rows.numbers(3, rows=WIDTH), rows.numbers(rows=3)
        out = kernels.linear_forward((x,), weight, bias, 0.1)
        (grad_x,), *_ = kernels.linear_backward(out, out, (x,), weight, 0.1, (True,))
        return out, grad_x, kernels.matmul(x, weight), kernels.matmul(out, weight.T)

    assert_same_far_away(linear, WIDTH)


def test_the_gradient_of_a_maximum_reads_and_writes_far_rows():
    def read(kernels, rows):
        winners = rows.array(np.full((1, WIDE), 2, np.int32), rows.count)
        t_indptr, t_indices = np.array([0, 0, 0, 1]), np.array([rows.count - 1], np.int32)
        return (kernels.segment_max_backward(rows.numbers(WIDE), winners, t_indptr, t_indices),)

    assert_same_far_away(read, WIDE)
    count = count_beyond(WIDTH)
    out, grad = np.zeros((count, WIDTH), np.float32), np.ones((1, WIDTH), np.float32)
    winners = np.full((1, WIDTH), count - 1, np.int32)
    pools._max_backward(grad, winners, 16, out, 0, 4)  # the host would write zeros everywhere
    assert_array_equal(out[-1], 1)


@pytest.mark.parametrize("attention", [False, True])
def test_the_gradients_of_what_edges_bring_read_and_write_far_rows(attention):
    """Of one edge, the last of many, from the last of many sources: the hosts would write zeros for
    all others.
    """
    count, f32 = count_beyond(WIDTH), np.float32
    half, far, here = WIDTH // 2, np.array([count - 1]), np.zeros(1, np.int32)
    values, grad_values, grad_keys = (np.zeros((2 * count, half), f32) for _ in range(3))
    edges, grad_edges = np.zeros((count, WIDTH), f32), np.zeros((count, WIDTH), f32)
    weights, grad_weights = np.zeros((count, 2), f32), np.zeros((count, 2), f32)
    values[-2:], edges[-1], weights[-1] = 1, 1 / WIDTH, 5
    t_indptr = np.zeros(count + 1, np.int64)
    t_indptr[-1] = 1
    grad, queries = np.full((2, half), 3, f32), np.full((2, half), 2, f32)
    projection, means = np.ones((2 * WIDTH, half), f32), np.zeros((1, 2), f32)
    partial = np.zeros((2 * WIDTH * half // 16, 16), f32)
    links = t_indptr, here, far, np.array([count - 1, count])
    static = (f32(0.1), f32(1), *dropout_constants(grad.dtype, 0.0, 0))
    kernel = backward_columns(2, half, half, WIDTH, attention)
    given = grad, weights, values, edges, projection, queries, means
    strips = grad_values.reshape(-1, 16)
    targets = grad_weights, strips, grad_keys, partial, grad_edges
    kernel(*given, *links, *static, *targets, 0, 1)
    pull = 2 * 3 * half  # <grad, h(1 + 1)>
    assert_array_equal(grad_weights[-1], 5 * pull if attention else pull)
    assert_array_equal(grad_values[-2:], 5 * 3)
    assert_array_equal(grad_keys[-2:], 5 * pull * 2 if attention else 0)
    assert_array_equal(grad_edges[-1], 2 * 5 * 3 * half)
    assert_array_equal(partial, 5 * 3 / WIDTH)


def test_the_gradient_of_the_maximum_of_what_edges_bring_writes_far_rows():
    count, f32 = count_beyond(WIDTH), np.float32
    far, one = np.array([count - 1], np.int32), np.ones((1, 1), f32)
    out, row = np.zeros((count, WIDTH), f32), np.ones((1, WIDTH), f32)
    places, to_projection = np.zeros((1, WIDTH), np.int32), np.zeros((1, WIDTH), f32)
    links = np.array([0, 1]), far
    _max_backward(row, places, one, *links, 16, out, to_projection, 0, 4)
    assert_array_equal(out[-1], 1)
    assert_array_equal(to_projection, 1)
