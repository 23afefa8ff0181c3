"""Ops over the edges of a block. Every gradient is another segment kernel; none needs atomics.

Axes: N destinations, S sources, E edges, K heads, A key width, D value width, F features. A block
with no edges, and a destination without any, are ordinary cases: sums, means and maxima are 0.
"""

from gaancore.array import Array, array_module
from gaancore.graph.block import Block
from gaancore.kernels import kernels_for
from gaancore.ops.checks import (
    expect_destinations,
    expect_edges,
    expect_floats,
    expect_rate,
    expect_sources,
)
from gaancore.ops.lift import primitive
from gaancore.tape import Adding, Backward, own


@primitive
def segment_softmax(scores: Array, *, block: Block) -> tuple[Array, Backward]:
    r"""Softmax over each destination's edges, per head (GaAN eq. 1, w_ij).

    out[e, k] = exp(scores[e, k]) / sum_{e' in segment(e)} exp(scores[e', k])

    scores : (E, K), any finite value is safe, for the segment's maximum is subtracted first.
    Returns (E, K); each non-empty segment sums to 1 in each head (to 0 if all its scores are -inf).
    Raises ShapeError if scores has not E rows or is not float32 / float64.

    >>> block = Block([0, 1, 3], [1, 0, 1], num_src=2)  # node 0 has neighbour 1; node 1 has 0 and 1
    >>> segment_softmax(np.log([[7.0], [1.0], [3.0]]), block=block).data.round(3).tolist()
    [[1.0], [0.25], [0.75]]
    """
    expect_floats("segment_softmax", scores=scores)
    expect_edges("segment_softmax", "scores", scores, block)
    kernels = kernels_for(scores)
    weights = kernels.segment_softmax_forward(scores, block.indptr)

    def backward(grad: Array) -> tuple[Array]:
        return (kernels.segment_softmax_backward(weights, grad, block.indptr),)

    return weights, backward


@primitive
def segment_weighted_sum(weights: Array, values: Array, *, block: Block) -> tuple[Array, Backward]:
    """Sum of the neighbours' values, each with its edge's weight, per head (GaAN eq. 1).

    out[i, k] = sum_{e in segment(i)} weights[e, k] * values[src(e), k]

    weights (E, K), values (S, K, D). Returns (N, K, D); an empty segment gives 0.
    Raises ShapeError if a shape or dtype does not fit the block.

    >>> block = Block([0, 1, 3], [1, 0, 1], num_src=2)
    >>> weights = np.array([[1.0], [0.25], [0.75]])
    >>> values = np.array([[[1.0]], [[10.0]]])
    >>> segment_weighted_sum(weights, values, block=block).data.ravel()
    array([10.  ,  7.75])
    """
    expect_floats("segment_weighted_sum", weights=weights, values=values)
    expect_edges("segment_weighted_sum", "weights", weights, block)
    expect_sources("segment_weighted_sum", "values", values, block, (weights.shape[1], "D"))
    kernels = kernels_for(values)
    out = kernels.segment_weighted_sum(weights, values, block.indptr, block.indices)

    def backward(grad: Array) -> tuple[Array, Array]:
        grad_weights = kernels.edge_dot(grad, values, block.indptr, block.indices)
        grad_values = kernels.segment_weighted_sum(weights, grad, *block.transpose)
        return grad_weights, grad_values

    return out, backward


@primitive
def divide_by_degree(x: Array, *, block: Block) -> tuple[Array, Backward]:
    """out[i] = x[i] / |N_i|, which turns a sum over neighbours into their mean.

    x (N, ...). Returns the same shape; an empty segment divides by 1.
    Raises ShapeError if x has not one row per destination or is not float32 / float64.

    >>> block = Block([0, 0, 2], [0, 1], num_src=2)  # node 0 has no neighbours, node 1 has two
    >>> divide_by_degree(np.array([[0.0], [11.0]]), block=block).data.ravel()
    array([0. , 5.5])
    """
    expect_floats("divide_by_degree", x=x)
    expect_destinations("divide_by_degree", "x", x, block, x.shape[1:])
    degrees = array_module(x).diff(block.indptr).clip(1).astype(x.dtype)
    factor = (1 / degrees).reshape(-1, *[1] * (x.ndim - 1))

    def backward(grad: Array) -> tuple[Array]:
        return (grad * factor,)

    return x * factor, backward


@primitive
def edge_dot(queries: Array, keys: Array, *, block: Block) -> tuple[Array, Backward]:
    """Inner product of each edge's destination and source, per head: attention scores.

    out[e, k] = <queries[dst(e), k], keys[src(e), k]>

    queries (N, K, D), keys (S, K, D). Returns (E, K).
    Raises ShapeError if a shape or dtype does not fit the block.

    >>> block = Block([0, 1, 3], [1, 0, 1], num_src=2)
    >>> queries = np.array([[[1.0, 0.0]], [[0.0, 1.0]]])
    >>> keys = np.array([[[2.0, 3.0]], [[4.0, 5.0]]])
    >>> edge_dot(queries, keys, block=block).data.ravel()
    array([4., 3., 5.])
    """
    expect_floats("edge_dot", queries=queries, keys=keys)
    expect_destinations("edge_dot", "queries", queries, block, ("K", "D"))
    expect_sources("edge_dot", "keys", keys, block, queries.shape[1:])
    kernels = kernels_for(queries)
    out = kernels.edge_dot(queries, keys, block.indptr, block.indices)

    def backward(grad: Array) -> tuple[Array, Array]:
        grad_queries = kernels.segment_weighted_sum(grad, keys, block.indptr, block.indices)
        grad_keys = kernels.segment_weighted_sum(grad, queries, *block.transpose)
        return grad_queries, grad_keys

    return out, backward


@primitive
def segment_mean(values: Array, *, block: Block) -> tuple[Array, Adding]:
    """Mean over the neighbours (average pooling, GaAN section 4).

    out[i] = (1 / |N_i|) sum_{e in segment(i)} values[src(e)]

    values (S, F). Returns (N, F); an empty segment gives 0.
    Raises ShapeError if values has not one row per source or is not float32 / float64.

    >>> block = Block([0, 0, 2], [0, 1], num_src=2)
    >>> segment_mean(np.array([[1.0], [10.0]]), block=block).data.ravel()
    array([0. , 5.5])
    """
    expect_floats("segment_mean", values=values)
    expect_sources("segment_mean", "values", values, block, ("F",))
    kernels = kernels_for(values)

    def backward(grad: Array) -> tuple[Array]:
        t_indptr, t_indices, _ = block.transpose
        return (kernels.segment_mean_backward(grad, block.indptr, t_indptr, t_indices),)

    return kernels.segment_mean_forward(values, block.indptr, block.indices), own(backward)


@primitive
def segment_max(values: Array, *, block: Block) -> tuple[Array, Backward]:
    """Largest value among the neighbours, feature by feature (max pooling, GaAN section 4).

    out[i, f] = max_{e in segment(i)} values[src(e), f]

    values (S, F). Returns (N, F); an empty segment gives 0 and passes no gradient. On a tie the
    first edge in CSR order takes the whole gradient.
    Raises ShapeError if values has not one row per source or is not float32 / float64.

    >>> block = Block([0, 0, 2], [0, 1], num_src=2)
    >>> segment_max(np.array([[1.0, -1.0], [0.0, -2.0]]), block=block).data
    array([[ 0.,  0.],
           [ 1., -1.]])
    """
    expect_floats("segment_max", values=values)
    expect_sources("segment_max", "values", values, block, ("F",))
    kernels = kernels_for(values)
    out, winners = kernels.segment_max_forward(values, block.indptr, block.indices)

    def backward(grad: Array) -> tuple[Array]:
        t_indptr, t_indices, _ = block.transpose
        return (kernels.segment_max_backward(grad, winners, t_indptr, t_indices),)

    return out, backward


@primitive
def segment_attention(
    queries: Array,
    keys: Array,
    values: Array,
    *,
    block: Block,
    scale: float = 1.0,
    dropout: float = 0.0,
    seed: int = 0,
) -> tuple[Array, Backward]:
    """Multi-head dot-product attention over the neighbours, fused (GaAN eq. 1).

    out[i, k] = sum_e drop(w[e, k]) * values[src(e), k],
    w[., k] = softmax over the segment of scale * <queries[i, k], keys[src(e), k]>

    The same as edge_dot, segment_softmax, dropout of the weights and segment_weighted_sum, in one
    pass over each row and without an (E, K, D) array. Dropout is a function of (seed, edge, head).

    queries (N, K, A), keys (S, K, A), values (S, K, D). Returns (N, K, D), 0 for an empty segment.
    Raises ShapeError if a shape or dtype does not fit the block, SettingsError unless
    0 <= dropout < 1.

    >>> block = Block([0, 1, 3], [1, 0, 1], num_src=2)
    >>> ones, keys = np.ones((2, 1, 1)), np.log([[[1.0]], [[3.0]]])
    >>> values = np.array([[[1.0]], [[10.0]]])  # weights 1; 1/4 and 3/4
    >>> segment_attention(ones, keys, values, block=block).data.ravel().round(6)
    array([10.  ,  7.75])
    """
    expect_floats("segment_attention", queries=queries, keys=keys, values=values)
    expect_destinations("segment_attention", "queries", queries, block, ("K", "A"))
    expect_sources("segment_attention", "keys", keys, block, queries.shape[1:])
    expect_sources("segment_attention", "values", values, block, (queries.shape[1], "D"))
    expect_rate("segment_attention", "dropout", dropout)
    kernels = kernels_for(queries)
    static = (scale, dropout, seed)
    out, saved = kernels.attention_forward(
        queries, keys, values, block.indptr, block.indices, *static
    )

    def backward(grad: Array) -> tuple[Array, Array, Array]:
        return kernels.attention_backward(
            grad, out, saved, *static, block.indptr, block.indices, *block.transpose
        )

    return out, backward
