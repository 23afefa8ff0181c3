"""What the CUDA kernels promise beyond the contract: long rows, any grid and address, same bits."""

import inspect

import numpy as np
import pytest
from emulator.device import MODES, EmulatedCupy
from hypothesis import HealthCheck, given, settings
from numpy.testing import assert_allclose, assert_array_equal
from on_device import OnDevice
from strategies import blocks, seeds

from gaancore.doctor import plain_loops as reference
from gaancore.graph import Block
from gaancore.kernels import cpu, cuda
from gaancore.kernels.cuda import attention as cuda_attention
from gaancore.kernels.cuda import launcher as cuda_launch
from gaancore.kernels.cuda import losses as cuda_losses

DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
K, A, D = 2, 24, 32  # rows of A and D numbers are read 16 bytes at a time
B = 3  # features of an edge


def block_with_degrees(*degrees: int, num_src: int = 50) -> Block:
    indptr = np.cumsum([0, *degrees])
    num_src = max(num_src, len(degrees))
    indices = np.random.default_rng(0).integers(0, num_src, indptr[-1])
    return Block(indptr, indices, num_src)


def results(
    kernels, block: Block, dtype, K: int = K, A: int = A, D: int = D, seed: int = 0, rate=0.0
) -> dict[str, np.ndarray]:
    """Every segment kernel, forward and backward, on the same random numbers."""
    rng = np.random.default_rng(seed)

    def numbers(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape).astype(dtype)

    N, S, E, links = block.num_dst, block.num_src, block.num_edges, (block.indptr, block.indices)
    t_indptr, t_indices, _ = block.transpose
    scores, grad_scores = numbers(E, K), numbers(E, K)
    queries, keys, values, grad = (
        numbers(N, K, A),
        numbers(S, K, A),
        numbers(S, K, D),
        numbers(N, K, D),
    )
    rows, row_grad = numbers(S, D).round(1), numbers(N, D)
    weights = kernels.segment_softmax_forward(scores, block.indptr)
    top, winners = kernels.segment_max_forward(rows, *links)
    out, saved = kernels.attention_forward(queries, keys, values, *links, 1 / A, rate, 7)
    grads = kernels.attention_backward(grad, out, saved, 1 / A, rate, 7, *links, *block.transpose)
    edges, projection, asked = numbers(E, B), numbers(B, K, D), numbers(N, B, K)
    both_ways = (*links, *block.transpose)
    of_edges = (scores, values, edges, projection, 0.1)
    by_edge = kernels.edge_sum_backward(grad, *of_edges, True, *both_ways)
    over_edges = (queries, keys, values, edges, numbers(B, K, A), projection)
    static = (0.1, 1 / A, rate, 7)
    edge_out, saved = kernels.edge_attention_forward(*over_edges, *links, *static)
    given = (grad, edge_out, saved, *static, True)
    by_attention = kernels.edge_attention_backward(*given, *both_ways)
    one_head = (edges, projection[:, 0].copy())
    edge_top, places = kernels.edge_max_forward(rows, *one_head, *links)
    by_top = kernels.edge_max_backward(row_grad, places, *one_head, True, *both_ways)
    return {
        "softmax": weights,
        "softmax gradient": kernels.segment_softmax_backward(weights, grad_scores, block.indptr),
        "weighted sum": kernels.segment_weighted_sum(scores, values, *links),
        "adjoint": kernels.segment_weighted_sum(scores, grad, *block.transpose),
        "dot": kernels.edge_dot(queries, keys, *links),
        "mean": kernels.segment_mean_forward(rows, *links),
        "mean gradient": kernels.segment_mean_backward(row_grad, links[0], t_indptr, t_indices),
        "max": top,
        "winners": winners,
        "max gradient": kernels.segment_max_backward(row_grad, winners, t_indptr, t_indices),
        "attention": out,
        "query gradient": grads[0],
        "key gradient": grads[1],
        "value gradient": grads[2],
        "feature dot": kernels.feature_dot(asked, edges, block.indptr),
        "feature sum": kernels.feature_sum(scores, edges, block.indptr),
        "edge sum": kernels.edge_sum_forward(*of_edges, *links),
        **{f"edge sum gradient {n}": x for n, x in enumerate(by_edge)},
        "edge attention": edge_out,
        **{f"edge attention gradient {n}": x for n, x in enumerate(by_attention)},
        "edge max": edge_top,
        "places": places,
        **{f"edge max gradient {n}": x for n, x in enumerate(by_top)},
    }


def assert_same_but_for_rounding(actual: dict, expected: dict, dtype) -> None:
    for name, wanted in expected.items():
        assert actual[name].shape == wanted.shape, name
        largest = np.abs(wanted).max(initial=0.1)  # some gradients are nothing but rounding
        tolerance = largest * (1e-5 if dtype == np.float32 else 1e-12)
        assert_allclose(actual[name], wanted, rtol=0, atol=tolerance, err_msg=name)


def test_it_has_the_functions_of_the_cpu_with_their_signatures():
    assert set(cuda.__all__) == set(cpu.__all__)
    for name in cpu.__all__:
        ours, theirs = (inspect.signature(getattr(module, name)) for module in (cuda, cpu))
        assert list(ours.parameters) == list(theirs.parameters), name
        assert [p.default for p in ours.parameters.values()] == [
            p.default for p in theirs.parameters.values()
        ], name


@DTYPES
@pytest.mark.parametrize("rate", [0.0, 0.4])
def test_all_agree_with_the_cpu_and_keep_the_same_edges(kernels, dtype, rate):
    block = block_with_degrees(0, 1, 2, 31, 32, 33, 0, 300, 5)
    actual = results(kernels, block, dtype, rate=rate)
    assert_same_but_for_rounding(actual, results(cpu, block, dtype, rate=rate), dtype)
    assert_array_equal(actual["winners"], results(cpu, block, dtype)["winners"])


@pytest.mark.parametrize(
    ("heads", "key_width", "width"),
    [(1, 1, 1), (8, 3, 1), (2, 31, 24), (1, 32, 31), (3, 4, 132), (1, 127, 64), (33, 2, 4),
     (1, 8, 600), (1, 600, 3)],
)  # fmt: skip
def test_all_agree_with_the_cpu_for_any_number_of_heads_and_width(kernels, heads, key_width, width):
    block = block_with_degrees(3, 0, 1, 6)
    shape = {"K": heads, "A": key_width, "D": width}
    actual, expected = (results(k, block, np.float32, **shape) for k in (kernels, cpu))
    assert_same_but_for_rounding(actual, expected, np.float32)


P = cuda_launch.PIECE


@DTYPES
def test_rows_around_the_length_where_they_are_cut_agree_with_the_cpu(kernels, dtype):
    degrees = (P - 1, 0, P, 1, P + 1, P + 1, 2 * P - 1, 2 * P, 0, 0, 3 * P + 5, 7)
    block = block_with_degrees(*degrees, num_src=12)  # so the transposed rows are cut as well
    actual, expected = (results(k, block, dtype, K=1, A=3, D=4) for k in (kernels, cpu))
    assert_same_but_for_rounding(actual, expected, dtype)
    assert_array_equal(actual["winners"], expected["winners"])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=12)
@given(block=blocks(max_degree=30), seed=seeds())
def test_rows_that_are_cut_every_few_edges_agree_with_the_cpu(kernels, block, seed):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cuda_launch, "PIECE", 3)
        actual = results(kernels, block, np.float64, K=3, A=2, D=1, seed=seed, rate=0.3)
    expected = results(cpu, block, np.float64, K=3, A=2, D=1, seed=seed, rate=0.3)
    assert_same_but_for_rounding(actual, expected, np.float64)
    assert_array_equal(actual["winners"], expected["winners"])


def test_a_hub_of_twenty_thousand_edges_is_exact_to_rounding(kernels):
    block = block_with_degrees(2, 20_000, 1)
    scores = np.random.default_rng(0).standard_normal((block.num_edges, 1)).astype(np.float32)
    values = np.random.default_rng(1).standard_normal((50, 1, 4)).astype(np.float32)
    weights = kernels.segment_softmax_forward(scores, block.indptr)
    wanted = reference.softmax(scores, block)
    assert_allclose(weights, wanted, rtol=1e-5)
    out = kernels.segment_weighted_sum(weights, values, block.indptr, block.indices)
    assert_allclose(out, reference.weighted_sum(wanted, values, block), atol=1e-6)


def test_a_hub_is_shared_out_among_as_many_teams_as_it_has_pieces():
    block = block_with_degrees(2, 20_000, 1)
    slots = cuda_launch.num_slots(block.indptr, block.num_edges)
    assert slots == 20_003 // P
    assert slots * P <= block.num_edges < (slots + 1) * P


@pytest.mark.parametrize(("name", "value"), [("STRIPS", 1), ("STRIPS", 2), ("BLOCK", 64)])
def test_constants_that_texts_and_launchers_share_are_the_launchers(
    emulated, monkeypatch, name, value
):
    block, wide = block_with_degrees(3, 0, 40, 1), 260  # more than one strip
    expected = results(cpu, block, np.float32, D=wide)
    monkeypatch.setattr(cuda_launch, name, value)
    monkeypatch.setattr(cuda_attention, "STRIPS", cuda_launch.STRIPS)
    cuda_launch.source.cache_clear()
    x, targets = np.linspace(-3, 3, 300, dtype=np.float32)[:, None], np.ones((300, 1), np.uint8)
    try:
        with emulated["checked"].installed() as cupy:
            actual = results(OnDevice(cupy), block, np.float32, D=wide)
            total, _ = OnDevice(cupy).bce_with_logits(x, targets)
    finally:
        cuda_launch.source.cache_clear()
    assert_same_but_for_rounding(actual, expected, np.float32)
    assert total == pytest.approx(cpu.bce_with_logits(x, targets)[0], rel=1e-6)


@pytest.mark.parametrize("blocks_in_grid", [1, 3])
def test_a_grid_that_is_too_small_steps_until_all_is_done(kernels, monkeypatch, blocks_in_grid):
    monkeypatch.setattr(cuda_launch, "MAX_BLOCKS", blocks_in_grid)
    monkeypatch.setattr(cuda_losses, "LOSS_BLOCKS", blocks_in_grid)
    block = block_with_degrees(*(i % 5 for i in range(150)), 600)
    actual, expected = (results(k, block, np.float32, A=3, D=5) for k in (kernels, cpu))
    assert_same_but_for_rounding(actual, expected, np.float32)
    x, targets = np.linspace(-3, 3, 3000, dtype=np.float32)[:, None], np.ones((3000, 1), np.uint8)
    total, grad = kernels.bce_with_logits(x, targets)
    wanted, wanted_grad = cpu.bce_with_logits(x, targets)
    assert total == pytest.approx(wanted, rel=1e-6)
    assert_allclose(grad, wanted_grad, atol=1e-6)
    assert_array_equal(kernels.dropout(x, 0.3, 5), cpu.dropout(x, 0.3, 5))


@pytest.mark.parametrize("target", [-1, 5, 2**32 + 1, -(2**63)])
def test_a_class_that_is_none_makes_the_loss_nan_and_nothing_is_read_outside(kernels, target):
    logits = np.zeros((3, 5), np.float32)
    total, grad = kernels.softmax_cross_entropy(logits, np.array([0, target, 4]))
    assert np.isnan(total)
    assert np.isfinite(grad).all()


@DTYPES
@pytest.mark.parametrize("shape", [(5, 41), (300, 2), (3, 1), (2, 33), (0, 4)], ids=str)
def test_the_loss_of_one_class_is_that_of_the_cpu(kernels, dtype, shape):
    rng = np.random.default_rng(0)
    logits = (10 * rng.standard_normal(shape)).astype(dtype)
    targets = rng.integers(0, shape[1], shape[0])
    total, grad = kernels.softmax_cross_entropy(logits, targets)
    wanted, wanted_grad = cpu.softmax_cross_entropy(logits, targets)
    assert total == pytest.approx(wanted, rel=1e-5 if dtype == np.float32 else 1e-12)
    assert_allclose(grad, wanted_grad, atol=1e-6 if dtype == np.float32 else 1e-14)


@DTYPES
def test_rows_that_start_off_a_16_byte_address_are_read_one_by_one(kernels, dtype):
    block = block_with_degrees(4, 0, 7)
    weights, plain = np.ones((11, 1), dtype), np.arange(400, dtype=dtype)
    values = np.append(dtype(0), plain)[1:].reshape(50, 1, 8)  # starts one number later
    assert values.ctypes.data % 16
    values.flags.writeable = False  # which the emulated device shares, and does not copy
    out = kernels.segment_weighted_sum(weights, values, block.indptr, block.indices)
    assert_array_equal(out, reference.weighted_sum(weights, values, block))


def test_edge_ids_of_64_bits_are_followed(kernels):
    block = block_with_degrees(4, 0, 7)
    weights, grad = np.random.default_rng(0).random((11, K)), np.ones((3, K, 3))
    t_indptr, t_indices, t_edge_ids = block.transpose
    out = kernels.segment_weighted_sum(weights, grad, t_indptr, t_indices, t_edge_ids.astype(int))
    assert_allclose(out, reference.weighted_sum_to_sources(weights, grad, block), rtol=1e-12)


@DTYPES
def test_every_schedule_build_and_run_gives_the_same_bits(emulated, dtype):
    # two pieces give one sum in either order, so two rows have more
    block = block_with_degrees(0, 1, 2, 31, 33, 5 * P + 7, 5, 300, 4 * P)

    def bits(device: EmulatedCupy) -> dict[str, np.ndarray]:
        with device.installed() as cupy:
            kernels = OnDevice(cupy)
            x = np.random.default_rng(3).standard_normal((300, 9)).astype(dtype)
            loss, grad = kernels.bce_with_logits(x, (x > 0).astype(np.uint8))
            class_loss, class_grad = kernels.softmax_cross_entropy(x, np.arange(300) % 9)
            grads = kernels.linear_backward(x, x, (x,), np.eye(9, dtype=dtype), 0.1, (True,))
            return {
                **results(kernels, block, dtype, rate=0.5),
                "loss": loss,
                "loss gradient": grad,
                "loss of one class": class_loss,
                "gradient of one class": class_grad,
                "bias gradient": grads[2],
            }

    first = bits(emulated["ascending"])
    for mode in MODES:
        for name, array in bits(emulated[mode]).items():
            assert array.tobytes() == first[name].tobytes(), name


@DTYPES
@pytest.mark.parametrize(
    "shape", [(5, 3, 1), (7, 2, 24), (2, 1, 33), (1, 8, 128), (0, 2, 4)], ids=str
)
def test_heads_are_scaled_each_by_its_gate(kernels, dtype, shape):
    rng = np.random.default_rng(0)
    heads, grad = (rng.standard_normal(shape).astype(dtype) for _ in range(2))
    gates = rng.random(shape[:2]).astype(dtype)
    assert_array_equal(kernels.scale_heads_forward(heads, gates), heads * gates[..., None])
    grad_heads, grad_gates = kernels.scale_heads_backward(grad, heads, gates)
    assert_array_equal(grad_heads, grad * gates[..., None])
    wanted = np.einsum("nkd,nkd->nk", grad.astype(np.float64), heads)
    assert_allclose(grad_gates, wanted, atol=1e-4 if dtype == np.float32 else 1e-13)


@pytest.fixture(scope="module")
def far_rows() -> np.ndarray:
    """More than 2^31 numbers, of which only the pages that are touched take memory."""
    try:
        rows = np.zeros((2**29 + 3, 4), np.float32)
    except MemoryError:
        pytest.skip("no 8 GB of address space")
    rows[-1] = [1, 2, 3, 4]
    rows.flags.writeable = False
    return rows


def test_rows_two_billion_numbers_away_are_found(kernels, far_rows):
    free, _ = kernels.cupy.cuda.runtime.memGetInfo()
    if free < 2.1 * far_rows.nbytes:  # keys and values are two uploads
        pytest.skip(f"too little memory on the device: {free / 1e9:.1f} GB are free")
    far = len(far_rows) - 1
    links = (np.array([0, 2]), np.array([far, 0], np.int32))
    heads, ones = far_rows[:, None], np.ones((2, 1), np.float32)
    row = [[1, 2, 3, 4]]
    assert_array_equal(kernels.segment_weighted_sum(ones, heads, *links)[0], row)
    assert_array_equal(kernels.edge_dot(np.ones((1, 1, 4), np.float32), heads, *links), [[10], [0]])
    assert_array_equal(kernels.segment_mean_forward(far_rows, *links)[0], np.divide(row, 2)[0])
    out, winners = kernels.segment_max_forward(far_rows, *links)
    assert (out[0].tolist(), winners[0].tolist()) == ([1, 2, 3, 4], [far] * 4)
    queries = np.zeros((1, 1, 4), np.float32)
    out, _ = kernels.attention_forward(queries, heads, heads, *links, 1.0, 0.0, 0)
    assert_array_equal(out[0], np.divide(row, 2))
