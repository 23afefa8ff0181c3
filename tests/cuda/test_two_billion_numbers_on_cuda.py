"""The CUDA kernels beyond 2^31 numbers, where an index product of 32 bits wraps: two_billion.py.

The emulated device runs the first and the last blocks of every grid. It reports an int that
overflows.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from dropout_words import words
from emulator.device import EmulatedCupy
from emulator.module import NO_COMPILER, KernelFaultError, has_compiler
from numpy.testing import assert_array_equal
from two_billion import CALLS, COMPARED, FEW, WIDTH, Rows, count_beyond

from gaancore.kernels import cuda
from gaancore.kernels.cuda import attention as cuda_attention
from gaancore.kernels.cuda import edges as cuda_edges
from gaancore.kernels.cuda import launcher, losses


@pytest.fixture
def ends(monkeypatch) -> Iterator[Any]:
    """A device on which the first and last four blocks of a grid run; no thread has two items."""
    if not has_compiler():
        pytest.skip(NO_COMPILER)
    try:
        np.empty(2**31 + 2**20, np.float32)
    except MemoryError:
        pytest.skip("no 8 GB of address space")
    monkeypatch.setattr(launcher, "MAX_BLOCKS", 1 << 24)
    monkeypatch.setattr(losses, "LOSS_BLOCKS", 1 << 24)
    launch = losses.launch

    def launch_without_sums(file: str, *args: Any, **options: Any) -> None:
        if file != "sum_blocks":  # of what blocks wrote that were not run
            launch(file, *args, **options)

    monkeypatch.setattr(losses, "launch", launch_without_sums)
    with EmulatedCupy(checked=True, schedule="random", most_blocks=4).installed() as cupy:
        yield cupy


def last_numbers(call: Any, rows: Rows) -> list[np.ndarray]:
    return [x.reshape(-1)[-COMPARED:].get() for x in call(cuda, rows)]


def assert_same_far_away(call: Any, width: int, cupy: Any) -> None:
    few, many = (last_numbers(call, Rows(n, cupy)) for n in (FEW, count_beyond(width)))
    for wanted, found in zip(few, many, strict=True):
        assert_array_equal(found, wanted)
        assert np.count_nonzero(wanted), "zeros would be found anywhere"


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.__name__)
def test_the_last_of_two_billion_numbers_are_those_of_a_few(ends, call):
    assert_same_far_away(call, CALLS[call], ends)


@pytest.mark.parametrize("edges", ["few edges", "many edges"])
def test_attention_and_its_gradients(ends, edges):
    def attention(kernels: Any, rows: Rows) -> tuple[Any, ...]:
        many = edges == "many edges"
        links, transpose = rows.many_edges() if many else rows.two_edges()
        shape = (WIDTH, 1) if many else (2, WIDTH // 2)
        nodes = {"rows": rows.nodes_of_many_edges if many else None}
        inputs = [rows.numbers(*shape, **nodes) for _ in range(3)]
        static = (0.3, 0.0, 0)
        out, _ = kernels.attention_forward(*inputs, *links, *static)
        # not what the forward pass left, for other blocks may have run there
        saved = cuda_attention.Saved(*inputs, rows.numbers(shape[0], 2, **nodes))
        given = rows.numbers(*shape, **nodes), rows.numbers(*shape, **nodes), saved
        return out, *kernels.attention_backward(*given, *static, *links, *transpose)

    assert_same_far_away(attention, WIDTH, ends)


@pytest.mark.slow
def test_gradients_of_what_edges_bring(ends, monkeypatch):
    """With E * B > 2^31, features are read, and their gradients written, beyond 2^31."""
    monkeypatch.setattr(cuda_edges, "CHUNKS", 1 << 24)  # short chunks: the last of them are run
    monkeypatch.setattr(cuda_edges, "_add_chunks", lambda partial: partial[-1:])

    def gradients(kernels: Any, rows: Rows) -> tuple[Any, ...]:
        links, transpose = rows.many_edges()
        nodes = {"rows": rows.nodes_of_many_edges}
        grad, values = rows.numbers(1, 1, **nodes), rows.numbers(1, 1, **nodes)
        weights, edges = rows.numbers(1), rows.numbers(WIDTH)
        projection = rows.numbers(1, rows=WIDTH)
        given = (weights, values, edges, projection.reshape(WIDTH, 1, 1), 0.1, True)
        of_weights, of_values, *by_sum = kernels.edge_sum_backward(grad, *given, *links, *transpose)
        places = rows.array(np.full((1, 1), 2, np.int32), nodes["rows"])
        given = (edges, projection, True)
        of_rows, *by_maximum = kernels.edge_max_backward(
            grad[:, 0], places, *given, *links, *transpose
        )
        return of_weights, of_values[-1:], *by_sum, of_rows[-1:], *by_maximum

    assert_same_far_away(gradients, WIDTH, ends)


def test_gradients_of_a_maximum(ends):
    def gradient(kernels: Any, rows: Rows) -> tuple[Any, ...]:
        _, (t_indptr, t_indices, _) = rows.two_edges()
        n = rows.count
        winners = rows.array(np.full((1, WIDTH), n - 1, np.int32), n)
        return (kernels.segment_max_backward(rows.numbers(WIDTH), winners, t_indptr, t_indices),)

    assert_same_far_away(gradient, WIDTH, ends)


def test_bias_activation_and_their_gradients(ends):
    """The products beside them are cuBLAS's."""

    def activation(kernels: Any, rows: Rows) -> tuple[Any, ...]:
        out, bias, size = rows.numbers(WIDTH), rows.numbers(rows=WIDTH), rows.count * WIDTH
        slope, G = np.float32(0.1), np.int32(WIDTH)
        args = (out, bias, np.int64(size), G, slope)
        launcher.launch_packs("add_bias_leaky_relu", size, (out, bias), *args)
        grad, before = rows.numbers(WIDTH), ends.zeros(out.shape, np.float32)
        args = (grad, out, np.int64(size), slope, before)
        launcher.launch_packs("leaky_relu_backward", size, (grad, out), *args)
        return out, before

    assert_same_far_away(activation, WIDTH, ends)


def test_dropout(ends):
    size = 2**31 + 1024
    x = ends.zeros(size, np.float32)
    x[-COMPARED:] = ends.ones(COMPARED, np.float32)
    out = cuda.dropout(x, 0.5, 9)[-COMPARED:].get()
    assert_array_equal(out, 2 * (words(9, np.arange(size - COMPARED, size)) >= 2**31))


# ---- seeded bugs --------------------------------------------------------------------------------


@pytest.fixture
def seeded(monkeypatch) -> Iterator[Any]:
    """Puts a bug into the kernels' texts: seeded(right, wrong)."""
    source = launcher.source

    def put(right: str, wrong: str) -> None:
        def text_with_the_bug(*args: Any) -> str:
            return source(*args).replace(right, wrong)

        assert right in source("scale_heads", np.dtype("f4"), 1, launcher.PIECE)
        monkeypatch.setattr(launcher, "source", text_with_the_bug)

    return put


def test_a_row_product_of_32_bits_is_reported(ends, seeded):
    seeded("load(heads + row * D + d)", "load(heads + int(row) * D + d)")
    heads, gates = Rows(count_beyond(WIDTH), ends), Rows(count_beyond(WIDTH), ends)
    with pytest.raises(KernelFaultError, match="an integer product overflows"):
        cuda.scale_heads_forward(heads.numbers(2, WIDTH // 2), gates.numbers(2))


def test_a_row_number_of_32_bits_is_reported_in_the_gradient(ends, seeded):
    seeded("grad + row * D + d", "grad + int(row) * D + d")
    rows = Rows(count_beyond(WIDTH), ends)
    grad, heads = rows.numbers(2, WIDTH // 2), rows.numbers(2, WIDTH // 2)
    with pytest.raises(KernelFaultError, match="an integer product overflows"):
        cuda.scale_heads_backward(grad, heads, rows.numbers(2))


def words_on_the_device(cupy: Any, positions: np.ndarray) -> np.ndarray:
    """random_word of key 5, through a kernel of the test's own."""
    code = launcher.source("scale_heads", np.dtype("f4"), 1, launcher.PIECE)
    code += """extern "C" __global__ void words(const offset* positions, unsigned* out) {
        out[threadIdx.x] = random_word(5, positions[threadIdx.x]);
    }"""
    out = cupy.zeros(positions.size, np.uint32)
    options = launcher.compiled_for(D=1, TEAM=1)
    kernel = cupy.RawModule(code=code, options=options).get_function("words")
    kernel((1,), (positions.size,), (cupy.asarray(positions), out))
    return out.get()


def test_a_position_that_loses_its_upper_half_is_reported(ends, seeded):
    positions = np.array([7, 2**32 + 7, 2**33 + 7, 2**40 + 7])
    assert np.unique(words_on_the_device(ends, positions)).size == 4
    seeded("unsigned(position >> 32)", "0u")
    assert np.unique(words_on_the_device(ends, positions)).size == 1


def sums_of_rows(schedule: str) -> bytes:
    """Rows of 9, 1 and 4 pieces, as one schedule of threads adds them up."""
    edges = np.array([9 * launcher.PIECE, 300, 4 * launcher.PIECE + 7])
    indptr = np.concatenate([[0], np.cumsum(edges)])
    rng = np.random.default_rng(0)
    with EmulatedCupy(schedule=schedule).installed() as cupy:
        weights = cupy.asarray(rng.standard_normal((indptr[-1], 1)).astype(np.float32))
        values = cupy.asarray(rng.standard_normal((50, 1, 8)).astype(np.float32))
        indices = cupy.asarray(rng.integers(0, 50, indptr[-1]).astype(np.int32))
        out = cuda.segment_weighted_sum(weights, values, cupy.asarray(indptr), indices)
        return out.get().tobytes()


def test_pieces_that_are_added_in_the_order_in_which_they_arrive_are_reported(
    emulated, monkeypatch
):
    schedules = ("ascending", "descending", "random")
    assert len({sums_of_rows(schedule) for schedule in schedules}) == 1
    in_order = "        for (offset p = my.rank; p < unit.pieces; p += team)\n"
    in_order += "            total += partial[(slot + p) * width + column];\n"
    bugs = {
        "    store(rows + ((unit": "    if (unit.slot >= 0 && unit.piece == 0)\n"
        "        store(out + (unit.row * K + k) * D + d, Pack<real>{});\n    store(rows + ((unit",
        "= find_first_piece(slot, indptr, N, slots, unit);": "= slot < slots && "
        "find_unit(slot, indptr, N, slots, unit);",
        "        real total = 0;\n": "",
        in_order: "",
        "        total = team_sum(my, total);\n": "",
        "out[unit.row * width + column] = total;": "atomicAdd(out + unit.row * width + column, "
        "partial[t]);",
    }
    source = launcher.source

    def text_with_the_bugs(file: str, *args: Any) -> str:
        text = source(file, *args)
        for right, wrong in bugs.items():
            assert right in text or file != "sum_pieces"
            text = text.replace(right, wrong)
        return text

    monkeypatch.setattr(launcher, "source", text_with_the_bugs)
    assert len({sums_of_rows(schedule) for schedule in schedules}) > 1
