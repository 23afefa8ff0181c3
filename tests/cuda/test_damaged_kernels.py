"""Bugs put into kernels and launchers: each is seen by a test of its kind."""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
from damage import damage_text
from emulator.device import EmulatedCupy
from emulator.module import KernelFaultError
from emulator.streams import Event
from numpy.testing import assert_allclose, assert_array_equal
from on_device import OnDevice

from gaancore.array import note_longest_row, to_device, to_host_later, to_numpy
from gaancore.errors import TrainingError
from gaancore.graph import Block
from gaancore.kernels import cpu, cuda
from gaancore.kernels.cuda import launcher
from gaancore.nn.module import Parameter
from gaancore.ops import linear_each, total
from gaancore.optim import Adam
from gaancore.tensor import Tensor

N, K, A = 40, 2, 24


def sums_of_weights(kernels, size: float) -> np.ndarray:
    """The weights of each row as the backward pass of attention makes them, summed for each head.

    Sources of one edge each, and values and gradients of 1: the gradient of a value is its weight.
    """
    rng = np.random.default_rng(0)
    indptr = np.arange(N + 1) * 5
    block = Block(indptr, np.arange(5 * N), 5 * N)
    queries, keys = rng.standard_normal((N, K, A)), rng.standard_normal((5 * N, K, A))
    queries, keys = ((np.sqrt(size) * x).astype(np.float32) for x in (queries, keys))
    values, grad = np.ones((5 * N, K, 4), np.float32), np.ones((N, K, 4), np.float32)
    links, static = (block.indptr, block.indices), (0.3, 0.0, 0)
    out, saved = kernels.attention_forward(queries, keys, values, *links, *static)
    grads = kernels.attention_backward(grad, out, saved, *static, *links, *block.transpose)
    return grads[2][:, :, 0].reshape(N, 5, K).sum(axis=1)


@pytest.mark.parametrize("size", [1e2, 1e5, 1e7])
def test_the_weights_of_both_passes_are_the_same_where_products_and_sums_are_fused(emulated, size):
    with emulated["contracted"].installed() as cupy:
        assert np.abs(sums_of_weights(OnDevice(cupy), size) - 1).max() < 1e-5


def test_a_scale_outside_of_the_product_is_seen_where_products_and_sums_are_fused(
    emulated, monkeypatch
):
    forward, backward = "sources, K * A, A, weight)", "sources, K * A, A, score)"
    damages = [
        ("attention", f"scale, keys + k * A, {forward}", f"1, keys + k * A, {forward}"),
        ("attention", "? weight[i] :", "? scale * weight[i] :"),
        ("attention_backward", f"scale, keys + k * A, {backward}", f"1, keys + k * A, {backward}"),
        ("attention_backward", "exp(score[i] - top)", "exp(scale * score[i] - top)"),
    ]
    for damage in damages:
        damage_text(monkeypatch, *damage)
    sums = {}
    for mode in ("ascending", "contracted"):
        with emulated[mode].installed() as cupy:
            sums[mode] = np.abs(sums_of_weights(OnDevice(cupy), 1e7) - 1).max()
    assert sums["ascending"] < 1e-5
    assert sums["contracted"] > 0.01


# ---- where launches go --------------------------------------------------------------------------


def test_a_kernel_on_the_current_device_in_place_of_its_arrays_is_reported(monkeypatch):
    with EmulatedCupy(devices=2).installed():
        x = to_device(np.ones(8, np.float32), "cuda:1")
        monkeypatch.setattr(launcher, "on_device_of", lambda x: nullcontext())
        with pytest.raises(RuntimeError, match="on cuda:1 while the current device is cuda:0"):
            cuda.dropout(x, 0.5, 1)


# ---- rows that are cut --------------------------------------------------------------------------


def gradients_of_attention(kernels: Any) -> list[np.ndarray]:
    """On a block with rows of none to nine pieces, both ways."""
    rng, indptr = np.random.default_rng(0), np.cumsum([0, 3, 0, 26, 1, 38])
    block = Block(indptr, np.sort(rng.integers(0, 5, indptr[-1])), 5)
    shapes = ((5, K, 4), (5, K, 4), (5, K, 8), (5, K, 8))
    queries, keys, values, grad = (rng.standard_normal(shape) for shape in shapes)
    links = (block.indptr, block.indices)
    out, saved = kernels.attention_forward(queries, keys, values, *links, 0.5, 0.3, 7)
    static = (0.5, 0.3, 7, *links, *block.transpose)
    scores = rng.standard_normal((block.num_edges, K))
    weights = kernels.segment_softmax_forward(scores, block.indptr)
    by_softmax = kernels.segment_softmax_backward(weights, scores, block.indptr)
    return [out, *kernels.attention_backward(grad, out, saved, *static), weights, by_softmax]


OF_PIECES = {
    "none": ("", "", ""),
    "each lane takes all pieces": (
        "sum_pieces", "p = my.rank; p < unit.pieces; p += team", "p = 0; p < unit.pieces; ++p"),
    "a tree leaves out a lane": (
        "attention", "        sum = team_sum(my, sum);\n", ""),
    "pieces of values are those of keys": (
        "attention_sources", "else grad_values[(unit.row * K + k) * D + d - A] = total;",
        "else grad_values[(unit.row * K + k) * D + (d - A) % A] = total;"),
    "values meet the scores' gradients": (
        "attention_sources", "of_keys ? grad_scores : weights", "grad_scores"),
    "a row's sum is put in the place of its second piece": (
        "segment_softmax", "if (my.rank == 0 && found) partial[t] = total;",
        "if (my.rank == 0 && found) partial[t + K] = total;"),
}  # fmt: skip


@pytest.mark.parametrize("bug", OF_PIECES)
def test_numbers_or_the_emulator_show_a_bug_in_what_joins_pieces(monkeypatch, emulated, bug):
    damage_text(monkeypatch, *OF_PIECES[bug])
    monkeypatch.setattr(launcher, "PIECE", 4)
    try:
        with emulated["checked"].installed() as cupy:
            actual = gradients_of_attention(OnDevice(cupy))
    except KernelFaultError:
        assert bug != "none"
        return
    pairs = zip(actual, gradients_of_attention(cpu), strict=True)
    assert all(np.allclose(x, y, rtol=1e-10, atol=1e-12) for x, y in pairs) == (bug == "none")


# ---- rows that are longer than was noted --------------------------------------------------------


@pytest.mark.parametrize(("noted", "right"), [(9, True), (4, False)])
def test_a_row_that_is_longer_than_was_noted_is_reported(monkeypatch, emulated, noted, right):
    monkeypatch.setattr(launcher, "PIECE", 4)
    with emulated["checked"].installed() as cupy:
        x, ones = cupy.asarray(np.ones((3, 1, 4))), cupy.asarray(np.ones((9, 1)))
        indptr, indices = cupy.asarray(np.array([0, 9])), cupy.asarray(np.zeros(9, np.int32))
        note_longest_row(indptr, noted)
        out = cuda.segment_weighted_sum(ones, x, indptr, indices)
        if right:
            assert_array_equal(out.get(), np.full((1, 1, 4), 9.0))
        else:
            with pytest.raises(KernelFaultError, match="which nobody wrote"):
                cuda.dropout(out, 0.5, 1)


# ---- layers that read one input -----------------------------------------------------------------


def gradients_of_layers(device: str) -> list[np.ndarray]:
    """Of three layers that are called twice, so that gradients are added up."""
    rng = np.random.default_rng(1)

    def tensor(*shape: int) -> Tensor:
        return Tensor(to_device(rng.standard_normal(shape), device), requires_grad=True)

    x, widths = tensor(7, 5), (4, 3, 6)
    layers = [*(tensor(5, width) for width in widths), *(tensor(width) for width in widths)]
    doubled = [layer * 1.0 for layer in layers]  # no leaves: theirs are added up on the tape
    h = x * 1.0
    first = linear_each(h, h, h, *doubled, slopes=(1.0, 0.1, 0.0))
    second = linear_each(h, h, h, *doubled, slopes=(0.1, 1.0, 1.0))
    loss = total(first[0]) + total(first[1] * first[1]) + total(first[2])
    (loss + total(second[0]) + total(second[1]) + total(second[2] * second[2])).backward()
    return [to_numpy(tensor.grad) for tensor in (x, *layers)]


OF_LAYERS = {
    "none": ("", "", ""),
    "what is there is forgotten": ("linear_each", "(add ? to[at.column] : real(0))", "0"),
    "all layers have the first one's slope": (
        "linear_each", "> 0 ? real(1) : slope);", "> 0 ? real(1) : slope_a);"),
    "the bias is the first row": ("linear_each", "row < rows ? pick", "row >= 1 ? pick"),
}  # fmt: skip


@pytest.mark.parametrize("bug", OF_LAYERS)
def test_numbers_or_the_emulator_show_a_bug_in_layers_that_read_one_input(
    monkeypatch, emulated, bug
):
    damage_text(monkeypatch, *OF_LAYERS[bug])
    try:
        with emulated["checked"].installed():
            actual = gradients_of_layers("cuda:0")
    except KernelFaultError:
        assert bug != "none"
        return
    pairs = zip(actual, gradients_of_layers("cpu"), strict=True)
    assert all(np.allclose(x, y, rtol=1e-10, atol=1e-12) for x, y in pairs) == (bug == "none")


# ---- one Adam for all parameters ----------------------------------------------------------------


def parameters(device: str) -> dict[str, Parameter]:
    rng = np.random.default_rng(2)
    shapes = {"odd": (3,), "weight": (4, 8), "slow": (4,), "bias": (8,), "idle": (2, 2)}
    found = {name: Parameter(rng.standard_normal(shape)) for name, shape in shapes.items()}
    found["slow"].lr_scale = 0.1
    for p in found.values():
        p.data = to_device(p.data, device)
    return found


def steps_of_adam(device: str, bad: str = "") -> tuple[dict[str, np.ndarray], list[float]]:
    """Parameters and norms after three steps, of which the last has a gradient that is not finite
    in the parameter `bad`."""
    found, norms = parameters(device), []
    optimizer = Adam(found.items(), lr=0.1, weight_decay=0.01)
    for number in range(3):
        rng = np.random.default_rng(number)
        for name, p in found.items():
            grad = rng.standard_normal(p.shape)
            if bad == name and number == 2:
                grad.flat[-1] = np.nan
            p.grad = to_device(grad, device) if name != "idle" else None
        norms.append(optimizer.clip(1.0))
        if not bad or number < 2:
            optimizer.step()
    return {name: to_numpy(p.data) for name, p in found.items()}, [norm() for norm in norms]


def test_all_parameters_in_one_array_move_as_each_alone(emulated):
    expected, norms = steps_of_adam("cpu")
    with emulated["checked"].installed():
        actual, found = steps_of_adam("cuda:0")
    assert_allclose(found, norms, rtol=1e-12)
    for name, wanted in expected.items():
        assert_allclose(actual[name], wanted, rtol=1e-12, err_msg=name)


@pytest.mark.parametrize(
    ("file", "right", "wrong"),
    [
        ("clip", "real(max_norm / length) : real(1);", "real(1) : real(1);"),
        ("clip", "total += double(x[t]) * x[t];", "total += 2 * double(x[t]) * x[t];"),
        ("elementwise", "store(moment2 + t, s);", "store(moment2 + t, m);"),
    ],
)
def test_numbers_show_a_bug_in_clipping_or_adam(monkeypatch, emulated, file, right, wrong):
    damage_text(monkeypatch, file, right, wrong)
    expected, _ = steps_of_adam("cpu")
    with emulated["ascending"].installed():
        actual, _ = steps_of_adam("cuda:0")
    assert not all(np.allclose(actual[name], x, rtol=1e-9) for name, x in expected.items())


def moved_by_nan(device: str) -> bool:
    """Whether a step moves anything after a gradient that is not finite."""
    found = parameters(device)
    before = {name: to_numpy(p.data).copy() for name, p in found.items()}
    optimizer = Adam(found.items(), lr=0.1)
    for p in found.values():
        p.grad = to_device(np.ones(p.shape), device)
    found["bias"].grad = to_device(np.full(8, np.inf), device)
    norm = optimizer.clip(1.0)
    optimizer.step()
    with pytest.raises(TrainingError, match=r"^the gradient of bias is not finite, so nothing was"):
        norm()
    return any((to_numpy(p.data) != before[name]).any() for name, p in found.items())


def test_a_gradient_that_is_not_finite_moves_nothing_and_is_named_later(monkeypatch, emulated):
    with emulated["checked"].installed():
        assert not moved_by_nan("cuda:0")
    damage_text(monkeypatch, "elementwise", "if (g.x[v] != g.x[v]) continue;", "")
    with emulated["ascending"].installed():
        assert moved_by_nan("cuda:0")


@pytest.mark.parametrize("waits", [True, False])
def test_a_number_that_is_read_before_it_is_there_is_nan(monkeypatch, emulated, waits):
    if not waits:
        monkeypatch.setattr(Event, "synchronize", lambda self: None)
    with emulated["ascending"].installed() as cupy:
        x = cupy.asarray(np.array([3.0]))
        read: Callable[[], np.ndarray] = to_host_later(x)
        x[...] = 4.0  # launched later: not waited for
        assert read().tolist() == [3.0] if waits else np.isnan(read()).all()
