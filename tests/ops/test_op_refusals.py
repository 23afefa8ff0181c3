"""What an op does not take: one line that names op, argument, what was expected and what came."""

import re
from functools import partial

import numpy as np
import pytest

from gaancore import ops
from gaancore.errors import SettingsError, ShapeError
from gaancore.graph import Block
from gaancore.sparse import CSRMatrix

BLOCK = Block([0, 2, 3], [2, 1, 1], 4)  # 2 destinations, 4 sources, 3 edges


def f(*shape: int, dtype=np.float32) -> np.ndarray:
    return np.zeros(shape, dtype)


u8 = partial(f, dtype=np.uint8)
SEGMENT = {"block": BLOCK}
SPARSE = {"matrix": CSRMatrix([0, 2, 3], [4, 0, 0], np.zeros(3, np.float32), num_columns=5)}
WITH_SLOPE = {**SEGMENT, "slope": 0.1}

SHAPES = [
    (ops.segment_softmax, [f(4, 2)], SEGMENT,
     "scores: expected (3, K) (one row per edge), got (4, 2)"),
    (ops.segment_softmax, [f(3)], SEGMENT, "scores: expected (3, K) (one row per edge), got (3,)"),
    (ops.segment_weighted_sum, [f(2, 2), f(4, 2, 3)], SEGMENT,
     "weights: expected (3, K) (one row per edge), got (2, 2)"),
    (ops.segment_weighted_sum, [f(3, 2), f(3, 2, 3)], SEGMENT,
     "values: expected (4, 2, D) (one row per source), got (3, 2, 3)"),
    (ops.segment_weighted_sum, [f(3, 2), f(4, 1, 3)], SEGMENT,
     "values: expected (4, 2, D) (one row per source), got (4, 1, 3)"),
    (ops.edge_dot, [f(3, 2, 3), f(4, 2, 3)], SEGMENT,
     "queries: expected (2, K, D) (one row per destination), got (3, 2, 3)"),
    (ops.edge_dot, [f(2, 2, 3), f(4, 2, 4)], SEGMENT,
     "keys: expected (4, 2, 3) (one row per source), got (4, 2, 4)"),
    (ops.segment_mean, [f(2, 3)], SEGMENT,
     "values: expected (4, F) (one row per source), got (2, 3)"),
    (ops.segment_max, [f(4, 2, 3)], SEGMENT,
     "values: expected (4, F) (one row per source), got (4, 2, 3)"),
    (ops.divide_by_degree, [f(4, 3)], SEGMENT,
     "x: expected (2, 3) (one row per destination), got (4, 3)"),
    (ops.segment_attention, [f(4, 2, 3), f(4, 2, 3), f(4, 2, 5)], SEGMENT,
     "queries: expected (2, K, A) (one row per destination), got (4, 2, 3)"),
    (ops.segment_attention, [f(2, 2, 3), f(4, 2, 1), f(4, 2, 5)], SEGMENT,
     "keys: expected (4, 2, 3) (one row per source), got (4, 2, 1)"),
    (ops.segment_attention, [f(2, 2, 3), f(4, 2, 3), f(4, 3, 5)], SEGMENT,
     "values: expected (4, 2, D) (one row per source), got (4, 3, 5)"),
    (ops.edge_queries, [f(2, 3), f(4, 2, 3)], {}, "queries: expected (N, K, A), got (2, 3)"),
    (ops.edge_queries, [f(5, 2, 3), f(4, 1, 3)], {},
     "projection: expected (B, 2, 3), got (4, 1, 3)"),
    (ops.edge_scores, [f(2, 4, 1), f(2, 4)], SEGMENT,
     "edges: expected (3, 4) (one row per edge), got (2, 4)"),
    (ops.edge_scores, [f(2, 4, 1), f(3, 5)], SEGMENT,
     "edges: expected (3, 4) (one row per edge), got (3, 5)"),
    (ops.edge_total, [f(4, 2)], SEGMENT,
     "edges: expected (3, B) (one row per edge), got (4, 2)"),
    (ops.edge_weighted_sum, [f(3, 2), f(4, 2, 5), f(3, 1), f(2, 2, 5)], WITH_SLOPE,
     "projection: expected (1, 2, 5), got (2, 2, 5)"),
    (ops.edge_weighted_sum, [f(3, 2), f(3, 2, 5), f(3, 1), f(1, 2, 5)], WITH_SLOPE,
     "values: expected (4, 2, D) (one row per source), got (3, 2, 5)"),
    (ops.edge_attention, [f(2, 2, 3), f(4, 2, 3), f(4, 2, 5), f(3, 1), f(2, 2, 3), f(1, 2, 5)],
     WITH_SLOPE, "to_keys: expected (1, 2, 3), got (2, 2, 3)"),
    (ops.edge_attention, [f(2, 2, 3), f(4, 2, 3), f(4, 2, 5), f(4, 1), f(1, 2, 3), f(1, 2, 5)],
     WITH_SLOPE, "edges: expected (3, B) (one row per edge), got (4, 1)"),
    (ops.edge_mean, [f(4, 5), f(4, 1), f(1, 5)], WITH_SLOPE,
     "edges: expected (3, B) (one row per edge), got (4, 1)"),
    (ops.edge_max, [f(4, 5), f(3, 1), f(1, 4)], SEGMENT,
     "projection: expected (1, 5), got (1, 4)"),
    (ops.scale_heads, [f(2, 3), f(2, 3)], {}, "heads: expected (N, K, D), got (2, 3)"),
    (ops.scale_heads, [f(2, 3, 4), f(2, 4)], {}, "gates: expected (2, 3), got (2, 4)"),
    (ops.matmul, [f(2), f(2, 3)], {}, "a: expected (m, n), got (2,)"),
    (ops.matmul, [f(2, 3), f(2, 3)], {}, "b: expected (3, p), got (2, 3)"),
    (ops.sparse_matmul, [f(2), f(5, 2)], SPARSE,
     "values: expected (3,) (one for each entry), got (2,)"),
    (ops.sparse_matmul, [f(3), f(4, 2)], SPARSE, "dense: expected (5, G), got (4, 2)"),
    (ops.linear_each, [f(2, 3), f(3, 4)], {"slopes": (1.0,)},
     "expected x, a weight and a bias for each of 1 to 4 slopes, got 2 arrays for 1"),
    (ops.linear_each, [f(2), f(2, 3), f(3)], {"slopes": (1.0,)}, "x 1: expected (N, F), got (2,)"),
    (ops.linear_each, [f(2, 3), f(3, 4), f(3)], {"slopes": (1.0,)},
     "bias 1: expected (4,), got (3,)"),
    (ops.linear_each, [f(5, 2), f(4, 2), f(2, 3), f(2, 3), f(3), f(3)], {"slopes": (1.0, 0.1)},
     "x 2: expected (5, 2) (the same for each layer), got (4, 2)"),
    (ops.linear, [f(2), f(2, 3), f(3)], {}, "x: expected (N, F), got (2,)"),
    (ops.linear, [f(5, 2), f(3, 4), f(4)], {}, "weight: expected (2, G), got (3, 4)"),
    (ops.linear, [f(5, 2), f(2, 4), f(1)], {}, "bias: expected (4,), got (1,)"),
    (ops.linear, [f(5, 2), f(4, 1), f(3, 4), f(4)], {},
     "x_2: expected (5, F) (as many rows as x_1), got (4, 1)"),
    (ops.linear, [f(5, 2), f(5, 1), f(2, 4), f(4)], {}, "weight: expected (3, G), got (2, 4)"),
    (ops.concat, [f(2, 3), f(3, 3)], {}, "part 1: expected (2, F), got (3, 3)"),
    (ops.first_rows, [f(2, 3)], {"count": 3}, "x: expected at least 3 rows, got 2"),
    (ops.split_rows, [f(5, 3)], {"count": 2}, "x: expected a multiple of 2 rows, got 5"),
    (ops.split_columns, [f(3)], {"count": 3}, "x: expected (n, F), got (3,)"),
    (ops.split_columns, [f(3, 5)], {"count": 2}, "x: expected a multiple of 2 columns, got 5"),
    (ops.beside, [f(2, 3), f(2, 4)], {"own": slice(0, 1)}, "matrix 1: expected (2, 3), got (2, 4)"),
    (ops.concat_rows, [f(2, 3), f(2, 4)], {}, "part 1: expected (n, 3), got (2, 4)"),
    (ops.gru_update, [f(2, 3)] * 6 + [f(2, 4)], {"slope": 0.1}, "h: expected (2, 3), got (2, 4)"),
    (ops.masked_absolute_error, [f(2), f(3), f(2)], {"count": 1},
     "targets: expected (2,), got (3,)"),
    (ops.masked_absolute_error, [f(2), f(2), f(2)], {"count": 1},
     "mask: expected bool, got float32"),
    (ops.bce_with_logits, [f(2), u8(2)], {}, "logits: expected (N, C), got (2,)"),
    (ops.bce_with_logits, [f(2, 3), u8(2, 1)], {}, "targets: expected (2, 3), got (2, 1)"),
    (ops.bce_with_logits, [f(2, 3), f(2, 3)], {}, "targets: expected uint8, got float32"),
    (ops.soft_cross_entropy, [f(2, 3), f(2, 1)], {}, "targets: expected (2, 3), got (2, 1)"),
    (ops.soft_bce_with_logits, [f(2, 3), f(2, 3), f(2)], {},
     "weights: expected (2, 3), got (2,)"),
    (ops.softmax_cross_entropy, [f(2), u8(2)], {}, "logits: expected (N, C), got (2,)"),
    (ops.softmax_cross_entropy, [f(2, 3), u8(2, 1)], {}, "targets: expected (2,), got (2, 1)"),
    (ops.softmax_cross_entropy, [f(2, 3), f(2)], {}, "targets: expected integers, got float32"),
    (ops.softmax_cross_entropy, [f(2, 3), np.array([0, 3])], {},
     "targets: expected classes 0 to 2, got 0 to 3"),
    (ops.softmax_cross_entropy, [f(2, 3), np.array([-1, 2])], {},
     "targets: expected classes 0 to 2, got -1 to 2"),
]  # fmt: skip

# every op, with arrays of the given dtype, and the argument that is named
FLOATS = [
    (ops.add, [(2,), (2,)], {}, ["a", "b"]),
    (ops.subtract, [(2,), (2,)], {}, ["a", "b"]),
    (ops.multiply, [(2,), (2,)], {}, ["a", "b"]),
    (ops.negative, [(2,)], {}, ["x"]),
    (ops.leaky_relu, [(2,)], {}, ["x"]),
    (ops.sigmoid, [(2,)], {}, ["x"]),
    (ops.tanh, [(2,)], {}, ["x"]),
    (ops.dropout, [(2,)], {"rate": 0.5, "seed": 0}, ["x"]),
    (ops.scale_heads, [(2, 3, 4), (2, 3)], {}, ["heads", "gates"]),
    (ops.total, [(2,)], {}, ["x"]),
    (ops.beside, [(2, 3), (2, 3)], {"own": slice(0, 1)}, ["matrix 0", "matrix 1"]),
    (ops.concat_rows, [(2,), (2,)], {}, ["part 0", "part 1"]),
    (ops.soft_cross_entropy, [(2, 3), (2, 3)], {}, ["logits", "targets"]),
    (ops.soft_bce_with_logits, [(2, 3)] * 3, {}, ["logits", "targets", "weights"]),
    (ops.gru_update, [(2, 3)] * 7, {"slope": 0.1},
     ["x_u", "x_r", "x_c", "h_u", "h_r", "h_c", "h"]),
    (ops.concat, [(2,), (2,)], {}, ["part 0", "part 1"]),
    (ops.matmul, [(2, 3), (3, 2)], {}, ["a", "b"]),
    (ops.sparse_matmul, [(3,), (5, 2)], SPARSE, ["values", "dense"]),
    (ops.linear_each, [(2, 3), (3, 4), (4,)], {"slopes": (1.0,)}, ["x 1", "weight 1", "bias 1"]),
    (ops.linear, [(2, 3), (3, 4), (4,)], {}, ["x", "weight", "bias"]),
    (ops.linear, [(2, 3), (2, 1), (4, 4), (4,)], {}, ["x_1", "x_2", "weight", "bias"]),
    (ops.segment_softmax, [(3, 2)], SEGMENT, ["scores"]),
    (ops.segment_weighted_sum, [(3, 2), (4, 2, 3)], SEGMENT, ["weights", "values"]),
    (ops.edge_dot, [(2, 2, 3), (4, 2, 3)], SEGMENT, ["queries", "keys"]),
    (ops.edge_queries, [(2, 2, 3), (4, 2, 3)], {}, ["queries", "projection"]),
    (ops.edge_scores, [(2, 4, 2), (3, 4)], SEGMENT, ["queries", "edges"]),
    (ops.edge_total, [(3, 4)], SEGMENT, ["edges"]),
    (ops.edge_weighted_sum, [(3, 2), (4, 2, 5), (3, 1), (1, 2, 5)], WITH_SLOPE,
     ["weights", "values", "edges", "projection"]),
    (ops.edge_attention, [(2, 2, 3), (4, 2, 3), (4, 2, 5), (3, 1), (1, 2, 3), (1, 2, 5)],
     WITH_SLOPE, ["queries", "keys", "values", "edges", "to_keys", "to_values"]),
    (ops.edge_mean, [(4, 5), (3, 1), (1, 5)], WITH_SLOPE, ["values", "edges", "projection"]),
    (ops.edge_max, [(4, 5), (3, 1), (1, 5)], SEGMENT, ["values", "edges", "projection"]),
    (ops.divide_by_degree, [(2, 3)], SEGMENT, ["x"]),
    (ops.segment_mean, [(4, 3)], SEGMENT, ["values"]),
    (ops.segment_max, [(4, 3)], SEGMENT, ["values"]),
    (ops.segment_attention, [(2, 2, 3), (4, 2, 3), (4, 2, 5)], SEGMENT,
     ["queries", "keys", "values"]),
]  # fmt: skip


def name(value: object) -> str | None:
    return getattr(value, "__name__", None)


@pytest.mark.parametrize(("op", "arrays", "static", "message"), SHAPES, ids=name)
def test_a_shape_that_does_not_fit_is_named(op, arrays, static, message):
    with pytest.raises(ShapeError) as caught:
        op(*arrays, **static)
    assert str(caught.value) == f"{op.__name__}: " + message


@pytest.mark.parametrize(("op", "shapes", "static", "names"), FLOATS, ids=name)
@pytest.mark.parametrize("dtype", [np.float16, np.int64, np.bool_, np.complex64], ids=name)
def test_half_precision_integers_and_the_like_are_refused(op, shapes, static, names, dtype):
    arrays = [f(*shape, dtype=dtype) for shape in shapes]
    message = f"{op.__name__}: {names[0]}: expected float32 or float64, got {np.dtype(dtype)}"
    with pytest.raises(ShapeError, match=f"^{re.escape(message)}$"):
        op(*arrays, **static)


@pytest.mark.parametrize(("op", "shapes", "static", "names"), FLOATS, ids=name)
def test_two_kinds_of_floats_at_once_are_refused(op, shapes, static, names):
    for odd in range(1, len(shapes)):
        arrays = [f(*s, dtype=[np.float32, np.float64][i == odd]) for i, s in enumerate(shapes)]
        message = (
            f"{op.__name__}: {names[odd]}: expected float32 as the first argument, got float64"
        )
        with pytest.raises(ShapeError, match=f"^{re.escape(message)}$"):
            op(*arrays, **static)


@pytest.mark.parametrize("loss", [ops.bce_with_logits, ops.softmax_cross_entropy], ids=name)
def test_losses_refuse_half_precision_too(loss):
    with pytest.raises(ShapeError, match="logits: expected float32 or float64, got float16"):
        loss(f(2, 3, dtype=np.float16), u8(2, 3))


@pytest.mark.parametrize("rate", [-0.1, 1, 1.5, float("nan")])
def test_a_rate_of_dropout_outside_0_to_1_is_refused(rate):
    with pytest.raises(SettingsError, match=f"^dropout: rate: expected 0 <= rate < 1, got {rate}$"):
        ops.dropout(f(2), rate=rate, seed=0)
    message = f"^segment_attention: dropout: expected 0 <= dropout < 1, got {rate}$"
    with pytest.raises(SettingsError, match=message):
        ops.segment_attention(f(2, 2, 3), f(4, 2, 3), f(4, 2, 5), block=BLOCK, dropout=rate)


def test_the_table_of_dtypes_leaves_out_no_op_that_computes():
    moves = {"reshape", "first_rows", "split_rows", "split_columns"}
    losses = {"bce_with_logits", "softmax_cross_entropy", "masked_absolute_error"}
    assert {op.__name__ for op, *_ in FLOATS} == set(ops.__all__) - moves - losses
