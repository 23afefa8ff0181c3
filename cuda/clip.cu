// squares:      sums[b] = the sum over block b's numbers of x^2, in double
// clip_to_norm: norm[0] = sqrt(the sum of `sums`); x *= max_norm / norm where that is larger than
//               max_norm > 0. A norm that is not finite makes all of x NaN: nobody waits for it,
//               and Adam moves nothing by a NaN.
//
// Owner: a thread owns every (threads in the grid)-th number, neighbours own neighbouring ones, so
// loads and stores coalesce. Every block adds up all of `sums` for itself, in the same order:
// orders depend on sizes only, so bits repeat.
// Bytes: each reads size numbers, clip_to_norm count doubles a block too; it writes size numbers if
// they are too long.

extern "C" __global__ void squares(const real* x, offset size, double* sums) {
    double total = 0;
    for (offset t = first_item(1); t < size; t += item_stride(1)) total += double(x[t]) * x[t];
    total = block_sum(total);
    if (threadIdx.x == 0) sums[blockIdx.x] = total;
}

extern "C" __global__ void clip_to_norm(real* x, offset size, const double* sums, int count,
                                        double max_norm, double* norm) {
    double total = 0;
    for (int b = threadIdx.x; b < count; b += blockDim.x) total += sums[b];
    double length = sqrt(block_sum(total));
    if (blockIdx.x == 0 && threadIdx.x == 0) norm[0] = length;
    real factor = length > max_norm && max_norm > 0 ? real(max_norm / length) : real(1);
    if (length - length != 0) factor = real(length - length);  // inf or NaN: NaN
    if (factor == 1) return;
    for (offset t = first_item(1); t < size; t += item_stride(1)) x[t] *= factor;
}
