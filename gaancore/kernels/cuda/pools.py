"""Mean and maximum over the segments of a block: allocates and launches."""

import numpy as np

from gaancore.array import Array, array_module
from gaancore.kernels.cuda.launcher import launch, num_slots, share_out
from gaancore.kernels.cuda.segments import sum_over_rows

i64, i32 = np.int64, np.int32


def segment_mean_forward(values: Array, indptr: Array, indices: Array) -> Array:
    given, F = (values, indptr, indices), values.shape[1]
    kernel = "segment_mean_forward"
    return sum_over_rows("segment_mean", kernel, values, given, indptr, indices.size, F=F)


def segment_mean_backward(grad: Array, indptr: Array, t_indptr: Array, t_indices: Array) -> Array:
    given, F = (grad, indptr, t_indptr, t_indices), grad.shape[1]
    kernel = "segment_mean_backward"
    return sum_over_rows("segment_mean", kernel, grad, given, t_indptr, t_indices.size, F=F)


def segment_max_forward(values: Array, indptr: Array, indices: Array) -> tuple[Array, Array]:
    xp, F = array_module(values), values.shape[1]
    N, slots = indptr.size - 1, num_slots(indptr, indices.size)
    numbers, team, teams = share_out(values)
    out, partial = (xp.empty((rows, F), values.dtype) for rows in (N, slots))
    winners, partial_winners = (xp.empty((rows, F), i32) for rows in (N, slots))
    sizes, given = (i64(N), i64(slots)), {"numbers": numbers, "F": F, "TEAM": team}
    args = (values, indptr, indices, *sizes, out, winners, partial, partial_winners)
    threads = (N + slots) * teams * team
    launch("segment_max", "segment_max_forward", values, threads, *args, **given)
    pieces = (partial, partial_winners, indptr, *sizes, out, winners)
    launch("segment_max", "max_pieces", values, slots * F, *pieces, **given)
    return out, winners


def segment_max_backward(grad: Array, winners: Array, t_indptr: Array, t_indices: Array) -> Array:
    given, F = (grad, winners, t_indptr, t_indices), grad.shape[1]
    kernel = "segment_max_backward"
    return sum_over_rows("segment_max", kernel, grad, given, t_indptr, t_indices.size, F=F)
