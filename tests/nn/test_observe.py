"""What an observer is shown: the very gates, and weights that rebuild what the layer gathers."""

import threading

import layer_reference as reference
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from strategies import blocks, seeds
from test_aggregators import BOTH_VARIANTS, inputs, make

from gaancore.array import to_device, to_numpy
from gaancore.graph import Block
from gaancore.nn.observe import observing
from gaancore.tensor import Tensor

ATTENDS = pytest.mark.parametrize("kind", ["attention", "gaan"])
heads = st.integers(1, 3)


def observed(layer, x, z, block, seed=None):
    """The layer's output and the one call that was shown."""
    calls = []
    with observing(calls.append):
        out = layer(x, z, block, seed)
    (seen,) = calls
    return out, seen


def weights_by_hand(layer, variant, x, z, block) -> np.ndarray:
    """(E, K), edge by edge."""
    K = layer.num_heads
    out = np.zeros((block.num_edges, K))
    queries, keys = reference.fc(layer.query, x), reference.fc(layer.key, z)
    scale = 1 if variant == "paper" else K / keys.shape[1]
    for i in range(block.num_dst):
        start, stop = block.indptr[i], block.indptr[i + 1]
        for k in range(K if stop > start else 0):
            scores = [
                scale * reference.head(keys[j], k, K) @ reference.head(queries[i], k, K)
                for j in block.indices[start:stop]
            ]
            out[start:stop, k] = reference.softmax(np.array(scores))
    return out


@BOTH_VARIANTS
@given(block=blocks(), K=heads, seed=seeds())
def test_the_gates_shown_are_those_of_the_equation(variant, block, K, seed):
    rng = np.random.default_rng(seed)
    layer = make("gaan", variant, K, rng)
    x, z = inputs(block, rng)
    _, seen = observed(layer, x, z, block)
    assert seen.layer is layer
    assert seen.gates.shape == (block.num_dst, K)
    for i in range(block.num_dst):
        near = reference.neighbours(block, z.data, i)
        expected = reference.gate(layer.gate, variant, x.data[i], near)
        assert_allclose(seen.gates.data[i], expected, rtol=1e-10)


@ATTENDS
@BOTH_VARIANTS
@given(block=blocks(), K=heads, seed=seeds())
def test_the_weights_are_a_softmax_over_the_neighbours(kind, variant, block, K, seed):
    rng = np.random.default_rng(seed)
    layer = make(kind, variant, K, rng)
    x, z = inputs(block, rng)
    expected = weights_by_hand(layer, variant, x.data, z.data, block)
    assert_allclose(layer.weights(x, z, block).data, expected, rtol=1e-9, atol=1e-13)


@ATTENDS
@BOTH_VARIANTS
@given(block=blocks(), K=heads, seed=seeds())
def test_weights_and_gates_that_are_shown_rebuild_the_output(kind, variant, block, K, seed):
    rng = np.random.default_rng(seed)
    layer = make(kind, variant, K, rng)
    x, z = inputs(block, rng)
    out, seen = observed(layer, x, z, block)
    weights = seen.layer.weights(seen.x, seen.z, seen.block).data
    values = reference.h(reference.fc(layer.value, z.data))
    gates = np.ones((block.num_dst, K)) if seen.gates is None else seen.gates.data
    for i in range(block.num_dst):
        edges = range(block.indptr[i], block.indptr[i + 1])
        gathered = [np.zeros(values.shape[1] // K) for _ in range(K)]
        for k in range(K):
            for e in edges:
                value = reference.head(values[block.indices[e]], k, K)
                gathered[k] = gathered[k] + gates[i, k] * weights[e, k] * value
        parts = [x.data[i], *gathered] if variant == "paper" else [*gathered, x.data[i]]
        expected = reference.h(reference.fc(layer.output, np.concatenate(parts)))
        assert_allclose(out.data[i], expected, rtol=1e-9, atol=1e-12)


def test_attention_without_a_gate_shows_none():
    rng = np.random.default_rng(0)
    block = Block([0, 2], [1, 0], 2)
    x, z = inputs(block, rng)
    assert observed(make("attention", "paper", 2, rng), x, z, block)[1].gates is None


@pytest.mark.parametrize("kind", ["avg-pool", "pairwise-tanh"])
def test_a_layer_without_attention_shows_nothing(kind):
    rng, calls = np.random.default_rng(0), []
    block = Block([0, 2], [1, 0], 2)
    x, z = inputs(block, rng)
    with observing(calls.append):
        make(kind, "paper", 2, rng)(x, z, block)
    assert calls == []


@ATTENDS
def test_being_observed_changes_no_bit_of_output_or_gradient(kind):
    block = Block([0, 3, 3, 6], [4, 3, 0, 3, 3, 1], 5)
    results = []
    for look in (False, True):
        rng = np.random.default_rng(0)
        layer = make(kind, "released", 2, rng)
        x, z = inputs(block, rng)
        out = observed(layer, x, z, block, 7)[0] if look else layer(x, z, block, 7)
        out.backward(np.ones(out.shape))
        results.append([out.data, z.grad, *(p.grad for p in layer.parameters())])
    for unseen, seen in zip(*results, strict=True):
        assert_array_equal(unseen, seen)


def test_nobody_observes_after_the_block_or_in_another_thread():
    rng, calls = np.random.default_rng(0), []
    block = Block([0, 2], [1, 0], 2)
    layer = make("gaan", "paper", 2, rng)
    x, z = inputs(block, rng)
    with pytest.raises(KeyError), observing(calls.append):
        raise KeyError
    layer(x, z, block)
    with observing(calls.append):
        thread = threading.Thread(target=layer, args=(x, z, block))
        thread.start()
        thread.join()
    assert calls == []


def test_the_weights_on_a_device_are_those_on_the_cpu(device):
    rng = np.random.default_rng(0)
    block = Block([0, 3, 3, 6], [4, 3, 0, 3, 3, 1], 5)
    layer = make("gaan", "released", 2, rng).astype("float32")
    x, z = (Tensor(t.data.astype(np.float32)) for t in inputs(block, rng))
    expected = weights_by_hand(layer, "released", x.data, z.data, block)
    layer.to(device)
    there = [Tensor(to_device(t.data, device)) for t in (x, z)]
    found = layer.weights(*there, block.to(device)).data
    assert_allclose(to_numpy(found), expected, rtol=1e-5)
