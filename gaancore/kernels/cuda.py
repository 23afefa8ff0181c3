"""The CUDA backend: allocates, and launches the kernels of cuda/*.cu. See the contract."""

import math
from itertools import accumulate
from typing import Any

import numpy as np

from gaancore.array import Array, array_module
from gaancore.kernels.cuda_launch import launch, num_blocks, num_slots, power_of_two, share_out

BIAS_ROWS = 128  # rows summed into one partial bias gradient
LOSS_BLOCKS = 512
ATTENTION_PACKS = 4  # loads of an output row that a lane keeps in registers (attention.cu)

Triple = tuple[Array, Array, Array]
Parts = tuple[Array, ...]
u64, i64, i32 = np.uint64, np.int64, np.int32


def _softmax_sizes(scores: Array, indptr: Array) -> tuple[int, int, tuple[Any, ...]]:
    """Threads, slots, (N, slots, K, heads, team): lanes for heads times an average row's edges."""
    (E, K), N = scores.shape, indptr.size - 1
    slots, heads = num_slots(E), power_of_two(K)
    team = min(32, heads * power_of_two(-(-E // max(1, N))))
    threads = (N + slots) * -(-K // heads) * team
    return threads, slots, (i64(N), i64(slots), i32(K), i32(heads), i32(team))


def _sum_over_rows(
    file: str, kernel: str, rows: Array, given: tuple[Any, ...], indptr: Array, num_edges: int
) -> Array:
    """Launch a kernel that is made of `sum_over_rows`, then add up pieces; `rows` are gathered."""
    xp, dtype, sizes = array_module(rows), rows.dtype, rows.shape[1:]  # (K, D) or (F,)
    N, slots = indptr.size - 1, num_slots(num_edges)
    per_row = math.prod(sizes)
    numbers, team, teams = share_out(rows)
    out, partial = xp.empty((N, *sizes), dtype), xp.empty((slots, *sizes), dtype)
    threads = (N + slots) * math.prod(sizes[:-1]) * teams * team
    args = (*given, i64(N), i64(slots), *map(i32, sizes), i32(team), out, partial)
    launch(file, kernel, rows, threads, *args, numbers=numbers)
    pieces = (partial, indptr, i64(N), i64(slots), i32(per_row), out)
    launch("segment_weighted_sum", "sum_pieces", rows, slots * per_row, *pieces)
    return out


def segment_softmax_forward(scores: Array, indptr: Array) -> Array:
    xp, (threads, slots, sizes) = array_module(scores), _softmax_sizes(scores, indptr)
    weights = xp.empty(scores.shape, scores.dtype)
    partial = xp.empty((slots, scores.shape[1], 2), scores.dtype)
    args = (scores, indptr, *sizes, weights, partial)
    launch("segment_softmax", "segment_softmax_forward", scores, threads, *args)
    if slots:
        launch("segment_softmax", "segment_softmax_forward_long", scores, threads, *args)
    return weights


def segment_softmax_backward(weights: Array, grad: Array, indptr: Array) -> Array:
    xp, (threads, slots, sizes) = array_module(grad), _softmax_sizes(grad, indptr)
    out = xp.empty(grad.shape, grad.dtype)
    partial = xp.empty((slots, grad.shape[1]), grad.dtype)
    args = (weights, grad, indptr, *sizes, out, partial)
    launch("segment_softmax", "segment_softmax_backward", grad, threads, *args)
    if slots:
        launch("segment_softmax", "segment_softmax_backward_long", grad, threads, *args)
    return out


def segment_weighted_sum(
    weights: Array, values: Array, indptr: Array, indices: Array, edge_ids: Array | None = None
) -> Array:
    ids, id_bytes = (indices, 0) if edge_ids is None else (edge_ids, edge_ids.itemsize)
    given = (weights, values, indptr, indices, ids, i32(id_bytes))
    name = "segment_weighted_sum"
    return _sum_over_rows(name, name, values, given, indptr, indices.size)


def edge_dot(queries: Array, keys: Array, indptr: Array, indices: Array) -> Array:
    (N, K, D), slots = queries.shape, num_slots(indices.size)
    numbers, team, _ = share_out(queries, keys)
    out = array_module(keys).empty((indices.size, K), keys.dtype)
    args = (queries, keys, indptr, indices, i64(N), i64(slots), i32(K), i32(D), i32(team), out)
    launch("edge_dot", "edge_dot", keys, (N + slots) * K * team, *args, numbers=numbers)
    return out


def segment_mean_forward(values: Array, indptr: Array, indices: Array) -> Array:
    given = (values, indptr, indices)
    kernel = "segment_mean_forward"
    return _sum_over_rows("segment_mean", kernel, values, given, indptr, indices.size)


def segment_mean_backward(grad: Array, indptr: Array, t_indptr: Array, t_indices: Array) -> Array:
    given = (grad, indptr, t_indptr, t_indices)
    kernel = "segment_mean_backward"
    return _sum_over_rows("segment_mean", kernel, grad, given, t_indptr, t_indices.size)


def segment_max_forward(values: Array, indptr: Array, indices: Array) -> tuple[Array, Array]:
    xp, F = array_module(values), values.shape[1]
    N, slots = indptr.size - 1, num_slots(indices.size)
    numbers, team, teams = share_out(values)
    out, partial = (xp.empty((rows, F), values.dtype) for rows in (N, slots))
    winners, partial_winners = (xp.empty((rows, F), i32) for rows in (N, slots))
    sizes = (i64(N), i64(slots), i32(F))
    args = (values, indptr, indices, *sizes, i32(team), out, winners, partial, partial_winners)
    threads = (N + slots) * teams * team
    launch("segment_max", "segment_max_forward", values, threads, *args, numbers=numbers)
    pieces = (partial, partial_winners, indptr, *sizes, out, winners)
    launch("segment_max", "max_pieces", values, slots * F, *pieces, numbers=numbers)
    return out, winners


def segment_max_backward(grad: Array, winners: Array, t_indptr: Array, t_indices: Array) -> Array:
    given = (grad, winners, t_indptr, t_indices)
    kernel = "segment_max_backward"
    return _sum_over_rows("segment_max", kernel, grad, given, t_indptr, t_indices.size)


def _dropout_constants(dtype: np.dtype, rate: float, seed: int) -> tuple[Any, ...]:
    """Random 32-bit words at or above the threshold are kept, and scaled by 1 / (1 - rate)."""
    return u64(round(rate * 2**32)), dtype.type(1 / (1 - rate)), u64(seed)


def attention_forward(
    queries: Array,
    keys: Array,
    values: Array,
    indptr: Array,
    indices: Array,
    scale: float,
    rate: float,
    seed: int,
) -> tuple[Array, tuple[Array, ...]]:
    xp, dtype, (N, K, A), D = array_module(values), values.dtype, queries.shape, values.shape[2]
    slots = num_slots(indices.size)
    numbers, team, teams = share_out(queries, keys, values, packs=ATTENTION_PACKS)
    out, partial = (xp.empty((rows, K, D), dtype) for rows in (N, slots))
    stats, partial_stats = (xp.empty((rows, K, 2), dtype) for rows in (N, slots))
    sizes = (i64(N), i64(slots), i32(K), i32(A), i32(D), i32(team))
    static = (dtype.type(scale), *_dropout_constants(dtype, rate, seed))
    given, made = (queries, keys, values, indptr, indices), (out, stats, partial, partial_stats)
    args = (*given, *sizes, *static, *made)
    threads = (N + slots) * K * teams * team
    launch("attention", "attention_forward", values, threads, *args, numbers=numbers)
    pieces = (partial, partial_stats, indptr, i64(N), i64(slots), i32(K), i32(D), out, stats)
    launch("attention", "attention_pieces", values, slots * K * D, *pieces, numbers=numbers)
    return out, (queries, keys, values, stats)


def attention_backward(
    grad: Array,
    out: Array,
    saved: tuple[Array, ...],
    scale: float,
    rate: float,
    seed: int,
    indptr: Array,
    indices: Array,
    t_indptr: Array,
    t_indices: Array,
    t_edge_ids: Array,
) -> Triple:
    queries, keys, values, stats = saved
    xp, dtype, (N, K, A), D = array_module(grad), grad.dtype, queries.shape, grad.shape[2]
    slots = num_slots(indices.size)
    numbers, team, _ = share_out(queries, keys, values, grad)
    weights, grad_scores = (xp.empty((indices.size, K), dtype) for _ in range(2))
    sizes = (i64(N), i64(slots), i32(K), i32(A), i32(D), i32(team))
    static = (dtype.type(scale), *_dropout_constants(dtype, rate, seed))
    given = (grad, out, queries, keys, values, stats, indptr, indices)
    args = (*given, *sizes, *static, weights, grad_scores)
    threads = (N + slots) * K * team
    launch("attention_backward", "attention_backward", grad, threads, *args, numbers=numbers)
    transposed = (t_indptr, t_indices, t_edge_ids)
    return (
        segment_weighted_sum(grad_scores, keys, indptr, indices),
        segment_weighted_sum(grad_scores, queries, *transposed),
        segment_weighted_sum(weights, grad, *transposed),
    )


def scale_heads_forward(heads: Array, gates: Array) -> Array:
    out = array_module(heads).empty(heads.shape, heads.dtype)
    numbers, team, _ = share_out(heads)
    args = (heads, gates, i64(gates.size), i32(heads.shape[2]), i32(team), out)
    threads = gates.size * team
    launch("scale_heads", "scale_heads_forward", heads, threads, *args, numbers=numbers)
    return out


def scale_heads_backward(grad: Array, heads: Array, gates: Array) -> tuple[Array, Array]:
    grad_heads, grad_gates = (array_module(x).empty(x.shape, x.dtype) for x in (heads, gates))
    numbers, team, _ = share_out(grad, heads)
    sizes = (i64(gates.size), i32(heads.shape[2]), i32(team))
    args = (grad, heads, gates, *sizes, grad_heads, grad_gates)
    threads = gates.size * team
    launch("scale_heads", "scale_heads_backward", heads, threads, *args, numbers=numbers)
    return grad_heads, grad_gates


def gru_update_forward(
    x_u: Array, x_r: Array, x_c: Array, h_u: Array, h_r: Array, h_c: Array, h: Array, slope: float
) -> tuple[Array, Triple]:
    given = (x_u, x_r, x_c, h_u, h_r, h_c, h)
    u, r, c, out = (array_module(h).empty(h.shape, h.dtype) for _ in range(4))
    args = (*given, i64(h.size), h.dtype.type(slope), u, r, c, out)
    _launch_packs("gru_update_forward", h.size, given, *args, file="gru_update")
    return out, (u, r, c)


def gru_update_backward(grad: Array, h_c: Array, h: Array, saved: Triple, slope: float) -> Parts:
    given = (grad, h_c, h, *saved)
    grads = tuple(array_module(h).empty(h.shape, h.dtype) for _ in range(5))
    args = (*given, i64(h.size), h.dtype.type(slope), *grads)
    _launch_packs("gru_update_backward", h.size, given, *args, file="gru_update")
    return grads


def matmul(a: Array, b: Array) -> Array:
    return array_module(a).matmul(a, b)


def _launch_packs(
    kernel: str, size: int, rows: Parts, *args: Any, file: str = "elementwise"
) -> None:
    """Launch an elementwise kernel: a thread owns as many numbers as it loads of `rows`."""
    numbers, _, _ = share_out(*rows)
    launch(file, kernel, rows[0], size // numbers, *args, numbers=numbers)


def linear_forward(parts: Parts, weight: Array, bias: Array, slope: float) -> Array:
    rows, *more = _rows_of(weight, parts)
    out = matmul(parts[0], rows)
    for part, rows in zip(parts[1:], more, strict=True):
        out += matmul(part, rows)
    args = (out, bias, i64(out.size), i32(bias.size), out.dtype.type(slope))
    _launch_packs("add_bias_leaky_relu", out.size, (out, bias), *args)
    return out


def linear_backward(
    grad: Array, out: Array, parts: Parts, weight: Array, slope: float
) -> tuple[Parts, Array, Array]:
    xp, (rows, G) = array_module(grad), grad.shape
    chunks = -(-rows // BIAS_ROWS)
    before, sums = xp.empty(grad.shape, grad.dtype), xp.empty((chunks, G), grad.dtype)
    grad_bias = xp.empty(G, grad.dtype)
    sizes = (i64(rows), i32(G), i32(BIAS_ROWS), grad.dtype.type(slope))
    launch("elementwise", "leaky_relu_backward", grad, sums.size, grad, out, *sizes, before, sums)
    launch("elementwise", "column_sums", grad, G, sums, i64(chunks), i32(G), grad_bias)
    grad_parts = tuple(matmul(before, rows.T) for rows in _rows_of(weight, parts))
    grad_weight = xp.empty(weight.shape, weight.dtype)
    for part, target in zip(parts, _rows_of(grad_weight, parts), strict=True):
        xp.matmul(part.T, before, out=target)
    return grad_parts, grad_weight, grad_bias


def _rows_of(weight: Array, parts: Parts) -> list[Array]:
    """The rows of `weight` that each part meets."""
    stops = list(accumulate(part.shape[1] for part in parts))
    return [weight[stop - part.shape[1] : stop] for part, stop in zip(parts, stops, strict=True)]


def dropout(x: Array, rate: float, seed: int) -> Array:
    out = array_module(x).empty(x.shape, x.dtype)
    constants = _dropout_constants(x.dtype, rate, seed)
    _launch_packs("dropout", x.size, (x.reshape(-1),), x, i64(x.size), *constants, out)
    return out


def bce_with_logits(logits: Array, targets: Array) -> tuple[Array, Array]:
    xp, size = array_module(logits), logits.size
    grad, total = xp.empty(logits.shape, logits.dtype), xp.empty((), np.float64)
    blocks = num_blocks(size, LOSS_BLOCKS)
    losses, file = xp.empty(blocks, np.float64), "bce_with_logits"
    args = (logits, targets, i64(size), grad, losses)
    launch(file, "bce_with_logits", logits, size, *args, most=LOSS_BLOCKS)
    launch(file, "sum_blocks", logits, 1, losses, i32(blocks), total)
    return total, grad


def softmax_cross_entropy(logits: Array, targets: Array) -> tuple[Array, Array]:
    xp, (N, C) = array_module(logits), logits.shape
    grad, total = xp.empty((N, C), logits.dtype), xp.empty((), np.float64)
    losses, team = xp.empty(N, np.float64), power_of_two(C)
    args = (logits, targets, i64(N), i32(C), i32(team), grad, losses)
    launch("softmax_cross_entropy", "softmax_cross_entropy", logits, N * team, *args)
    launch("bce_with_logits", "sum_blocks", logits, 1, losses, i32(N), total)
    return total, grad


def adam_step(
    parameter: Array,
    grad: Array,
    moment1: Array,
    moment2: Array,
    rate: float,
    beta1: float,
    beta2: float,
    eps: float,
    step: int,
) -> None:
    kind = parameter.dtype.type
    correction = float(np.sqrt(1 - beta2**step))
    step_size = rate * correction / (1 - beta1**step)
    constants = (kind(step_size), kind(beta1), kind(beta2), kind(eps * correction))
    arrays, size = (parameter, grad, moment1, moment2), parameter.size
    flat = tuple(x.reshape(-1) for x in arrays)
    _launch_packs("adam_step", size, flat, *arrays, i64(size), *constants)
