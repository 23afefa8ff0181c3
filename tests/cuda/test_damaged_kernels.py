"""Bugs put into kernels and launchers: each is seen by a test of its kind."""

import numpy as np
import pytest
from damage import damage_text
from on_device import OnDevice

from gaancore.graph import Block

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
    damages = {
        "(my, query, scale,": "(my, query, 1,",
        "? weight[b] :": "? scale * weight[b] :",
        "(my, queries + place * A, scale,": "(my, queries + place * A, 1,",
        "exp(score[b] - top)": "exp(scale * score[b] - top)",
    }
    for right, wrong in damages.items():
        damage_text(monkeypatch, "attention", right, wrong)
    sums = {}
    for mode in ("ascending", "contracted"):
        with emulated[mode].installed() as cupy:
            sums[mode] = np.abs(sums_of_weights(OnDevice(cupy), 1e7) - 1).max()
    assert sums["ascending"] < 1e-5
    assert sums["contracted"] > 0.01
