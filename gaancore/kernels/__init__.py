"""Segment kernels: arrays in, arrays out. The contract that every backend fulfils.

A *segment* is a row of a CSR block: the edges `indptr[i] <= e < indptr[i + 1]` of destination
node i; edge e comes from source row `indices[e]`. The transposed block has a row for each source:
`t_indptr, t_indices` (destinations, ascending) and `t_edge_ids` (the positions e of its edges).

    N destinations, S sources, E edges, K heads, A key width, D value width, F features,
    B features of an edge
    indptr (N+1,) int64     indices (E,) int32      t_edge_ids (E,) int32 or int64
    floats: float32 or float64, all of one kind, C-contiguous

segment_softmax_forward(scores (E,K), indptr) -> weights (E,K)
    weights[e,k] = exp(scores[e,k] - max) / sum over the segment; -inf in the whole segment: zeros
segment_softmax_backward(weights, grad (E,K), indptr) -> grad_scores (E,K)
    w * (g - sum over the segment of w * g)
segment_weighted_sum(weights (E,K), values (S,K,D), indptr, indices, edge_ids=None) -> (N,K,D)
    out[i,k] = sum_e weights[edge_ids[e],k] * values[indices[e],k];  edge_ids None: e itself.
    Its own adjoint in `values`: pass the transposed block with its edge_ids.
edge_dot(queries (N,K,D), keys (S,K,D), indptr, indices) -> (E,K)
    out[e,k] = <queries[i,k], keys[indices[e],k]>: the adjoint of weighted_sum in `weights`
segment_mean_forward(values (S,F), indptr, indices) -> (N,F)
segment_mean_backward(grad (N,F), indptr, t_indptr, t_indices) -> (S,F)
segment_max_forward(values (S,F), indptr, indices) -> out (N,F), winners (N,F) int32
    winners[i,f] is the source row of the first edge that has the maximum; -1 if there is none
segment_max_backward(grad (N,F), winners, t_indptr, t_indices) -> (S,F)
attention_forward(queries (N,K,A), keys (S,K,A), values (S,K,D), indptr, indices, scale, rate,
                  seed) -> out (N,K,D), saved
    softmax(scale * edge_dot), dropout of the weights at `rate`, weighted_sum, in one pass
attention_backward(grad (N,K,D), out, saved, scale, rate, seed, indptr, indices, t_indptr,
                   t_indices, t_edge_ids) -> grad_queries, grad_keys, grad_values
feature_dot(queries (N,B,K), edges (E,B), indptr) -> (E,K)
    out[e,k] = sum_b queries[i,b,k] * edges[e,b]: what the features of edges add to their scores
feature_sum(weights (E,K), edges (E,B), indptr) -> (N,B,K)
    out[i,b,k] = sum_e weights[e,k] * edges[e,b]: the adjoint of feature_dot in the queries; that in
    the edges is feature_dot of queries with axes 1 and 2 exchanged, and of the gradient
edge_sum_forward(weights (E,K), values (S,K,D), edges (E,B), projection (B,K,D), slope, indptr,
                 indices) -> (N,K,D)
    out[i,k] = sum_e weights[e,k] * leaky_relu(values[j,k] + edges[e] @ projection[:,k]), j the
    source of e: a weighted sum of values that no array holds for each edge
edge_sum_backward(grad (N,K,D), weights, values, edges, projection, slope, needed, indptr, indices,
                  t_indptr, t_indices, t_edge_ids)
    -> grad_weights, grad_values, grad_projection, grad_edges
    needed: whether grad_edges is; if not, it is None, and is not made
edge_max_forward(values (S,F), edges (E,B), projection (B,F), indptr, indices)
    -> out (N,F), places (N,F) int32
    out[i,f] = max_e of (values[j] + edges[e] @ projection)[f]; places: which edge of the row, from
    0 on, is the first that has it; -1 if there is none
edge_max_backward(grad (N,F), places, edges, projection, needed, indptr, indices, t_indptr,
                  t_indices, t_edge_ids) -> grad_values, grad_projection, grad_edges
edge_attention_forward(queries (N,K,A), keys (S,K,A), values (S,K,D), edges (E,B), to_keys (B,K,A),
                       to_values (B,K,D), indptr, indices, slope, scale, rate, seed) -> out, saved
    attention whose keys and values are those of z_j ++ e_ij: softmax of scale * <queries[i,k],
    keys[j,k] + edges[e] @ to_keys[:,k]>, dropout of the weights, edge_sum with to_values
edge_attention_backward(grad (N,K,D), out, saved, slope, scale, rate, seed, needed, indptr, indices,
                        t_indptr, t_indices, t_edge_ids)
    -> grad_queries, grad_keys, grad_values, grad_edges, grad_to_keys, grad_to_values
sigmoid_forward(x) -> 1 / (1 + exp(-x))
sigmoid_backward(grad, out) -> grad * out * (1 - out)
scale_heads_forward(heads (N,K,D), gates (N,K)) -> heads * gates, each head by its own number
scale_heads_backward(grad (N,K,D), heads, gates) -> grad_heads (N,K,D), grad_gates (N,K)
gru_update_forward(x_u, x_r, x_c, h_u, h_r, h_c, h (all (N,D)), slope) -> out (N,D), saved
    u = sigmoid(x_u + h_u), r alike, c = leaky_relu(x_c + r * h_c), out = (1 - u) * c + u * h
gru_update_backward(grad (N,D), h_c, h, saved, slope)
    -> grads of x_u (and h_u), of x_r (and h_r), of x_c, of h_c, of h
linear_forward(parts, weight (F,G), bias (G,), slope) -> leaky_relu(x @ weight + bias)
    parts: a tuple of (N,F_1), (N,F_2), ... which side by side are x (N,F); never copied together
linear_backward(grad (N,G), out, parts, weight, slope, needed, totals=())
    -> grad_parts, grad_weight, grad_bias
    needed: whether the gradient of each part is; if not, it is None, and its product is not made
    totals: for each part, then weight and bias, an array that the gradient is added to and that is
    returned, or None; () for None throughout
linear_each_forward(x (N,F), weights, biases, slopes) -> outs, joined: tuples of up to four layers
    that read one input; joined is what the way back needs
linear_each_backward(grads, outs, x, weights, joined, slopes, needed, totals)
    -> grads of x, of the weights, of the biases: tuples; those of x add up to its gradient, and may
    be None. totals: as many, for x, the weights and the biases; see linear_backward
join_columns(parts) -> (N, sum of F_p): a tuple of (N,F_1), (N,F_2), ... side by side
split_columns(x (N,F), widths) -> a tuple of (N,F_p), as wide as `widths` say: its adjoint
dropout(x, rate, seed): x / (1 - rate) where hash(seed, position) keeps it; its own gradient
bce_with_logits(logits (N,C), targets (N,C) uint8) -> sum of losses (float64; on a CUDA device a
    0-d array, for reading the number would wait for it), grad of the sum
softmax_cross_entropy(logits (N,C), targets (N,) int64) -> the same of one class in C, C > 0
matmul(a (M,K), b (K,N)) -> (M,N)
adam_step(parameter, grad, moment1, moment2, rate, beta1, beta2, eps): in place
    moment1 = beta1 * moment1 + (1 - beta1) * grad,  moment2 = the same of grad^2 with beta2,
    parameter -= rate * moment1 / (sqrt(moment2) + eps); gaancore.optim corrects rate and eps

Empty segment: sum, mean and max are 0 (max with winner -1, and no gradient); softmax writes
nothing. Kernels trust their arguments: graphs and blocks are validated when they are built, arrays
by the ops. With GAANCORE_CHECK=1 they check them all (see arguments.py). No float atomics: the same
bits for any number of threads and in every run.

An example of each. Edges lead from sources 0 and 1 to destination 0, and from 1 to 1; destination 2
and source 2 have none.

>>> indptr, indices = np.array([0, 2, 3, 3]), np.array([0, 1, 1], np.int32)
>>> t_indptr, t_indices = np.array([0, 1, 3, 3]), np.array([0, 0, 1], np.int32)
>>> t_edge_ids = np.array([0, 1, 2])
>>> kernels = kernels_for(indptr)
>>> def show(*arrays):
...     for x in arrays:
...         print(np.round(x, 3).tolist())
>>> weights = kernels.segment_softmax_forward(np.log([[1.0], [3], [5]]), indptr)
>>> grad_weights = np.array([[4.0], [0], [9]])
>>> show(weights, kernels.segment_softmax_backward(weights, grad_weights, indptr))
[[0.25], [0.75], [1.0]]
[[0.75], [-0.75], [0.0]]
>>> values = np.array([[[1.0, 2]], [[3, 4]], [[5, 6]]])  # one head
>>> show(kernels.segment_weighted_sum(weights, values, indptr, indices))
[[[2.5, 3.5]], [[3.0, 4.0]], [[0.0, 0.0]]]
>>> show(kernels.segment_weighted_sum(weights, values, t_indptr, t_indices, t_edge_ids))
[[[0.25, 0.5]], [[3.75, 5.5]], [[0.0, 0.0]]]
>>> show(kernels.edge_dot(values, values, indptr, indices))
[[5.0], [11.0], [25.0]]
>>> x = np.array([[1.0, 2], [3, 4], [5, 6]])
>>> show(kernels.segment_mean_forward(x, indptr, indices))
[[2.0, 3.0], [3.0, 4.0], [0.0, 0.0]]
>>> show(kernels.segment_mean_backward(x, indptr, t_indptr, t_indices))
[[0.5, 1.0], [3.5, 5.0], [0.0, 0.0]]
>>> out, winners = kernels.segment_max_forward(x, indptr, indices)
>>> show(out, winners, kernels.segment_max_backward(x, winners, t_indptr, t_indices))
[[3.0, 4.0], [3.0, 4.0], [0.0, 0.0]]
[[1, 1], [1, 1], [-1, -1]]
[[0.0, 0.0], [4.0, 6.0], [0.0, 0.0]]
>>> static = (1.0, 0.0, 7)  # scale, rate, seed; queries of 0 make a mean of the values
>>> out, saved = kernels.attention_forward(0 * values, values, values, indptr, indices, *static)
>>> links = (indptr, indices, t_indptr, t_indices, t_edge_ids)
>>> show(out, *kernels.attention_backward(values, out, saved, *static, *links))
[[[2.0, 3.0]], [[3.0, 4.0]], [[0.0, 0.0]]]
[[[3.0, 3.0]], [[0.0, 0.0]], [[0.0, 0.0]]]
[[[0.0, 0.0]], [[0.0, 0.0]], [[0.0, 0.0]]]
[[[0.5, 1.0]], [[3.5, 5.0]], [[0.0, 0.0]]]
>>> edges, projection = np.array([[1.0], [2], [3]]), np.array([[[1.0, -9]]])
>>> queries = np.array([[[2.0]], [[5]], [[7]]])
>>> show(kernels.feature_dot(queries, edges, indptr), kernels.feature_sum(weights, edges, indptr))
[[2.0], [4.0], [15.0]]
[[[1.75]], [[3.0]], [[0.0]]]
>>> given = (weights, values, edges, projection, 0.5)  # values [2, -3.5], [5, -7], [6, -11.5]
>>> out = kernels.edge_sum_forward(*given, indptr, indices)
>>> show(out, *kernels.edge_sum_backward(values, *given, True, *links))
[[[4.25, -6.125]], [[6.0, -11.5]], [[0.0, 0.0]]]
[[-5.0], [-9.0], [-28.0]]
[[[0.25, 0.25]], [[3.75, 2.75]], [[0.0, 0.0]]]
[[[10.75, 7.75]]]
[[-2.0], [-6.0], [-15.0]]
>>> given = (edges, projection[:, 0])
>>> out, places = kernels.edge_max_forward(x, *given, indptr, indices)
>>> show(out, places, *kernels.edge_max_backward(x, places, *given, True, *links))
[[5.0, -7.0], [6.0, -23.0], [0.0, 0.0]]
[[1, 0], [0, 0], [-1, -1]]
[[0.0, 2.0], [4.0, 4.0], [0.0, 0.0]]
[[11.0, 14.0]]
[[-18.0], [1.0], [-33.0]]
>>> static = (0.5, 1.0, 0.0, 7)  # slope, scale, rate, seed
>>> given = (0 * values, values, values, edges, projection, projection, indptr, indices)
>>> out, saved = kernels.edge_attention_forward(*given, *static)
>>> show(out, *kernels.edge_attention_backward(values, out, saved, *static, True, *links))
[[[3.5, -5.25]], [[6.0, -11.5]], [[0.0, 0.0]]]
[[[-3.0, 7.0]], [[0.0, 0.0]], [[0.0, 0.0]]]
[[[0.0, 0.0]], [[0.0, 0.0]], [[0.0, 0.0]]]
[[[0.5, 0.5]], [[3.5, 2.5]], [[0.0, 0.0]]]
[[-4.0], [-4.0], [-15.0]]
[[[0.0, 0.0]]]
[[[10.5, 7.5]]]
>>> out = kernels.sigmoid_forward(np.log([1.0, 3]))
>>> show(out, kernels.sigmoid_backward(np.array([8.0, 16]), out))
[0.5, 0.75]
[2.0, 3.0]
>>> both = kernels.join_columns((x, np.ones((3, 1))))
>>> show(both, *kernels.split_columns(both, (1, 2)))
[[1.0, 2.0, 1.0], [3.0, 4.0, 1.0], [5.0, 6.0, 1.0]]
[[1.0], [3.0], [5.0]]
[[2.0, 1.0], [4.0, 1.0], [6.0, 1.0]]
>>> gates = np.array([[0.5], [1], [0]])
>>> show(kernels.scale_heads_forward(values, gates))
[[[0.5, 1.0]], [[3.0, 4.0]], [[0.0, 0.0]]]
>>> show(*kernels.scale_heads_backward(values, values, gates))
[[[0.5, 1.0]], [[3.0, 4.0]], [[0.0, 0.0]]]
[[5.0], [25.0], [61.0]]
>>> zero, one = np.zeros((1, 1)), np.ones((1, 1))
>>> out, saved = kernels.gru_update_forward(zero, zero, -one, zero, zero, zero, 4 * one, 0.1)
>>> show(out, *kernels.gru_update_backward(one, zero, 4 * one, saved, 0.1))
[[1.95]]
[[1.025]]
[[0.0]]
[[0.05]]
[[0.025]]
[[0.5]]
>>> parts, weight = (x, np.ones((3, 1))), np.array([[1.0], [2], [-1]])
>>> out = kernels.linear_forward(parts, weight, np.array([1.0]), 0.1)
>>> (_, grad_part), *grads = kernels.linear_backward(out, out, parts, weight, 0.1, (False, True))
>>> show(out, grad_part, *grads)
[[5.0], [11.0], [17.0]]
[[-5.0], [-11.0], [-17.0]]
[[123.0], [156.0], [33.0]]
[33.0]
>>> layers = (weight[:2], weight[1:]), (np.array([1.0]), np.array([0.0])), (1.0, 0.1)
>>> outs, joined = kernels.linear_each_forward(x, *layers)
>>> back = (outs, outs, x, layers[0], joined, layers[2], True, (None,) * 6)
>>> grads = kernels.linear_each_backward(*back)
>>> show(*outs, sum(part for part in grads[0] if part is not None), *grads[1], *grads[2])
[[6.0], [12.0], [18.0]]
[[0.0], [2.0], [4.0]]
[[6.0, 12.0], [16.0, 22.0], [26.0, 32.0]]
[[132.0], [168.0]]
[[26.0], [32.0]]
[36.0]
[6.0]
>>> show(kernels.matmul(x, weight[:2]))
[[5.0], [11.0], [17.0]]
>>> show(kernels.dropout(np.ones((2, 4)), 0.5, 7))
[[2.0, 2.0, 0.0, 0.0], [2.0, 0.0, 2.0, 2.0]]
>>> show(*kernels.bce_with_logits(np.zeros((1, 2)), np.array([[1, 0]], np.uint8)))  # 2 log 2
1.386
[[-0.5, 0.5]]
>>> show(*kernels.softmax_cross_entropy(np.zeros((1, 4)), np.array([2])))  # log 4
1.386
[[0.25, 0.25, -0.75, 0.25]]
>>> parameter, moment1, moment2 = np.ones(1), np.zeros(1), np.zeros(1)
>>> kernels.adam_step(parameter, np.array([2.0]), moment1, moment2, 0.1, 0.5, 0.75, 0.0)
>>> show(parameter, moment1, moment2)
[0.9]
[1.0]
[1.0]
"""

from types import ModuleType
from typing import Any

import numpy as np

from gaancore.array import Array, array_module


def kernels_for(array: Array) -> ModuleType:
    """The backend that works where `array` lives, chosen by its type alone."""
    if array_module(array) is np:
        from gaancore.kernels import cpu

        return cpu
    from gaancore.kernels import cuda

    return cuda


def dropout_constants(dtype: np.dtype, rate: float, seed: int) -> tuple[np.uint64, Any, np.uint64]:
    """What both backends keep by: a random 32-bit word of (key, position) at or above the first
    number is kept, and scaled by the second, 1 / (1 - rate), in `dtype`. The third is the key.
    """
    return np.uint64(round(rate * 2**32)), dtype.type(1 / (1 - rate)), dropout_key(seed)


def dropout_key(seed: int) -> np.uint64:
    """The key of a seed below 2^64: no two share one, and neighbours have nothing in common.

    Positions are mixed with a key bit by bit. With the seeds 0, 1, 2, ... themselves as keys, the
    masks would be one and the same mask in other orders. The steps are those of SplitMix64 (Steele,
    Lea and Flood, OOPSLA 2014).
    """
    z = (int(seed) + 0x9E3779B97F4A7C15) % 2**64
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
    return np.uint64(z ^ z >> 31)
