"""Bugs put into what lanes of a warp do together, edge by edge: each is seen."""

from typing import Any

import numpy as np
import pytest
from damage import damage_text
from emulator.device import EmulatedCupy
from emulator.module import KernelFaultError
from numpy.testing import assert_array_equal
from on_device import OnDevice

from gaancore.graph import Block
from gaancore.kernels import cpu

K = 2


def of_batches(kernels: Any, width: int) -> list[np.ndarray]:
    """Kernels whose lanes own edges of a batch: rows of all lengths around one, the last one short.

    Teams have width / 2 lanes, so that a lane owns one edge of a batch, or several.
    """
    rng, indptr = np.random.default_rng(0), np.cumsum([0, 3, 0, 4, 1, 5, 8, 2])
    block = Block(indptr, np.sort(rng.integers(0, 4, indptr[-1])), 7)
    N, S, links = block.num_dst, block.num_src, (block.indptr, block.indices)
    shapes = ((N, K, width), (S, K, width), (S, K, width), (N, K, width))
    queries, keys, values, grad = (rng.standard_normal(shape) for shape in shapes)
    out, saved = kernels.attention_forward(queries, keys, values, *links, 0.5, 0.3, 7)
    grads = kernels.attention_backward(grad, out, saved, 0.5, 0.3, 7, *links, *block.transpose)
    rows, row_grad = np.ascontiguousarray(values[:, 0]), np.ascontiguousarray(grad[:, 0])
    top, winners = kernels.segment_max_forward(rows, *links)
    by_max = kernels.segment_max_backward(row_grad, winners, *block.transpose[:2])
    dots = kernels.edge_dot(queries, keys, *links)
    mean = kernels.segment_mean_forward(rows, *links)
    return [out, *grads, dots, top, winners, by_max, mean]


OF_BATCHES = {
    "none": ("", "", ""),
    "even edges go where odd ones belong": (
        "edge_dot", "bool odd = my.rank & bit;", "bool odd = !(my.rank & bit);"),
    "a team without edges goes on alone": (
        "edge_dot", "e = 0; any_lane(e < count);", "e = 0; e < count;"),
    "edges beyond the row have weights": (
        "attention", "weight[i] = e + b < count ? weight[i] : minus_infinity();", ""),
    "a lane sends the weight of the next edge": (
        "attention", "b % owners(my), my.size", "(b + 1) % owners(my), my.size"),
    "the sums of the lanes stay apart": (
        "attention", "        total = owners_sum(my, total);\n", ""),
    "each lane has a maximum of its own": (
        "attention", "            top = owners_max(my, top);\n", ""),
    "sources beyond the row are read": (
        "edge_dot", "indices[b < left ? b : 0]", "indices[b]"),
    "items beyond the last have a row": (
        "edge_dot", "    if (u >= N + slots) return false;\n", ""),
    "what was not fetched is used": (
        "segment_mean", "if (n + b < count) use(found[b]);", "use(found[b]);"),
    "an edge that is there twice counts twice": (
        "segment_max", "repeated ? -1 : int(unit.row)", "int(unit.row)"),
    "the address of a row counts numbers, not bytes": (
        "segment_mean", "row * (stride * int(sizeof(T)))", "row * stride"),
}  # fmt: skip


@pytest.mark.parametrize("bug", OF_BATCHES)
def test_numbers_or_the_emulator_show_a_bug_in_edges_under_way_together(monkeypatch, emulated, bug):
    damage_text(monkeypatch, *OF_BATCHES[bug])
    for width in (2, 4, 16):
        try:
            with emulated["checked"].installed() as cupy:
                actual = of_batches(OnDevice(cupy), width)
        except KernelFaultError:
            assert bug != "none"
            return
        pairs = zip(actual, of_batches(cpu, width), strict=True)
        if not all(np.allclose(x, y, rtol=1e-10, atol=1e-12) for x, y in pairs):
            assert bug != "none"
            return
    assert bug == "none"


@pytest.mark.parametrize("width", [2, 4, 16, 96])
def test_what_a_launch_gives_the_compiler_is_the_same_as_variables_of_the_emulator(emulated, width):
    with emulated["ascending"].installed() as cupy:
        expected = of_batches(OnDevice(cupy), width)
    with EmulatedCupy(fixed=True).installed() as cupy:
        actual = of_batches(OnDevice(cupy), width)
    for x, y in zip(actual, expected, strict=True):
        assert_array_equal(x, y)
