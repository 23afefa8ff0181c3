"""Ops over the features of edges (GaAN section 3: z_j may contain e_ij), which a block carries.

FC(z_j ++ e_ij) = FC(z_j) + e_ij @ projection: what a source brings is computed once for all of its
edges, and the rest is added to it inside the kernels. No array is of the size E * K * D.

Axes: N destinations, S sources, E edges, B features of an edge, K heads, A key width, D value
width, F features of a node. Edges are (E, B), in the order of the block's edges.
"""

from gaancore.array import Array, array_module
from gaancore.graph.block import Block
from gaancore.kernels import kernels_for
from gaancore.ops.checks import (
    expect_destinations,
    expect_edges,
    expect_floats,
    expect_rate,
    expect_shape,
    expect_sources,
)
from gaancore.ops.lift import primitive
from gaancore.tape import Backward


@primitive
def edge_queries(queries: Array, projection: Array) -> tuple[Array, Backward]:
    """What the query of a node asks of the features of an edge, per head.

    out[i, b, k] = <queries[i, k], projection[b, k]>, so that <queries[i, k], edges[e] @
    projection[:, k]>, what the edge adds to the score, is edge_scores(out, edges)[e, k].

    queries (N, K, A), projection (B, K, A). Returns (N, B, K).
    Raises ShapeError if a shape or dtype does not fit.

    >>> queries, projection = np.array([[[1.0, 2.0]]]), np.array([[[3.0, 4.0]], [[5.0, 6.0]]])
    >>> edge_queries(queries, projection).data.tolist()  # 3 + 8, 5 + 12
    [[[11.0], [17.0]]]
    """
    expect_floats("edge_queries", queries=queries, projection=projection)
    expect_shape("edge_queries", "queries", queries, ("N", "K", "A"))
    expect_shape("edge_queries", "projection", projection, ("B", *queries.shape[1:]))
    xp, matmul, heads = array_module(queries), kernels_for(queries).matmul, range(queries.shape[1])

    def of_heads(products: list[Array], *axes: int) -> Array:
        """One product for each head, stacked on axis 0, with the axes in another order."""
        return xp.ascontiguousarray(xp.stack(products).transpose(*axes))

    def backward(grad: Array) -> tuple[Array, Array]:
        to_queries = [matmul(grad[:, :, k], projection[:, k]) for k in heads]
        to_projection = [matmul(grad[:, :, k].T, queries[:, k]) for k in heads]
        return of_heads(to_queries, 1, 0, 2), of_heads(to_projection, 1, 0, 2)

    asked = [matmul(queries[:, k], projection[:, k].T) for k in heads]
    return of_heads(asked, 1, 2, 0), backward


@primitive
def edge_scores(
    queries: Array, edges: Array, *, block: Block, needed: tuple[bool, ...] = ()
) -> tuple[Array, Backward]:
    """Inner product of what each edge's destination asks and the edge's features, per head.

    out[e, k] = sum_b queries[dst(e), b, k] * edges[e, b]

    queries (N, B, K), edges (E, B). Returns (E, K).
    Raises ShapeError if a shape or dtype does not fit the block.

    >>> block = Block([0, 1, 3], [1, 0, 1], num_src=2)
    >>> queries = np.array([[[1.0], [2.0]], [[3.0], [4.0]]])
    >>> edge_scores(queries, np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), block=block).data
    array([[1.],
           [4.],
           [7.]])
    """
    expect_floats("edge_scores", queries=queries, edges=edges)
    expect_destinations("edge_scores", "queries", queries, block, ("B", "K"))
    expect_features("edge_scores", edges, block, queries.shape[1])
    kernels, xp = kernels_for(queries), array_module(queries)

    def backward(grad: Array) -> tuple[Array | None, Array | None]:
        grad_queries = grad_edges = None
        if needed[0]:
            grad_queries = kernels.feature_sum(grad, edges, block.indptr)
        if needed[1]:
            exchanged = xp.ascontiguousarray(queries.transpose(0, 2, 1))
            grad_edges = kernels.feature_dot(exchanged, grad, block.indptr)
        return grad_queries, grad_edges

    return kernels.feature_dot(queries, edges, block.indptr), backward


@primitive
def edge_total(edges: Array, *, block: Block) -> tuple[Array, Backward]:
    """Sum of the features of each destination's edges; divide_by_degree makes it their mean.

    out[i] = sum_{e in segment(i)} edges[e]

    edges (E, B). Returns (N, B); an empty segment gives 0.
    Raises ShapeError if edges has not one row per edge or is not float32 / float64.

    >>> block = Block([0, 0, 2], [0, 1], num_src=2)
    >>> edge_total(np.array([[1.0], [10.0]]), block=block).data.ravel()
    array([ 0., 11.])
    """
    expect_floats("edge_total", edges=edges)
    expect_features("edge_total", edges, block)
    kernels, xp = kernels_for(edges), array_module(edges)
    ones = xp.ones((block.num_edges, 1), edges.dtype)

    def backward(grad: Array) -> tuple[Array]:
        return (kernels.feature_dot(grad[:, None, :], ones, block.indptr),)

    return kernels.feature_sum(ones, edges, block.indptr)[:, :, 0], backward


@primitive
def edge_weighted_sum(
    weights: Array,
    values: Array,
    edges: Array,
    projection: Array,
    *,
    block: Block,
    slope: float,
    needed: tuple[bool, ...] = (),
) -> tuple[Array, Backward]:
    """Sum of what the edges bring, each with its weight, per head (GaAN eq. 1 with z_j ++ e_ij).

    out[i, k] = sum_{e in segment(i)} weights[e, k] * h(values[src(e), k] + edges[e] @
    projection[:, k]), h = leaky ReLU of `slope`

    weights (E, K); values (S, K, D), before the activation; edges (E, B); projection (B, K, D).
    Returns (N, K, D); an empty segment gives 0.
    Raises ShapeError if a shape or dtype does not fit the block.

    >>> block = Block([0, 1, 3], [1, 0, 1], num_src=2)
    >>> weights, values = np.array([[1.0], [0.25], [0.75]]), np.array([[[1.0]], [[10.0]]])
    >>> edges, projection = np.array([[0.0], [3.0], [-5.0]]), np.array([[[4.0]]])
    >>> out = edge_weighted_sum(weights, values, edges, projection, block=block, slope=0.1)
    >>> out.data.ravel()  # h(10); h(13) / 4 + 3 h(-10) / 4
    array([10. ,  2.5])
    """
    op = "edge_weighted_sum"
    expect_floats(op, weights=weights, values=values, edges=edges, projection=projection)
    expect_edges(op, "weights", weights, block)
    expect_sources(op, "values", values, block, (weights.shape[1], "D"))
    expect_features(op, edges, block)
    expect_shape(op, "projection", projection, (edges.shape[1], *values.shape[1:]))
    kernels = kernels_for(values)
    given = (weights, values, edges, projection, slope)

    def backward(grad: Array) -> tuple[Array | None, ...]:
        links = (block.indptr, block.indices, *block.transpose)
        grads = kernels.edge_sum_backward(grad, *given, needed[2], *links)
        grad_weights, grad_values, grad_projection, grad_edges = grads
        return grad_weights, grad_values, grad_edges, grad_projection

    return kernels.edge_sum_forward(*given, block.indptr, block.indices), backward


@primitive
def edge_mean(
    values: Array,
    edges: Array,
    projection: Array,
    *,
    block: Block,
    slope: float,
    needed: tuple[bool, ...] = (),
) -> tuple[Array, Backward]:
    """Mean of what the edges bring (average pooling with z_j ++ e_ij).

    out[i] = (1 / |N_i|) sum_{e in segment(i)} h(values[src(e)] + edges[e] @ projection), h = leaky
    ReLU of `slope`

    values (S, F), before the activation; edges (E, B); projection (B, F). Returns (N, F); an empty
    segment gives 0.
    Raises ShapeError if a shape or dtype does not fit the block.

    >>> block = Block([0, 0, 2], [0, 1], num_src=2)
    >>> values, edges = np.array([[1.0], [10.0]]), np.array([[-2.0], [3.0]])
    >>> edge_mean(values, edges, np.array([[1.0]]), block=block, slope=0.5).data.ravel()
    array([0.  , 6.25])
    """
    expect_floats("edge_mean", values=values, edges=edges, projection=projection)
    expect_sources("edge_mean", "values", values, block, ("F",))
    expect_features("edge_mean", edges, block)
    expect_shape("edge_mean", "projection", projection, (edges.shape[1], values.shape[1]))
    kernels, xp = kernels_for(values), array_module(values)
    degrees = xp.diff(block.indptr).clip(1).astype(values.dtype)
    factor = (1 / degrees)[:, None, None]
    ones = xp.ones((block.num_edges, 1), values.dtype)
    given = (ones, values[:, None, :], edges, projection[:, None, :], slope)

    def backward(grad: Array) -> tuple[Array | None, ...]:
        links = (block.indptr, block.indices, *block.transpose)
        shares = grad[:, None, :] * factor
        grads = kernels.edge_sum_backward(shares, *given, needed[1], *links)
        _, to_values, to_projection, grad_edges = grads
        return to_values.reshape(values.shape), grad_edges, to_projection.reshape(projection.shape)

    total = kernels.edge_sum_forward(*given, block.indptr, block.indices)
    return (total * factor).reshape(block.num_dst, values.shape[1]), backward


@primitive
def edge_max(
    values: Array,
    edges: Array,
    projection: Array,
    *,
    block: Block,
    needed: tuple[bool, ...] = (),
) -> tuple[Array, Backward]:
    """Largest of what the edges bring, feature by feature (max pooling with z_j ++ e_ij).

    out[i, f] = max_{e in segment(i)} (values[src(e)] + edges[e] @ projection)[f]

    values (S, F), edges (E, B), projection (B, F). Returns (N, F); an empty segment gives 0 and
    passes no gradient. On a tie the first edge in CSR order takes the whole gradient.
    Raises ShapeError if a shape or dtype does not fit the block.

    >>> block = Block([0, 0, 2], [0, 1], num_src=2)
    >>> values, edges = np.array([[1.0, -1.0], [0.0, -2.0]]), np.array([[0.0], [3.0]])
    >>> edge_max(values, edges, np.array([[1.0, 0.0]]), block=block).data
    array([[ 0.,  0.],
           [ 3., -1.]])
    """
    expect_floats("edge_max", values=values, edges=edges, projection=projection)
    expect_sources("edge_max", "values", values, block, ("F",))
    expect_features("edge_max", edges, block)
    expect_shape("edge_max", "projection", projection, (edges.shape[1], values.shape[1]))
    kernels = kernels_for(values)
    out, places = kernels.edge_max_forward(values, edges, projection, block.indptr, block.indices)

    def backward(grad: Array) -> tuple[Array | None, ...]:
        links = (block.indptr, block.indices, *block.transpose)
        grads = kernels.edge_max_backward(grad, places, edges, projection, needed[1], *links)
        grad_values, grad_projection, grad_edges = grads
        return grad_values, grad_edges, grad_projection

    return out, backward


@primitive
def edge_attention(
    queries: Array, keys: Array, values: Array, edges: Array, to_keys: Array, to_values: Array,
    *, block: Block, slope: float, scale: float = 1.0, dropout: float = 0.0, seed: int = 0,
    needed: tuple[bool, ...] = (),
) -> tuple[Array, Backward]:  # fmt: skip
    """Multi-head dot-product attention with z_j ++ e_ij for z_j, fused (GaAN eq. 1).

    out[i, k] = sum_e drop(w[e, k]) * h(values[src(e), k] + edges[e] @ to_values[:, k]),
    w[., k] = softmax over the segment of scale * <queries[i, k], keys[src(e), k] + edges[e] @
    to_keys[:, k]>, h = leaky ReLU of `slope`

    The same as edge_dot, edge_queries, edge_scores, segment_softmax, dropout of the weights and
    edge_weighted_sum. One array of (E, K) is kept, the weights.

    queries (N, K, A); keys (S, K, A); values (S, K, D), before the activation; edges (E, B);
    to_keys (B, K, A); to_values (B, K, D). Returns (N, K, D); an empty segment gives 0.
    Raises ShapeError if a shape or dtype does not fit the block, SettingsError unless
    0 <= dropout < 1.

    >>> block = Block([0, 1, 3], [1, 0, 1], num_src=2)
    >>> ones, keys = np.ones((2, 1, 1)), np.log([[[1.0]], [[3.0]]])
    >>> values = np.array([[[1.0]], [[10.0]]])  # weights 1; 1/4 and 3/4
    >>> given = (ones, keys, values, np.array([[0.0], [3.0], [-5.0]]), np.zeros((1, 1, 1)))
    >>> edge_attention(*given, 4 * np.ones((1, 1, 1)), block=block, slope=0.1).data.ravel().round(6)
    array([10. ,  2.5])
    """
    op = "edge_attention"
    names = {"queries": queries, "keys": keys, "values": values}
    expect_floats(op, **names, edges=edges, to_keys=to_keys, to_values=to_values)
    expect_destinations(op, "queries", queries, block, ("K", "A"))
    expect_sources(op, "keys", keys, block, queries.shape[1:])
    expect_sources(op, "values", values, block, (queries.shape[1], "D"))
    expect_features(op, edges, block)
    expect_shape(op, "to_keys", to_keys, (edges.shape[1], *keys.shape[1:]))
    expect_shape(op, "to_values", to_values, (edges.shape[1], *values.shape[1:]))
    expect_rate(op, "dropout", dropout)
    kernels, static = kernels_for(queries), (slope, scale, dropout, seed)
    links = (block.indptr, block.indices)
    given = (queries, keys, values, edges, to_keys, to_values, *links)
    out, saved = kernels.edge_attention_forward(*given, *static)

    def backward(grad: Array) -> tuple[Array | None, ...]:
        both_ways = (*links, *block.transpose)
        return kernels.edge_attention_backward(grad, out, saved, *static, needed[3], *both_ways)

    return out, backward


def expect_features(op: str, edges: Array, block: Block, count: int | str = "B") -> None:
    expect_shape(op, "edges", edges, (block.num_edges, count), "one row per edge")
