"""What attention and sums over edges with features take of memory: counted by tracemalloc."""

import tracemalloc

import numpy as np
import pytest

from gaancore import ops
from gaancore.graph import Block
from gaancore.tensor import Tensor

N, K, A, D, B = 40, 2, 3, 8, 17
FEW, MANY = 4000, 16_000  # edges
NUMBER = 8  # bytes of a float64


def peak(edges: int, kind: str) -> int:
    """The most that a forward and a backward pass take at once, inputs left out."""
    rng = np.random.default_rng(0)
    indptr = np.linspace(0, edges, N + 1).astype(np.int64)
    block = Block(indptr, rng.integers(0, N, edges).astype(np.int32), N)
    _ = block.transpose

    def leaf(*shape: int) -> Tensor:
        return Tensor(rng.standard_normal(shape), requires_grad=True)

    nodes = (leaf(N, K, A), leaf(N, K, A), leaf(N, K, D))
    features = (Tensor(rng.standard_normal((edges, B))), leaf(B, K, A), leaf(B, K, D))
    weights, grad = leaf(edges, K), rng.standard_normal((N, K, D))

    def step() -> None:
        if kind == "without":
            out = ops.segment_attention(*nodes, block=block)
        elif kind == "attention":
            out = ops.edge_attention(*nodes, *features, block=block, slope=0.1)
        else:
            given = (weights, nodes[2], features[0], features[2])
            out = ops.edge_weighted_sum(*given, block=block, slope=0.1)
        out.backward(grad)

    step()  # compiles
    for tensor in (*nodes, *features, weights):
        tensor.grad = None
    tracemalloc.start()
    step()
    taken = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return taken


def test_attention_takes_no_more_with_features_than_without_but_for_the_features():
    features = MANY * B * NUMBER
    assert peak(MANY, "attention") <= peak(MANY, "without") + features / 10


@pytest.mark.parametrize(("kind", "numbers"), [("attention", 2 * K), ("sum", K)])
def test_an_edge_more_takes_what_its_weights_and_their_gradients_take(kind, numbers):
    """And its share of a part: a sum for each feature and column is kept for 1024 edges."""
    of_parts = B * K * (A + D) / 1024
    edge = (peak(MANY, kind) - peak(FEW, kind)) / (MANY - FEW) / NUMBER
    assert edge < 1.1 * (numbers + 2 * of_parts) + 1
    assert edge < min(B, K * D)  # neither a copy of its features nor a row of what it brings
