// out[0] = the sum of losses[0 .. count - 1], in double: what the kernels of the losses leave.
//
// Owner: one block. A thread adds up every BLOCK-th number; neighbours own neighbouring ones, so
// loads coalesce. The order depends on `count` only, so bits repeat.
// Bytes: reads count doubles, writes one.

extern "C" __global__ void sum_blocks(const double* losses, offset count, double* out) {
    double total = 0;
    for (offset t = threadIdx.x; t < count; t += blockDim.x) total += losses[t];
    total = block_sum(total);
    if (threadIdx.x == 0) out[0] = total;
}
