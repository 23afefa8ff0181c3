"""Products of a sparse matrix, and the layers and models that are given one."""

import re

import numpy as np
import pytest
import scipy.sparse

from gaancore import ops
from gaancore.array import to_device, to_numpy
from gaancore.errors import GraphError, ShapeError
from gaancore.graph import Block
from gaancore.models.node_classifier import FeedForward, NodeClassifier
from gaancore.nn import AggregatorSpec, Linear
from gaancore.sparse import CSRMatrix
from gaancore.system import threads
from gaancore.tensor import Tensor


def drawn(rows: int, columns: int, share: float, seed: int = 0) -> np.ndarray:
    """Numbers of which about `share` are not 0; the first row and the last column are all 0."""
    rng = np.random.default_rng(seed)
    x = np.where(rng.random((rows, columns)) < share, rng.standard_normal((rows, columns)), 0)
    x[0], x[:, -1] = 0, 0
    return x.astype(np.float32)


def sparse_of(x: np.ndarray) -> CSRMatrix:
    found = scipy.sparse.csr_array(x)
    return CSRMatrix(found.indptr, found.indices, found.data, found.shape[1])


def loops(x: np.ndarray, dense: np.ndarray) -> np.ndarray:
    out = np.zeros((len(x), dense.shape[1]))
    for i, f in np.argwhere(x):
        for g in range(dense.shape[1]):
            out[i, g] += float(x[i, f]) * float(dense[f, g])
    return out


def test_the_product_and_its_gradients_are_those_of_loops(device):
    x, dense = drawn(7, 9, 0.3), np.random.default_rng(1).standard_normal((9, 5))
    dense = dense.astype(np.float32)
    matrix = sparse_of(x).to(device)
    weight = Tensor(to_device(dense, device), requires_grad=True)
    values = Tensor(matrix.values, requires_grad=True)
    out = ops.sparse_matmul(values, weight, matrix=matrix)
    np.testing.assert_allclose(to_numpy(out.data), loops(x, dense), rtol=1e-5, atol=1e-6)
    grad = np.random.default_rng(2).standard_normal((7, 5)).astype(np.float32)
    out.backward(to_device(grad, device))
    np.testing.assert_allclose(to_numpy(weight.grad), loops(x.T, grad), rtol=1e-5, atol=1e-6)
    of_values = [float(grad[i] @ dense[f]) for i, f in np.argwhere(x)]
    np.testing.assert_allclose(to_numpy(values.grad), of_values, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("shape", [(0, 4), (3, 1), (3, 4)])
def test_a_matrix_without_a_number_gives_zeros(shape, device):
    matrix = sparse_of(np.zeros(shape, np.float32)).to(device)
    weight = Tensor(to_device(np.ones((shape[1], 2), np.float32), device), requires_grad=True)
    out = ops.sparse_matmul(matrix.values, weight, matrix=matrix)
    assert to_numpy(out.data).tolist() == [[0, 0]] * shape[0]
    out.backward(out.data + 1)
    assert not to_numpy(weight.grad).any()


def test_any_number_of_threads_gives_the_same_bits(any_threads):
    matrix = sparse_of(drawn(3000, 400, 0.05))
    dense = np.random.default_rng(1).standard_normal((400, 33)).astype(np.float32)
    grad = np.random.default_rng(2).standard_normal((3000, 33)).astype(np.float32)
    found = []
    for count in (1, 2):
        threads.set_num_threads(count)
        weight = Tensor(dense, requires_grad=True)
        out = ops.sparse_matmul(matrix.values, weight, matrix=matrix)
        out.backward(grad)
        found.append((out.data.tobytes(), weight.grad.tobytes()))
    assert found[0] == found[1]


def test_the_transpose_is_scipys(device):
    x = drawn(6, 8, 0.4)
    indptr, rows, entries = map(to_numpy, sparse_of(x).to(device).transpose)
    expected = scipy.sparse.csr_array(x.T)
    assert indptr.tolist() == expected.indptr.tolist()
    assert rows.tolist() == expected.indices.tolist()
    assert sparse_of(x).values[entries].tolist() == expected.data.tolist()


def test_numbers_of_one_place_are_added():
    matrix = CSRMatrix([0, 3], [2, 0, 2], np.array([1.0, 5.0, 10.0]), num_columns=3)
    assert matrix.toarray().tolist() == [[5, 0, 11]]
    dense = np.array([[1.0], [2.0], [100.0]])
    assert ops.sparse_matmul(matrix.values, dense, matrix=matrix).data.tolist() == [[1105]]


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (([0, 2], [0, 3], np.ones(2), 3), GraphError, "indices[1] (row 0): 3 is out of range"),
        (([0, 1], [-1], np.ones(1), 3), GraphError, "indices[0] (row 0): -1 is out of range"),
        (([0, 2, 1], [0], np.ones(1), 3), GraphError, "indptr: offsets must not decrease"),
        (([0, 1], [0], np.ones(2), 3), ShapeError, "values: expected (1,), one for each entry"),
    ],
)
def test_what_is_no_matrix_is_refused(given, error, message):
    with pytest.raises(error, match=re.escape(f"CSRMatrix: {message}")):
        CSRMatrix(*given)


@pytest.mark.parametrize("slope", [1.0, 0.1, 0.0])
def test_a_layer_gives_the_same_for_dense_and_sparse(slope, device):
    x = drawn(6, 8, 0.3)
    layer = Linear(8, 4, np.random.default_rng(0), slope=slope).to(device)
    found = []
    for given in (Tensor(to_device(x, device)), sparse_of(x).to(device)):
        layer.zero_grad()
        out = layer(given)
        out.backward(out.data + 1)
        found.append([to_numpy(a) for a in (out.data, layer.weight.grad, layer.bias.grad)])
    for dense, sparse in zip(*found, strict=True):
        np.testing.assert_allclose(sparse, dense, rtol=1e-5, atol=1e-6)


def test_a_sparse_input_stands_alone():
    layer, x = Linear(8, 4, np.random.default_rng(0)), drawn(6, 4, 0.3)
    with pytest.raises(ShapeError, match="a sparse matrix stands beside nothing else"):
        layer(Tensor(x), sparse_of(x))


@pytest.mark.parametrize("name", ["gaan", "attention", "avg-pool", "max-pool", "fnn"])
@pytest.mark.parametrize("rate", [0.0, 0.5])
def test_a_model_takes_sparse_features_with_dropout_of_them(name, rate):
    block, x = Block([0, 1, 3, 3], [1, 0, 2], num_src=6), drawn(6, 50, 0.2)
    rng = np.random.default_rng(0)
    if name == "fnn":
        model = FeedForward(50, 3, hidden_dim=4, input_dropout=rate, rng=rng)
        blocks = []
    else:
        spec, widths = AggregatorSpec(name, num_heads=2), {"embed_dim": 4, "out_dim": 4}
        blocks = [block]
        model = NodeClassifier(
            50, 3, layers=[spec], **widths, dropout=0.0, input_dropout=rate, rng=rng
        )
    np.testing.assert_allclose(
        model(sparse_of(x), blocks).data, model(Tensor(x), blocks).data, rtol=1e-4, atol=1e-6
    )
    seen: list[CSRMatrix] = []
    embed = model.embed
    model.embed = lambda given: (seen.append(given), embed(given))[1]
    model(sparse_of(x), blocks, seed=5)
    kept = seen[0].toarray()
    assert set(np.unique((kept / np.where(x, x, 1)).round(5))) <= {0, np.float32(1 / (1 - rate))}
    share = np.count_nonzero(kept) / np.count_nonzero(x)
    assert share == 1 if rate == 0 else 0.2 < share < 0.8
