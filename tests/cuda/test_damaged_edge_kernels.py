"""Bugs put into the kernels of edges' features: each is reported, or seen by its numbers."""

import numpy as np
import pytest
from damage import damage_text
from emulator.module import KernelFaultError
from on_device import OnDevice

from gaancore.graph import Block
from gaancore.kernels import cpu
from gaancore.kernels.cuda import launcher as cuda_launch

K, D, B = 2, 8, 6  # more features than a thread owns
DEGREES = (3, 0, 1, 9, 2)


def results(kernels) -> list[np.ndarray]:
    """What every kernel makes of a block whose longest row is cut into pieces."""
    rng, indptr = np.random.default_rng(0), np.cumsum([0, *DEGREES])
    block = Block(indptr, rng.integers(0, 6, indptr[-1]), 6)
    E, N, links = block.num_edges, block.num_dst, (block.indptr, block.indices, *block.transpose)
    shapes = (N, B, K), (E, B), (E, K), (6, K, D), (B, K, D), (N, K, D)
    queries, edges, weights, values, projection, grad = (rng.standard_normal(s) for s in shapes)
    given = (weights, values, edges, projection, 0.1)
    rows = [np.ascontiguousarray(x[:, 0]) for x in (values, projection, grad)]
    top, places = kernels.edge_max_forward(rows[0], edges, rows[1], *links[:2])
    return [
        kernels.feature_dot(queries, edges, block.indptr),
        kernels.feature_sum(weights, edges, block.indptr),
        kernels.edge_sum_forward(*given, *links[:2]),
        *kernels.edge_sum_backward(grad, *given, True, *links),
        top,
        places,
        *kernels.edge_max_backward(rows[2], places, edges, rows[1], True, *links),
    ]


def run_with(monkeypatch, emulated, file: str = "", right: str = "", wrong: str = ""):
    """The results on the emulated device, `right` in a text of cuda/ replaced by `wrong`."""
    damage_text(monkeypatch, file, right, wrong)
    monkeypatch.setattr(cuda_launch, "PIECE", 4)
    with emulated["checked"].installed() as cupy:
        return results(OnDevice(cupy))


REPORTED = {
    "a row's numbers are walked one too far": (
        "edge_features", "t < count * K;", "t <= count * K;", "feature_dot: block"),
    "every lane writes all sums of its team": (
        "edge_sum", "b = my.rank; b < BATCH; ++i, b += owners(my)", "b = 0; b < BATCH; ++i, ++b",
        "without a barrier"),
    "lanes beyond the width stay away from the shuffle": (
        "edge_sum", "sum_edges(my, dots);", "if (my.rank < 2) sum_edges(my, dots);",
        "edge_sum_weights: block"),
    "a last group of features is a whole one": (
        "edge_sum_gradients", "i < BATCH && b + i < B; ++i)\n            store",
        "i < BATCH; ++i)\n            store", "edge_sum_projection: block"),
    "the last chunk of edges has no end": (
        "edge_sum_gradients", "stop = min(first + chunk, E);", "stop = first + chunk;",
        "edge_sum_projection: .* outside of every array"),
}  # fmt: skip
WRONG = {
    "a place is counted from its piece": (
        "edge_max", "int(e - unit.first)", "int(e - unit.start)"),
    "the row of an edge is looked up once for a chunk": (
        "edge_sum_gradients", "while (e >= indptr[row + 1]) ++row;", ""),
    "an edge of the transpose is taken by its position": (
        "edge_max_gradients", "edge_id(t_edge_ids, ID_BYTES, p) - indptr[i];", "p - indptr[i];"),
    "a node without edges has a winner": (
        "edge_max_gradients", "if (place >= 0) total +=", "total +="),
    "the first head's weight counts for all": (
        "edge_sum_gradients",
        "grad + row * width + column);\n            real weight = weights[e * K + column / D];",
        "grad + row * width + column);\n            real weight = weights[e * K];"),
    "a group of features begins with the first": (
        "edge_sum_gradients", "load(projection + (b + i) * width", "load(projection + i * width"),
}  # fmt: skip


@pytest.mark.parametrize("bug", REPORTED)
def test_the_emulator_reports_that(monkeypatch, emulated, bug):
    *damage, message = REPORTED[bug]
    with pytest.raises(KernelFaultError, match=message):
        run_with(monkeypatch, emulated, *damage)


@pytest.mark.parametrize("bug", [None, *WRONG])
def test_the_numbers_show_that(monkeypatch, emulated, bug):
    pairs = list(
        zip(run_with(monkeypatch, emulated, *WRONG.get(bug, ())), results(cpu), strict=True)
    )
    right = [x.shape == y.shape and np.allclose(x, y, rtol=1e-11, atol=1e-11) for x, y in pairs]
    assert all(right) == (bug is None)
