"""Mean and maximum over the segments of a block: allocates and launches."""

import numpy as np

from gaancore.array import Array, array_module
from gaancore.kernels.cuda.launcher import launch, num_slots, share_out
from gaancore.kernels.cuda.segments import sum_over_rows

i64, i32 = np.int64, np.int32


def segment_mean_forward(values: Array, indptr: Array, indices: Array) -> Array:
    given = (values, indptr, indices)
    kernel = "segment_mean_forward"
    return sum_over_rows("segment_mean", kernel, values, given, indptr, indices.size)


def segment_mean_backward(grad: Array, indptr: Array, t_indptr: Array, t_indices: Array) -> Array:
    given = (grad, indptr, t_indptr, t_indices)
    kernel = "segment_mean_backward"
    return sum_over_rows("segment_mean", kernel, grad, given, t_indptr, t_indices.size)


def segment_max_forward(values: Array, indptr: Array, indices: Array) -> tuple[Array, Array]:
    xp, F = array_module(values), values.shape[1]
    N, slots = indptr.size - 1, num_slots(indptr, indices.size)
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
    return sum_over_rows("segment_max", kernel, grad, given, t_indptr, t_indices.size)
